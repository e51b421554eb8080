"""The states of pools of Balancer v2 at a block.

A stable pool scales its tokens by rates. It keeps each in a cache, and a swap first asks the rate provider
where the cache has expired: so the state here has the rate that a swap in the next block will use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from quoteway import NATIVE, Address, Chain
from quoteway.evm.abi import function
from quoteway_amm.balancer_stable import AMP_PRECISION, ComposableStablePool
from quoteway_amm.fixed_point import mul_down
from quoteway_amm.weighted import WeightedPool

from quoteway_balancer.pool_facts import POOL_TOKENS, PoolFacts, pool_tokens_bytes
from quoteway_balancer.reading import Answer, PoolStates, Read, decoded, first, words_of

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

State = WeightedPool | ComposableStablePool


class VaultStates(PoolStates[PoolFacts]):
    """The states of the pools of one Vault."""

    def __init__(self, chain: Chain, vault: Address, clock: Callable[[], float]) -> None:
        super().__init__(chain, clock)
        self._vault = vault

    def paused(self) -> Read:
        """See ``PoolStates``."""
        return Read(self._vault, _PAUSED, bytes=96)

    def reads_of(self, facts: PoolFacts) -> Iterator[Read]:
        """See ``PoolStates``."""
        pool_id = bytes.fromhex(facts.id[2:])
        yield Read(self._vault, POOL_TOKENS, (pool_id,), pool_tokens_bytes(len(facts.tokens)))
        yield Read(facts.address, _PAUSED, bytes=96)
        yield Read(facts.address, _SWAP_FEE)
        if facts.family.recovery:
            yield Read(facts.address, _RECOVERY)
        if facts.family.kind == ComposableStablePool.kind:
            yield Read(facts.address, _AMPLIFICATION, bytes=96)
            for token, provider in zip(facts.tokens, facts.rate_providers, strict=True):
                if provider != NATIVE:
                    yield Read(facts.address, _RATE_CACHE, (token,), 128)
                    yield Read(provider, _RATE)

    def state_of(
        self, facts: PoolFacts, reads: Sequence[Read], given: Sequence[Answer], time_s: int
    ) -> State | None:
        """See ``PoolStates``.

        None when the pool is not there yet, is paused or in recovery mode, or has an amplification that
        changes by the second.
        """
        balances = _balances(facts, given[0])
        answers = (decoded(read.of, answer) for read, answer in zip(reads[1:], given[1:], strict=True))
        if balances is None:
            return None
        paused, fee = first(next(answers)), first(next(answers))
        recovering = first(next(answers)) if facts.family.recovery else False
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


def _balances(facts: PoolFacts, answer: Answer) -> list[int] | None:
    """Returns the balances that ``getPoolTokens`` gave; None when it failed, or of other tokens."""
    if not isinstance(answer, bytes):
        return None
    # Two arrays behind three words.
    words = words_of(answer)
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
        cache, fresh = next(answers), first(next(answers))
        if cache is None:
            return None
        rate, _, _, expires = cache
        if not isinstance(expires, int) or time_s > expires:
            rate = fresh
        if not isinstance(rate, int):
            return None
        factors.append(mul_down(unit, rate))
    return factors
