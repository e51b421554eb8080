"""TVL and APY over time, from the vault's own state at past blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from quoteway import Block, FieldError, GrowthWindow, InvalidRequest, Reason, Series, SharePrice

from quoteway_erc4626.facts import VaultFacts
from quoteway_erc4626.history import History
from quoteway_erc4626.interface import CONVERT_TO_ASSETS, TOTAL_ASSETS
from quoteway_erc4626.terms import price_exponent, read, whole_price

MAX_POINTS = 100
"""Limit of a series: each point reads a past state."""
YEAR_S = 31_536_000
DAY_S = 86_400
WINDOWS_S: Mapping[str, int] = {"1d": DAY_S, "7d": 7 * DAY_S, "30d": 30 * DAY_S}
TRAILING = "7d"
Interval: TypeAlias = Literal["1h", "1d", "1w"]
_INTERVALS_S: Mapping[str, int] = {"1h": 3_600, "1d": DAY_S, "1w": 7 * DAY_S}


@dataclass(frozen=True, slots=True)
class Growth:
    """The share price at two blocks. ``value`` is the yearly rate, None when a price is unknown."""

    first: Block | None
    first_price: int | None
    last: Block
    last_price: int | None

    @property
    def value(self) -> float | None:
        """``(last / first) ** (year / elapsed) - 1``; negative after a loss."""
        if self.first is None or not self.first_price or self.last_price is None:
            return None
        elapsed_s = self.last.timestamp - self.first.timestamp
        if elapsed_s <= 0:
            return None
        try:
            return float((self.last_price / self.first_price) ** (YEAR_S / elapsed_s)) - 1.0
        except OverflowError:
            return None

    def ends(self, facts: VaultFacts, window: str) -> GrowthWindow:
        """Returns both prices as an answer shows them."""
        return GrowthWindow(
            window,
            _shown(facts, self.first, self.first_price),
            _shown(facts, self.last, self.last_price),
        )

    def __str__(self) -> str:
        if self.first is None:
            return "the chain did not exist then"
        ends = f"block {self.first.number} (t={self.first.timestamp}, p={_known(self.first_price)}) to "
        ends += f"block {self.last.number} (t={self.last.timestamp}, p={_known(self.last_price)})"
        if self.value is not None:
            return ends
        if self.first.number == self.last.number:
            return f"{ends}: no blocks in between"
        return f"{ends}: the node has no state of that block, the vault did not exist, or it gave no price"


async def tvl_series(
    history: History, facts: VaultFacts, head: Block, start: int, end: int, interval: str, now: int
) -> Series:
    """Returns ``totalAssets`` in whole assets. Raises ``InvalidRequest`` for more than ``MAX_POINTS``
    points."""
    grid = _grid(start, end, interval)
    blocks = await history.blocks_at(at for at in grid if at <= now)
    reading = [block for block in blocks.values() if block is not None]
    totals = await history.words_at(read(facts, TOTAL_ASSETS.encode([])), [*reading, head])

    def whole(block: Block | None) -> float | None:
        total = totals.get(block.number) if block is not None else None
        return None if total is None else total / 10**facts.asset.decimals

    points = tuple((at, whole(blocks.get(at))) for at in grid)
    return Series(
        id=facts.id,
        metric="tvl",
        unit=facts.asset.symbol or facts.asset.address,
        interval=_interval(interval),
        start=start,
        end=end,
        points=points,
        source="chain",
        method="totalAssets() of the vault in whole units of its asset, at the last block before each point",
        updated_at=head.timestamp,
        current=whole(head),
        block=head,
        gaps=_gaps(points),
        components={"assets": whole(head), "usd": None},
    )


async def apy_series(
    history: History, facts: VaultFacts, head: Block, start: int, end: int, interval: str, now: int
) -> Series:
    """Returns the yearly rate over the seven days before each point. Raises as ``tvl_series`` does."""
    grid = _grid(start, end, interval)
    pairs = [(at, at - WINDOWS_S[TRAILING]) for at in grid if at <= now]
    windows = {name: (now, now - span_s) for name, span_s in WINDOWS_S.items()}
    found = await growths(history, facts, [*pairs, *windows.values()])
    points = tuple((at, found[at, at - WINDOWS_S[TRAILING]].value if at <= now else None) for at in grid)
    ends = "; ".join(f"{name}: {found[pair]}" for name, pair in windows.items())
    current = found[windows[TRAILING]].value
    return Series(
        id=facts.id,
        metric="apy",
        unit="fraction",
        interval=_interval(interval),
        start=start,
        end=end,
        points=points,
        source="chain",
        method=(
            f"(p1/p0)^({YEAR_S}/(t1-t0)) - 1, p = convertToAssets(10^{price_exponent(facts)}); "
            f"points and current over the {TRAILING} before them. {ends}"
        ),
        updated_at=head.timestamp,
        current=current,
        block=head,
        gaps=_gaps(points),
        components={"base": current, "reward": None},
        windows={name: found[pair].value for name, pair in windows.items()},
        endpoints=tuple(found[pair].ends(facts, name) for name, pair in windows.items()),
    )


async def growths(
    history: History, facts: VaultFacts, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], Growth]:
    """Returns the share price's growth for each pair of Unix times (later, earlier)."""
    blocks = await history.blocks_at(at for pair in pairs for at in pair)
    price = read(facts, CONVERT_TO_ASSETS.encode([10 ** price_exponent(facts)]))
    prices = await history.words_at(price, [block for block in blocks.values() if block is not None])
    found = {}
    for pair in pairs:
        last, first = (blocks[at] for at in pair)
        if last is not None:
            first_price = prices[first.number] if first is not None else None
            found[pair] = Growth(first, first_price, last, prices[last.number])
        else:
            found[pair] = Growth(None, None, Block(0, "", 0), None)
    return found


def _grid(start: int, end: int, interval: str) -> list[int]:
    step = _INTERVALS_S[interval]
    count = (end - start) // step + 1
    if count > MAX_POINTS:
        message = f"gives more than {MAX_POINTS} points: choose a longer interval or a shorter range"
        raise InvalidRequest(
            f"interval: {message}.",
            reason=Reason.OUT_OF_RANGE,
            fields=[FieldError("interval", Reason.OUT_OF_RANGE, message)],
        )
    return [end - step * index for index in reversed(range(count))]


def _gaps(points: Sequence[tuple[int, float | None]]) -> tuple[tuple[int, int], ...]:
    gaps: list[tuple[int, int]] = []
    before: float | None = 0.0
    for at, value in points:
        if value is None:
            gaps = [*gaps[:-1], (gaps[-1][0], at)] if before is None and gaps else [*gaps, (at, at)]
        before = value
    return tuple(gaps)


def _interval(text: str) -> Interval:
    match text:
        case "1h" | "1d" | "1w":
            return text
    raise ValueError(f"interval {text!r} is not one of 1h, 1d, 1w")


def _shown(facts: VaultFacts, block: Block | None, price: int | None) -> SharePrice | None:
    if block is None or price is None:
        return None
    return SharePrice(block.number, block.timestamp, whole_price(facts, price, price_exponent(facts)))


def _known(price: int | None) -> str:
    return "unknown" if price is None else str(price)
