"""Applies the event logs of a block to the states of pools: the result is what a new read would give.

Sources: UniswapV2Pair, IUniswapV3PoolEvents, v4-core IPoolManager. Logs that change nothing in a state are
named; after any other log the pool is read again, so that a fork's own events cannot go unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from quoteway.evm.abi import event_topic
from quoteway_amm import AlgebraPool, ConcentratedPool, Pool, V2Pool, sqrt_ratio_at_tick, word_of_tick
from quoteway_router.logs import LoggedEvent

from quoteway_uniswap.abi_words import signed, words_of

V2_SYNC = event_topic("Sync(uint112,uint112)")
V3_SWAP = event_topic("Swap(address,address,int256,int256,uint160,uint128,int24)")
PANCAKE_SWAP = event_topic("Swap(address,address,int256,int256,uint160,uint128,int24,uint128,uint128)")
"""PancakeV3Pool appends two protocol fees to the event of v3."""
V3_MINT = event_topic("Mint(address,address,int24,int24,uint128,uint256,uint256)")
V3_BURN = event_topic("Burn(address,int24,int24,uint128,uint256,uint256)")
V3_PROTOCOL = event_topic("SetFeeProtocol(uint8,uint8,uint8,uint8)")
PANCAKE_PROTOCOL = event_topic("SetFeeProtocol(uint32,uint32,uint32,uint32)")
ALGEBRA_FEE = event_topic("Fee(uint16)")
"""A pool of Algebra Integral has another fee from now on. Its other events are those of v3."""
V4_SWAP = event_topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
V4_MODIFY = event_topic("ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)")
V4_PROTOCOL = event_topic("ProtocolFeeUpdated(bytes32,uint24)")

_NO_CHANGE = frozenset(
    event_topic(signature)
    for signature in (
        # v2: each change of the reserves is told by a Sync of its own.
        "Swap(address,uint256,uint256,uint256,uint256,address)",
        "Mint(address,uint256,uint256)",
        "Burn(address,uint256,uint256,address)",
        "Transfer(address,address,uint256)",
        "Approval(address,address,uint256)",
        # v3
        "Collect(address,address,int24,int24,uint128,uint128)",
        "CollectProtocol(address,address,uint128,uint128)",
        "Flash(address,address,uint256,uint256,uint256,uint256)",
        "IncreaseObservationCardinalityNext(uint16,uint16)",
        # v4
        "Donate(bytes32,address,uint256,uint256)",
    )
)


class StateUnknown(Exception):  # noqa: N818 - a request to read the pool again
    """The events do not tell the pool's state, or contradict it."""


def patched(pool: Pool, logs: Iterable[LoggedEvent]) -> Pool:
    """Returns the pool after its logs of a block, in their order.

    Raises StateUnknown when the pool has to be read again.
    """
    logs = [log for log in logs if not log.topics or log.topics[0] not in _NO_CHANGE]
    if not logs:
        return pool
    try:
        if isinstance(pool, V2Pool):
            return _synced(pool, logs)
        assert isinstance(pool, ConcentratedPool)
        change = _Change(pool)
        for log in logs:
            change.apply(log)
        return change.result()
    except (ValueError, IndexError) as error:
        raise StateUnknown(f"pool {pool.id}: {error}") from error


def _synced(pair: V2Pool, logs: Iterable[LoggedEvent]) -> V2Pool:
    for log in logs:
        if log.topics[0] != V2_SYNC:
            raise StateUnknown(f"pair {pair.id}: event {log.topics[0]} is not known")
        reserve0, reserve1 = words_of(log.data)
        pair = replace(pair, reserve0=reserve0, reserve1=reserve1)
    if not pair.has_liquidity:
        raise StateUnknown(f"pair {pair.id}: it was emptied")
    return pair


