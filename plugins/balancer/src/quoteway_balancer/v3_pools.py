"""The weighted pools of Balancer v3: what never changes of them, and their states at a block.

The Vault tells everything about a pool: its balances less the yield fees that are due, and the rates that a
swap in this block would use. Source: VaultExtension.sol (getPoolData), WeightedPool.sol.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from quoteway import Address, Chain
from quoteway.evm.abi import function
from quoteway_amm.balancer_v3 import WeightedV3Pool

from quoteway_balancer.reading import Answer, PoolStates, Read, decoded, first, words_of

log = logging.getLogger(__name__)

_WEIGHTS = function("getNormalizedWeights() returns (uint256[])")
_LEAST_BALANCES = function("getMinTokenBalances() returns (uint256[])")
_TOKENS = function("getPoolTokens(address pool) returns (address[])")
_LEAST_TRADE = function("getMinimumTradeAmount() returns (uint256)")
_HOOKS = function(
    "getHooksConfig(address pool) returns ((bool enableHookAdjustedAmounts, bool shouldCallBeforeInitialize,"
    " bool shouldCallAfterInitialize, bool shouldCallComputeDynamicSwapFee, bool shouldCallBeforeSwap,"
    " bool shouldCallAfterSwap, bool shouldCallBeforeAddLiquidity, bool shouldCallAfterAddLiquidity,"
    " bool shouldCallBeforeRemoveLiquidity, bool shouldCallAfterRemoveLiquidity, address hooksContract))"
)
_OF_SWAPS = slice(3, 6)
"""The places in ``getHooksConfig`` of the hooks that a swap calls."""
_DATA = function(
    "getPoolData(address pool) returns ((bytes32 poolConfigBits, address[] tokens, (uint8 tokenType,"
    " address rateProvider, bool paysYieldFees)[] tokenInfo, uint256[] balancesRaw,"
    " uint256[] balancesLiveScaled18, uint256[] tokenRates, uint256[] decimalScalingFactors))"
)
_SWAP_FEE = function("getStaticSwapFeePercentage(address pool) returns (uint256)")
_POOL_PAUSED = function("isPoolPaused(address pool) returns (bool)")
_VAULT_PAUSED = function("isVaultPaused() returns (bool)")

MOST_TOKENS = 8
"""What the Vault allows."""


@dataclass(frozen=True, slots=True)
class V3Facts:
    """A weighted pool without hooks in swaps; ``id`` is its address. Values as in ``WeightedV3Pool``."""

    id: Address
    tokens: tuple[Address, ...]
    weights: tuple[int, ...]
    least_balances: tuple[int, ...]
    least_trade: int

    @property
    def traded(self) -> tuple[int, ...]:
        """Returns the places of all tokens."""
        return tuple(range(len(self.tokens)))


async def read_v3_facts(
    chain: Chain, vault: Address, families: Mapping[Address, str]
) -> dict[Address, V3Facts]:
    """Returns the facts of pools by address.

    Pools whose hooks may change swaps are left out, and so are those that answer otherwise than weighted
    pools of the release that ``WeightedV3Pool`` was compared with: the log says so.
    """
    of_array = 32 * (2 + MOST_TOKENS)
    reads = [
        (
            Read(pool, _WEIGHTS, bytes=of_array),
            Read(pool, _LEAST_BALANCES, bytes=of_array),
            Read(vault, _TOKENS, (pool,), of_array),
            Read(vault, _HOOKS, (pool,), 352),
        )
        for pool in families
    ]
    calls = [Read(vault, _LEAST_TRADE).call, *(read.call for each in reads for read in each)]
    trade, *rest = await chain.call_many(calls, block="latest")
    least_trade = first(decoded(_LEAST_TRADE, trade))
    answers = iter(rest)
    found = {}
    for pool, mine in zip(families, reads, strict=True):
        values = [first(decoded(read.of, next(answers))) for read in mine]
        facts = _facts(pool, values, least_trade)
        if facts is None:
            log.warning("%s is no weighted pool of a known release without hooks in swaps: not used", pool)
        else:
            found[pool] = facts
    return found


def _facts(pool: Address, values: Sequence[object], least_trade: object) -> V3Facts | None:
    weights, least, tokens, hooks = values
    if not (isinstance(weights, tuple) and isinstance(least, tuple) and isinstance(tokens, tuple)):
        return None
    if not isinstance(hooks, tuple) or any(hooks[_OF_SWAPS]) or not isinstance(least_trade, int):
        return None
    if not len(weights) == len(least) == len(tokens) >= 2:
        return None
    return V3Facts(pool, tokens, weights, least, least_trade)


class VaultV3States(PoolStates[V3Facts]):
    """The states of the pools of one Vault."""

    def __init__(self, chain: Chain, vault: Address, clock: Callable[[], float]) -> None:
        super().__init__(chain, clock)
        self._vault = vault

    def paused(self) -> Read:
        """See ``PoolStates``."""
        return Read(self._vault, _VAULT_PAUSED)

    def reads_of(self, facts: V3Facts) -> Iterator[Read]:
        """See ``PoolStates``."""
        yield Read(self._vault, _DATA, (facts.id,), _data_bytes(len(facts.tokens)))
        yield Read(self._vault, _SWAP_FEE, (facts.id,))
        yield Read(self._vault, _POOL_PAUSED, (facts.id,))

    def state_of(
        self, facts: V3Facts, reads: Sequence[Read], given: Sequence[Answer], time_s: int
    ) -> WeightedV3Pool | None:
        """See ``PoolStates``. None while the pool is not initialised, or is paused."""
        data, fee, paused = given
        arrays = _arrays(facts, data)
        swap_fee = first(decoded(_SWAP_FEE, fee))
        if arrays is None or not isinstance(swap_fee, int):
            return None
        if first(decoded(_POOL_PAUSED, paused)) is not False:
            return None
        balances, _, rates, factors = arrays
        try:
            return WeightedV3Pool(
                facts.id, facts.tokens, balances, factors, rates, swap_fee, facts.weights,
                facts.least_balances, facts.least_trade,
            )  # fmt: skip
        except ValueError:
            return None


def _data_bytes(count: int) -> int:
    """Returns how many bytes ``getPoolData`` returns of so many tokens: 8 words, five arrays, one of
    three members each."""
    return 32 * (14 + 8 * count)


def _arrays(facts: V3Facts, answer: Answer) -> list[tuple[int, ...]] | None:
    """Returns the balances, the live balances, the rates and the decimal factors that ``getPoolData`` gave;
    None when it failed, or of other tokens."""
    count = len(facts.tokens)
    if not isinstance(answer, bytes) or len(answer) != _data_bytes(count):
        return None
    words = words_of(answer)
    # An offset, then the struct: config bits, offsets of six arrays, the arrays one after another.
    sizes = [1 + count, 1 + 3 * count, *[1 + count] * 4]
    starts = [7 + sum(sizes[:at]) for at in range(6)]
    members = words[1:]
    if words[0] != 32 or members[1:7] != [32 * start for start in starts]:
        return None
    if any(members[start] != count for start in starts):
        return None
    tokens, _, *arrays = (
        tuple(members[start + 1 : start + size]) for start, size in zip(starts, sizes, strict=True)
    )
    return arrays if tokens == tuple(int(token, 16) for token in facts.tokens) else None
