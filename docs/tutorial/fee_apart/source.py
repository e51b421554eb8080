"""The liquidity source: which pools may exist, and their state at a block."""

from itertools import combinations

from cachetools import LRUCache
from quoteway import NATIVE, LiquiditySource, Reason, UpstreamError
from quoteway.evm.abi import function
from quoteway.evm.address import address_bytes, keccak256, parse_address
from quoteway.evm.chain import Call

from fee_apart.pool import FeeApartPool

POOLS = function("pools(address token0, address token1) returns (uint112 reserve0, uint112 reserve1)")


class FeeApartPools(LiquiditySource):
    """The pools of two tokens and of each with the base tokens: one round trip a block."""

    id = "fee-apart"
    title = "Fee-apart pools"
    families = ("fee-apart",)

    def __init__(self, context, exchanges):
        self.context = context
        self.exchanges = exchanges
        self.networks = frozenset(exchanges)
        self.known = LRUCache(1_000)

    def expected_contracts(self, chain_id):
        return {self.exchanges[chain_id]["address"]: "Fee-apart exchange"}

    async def pools(self, chain_id, token_in, token_out, block):
        chain, exchange = self.context.chain(chain_id), self.exchanges[chain_id]
        wrapped = parse_address(chain.network.wrapped_native)
        tokens = {wrapped if token == NATIVE else token for token in (token_in, token_out)}
        tokens |= {wrapped, *exchange["base_tokens"]}
        pairs = [*combinations(sorted(tokens, key=str.lower), 2)]
        calls = [Call(exchange["address"], POOLS.encode(pair), max_output=64) for pair in pairs]
        found = []
        for pair, answer in zip(pairs, await chain.call_many(calls, block=block), strict=True):
            if not isinstance(answer, bytes):
                raise UpstreamError("The exchange could not be read.", reason=Reason.RPC_ERROR)
            reserves = POOLS.decode_output(answer)
            if all(reserves):
                pool_id = "0x" + keccak256(b"".join(map(address_bytes, pair))).hex()
                pool = FeeApartPool(pool_id, *pair, *reserves)
                # The same object while it does not change: solver processes have it already.
                found.append(self.known.setdefault(pool, pool))
        return found
