"""Reads the states of pools at a block: everything that their next swap depends on, in one round trip.

A stable pool scales its tokens by rates. It keeps each in a cache, and a swap first asks the rate provider
where the cache has expired: so the state here has the rate that a swap in the next block will use.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from cachetools import LRUCache
from quoteway import NATIVE, Address, Block, Chain
from quoteway.evm.abi import Function, function
from quoteway.evm.chain import Call, CallFailed
from quoteway_amm.balancer_stable import AMP_PRECISION, ComposableStablePool
from quoteway_amm.fixed_point import mul_down
from quoteway_amm.token_pair import TokenPair
from quoteway_amm.weighted import WeightedPool

from quoteway_balancer.deployments import Deployment
from quoteway_balancer.pool_facts import POOL_TOKENS, PoolFacts, decoded, pool_tokens_bytes

_PAUSED = function("getPausedState() returns (bool paused, uint256 windowEnd, uint256 bufferEnd)")
_RECOVERY = function("inRecoveryMode() returns (bool)")
_SWAP_FEE = function("getSwapFeePercentage() returns (uint256)")
_AMPLIFICATION = function(
    "getAmplificationParameter() returns (uint256 value, bool isUpdating, uint256 precision)"
)
_RATE_CACHE = function(
    "getTokenRateCache(address token) returns (uint256 rate, uint256 oldRate, uint256 duration,"
    " uint256 expires)"
)
_RATE = function("getRate() returns (uint256)")
POOLS_AT_ONCE = 32
"""How many pools are decoded before others get the event loop: 2 ms."""
_BLOCKS_KEPT = 4
_POOLS_KEPT = 4096

State = WeightedPool | ComposableStablePool
Pairs = tuple[TokenPair, ...]


@dataclass(frozen=True, slots=True)
class _Read:
    """A view function of a contract."""

    to: Address
    of: Function
    args: tuple[object, ...] = ()
    bytes: int = 32

    @property
    def call(self) -> Call:
        return Call(self.to, self.of.encode(self.args), max_output=self.bytes)


class PoolStates:
    """The states of one deployment's pools. A pool that has not changed is the same object at all blocks."""

    def __init__(self, chain: Chain, deployment: Deployment) -> None:
        self._chain = chain
        self._vault = deployment.vault
        self._blocks: LRUCache[str, dict[str, Pairs]] = LRUCache(_BLOCKS_KEPT)
        self._newest: LRUCache[str, tuple[State, Pairs]] = LRUCache(_POOLS_KEPT)

    async def load(self, block: Block, pools: Sequence[PoolFacts]) -> list[Pairs]:
        """Returns the pairs of tokens of each pool at a block; none of one that cannot be traded with then.

        Raises UpstreamError or RpcError when the chain cannot be read.
        """
        known: dict[str, Pairs] = self._blocks.setdefault(block.hash, {})
        unknown = [facts for facts in pools if facts.id not in known]
        if unknown:
            reads = [[*_reads(self._vault, facts)] for facts in unknown]
            paused = _Read(self._vault, _PAUSED, bytes=96)
            calls = [paused.call, *(read.call for each in reads for read in each)]
            vault, *rest = await self._chain.call_many(calls, block=block)
            open_ = _first(decoded(_PAUSED, vault)) is False
            answers = iter(rest)
            time_s = block.timestamp + max(math.ceil(self._chain.network.block_time_s), 1)
            for place, (facts, mine) in enumerate(zip(unknown, reads, strict=True), 1):
                given = [next(answers) for _ in mine]
                known[facts.id] = self._pairs(facts, _state(facts, mine, given, time_s) if open_ else None)
                if place % POOLS_AT_ONCE == 0:
                    await asyncio.sleep(0)
        return [known[facts.id] for facts in pools]

    def _pairs(self, facts: PoolFacts, state: State | None) -> Pairs:
        if state is None:
            return ()
        last = self._newest.get(facts.id)
        if last is not None and last[0] == state:
            return last[1]
        pairs = tuple(TokenPair(state, *places) for places in combinations(range(len(state.tokens)), 2))
        self._newest[facts.id] = state, pairs
        return pairs


