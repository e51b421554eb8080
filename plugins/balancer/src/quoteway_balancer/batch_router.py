"""The executor of Balancer v3: swaps of its BatchRouter, along one path or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quoteway import NATIVE, Address, Block, Context, Executor, FlowLeg, FlowOrder, InvalidRequest, Step
from quoteway.evm import permit2
from quoteway.evm.abi import function
from quoteway.evm.calls.balancer_batch_router import SWAP_EXACT_IN
from quoteway_amm.balancer_v3 import WeightedV3Pool

from quoteway_balancer.deployments import configured_v3
from quoteway_balancer.paths import amounts_of, paths_of
from quoteway_balancer.reading import Read, decoded
from quoteway_balancer.source import sources_of

_SWAP = function(SWAP_EXACT_IN)
_VAULT = function("getVault() returns (address)")
_WETH = function("getWeth() returns (address)")
_PERMIT2 = function("getPermit2() returns (address)")

_Path = tuple[FlowLeg, ...]


class BalancerBatchRouter(Executor):
    """Encodes paths that share no token but their ends, to the sender alone.

    Each path has a minimum of its own. The order's minimum is divided as the paths' outputs are at the block
    of the order.
    """

    id = "balancer-v3"
    title = "Balancer v3"
    # Measured over random swaps of one to three pools: within 15 % of their receipts.
    leg_gas = {WeightedV3Pool.kind: 80_000}
    transaction_gas = 110_000
    most_legs = 8
    splits = True
    joins = False
    takes_coin = True
    pays_others = False

    def __init__(self, context: Context) -> None:
        self._context = context
        self._deployments = configured_v3(context)
        self.networks = frozenset(self._deployments)

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns the batch router."""
        return {self._deployments[chain_id].batch_router: "Balancer Batch Router"}

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """Returns Permit2, and the router that takes its input from there."""
        return permit2.ADDRESS, self._deployments[chain_id].batch_router

    async def refusal(self, chain_id: int, block: Block) -> str | None:
        """See ``Executor``: a router of another Vault, wrapped coin or Permit2 would be misquoted."""
        row = self._deployments[chain_id]
        expected = {_VAULT: row.vault, _WETH: row.wrapped_native, _PERMIT2: permit2.ADDRESS}
        calls = [Read(row.batch_router, asked).call for asked in expected]
        answers = await self._context.chain(chain_id).call_many(calls, block=block)
        for (asked, address), answer in zip(expected.items(), answers, strict=True):
            if decoded(asked, answer) != (address,):
                name = asked.signature.removesuffix("()")
                return f"{name} of {row.batch_router} does not answer {address}"
        return None

    async def encode(self, order: FlowOrder) -> Step:
        """See ``Executor``. Raises UpstreamError when the chain cannot be read, for more than one path."""
        row = self._deployments[order.chain_id]
        if any(leg.kind not in self.leg_gas for leg in order.legs):
            raise InvalidRequest("The batch router executes pools of Balancer v3 only.")
        if order.recipient != order.sender:
            raise InvalidRequest("The batch router pays the sender alone.")
        paths = paths_of(order, row.wrapped_native)
        amounts = amounts_of(order, paths)
        least = await self._minimums(order, paths, amounts)
        swaps = [
            (path[0].token_in, [(leg.pool, leg.token_out, False) for leg in path], amount, minimum)
            for path, amount, minimum in zip(paths, amounts, least, strict=True)
        ]
        of_coin = NATIVE in (order.token_in, order.token_out)
        value = order.amount_in if order.token_in == NATIVE else 0
        data = _SWAP.encode([swaps, order.deadline, of_coin, b""])
        return Step(row.batch_router, data, value, order.chain_id)

    async def _minimums(
        self, order: FlowOrder, paths: Sequence[_Path], amounts: Sequence[int]
    ) -> Sequence[int]:
        """Returns the least that each path may give: the order's minimum in all."""
        if len(paths) == 1:
            return [order.amount_out_min]
        ids = {leg.pool for leg in order.legs}
        pairs = await sources_of(self._context).v3.pairs_of(order.chain_id, ids, order.block)
        pools = {(pair.id, frozenset((pair.token0, pair.token1))): pair for pair in pairs}
        outputs = []
        for path, amount in zip(paths, amounts, strict=True):
            for leg in path:
                pair = pools.get((leg.pool, frozenset((leg.token_in, leg.token_out))))
                given = None if pair is None else pair.exact_in(leg.token_in == pair.token0, amount)
                if given is None:
                    raise InvalidRequest("A pool of this swap gives no more what it was quoted for.")
                amount = given[0]
            outputs.append(amount)
        return shares_of(order.amount_out_min, outputs)


def shares_of(amount: int, parts: Sequence[int]) -> list[int]:
    """Returns an amount divided as ``parts`` are; no share exceeds its part if the amount does not exceed
    their sum."""
    total = sum(parts) or 1
    shares = [amount * part // total for part in parts]
    rest = amount - sum(shares)
    for at, part in enumerate(parts):
        more = min(rest, max(part - shares[at], 0))
        shares[at] += more
        rest -= more
    shares[-1] += rest
    return shares
