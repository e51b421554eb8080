"""The executor: the exchange's own swap function, through its pools and the v2 pairs of other sources."""

from quoteway import (
    CallDescription,
    ContractDescription,
    DeployedAt,
    Executor,
    InvalidRequest,
    PaymentRoles,
    SpendRoles,
    Step,
)
from quoteway.evm.abi import function

SWAP = (
    "swap(address[] path, address[] via, uint24[] fees, uint256 amountIn, uint256 amountOutMin, address to,"
    " uint256 deadline)"
)
FEE = function("FEE() returns (uint256)")


class FeeApartExchange(Executor):
    """Paths of up to four pools: those of the exchange, and any v2 pair at its own fee."""

    id = "fee-apart"
    title = "Fee-apart exchange"
    leg_gas = {"fee-apart": 35_000, "v2": 75_000}
    sources = ("uniswap",)
    transaction_gas = 75_000
    most_legs = 4

    def __init__(self, context, exchanges):
        self.context = context
        self.exchanges = exchanges
        self.networks = frozenset(exchanges)

    def contracts(self, chain_id):
        return {self.exchanges[chain_id]["address"]: "Fee-apart exchange"}

    def spenders(self, chain_id):
        return (self.exchanges[chain_id]["address"],)

    async def refusal(self, chain_id, block):
        """A fork with another fee would be misquoted."""
        address, fee = self.exchanges[chain_id]["address"], self.exchanges[chain_id]["fee"]
        answer = await self.context.chain(chain_id).call(address, FEE.encode([]), block=block)
        (charged,) = FEE.decode_output(answer)
        return None if charged == fee else f"{address} charges a fee of {charged} pips, not {fee}"

    async def encode(self, order):
        exchange = self.exchanges[order.chain_id]["address"]
        path, via, fees = [order.token_in], [], []
        for leg in order.legs:
            if leg.token_in != path[-1]:
                raise InvalidRequest("The exchange executes one path only.")
            path.append(leg.token_out)
            via.append(exchange if leg.kind == "fee-apart" else leg.pool)
            fees.append(leg.fee_pips)
        amounts = [order.amount_in, order.amount_out_min]
        data = function(SWAP).encode([path, via, fees, *amounts, order.recipient, order.deadline])
        return Step(exchange, data, 0, order.chain_id)


def descriptions(exchanges):
    """Returns what the exchange's swaps mean. It counts once the operator has pinned it."""
    swap = CallDescription(
        SWAP,
        "swap",
        spends=(SpendRoles("#.path.[0]", "#.amountIn"),),
        pays=(PaymentRoles("#.path.[-1]", "#.to", "#.amountOutMin"),),
        deadline="#.deadline",
    )
    places = tuple(DeployedAt(chain_id, exchange["address"]) for chain_id, exchange in exchanges.items())
    return [ContractDescription("Fee-apart exchange", (swap,), places)] if places else []