def _reads(vault: Address, facts: PoolFacts) -> Iterator[_Read]:
    """Yields what to read of a pool, in the order in which ``_state`` takes it."""
    pool_id = bytes.fromhex(facts.id[2:])
    yield _Read(vault, POOL_TOKENS, (pool_id,), pool_tokens_bytes(len(facts.tokens)))
    yield _Read(facts.address, _PAUSED, bytes=96)
    yield _Read(facts.address, _SWAP_FEE)
    if facts.family.recovery:
        yield _Read(facts.address, _RECOVERY)
    if facts.family.kind == ComposableStablePool.kind:
        yield _Read(facts.address, _AMPLIFICATION, bytes=96)
        for token, provider in zip(facts.tokens, facts.rate_providers, strict=True):
            if provider != NATIVE:
                yield _Read(facts.address, _RATE_CACHE, (token,), 128)
                yield _Read(provider, _RATE)


def _state(
    facts: PoolFacts, reads: Sequence[_Read], given: Sequence[bytes | CallFailed], time_s: int
) -> State | None:
    """Returns the state of a pool for a swap at ``time_s``.

    None when the pool is not there yet, is paused or in recovery mode, or has an amplification that changes
    by the second.
    """
    balances = _balances(facts, given[0])
    answers = (decoded(read.of, answer) for read, answer in zip(reads[1:], given[1:], strict=True))
    if balances is None:
        return None
    paused, fee = _first(next(answers)), _first(next(answers))
    recovering = _first(next(answers)) if facts.family.recovery else False
    if paused is not False or recovering is not False or not isinstance(fee, int):
        return None
    places = facts.traded
    traded = tuple(facts.tokens[at] for at in places)
    amounts = tuple(balances[at] for at in places)
    try:
        if facts.family.kind == WeightedPool.kind:
            exact = facts.family.exact_powers
            return WeightedPool(facts.id, traded, amounts, facts.units, fee, facts.weights, exact)
        amplification = next(answers)
        if amplification is None or amplification[1:] != (False, AMP_PRECISION):
            return None
        factors = _factors(facts, answers, time_s)
        if factors is None:
            return None
        scaled = tuple(factors[at] for at in places)
        return ComposableStablePool(facts.id, traded, amounts, scaled, fee, amplification[0])  # type: ignore[arg-type]  # uint256
    except (ValueError, ArithmeticError):
        return None


def _balances(facts: PoolFacts, answer: bytes | CallFailed) -> list[int] | None:
    """Returns the balances that ``getPoolTokens`` gave; None when it failed, or of other tokens."""
    if not isinstance(answer, bytes):
        return None
    # Two arrays behind three words. An ABI decoder takes a hundred times as long, which all quotes wait for.
    words = [int.from_bytes(answer[at : at + 32]) for at in range(0, len(answer), 32)]
    count = len(facts.tokens)
    expected = [count, *(int(token, 16) for token in facts.tokens), count]
    same = words[:2] == [96, 128 + 32 * count] and words[3 : 5 + count] == expected
    return words[5 + count :] if same and len(answer) == pool_tokens_bytes(count) else None


def _factors(facts: PoolFacts, answers: Iterator[tuple[object, ...] | None], time_s: int) -> list[int] | None:
    """Returns each token's unit times its rate; None when a rate cannot be read."""
    factors = []
    for unit, provider in zip(facts.units, facts.rate_providers, strict=True):
        if provider == NATIVE:
            factors.append(unit)
            continue
        cache, fresh = next(answers), _first(next(answers))
        if cache is None:
            return None
        rate, _, _, expires = cache
        if not isinstance(expires, int) or time_s > expires:
            rate = fresh
        if not isinstance(rate, int):
            return None
        factors.append(mul_down(unit, rate))
    return factors


def _first(values: tuple[object, ...] | None) -> object:
    return None if values is None else values[0]