class _Change:
    """The state of a v3 or v4 pool while its events are applied."""

    def __init__(self, pool: ConcentratedPool) -> None:
        self._pool = pool
        self._sqrt_price_x96, self._tick, self._liquidity = pool.sqrt_price_x96, pool.tick, pool.liquidity
        self._fee_pips = pool.fee_pips
        self._protocol = pool.protocol_fee_zero_for_one, pool.protocol_fee_one_for_zero
        self._net = dict(pool.ticks)
        self._gross: dict[int, int] = {}
        """liquidityGross of the ticks that these events initialised; it is not known of others."""

    def apply(self, log: LoggedEvent) -> None:
        """Applies one event. Raises StateUnknown, ValueError or IndexError when that is not possible."""
        topic, words = log.topics[0], words_of(log.data)
        if topic in (V3_SWAP, PANCAKE_SWAP, V4_SWAP):
            self._swap(words[2], words[3], signed(words[4], 24))
        elif topic in (V3_MINT, V3_BURN):
            lower, upper = (signed(int(tick, 16), 24) for tick in log.topics[2:4])
            self._modify(lower, upper, words[1] if topic == V3_MINT else -words[0])
        elif topic == V4_MODIFY:
            self._modify(signed(words[0], 24), signed(words[1], 24), signed(words[2]))
        elif topic == ALGEBRA_FEE and isinstance(self._pool, AlgebraPool):
            self._fee_pips = words[0]
        elif topic in (V3_PROTOCOL, PANCAKE_PROTOCOL):
            self._protocol = words[2], words[3]
        elif topic == V4_PROTOCOL:
            self._protocol = words[0] & 0xFFF, words[0] >> 12
        else:
            raise StateUnknown(f"pool {self._pool.id}: event {topic} is not known")

    def result(self) -> ConcentratedPool:
        """Returns the state. Raises StateUnknown when the price left the known words."""
        pool = self._pool
        word = word_of_tick(self._tick, pool.tick_spacing)
        if not pool.word_lo <= word <= max(pool.word_hi, pool.word_lo):
            raise StateUnknown(f"pool {pool.id}: the price left the known ticks")
        return replace(
            pool,
            fee_pips=self._fee_pips,
            sqrt_price_x96=self._sqrt_price_x96,
            tick=self._tick,
            liquidity=self._liquidity,
            ticks=tuple(sorted(self._net.items())),
            protocol_fee_zero_for_one=self._protocol[0],
            protocol_fee_one_for_zero=self._protocol[1],
        )

    def _swap(self, sqrt_price_x96: int, liquidity: int, tick: int) -> None:
        # A swap that ends on a tick it crossed downwards is on the lower side of it.
        if not sqrt_ratio_at_tick(tick) <= sqrt_price_x96 <= sqrt_ratio_at_tick(tick + 1):
            raise StateUnknown(f"pool {self._pool.id}: tick {tick} is not that of the price")
        if self._known(tick) and self._known(self._tick):
            low, high = sorted((self._tick, tick))
            crossed = sum(net for index, net in self._net.items() if low < index <= high)
            expected = self._liquidity + (crossed if tick > self._tick else -crossed)
            if liquidity != expected:
                # An event of before was left out, or the known ticks are wrong.
                raise StateUnknown(
                    f"pool {self._pool.id}: a swap to tick {tick} left liquidity {liquidity}, not {expected}"
                )
        self._sqrt_price_x96, self._liquidity, self._tick = sqrt_price_x96, liquidity, tick

    def _modify(self, lower: int, upper: int, change: int) -> None:
        if not change:  # collects fees
            return
        for tick, net in ((lower, change), (upper, -change)):
            if self._known(tick):
                self._move(tick, net, change)
        if lower <= self._tick < upper:
            self._liquidity += change
        if self._liquidity < 0:
            raise StateUnknown(f"pool {self._pool.id}: its liquidity would be negative")

    def _move(self, tick: int, net: int, gross: int) -> None:
        """Changes a known tick. Source: Tick.update: it is initialised while liquidityGross is not zero."""
        before = self._net.get(tick)
        if before is None:
            if gross < 0:
                raise StateUnknown(f"pool {self._pool.id}: tick {tick} had no liquidity to remove")
            self._net[tick], self._gross[tick] = net, gross
            return
        self._net[tick] = before + net
        if tick in self._gross:
            self._gross[tick] += gross
            if self._gross[tick] == 0:
                del self._net[tick], self._gross[tick]
        elif gross < 0 and self._net[tick] == 0:
            # No liquidity is left, or positions that begin there and others that end there are equal.
            raise StateUnknown(f"pool {self._pool.id}: tick {tick} may still be initialised")

    def _known(self, tick: int) -> bool:
        return self._pool.word_lo <= word_of_tick(tick, self._pool.tick_spacing) <= self._pool.word_hi
