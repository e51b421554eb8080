"""Computes the trades of a pool and their exact fees from its logs, with what flash loans and donations pay.

v3 and v4 swaps are computed again on the pool's state at that time, which follows from the present ticks and
the events that changed them. Amounts in include the fee.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from quoteway import Block, Chain, GatewayError, Reason, UpstreamError
from quoteway.evm.abi import event_topic, function
from quoteway_amm import PIPS, BandExceeded, ConcentratedPool, combined_fee, fees_of_swap, tick_at_sqrt_ratio
from quoteway_router.logs import LoggedEvent

from quoteway_uniswap.abi_words import signed, words_of
from quoteway_uniswap.candidates import EXTSLOAD
from quoteway_uniswap.creations import V4_INITIALIZE
from quoteway_uniswap.known_pools import KnownPool
from quoteway_uniswap.liquidity_state import Reading, read_pair, read_ranged, v4_tick_slot
from quoteway_uniswap.pool_value import whole_pool
from quoteway_uniswap.state import PoolStates

_V2_SWAP = event_topic("Swap(address,uint256,uint256,uint256,uint256,address)")
_V3_INITIALIZE = event_topic("Initialize(uint160,int24)")
_V3_SWAP = event_topic("Swap(address,address,int256,int256,uint160,uint128,int24)")
_V3_MINT = event_topic("Mint(address,address,int24,int24,uint128,uint256,uint256)")
_V3_BURN = event_topic("Burn(address,int24,int24,uint128,uint256,uint256)")
_V3_PROTOCOL = event_topic("SetFeeProtocol(uint8,uint8,uint8,uint8)")
_V3_FLASH = event_topic("Flash(address,address,uint256,uint256,uint256,uint256)")
_V4_SWAP = event_topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
_V4_MODIFY = event_topic("ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)")
_V4_PROTOCOL = event_topic("ProtocolFeeUpdated(bytes32,uint24)")
_V4_DONATE = event_topic("Donate(bytes32,address,uint256,uint256)")

_V3_TOPICS = [_V3_INITIALIZE, _V3_SWAP, _V3_MINT, _V3_BURN, _V3_PROTOCOL, _V3_FLASH]
_V4_TOPICS = [V4_INITIALIZE, _V4_SWAP, _V4_MODIFY, _V4_PROTOCOL, _V4_DONATE]
PAYING = frozenset(("swap", "flash", "donation"))
"""The events that pay liquidity providers."""

_TICKS = function("ticks(int24 tick) returns (uint128)")

_V2_PROTOCOL_SHARE = 6


@dataclass(frozen=True, slots=True)
class Trade:
    """A swap: the side of its input (0 or 1), the amount and the fees, in base units of that side.

    What a flash loan of v3 or a donation of v4 pays of a side is a trade without an amount: fees, or
    ``donated`` to the liquidity providers in range. ``exact`` is False when the pool's state before it is
    unknown: the fee is then the rate of the input.
    """

    block: int
    side: int
    amount_in: int
    lp_fee: int
    protocol_fee: int
    exact: bool = True
    donated: int = 0


def topics_of(pool: KnownPool) -> list[str | list[str] | None]:
    """Returns the filter of the logs that trades are computed from."""
    if pool.ref.kind == "v2":
        return [_V2_SWAP]
    return [_V3_TOPICS] if pool.ref.kind == "v3" else [_V4_TOPICS, pool.ref.id]


@dataclass(frozen=True, slots=True)
class PoolEvent:
    """An event of a pool or of the PoolManager.

    Amounts are the pool's balance changes; the inputs in v2, and what is paid by a flash loan or a donation.
    """

    name: str
    block: int
    amounts: tuple[int, int] = (0, 0)
    sqrt_price_x96: int = 0
    tick: int = 0
    liquidity: int = 0
    ticks: tuple[int, int] = (0, 0)
    fee: int | None = None
    protocol: tuple[int, int] = (0, 0)
    protocol_before: tuple[int, int] | None = None

    @classmethod
    def read(cls, log: LoggedEvent) -> PoolEvent:
        topic, words, block = log.topics[0], words_of(log.data), log.block
        if topic == _V2_SWAP:
            return cls("swap", block, (words[0], words[1]))
        if topic == _V3_SWAP:
            amounts = signed(words[0]), signed(words[1])
            return cls("swap", block, amounts, words[2], signed(words[4]), words[3])
        if topic == _V4_SWAP:
            amounts = -signed(words[0]), -signed(words[1])
            return cls("swap", block, amounts, words[2], signed(words[4]), words[3], fee=words[5])
        if topic in (_V3_MINT, _V3_BURN):
            ticks = signed(int(log.topics[2], 16)), signed(int(log.topics[3], 16))
            change = words[1] if topic == _V3_MINT else -words[0]
            return cls("change", block, liquidity=change, ticks=ticks)
        if topic == _V4_MODIFY:
            ticks = signed(words[0]), signed(words[1])
            return cls("change", block, liquidity=signed(words[2]), ticks=ticks)
        if topic == _V3_FLASH:
            return cls("flash", block, (words[2], words[3]))
        if topic == _V4_DONATE:
            return cls("donation", block, (words[0], words[1]))
        if topic == _V3_PROTOCOL:
            before, after = (words[0], words[1]), (words[2], words[3])
            return cls("protocol", block, protocol=after, protocol_before=before)
        if topic == _V4_PROTOCOL:
            return cls("protocol", block, protocol=(words[0] & 0xFFF, words[0] >> 12))
        price, tick = words[-2:]
        return cls("initialize", block, sqrt_price_x96=price, tick=signed(tick))


@dataclass(frozen=True, slots=True)
class PairReplay:
    """Computes the trades of a v2 pair, whose fee does not depend on its state."""

    pool: KnownPool
    fee_on: bool

    def copy(self) -> PairReplay:
        return self

    def step(self, event: PoolEvent) -> Iterator[Trade]:
        """Yields one trade per input: UniswapV2Pair.swap allows inputs of both tokens, each with a fee."""
        numerator, denominator = self.pool.ref.v2_fee
        for side, amount in enumerate(event.amounts):
            if amount:
                fee = amount * (denominator - numerator) // denominator
                # Collected at the next mint or burn: a sixth of the growth of the reserves.
                protocol = fee // _V2_PROTOCOL_SHARE if self.fee_on else 0
                yield Trade(event.block, side, amount, fee - protocol, protocol)


class RangeReplay:
    """Applies the events of a v3 or v4 pool in order."""

    def __init__(self, pool: ConcentratedPool, gross: dict[int, int], start_known: bool) -> None:
        self.pool = pool
        self.gross = gross
        self.net = dict(pool.ticks)
        self.known = start_known

    @classmethod
    async def begin(
        cls,
        chain: Chain,
        states: PoolStates,
        known: KnownPool,
        first: int,
        last: Block,
        events: Sequence[PoolEvent],
    ) -> RangeReplay:
        """Returns the pool before the first event: the present one with all changes reverted."""
        pool = await whole_pool(states, last, known.ref)
        if not isinstance(pool, ConcentratedPool):
            raise UpstreamError(
                "Some ticks of the pool could not be read: try again later.", reason=Reason.RPC_ERROR
            )
        changes = [event for event in events if event.name == "change" and event.liquidity]
        touched = sorted({tick for event in changes for tick in event.ticks})
        gross = await _gross(chain, last, known, touched)
        net = dict(pool.ticks)
        for event in changes:
            for tick, sign in zip(event.ticks, (1, -1), strict=True):
                gross[tick] -= event.liquidity
                net[tick] = net.get(tick, 0) - sign * event.liquidity
        ticks = tuple(sorted((tick, value) for tick, value in net.items() if gross.get(tick, 1)))
        pool = replace(pool, ticks=ticks)
        protocol = _protocol_at_start(pool, events)
        pool = replace(pool, protocol_fee_zero_for_one=protocol[0], protocol_fee_one_for_zero=protocol[1])
        before = await _state_before(chain, known, first, events)
        if before is not None:
            price, tick, liquidity = before
            pool = replace(pool, sqrt_price_x96=price, tick=tick, liquidity=liquidity)
        return cls(pool, gross, before is not None)

    def copy(self) -> RangeReplay:
        """Returns a replay that goes on from here by itself."""
        copied = RangeReplay(self.pool, dict(self.gross), self.known)
        copied.net = dict(self.net)
        return copied

    def step(self, event: PoolEvent) -> Iterator[Trade]:
        """Applies an event and yields its trades; nothing for events that pay nothing."""
        if event.name == "change":
            self._change(event)
            return
        if event.name == "protocol":
            zero, one = event.protocol
            self.pool = replace(self.pool, protocol_fee_zero_for_one=zero, protocol_fee_one_for_zero=one)
            return
        if event.name in ("flash", "donation"):
            yield from self._payments(event)
            return
        trade = self._trade(event) if event.name == "swap" else None
        self.pool = replace(
            self.pool, sqrt_price_x96=event.sqrt_price_x96, tick=event.tick, liquidity=event.liquidity
        )
        self.known = True
        if trade is not None:
            yield trade

    def _payments(self, event: PoolEvent) -> Iterator[Trade]:
        """Yields what each side pays. Sources: UniswapV3Pool.flash, whose protocol fee is a share of all that
        is paid, and v4-core Pool.donate, which has none.
        """
        shares = self.pool.protocol_fee_zero_for_one, self.pool.protocol_fee_one_for_zero
        for side, (paid, share) in enumerate(zip(event.amounts, shares, strict=True)):
            if paid and event.name == "donation":
                yield Trade(event.block, side, 0, 0, 0, donated=paid)
            elif paid:
                protocol_fee = paid // share if share else 0
                yield Trade(event.block, side, 0, paid - protocol_fee, protocol_fee)

    def _trade(self, event: PoolEvent) -> Trade | None:
        side = 0 if event.amounts[0] > 0 else 1
        amount_in = event.amounts[side]
        if amount_in <= 0:
            return None
        if self.known:
            try:
                lp_fee, protocol_fee = fees_of_swap(
                    self.pool, side == 0, amount_in, event.sqrt_price_x96, event.fee
                )
                return Trade(event.block, side, amount_in, lp_fee, protocol_fee)
            except (BandExceeded, ValueError):
                pass  # the state does not fit: hooks, or missing logs
        fee = -(-amount_in * (event.fee if event.fee is not None else self.pool.fee_pips) // PIPS)
        setting = self.pool.protocol_fee_zero_for_one if side == 0 else self.pool.protocol_fee_one_for_zero
        if self.pool.kind == "v3":
            protocol_fee = fee // setting if setting else 0
        else:
            protocol_fee = amount_in * setting // PIPS
        return Trade(event.block, side, amount_in, fee - protocol_fee, protocol_fee, exact=False)

    def _change(self, event: PoolEvent) -> None:
        if not event.liquidity:
            return
        for tick, sign in zip(event.ticks, (1, -1), strict=True):
            self.gross[tick] += event.liquidity
            self.net[tick] = self.net.get(tick, 0) + sign * event.liquidity
        inside = event.ticks[0] <= self.pool.tick < event.ticks[1]
        liquidity = self.pool.liquidity + (event.liquidity if inside else 0)
        ticks = list(self.pool.ticks)
        for tick in event.ticks:
            at = bisect_left(ticks, (tick,))
            if at < len(ticks) and ticks[at][0] == tick:
                del ticks[at]
            if self.gross[tick]:
                ticks.insert(at, (tick, self.net[tick]))
        self.pool = replace(self.pool, ticks=tuple(ticks), liquidity=liquidity)


Replay: TypeAlias = PairReplay | RangeReplay


async def begin_replay(
    chain: Chain, states: PoolStates, pool: KnownPool, first: int, last: Block, events: Sequence[PoolEvent]
) -> Replay:
    """Returns the pool before block ``first``, given its events from there to ``last``.

    Raises UpstreamError when the chain cannot be read.
    """
    if pool.ref.kind == "v2":
        return PairReplay(pool, (await read_pair(chain, last, pool)).fee_on)
    return await RangeReplay.begin(chain, states, pool, first, last, events)


async def _gross(chain: Chain, block: Block, pool: KnownPool, ticks: Sequence[int]) -> dict[int, int]:
    """Returns liquidityGross by tick: a tick is initialised while it is not zero."""
    reading = Reading()
    if pool.ref.kind == "v3":
        reads = [reading.add(pool.ref.target, _TICKS, tick) for tick in ticks]
    else:
        slots = [v4_tick_slot(pool.ref.id, tick).to_bytes(32) for tick in ticks]
        reads = [reading.add(pool.ref.target, EXTSLOAD, slot) for slot in slots]
    if reads:
        await reading.run(chain, block)
    return {tick: reading.word(read) & ((1 << 128) - 1) for tick, read in zip(ticks, reads, strict=True)}


def _protocol_at_start(pool: ConcentratedPool, events: Sequence[PoolEvent]) -> tuple[int, int]:
    """Returns the protocol fees before the first event."""
    changed = next((event for event in events if event.name == "protocol"), None)
    if changed is None:
        return pool.protocol_fee_zero_for_one, pool.protocol_fee_one_for_zero
    if changed.protocol_before is not None:
        return changed.protocol_before
    # The v4 event does not give the previous fee; it follows from the total fee of earlier swaps.
    found = [0, 0]
    for event in events[: events.index(changed)]:
        if event.name == "swap" and event.fee is not None:
            side = 0 if event.amounts[0] > 0 else 1
            fits = (p for p in range(1001) if combined_fee(p, pool.fee_pips) == event.fee)
            found[side] = next(fits, 0)
    return found[0], found[1]


async def _state_before(
    chain: Chain, pool: KnownPool, first: int, events: Sequence[PoolEvent]
) -> tuple[int, int, int] | None:
    """Returns (sqrt price, tick, liquidity) before the first event; None when it cannot be read."""
    made = next((event for event in events if event.name == "initialize"), None)
    if made is not None:
        return made.sqrt_price_x96, tick_at_sqrt_ratio(made.sqrt_price_x96), 0
    try:
        block = await chain.block(first - 1) if first else None
        if block is None:
            return None
        (state,) = await read_ranged(chain, block, [pool])
    except GatewayError:
        return None
    return (state.sqrt_price_x96, state.tick, state.liquidity) if state.sqrt_price_x96 else None
