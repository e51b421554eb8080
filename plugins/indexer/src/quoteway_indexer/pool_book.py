"""The hours of pools, kept in memory for series: one entry for every hour, also for those without events.

What an hour moved is in US dollars at the mean price of its tokens in that hour, what stood at its end at the
closing price.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from cachetools import LRUCache
from quoteway import NATIVE, Address, Context, Token
from quoteway.evm.address import checksum
from quoteway.evm.single_flight import SingleFlight

from quoteway_indexer.hours import HOUR_S, NAN, HourColumns
from quoteway_indexer.pool_rows import AMOUNTS, FLOWS, STATES, PoolRows
from quoteway_indexer.progress import Progress, read_progress
from quoteway_indexer.store import Condition, Reader, Row, Select
from quoteway_indexer.token_book import CLOSE, MEAN, TokenBook

_MOST_HOURS = 400_000
_POINTS_OF_AN_HOUR = 8
"""So many points take as much memory as an hour."""
_NEVER = 2**63
"""After every hour."""
_STALE_S = 60
"""How long hours are used while nothing says how far they are computed."""
_BLOCK_S = 28 * 86_400
"""Reading begins at a multiple of this, so that a span a little longer is not read anew."""


@dataclass(frozen=True, slots=True)
class KnownPool:
    """A pool of an index; ``since`` is the hour of its first row. See ``PoolRows`` for ``of_tokens``."""

    chain_id: int
    pool: bytes
    source: str
    tokens: tuple[Token, ...]
    created: int
    since: int
    of_tokens: bool


@dataclass(slots=True)
class PoolHours:
    """The hours of a pool since ``first``, up to and with the one of ``until``.

    A side is a token of the pool. ``usd`` has a column for each of ``AMOUNTS``. ``sums`` has for each flow
    and side the base units before each hour, of which those of the hours ``unknown`` are missing; ``states``
    for each state and side those at the end of each hour, and ``inexact`` the events before each hour that
    are not exact. ``rows`` are those that were read last, with the ``prices`` of the tokens. ``points`` has,
    for each metric and interval that was asked for, the values of successive intervals that ended before
    ``until``.
    """

    known: KnownPool
    first: int
    until: int = 0
    revision: int = -1
    basis: str = ""
    closed: int = 0
    read_at: int = 0
    usd: HourColumns = field(init=False)
    sums: list[list[int]] = field(init=False)
    states: list[list[int | None]] = field(init=False)
    unknown: dict[int, list[int]] = field(default_factory=dict)
    inexact: list[int] = field(default_factory=lambda: [0])
    rows: list[Row] = field(default_factory=list)
    prices: list[HourColumns] = field(default_factory=list)
    points: dict[tuple[str, int], list[tuple[int, float | None]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.usd = HourColumns(self.first, tuple(array("d") for _ in AMOUNTS))
        self.sums = [[0] for _ in range(self.sides * len(FLOWS))]
        self.states = [[] for _ in range(self.sides * len(STATES))]

    @property
    def sides(self) -> int:
        """Returns how many tokens the pool has."""
        return len(self.known.tokens)

    @property
    def size(self) -> int:
        return 1 + len(self.states[0]) + sum(map(len, self.points.values())) // _POINTS_OF_AN_HOUR

    @property
    def end(self) -> int:
        """Returns the end of the last hour."""
        return self.first + HOUR_S * len(self.states[0])

    def place(self, moment: int) -> int:
        """Returns the index of the hour of a time, within the hours that are known."""
        return min(max(0, (moment - self.first) // HOUR_S), len(self.states[0]))

    def amount(self, name: str, side: int, first: int, until: int) -> int | None:
        """Returns the base units that moved in the hours from ``first`` and before ``until``.

        None when those of an hour among them are not known.
        """
        place = self.sides * FLOWS.index(name) + side
        start, end = self.place(first), self.place(until)
        hours = self.unknown.get(place, ())
        if bisect_left(hours, self.first + HOUR_S * start) < bisect_left(hours, self.first + HOUR_S * end):
            return None
        return self.sums[place][end] - self.sums[place][start]

    def cut(self, hour: int) -> None:
        """Forgets this hour and later ones."""
        place = self.place(hour)
        self.usd.cut(hour)
        for sums in (*self.sums, self.inexact):
            del sums[place + 1 :]
        for states in self.states:
            del states[place:]
        for hours in self.unknown.values():
            del hours[bisect_left(hours, hour) :]
        for (_, step_s), points in self.points.items():
            while points and points[-1][0] + step_s > hour:
                points.pop()


class PoolBook:
    """The hours of the pools of one index."""

    def __init__(self, context: Context, reader: Reader, tokens: TokenBook) -> None:
        self._context = context
        self._reader = reader
        self._tokens = tokens
        self._known: LRUCache[tuple[int, bytes], tuple[str, KnownPool]] = LRUCache(50_000)
        self._kept: LRUCache[tuple[int, bytes], PoolHours] = LRUCache(_MOST_HOURS, lambda kept: kept.size)
        self._progress: dict[int, tuple[int, Progress]] = {}
        self._flights = SingleFlight()
        self._newest = 0

    def clear(self) -> None:
        """Forgets everything."""
        for kept in (self._known, self._kept, self._progress):
            kept.clear()
        self._tokens.clear()

    async def progress(self, chain_id: int, revision: int) -> Progress:
        """Returns how far a chain is computed."""
        known = self._progress.get(chain_id)
        if known is None or known[0] != revision:
            self._progress[chain_id] = known = revision, await read_progress(self._reader, chain_id)
        return known[1]

    async def hours(self, chain_id: int, pool: bytes, start: int) -> PoolHours | None:
        """Returns the hours of a pool from ``start`` or an earlier hour; None when they are not indexed.

        Do not change them. Raises ``UpstreamError`` when the index cannot be read.
        """
        revision = await self._reader.revision()
        if revision < self._newest:  # another index
            self.clear()
        self._newest = revision
        kept = self._kept.get((chain_id, pool))
        if kept is not None and kept.revision >= revision and _reaches(kept, start):
            return kept
        key = chain_id, pool, start // _BLOCK_S, revision
        found: PoolHours | None = await self._flights.run(
            key, lambda: self._read(chain_id, pool, start, revision)
        )
        return found

    async def _read(self, chain_id: int, pool: bytes, start: int, revision: int) -> PoolHours | None:
        progress = await self.progress(chain_id, revision)
        kept = self._kept.get((chain_id, pool))
        if kept is not None and kept.known.source not in progress.pools:
            # A reorganisation: what comes instead is being computed.
            return kept if self._context.now() - kept.read_at < _STALE_S else None
        known = await self._pool(chain_id, pool, progress)
        if known is None or progress.pools.get(known.source, 0) <= known.since:
            return None
        first = max(known.since, start // _BLOCK_S * _BLOCK_S)
        if kept is None or kept.basis != _basis(progress, known) or kept.first > first:
            kept = PoolHours(known, first, basis=_basis(progress, known), closed=first)
        await self._read_on(kept, progress, revision)
        self._kept[chain_id, pool] = kept
        return kept

    async def _read_on(self, kept: PoolHours, progress: Progress, revision: int) -> None:
        """Reads the hours that may have changed since the hours of ``kept`` were read."""
        known, since = kept.known, kept.closed
        until = progress.pools[known.source]
        reading = PoolRows(self._reader, known.chain_id, known.pool, known.of_tokens)
        rows = await reading.since(since, kept.sides)
        before: list[int | None] = []
        if since <= kept.first:
            before = [_integer(value) for value in await reading.states_before(since, kept.sides)]
        named = [_priced_as(self._context, token) for token in known.tokens]
        prices = [
            await self._tokens.prices(known.chain_id, each, kept.first, revision, progress) for each in named
        ]
        if kept.revision >= revision:
            return  # another call was quicker
        priced = [
            self._tokens.changed_after(known.chain_id, token, kept.revision)
            for token, each, was in zip(named, prices, kept.prices, strict=False)
            if each is was
        ]
        if len(priced) == len(named):
            # Most commits change the newest hour of few pools: the other hours are as they were.
            changed = min(_first_difference(kept.rows, rows, since), kept.end, *priced)
            since = max(since, changed if until >= kept.until else min(changed, until // HOUR_S * HOUR_S))
        if since > kept.first:
            before = [states[kept.place(since) - 1] for states in kept.states]
        kept.cut(since)
        _append(kept, rows, before, prices, since, until)
        kept.rows, kept.prices = rows, prices
        kept.until, kept.revision, kept.read_at = until, revision, self._context.now()
        kept.closed = max(kept.first, progress.closed(known.source) // HOUR_S * HOUR_S)

    async def _pool(self, chain_id: int, pool: bytes, progress: Progress) -> KnownPool | None:
        found = self._known.get((chain_id, pool))
        if found is not None and found[0] == progress.basis:
            return found[1]
        where = Condition("chain_id", "=", chain_id), Condition("pool", "=", pool)
        columns = ("source", "token0", "token1", "timestamp")
        created = await self._reader.fetch(Select("pool_created", columns, where))
        if not created:
            return None
        source, *pair, at = created[0]
        addresses = [each for each in pair if isinstance(each, bytes)]
        of_tokens = not addresses
        reading = PoolRows(self._reader, chain_id, pool, of_tokens)
        since = await reading.first()
        if since is None:
            return None
        if of_tokens:
            addresses = await reading.tokens()
        tokens = []
        for each in addresses:
            token = await self._context.token(chain_id, checksum("0x" + each.hex()))
            if token is None:
                return None
            tokens.append(token)
        moment = max(int(at or 0), since)
        known = KnownPool(chain_id, pool, str(source), tuple(tokens), moment, since, of_tokens)
        # A pool of several tokens may get one more.
        if progress.closed(known.source) > known.created and not of_tokens:
            self._known[chain_id, pool] = progress.basis, known
        return known


def _append(
    kept: PoolHours,
    rows: Sequence[Row],
    before: Sequence[int | None],
    prices: Sequence[HourColumns],
    since: int,
    until: int,
) -> None:
    """Adds the hours from ``since``. Those without a row moved nothing and end as the one before."""
    decimals = [10**token.decimals for token in kept.known.tokens]
    sides = kept.sides
    summed = sides * len(FLOWS)
    by_hour = {row[0]: row for row in rows}
    states = list(before)
    sums = [column[-1] for column in kept.sums]
    inexact = kept.inexact[-1]
    added = []
    for hour in range(since, until, HOUR_S):
        mean = [column.at(MEAN, hour) for column in prices]
        close = [column.at(CLOSE, hour) for column in prices]
        row = by_hour.get(hour)
        if row is None:
            flows: list[int | None] = [0] * summed
            held = [None if value is None else value * HOUR_S for value in states[:sides]]
        else:
            inexact += _integer(row[1]) or 0
            numbers = [_integer(value) for value in row[2:]]
            flows, standing = numbers[:summed], numbers[summed:]
            held, states = standing[:sides], standing[sides:]
            for place in [place for place, amount in enumerate(flows) if amount is None]:
                kept.unknown.setdefault(place, []).append(hour)
            sums = [total + amount if amount else total for total, amount in zip(sums, flows, strict=True)]
        moved = [_usd(flows[at : at + sides], decimals, mean) for at in range(0, summed, sides)]
        stood = [_usd(states[at : at + sides], decimals, close) for at in range(0, len(states), sides)]
        added.append((hour, (*moved, _usd(held, decimals, mean), *stood)))
        for column, total in zip(kept.sums, sums, strict=True):
            column.append(total)
        for column_of_states, value in zip(kept.states, states, strict=True):
            column_of_states.append(value)
        kept.inexact.append(inexact)
    kept.usd.add(added)


def _first_difference(before: Sequence[Row], after: Sequence[Row], since: int) -> int:
    """Returns the first hour from ``since`` on whose row is another one; one after all when none is."""
    known = [row for row in before if (_integer(row[0]) or 0) >= since]
    for one, other in zip_longest(known, after):
        if one != other:
            return min(_integer(row[0]) or 0 for row in (one, other) if row is not None)
    return _NEVER


def _usd(amounts: Sequence[int | None], decimals: Sequence[int], prices: Sequence[float]) -> float:
    """Returns the US dollars of all sides; NaN when an amount, or the price of one, is not known."""
    total = 0.0
    for amount, unit, price in zip(amounts, decimals, prices, strict=True):
        if amount is None:
            return NAN
        if amount:
            total += amount / unit * price
    return total


def _basis(progress: Progress, known: KnownPool) -> str:
    version = progress.versions.get(known.source)
    return f"{progress.basis} {known.source} {version} {known.since} {len(known.tokens)}"


def _reaches(kept: PoolHours, start: int) -> bool:
    return kept.first <= max(kept.known.since, start)


def _priced_as(context: Context, token: Token) -> Address:
    network = context.networks.by_chain_id(token.chain_id)
    wrapped = None if network is None else network.wrapped_native
    return wrapped if token.address == NATIVE and wrapped is not None else token.address


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) else None
