"""The prices of tokens over time: ``token_hour`` from ``pool_hour``."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from quoteway import NATIVE, Address, Chain, Context, GatewayError
from quoteway.evm.address import address_bytes, checksum

from quoteway_indexer.computing import Computation, Frontier
from quoteway_indexer.price_graph import (
    PoolPrices,
    Rate,
    TokenPrice,
    Vote,
    agreed_price,
    dollar_prices,
    pool_prices,
    quoted_in,
    vote_of,
)
from quoteway_indexer.store import Commit, Condition, Row, Select, Value
from quoteway_indexer.tables import ROLLUPS
from quoteway_indexer.writing import Writer

HOUR_S = 3_600
DAY_S = 86_400
MIN_AGE_S = DAY_S
"""A pool counts a day after its creation: what it says then has stood against everybody."""
MAX_IDLE_S = 90 * DAY_S
"""A pool without any event for so long says nothing: nobody compared its price with others."""
LATE_S = 6 * HOUR_S
"""The hours of a source that are so far behind the head do not count yet."""
_HOURS_A_COMMIT = 96
_POOLS_A_QUERY = 500
_EVERY_S = 60
"""The running hour is computed again when the chain is so much later."""
_PART = "prices"
_COLUMNS = (
    *("pool", "hour", "open_sqrt_price_x96", "high_sqrt_price_x96", "low_sqrt_price_x96"),
    *("close_sqrt_price_x96", "tick_seconds", "seconds", "liquidity", "principal0", "principal1"),
    *("principal_seconds0", "principal_seconds1"),
)
_WIDTH = len(ROLLUPS["token_hour"].columns)


@dataclass(frozen=True, slots=True)
class _Pool:
    """The tokens of a pool, and when it was created."""

    token0: Address
    token1: Address
    created: int


@dataclass(slots=True)
class _State:
    """What the pools of a chain say in the hour before ``hour``; ``active`` is when each had its last row."""

    hour: int
    said: dict[bytes, PoolPrices] = field(default_factory=dict)
    active: dict[bytes, int] = field(default_factory=dict)

    def copy(self) -> _State:
        """Returns a state that changes apart: this one stays until what follows is written."""
        return _State(self.hour, dict(self.said), dict(self.active))


class TokenPrices(Computation):
    """Prices the tokens that have a pool with a dollar token or another base token.

    Hours that no reorganisation changes are computed once, later ones and the running one again. When the
    hours of one more source are known, all hours are computed again.
    """

    def __init__(self, context: Context, chain: Chain, writer: Writer) -> None:
        self._context = context
        self._chain = chain
        self._writer = writer
        network = chain.network
        self._wrapped = network.wrapped_native or NATIVE
        sources = [source for source in context.event_sources if source.chain_id == network.chain_id]
        self._usd = tuple(dict.fromkeys(token for source in sources for token in source.usd_tokens))
        bases = (*self._usd, self._wrapped, *(token for source in sources for token in source.base_tokens))
        self._bases = tuple(dict.fromkeys(self._erc20(token) for token in bases))
        self._basis = ""
        self._state: _State | None = None
        self._pools: dict[bytes, _Pool | None] = {}
        self._decimals: dict[Address, int | None] = {}
        self._computed_at = 0

    async def advance(self, frontier: Frontier) -> None:
        """See ``Computation``. Waits for the next call when the chain cannot be read."""
        if not self._usd:
            return
        try:
            await self._advance(frontier)
        except GatewayError as error:
            self._context.log.warning(
                "prices of chain %d wait for the next blocks: %s", frontier.chain_id, error
            )

    def rewind(self, block: int) -> None:
        """See ``Computation``. The hours of the state are final; the running hour is computed again."""
        self._computed_at = 0

    async def _advance(self, frontier: Frontier) -> None:
        basis, end = await self._ready(frontier)
        if not basis:
            return
        final = (await self._chain.block(frontier.finalized)).timestamp
        state = await self._loaded(basis)
        if state is None:
            return
        while state.hour + HOUR_S <= min(final, end):
            last = min(state.hour + _HOURS_A_COMMIT * HOUR_S, min(final, end) // HOUR_S * HOUR_S)
            ahead = state.copy()
            rows = await self._compute(ahead, last)
            progress = (frontier.chain_id, _PART, frontier.finalized, last, basis)
            await self._write(rows, state.hour, last, [progress])
            self._state = state = ahead
        if end - self._computed_at >= _EVERY_S:
            stop = (end // HOUR_S + 1) * HOUR_S
            progress = (frontier.chain_id, _PART, frontier.finalized, state.hour, basis)
            await self._write(await self._compute(state.copy(), stop), state.hour, stop, [progress])
            self._computed_at = end

    async def _ready(self, frontier: Frontier) -> tuple[str, int]:
        """Returns the sources whose pools' hours are known near the head, and until when all are."""
        chain = Condition("chain_id", "=", frontier.chain_id)
        rows = await self._writer.fetch(Select("computed", ("part", "basis", "timestamp"), (chain,)))
        known = {
            f"{part!s} {version!s}": int(at or 0)
            for part, version, at in rows
            if str(part).startswith("pools:") and int(at or 0) >= frontier.head.timestamp - LATE_S
        }
        return json.dumps(sorted(known)) if known else "", min(known.values(), default=0)

    async def _loaded(self, basis: str) -> _State | None:
        """Returns the state to go on from; None while there is no hour."""
        if self._state is not None and self._basis == basis:
            return self._state
        chain = Condition("chain_id", "=", self._chain.network.chain_id)
        rows = await self._writer.fetch(
            Select(
                "computed",
                ("timestamp",),
                (chain, Condition("part", "=", _PART), Condition("basis", "=", basis)),
            )
        )
        first = await self._writer.fetch(Select("pool_hour", ("hour",), (chain,), ("hour",), 1))
        if not first:
            return None
        begins = int(first[0][0] or 0)
        hour = max(begins, int(rows[0][0] or 0)) if rows else begins
        state = _State(max(begins, hour - MAX_IDLE_S))
        while state.hour < hour:
            until = min(state.hour + _HOURS_A_COMMIT * HOUR_S, hour)
            for row in await self._rows(state.hour, until):
                self._take(state, row)
            state.hour = until
        self._basis, self._state = basis, state
        return state

    async def _rows(self, first: int, until: int) -> list[Row]:
        where = (
            Condition("chain_id", "=", self._chain.network.chain_id),
            Condition("hour", ">=", first),
            Condition("hour", "<", until),
        )
        rows = await self._writer.fetch(Select("pool_hour", _COLUMNS, where, ("hour",)))
        await self._learn({_bytes(row[0]) for row in rows} - self._pools.keys())
        return rows

    async def _learn(self, pools: Iterable[bytes]) -> None:
        """Reads the tokens of pools. None is kept of one that prices no token."""
        wanted = sorted(pools)
        for at in range(0, len(wanted), _POOLS_A_QUERY):
            part = tuple(wanted[at : at + _POOLS_A_QUERY])
            self._pools.update(dict.fromkeys(part))
            where = (
                Condition("chain_id", "=", self._chain.network.chain_id),
                Condition("pool", "in", part),
            )
            columns = ("pool", "token0", "token1", "timestamp")
            for pool, token0, token1, created in await self._writer.fetch(
                Select("pool_created", columns, where)
            ):
                one, other = (self._erc20(_address(token)) for token in (token0, token1))
                if one != other and not {one, other}.isdisjoint(self._bases):
                    self._pools[_bytes(pool)] = _Pool(one, other, int(created or 0))

    def _take(self, state: _State, row: Row) -> None:
        """Takes what a pool says in its next hour."""
        pool = _bytes(row[0])
        if self._pools.get(pool) is None:
            return
        state.active[pool] = int(row[1] or 0)
        said = _said(row)
        if said is None:
            state.said.pop(pool, None)
        else:
            state.said[pool] = said

    async def _compute(self, state: _State, until: int) -> list[Row]:
        """Returns the rows of the hours before ``until``, which become part of the state."""
        rows = await self._rows(state.hour, until)
        found: list[Row] = []
        at = 0
        while state.hour < until:
            hour = state.hour
            fresh: set[bytes] = set()
            while at < len(rows) and rows[at][1] == hour:
                self._take(state, rows[at])
                fresh.add(_bytes(rows[at][0]))
                at += 1
            found += await self._priced(state, hour)
            for pool in fresh:
                if (said := state.said.get(pool)) is not None:
                    state.said[pool] = said.carried
            state.hour = hour + HOUR_S
            await asyncio.sleep(0)
        return found

    async def _priced(self, state: _State, hour: int) -> list[Row]:
        pairs: dict[Address, list[tuple[Address, bool, PoolPrices]]] = defaultdict(list)
        for pool in [pool for pool, active in state.active.items() if active < hour - MAX_IDLE_S]:
            del state.active[pool]
            state.said.pop(pool, None)
        for pool, said in state.said.items():
            known = self._pools[pool]
            if known is None or known.created > hour - MIN_AGE_S:
                continue
            if known.token1 in self._bases:
                pairs[known.token0].append((known.token1, True, said))
            if known.token0 in self._bases:
                pairs[known.token1].append((known.token0, False, said))
        await self._read_decimals(pairs)
        prices = self._prices_of(pairs)
        return [
            (
                *(self._chain.network.chain_id, address_bytes(token), hour),
                *(price.prices.open, price.prices.high, price.prices.low, price.prices.close),
                *(price.prices.mean, price.depth_usd, round(price.confidence, 4)),
            )
            for token, price in prices.items()
        ]

    def _prices_of(
        self, pairs: Mapping[Address, Sequence[tuple[Address, bool, PoolPrices]]]
    ) -> dict[Address, TokenPrice]:
        decimals = {token: number for token, number in self._decimals.items() if number is not None}
        rates = [
            Rate(token, other, quoted_in(said, is_token0, decimals, token, other), depth)
            for token in self._usd
            for other, is_token0, said in pairs.get(token, ())
            if other in self._usd and token in decimals and other in decimals
            for depth in [said.depths[is_token0] / 10.0 ** decimals[other]]
        ]
        known = dollar_prices([token for token in self._usd if token in decimals], rates)

        def priced(token: Address) -> TokenPrice | None:
            votes: list[Vote] = []
            for other, is_token0, said in pairs.get(token, ()):
                price = known.get(other)
                if price is not None and token in decimals and said.depths[is_token0] > 0:
                    depth = said.depths[is_token0] / 10.0 ** decimals[other]
                    votes.append(vote_of(quoted_in(said, is_token0, decimals, token, other), depth, price))
            return agreed_price(votes)

        # Twice: a base token may have its deepest pools with one that comes later.
        for _ in range(2):
            for base in self._bases:
                if base not in known and base not in self._usd and (price := priced(base)) is not None:
                    known[base] = price
        others = {token: price for token in pairs if token not in self._bases and (price := priced(token))}
        return known | others

    async def _read_decimals(self, tokens: Iterable[Address]) -> None:
        unknown = [token for token in {*tokens, *self._bases} if token not in self._decimals]
        for at in range(0, len(unknown), _POOLS_A_QUERY):
            part = unknown[at : at + _POOLS_A_QUERY]
            chain_id = self._chain.network.chain_id
            found = await asyncio.gather(*(self._context.token(chain_id, token) for token in part))
            for token, read in zip(part, found, strict=True):
                self._decimals[token] = None if read is None else read.decimals

    async def _write(self, rows: Sequence[Row], first: int, until: int, progress: Sequence[Row] = ()) -> None:
        """Writes hours. What was priced there before and is not any more loses its price."""
        where = (
            Condition("chain_id", "=", self._chain.network.chain_id),
            Condition("hour", ">=", first),
            Condition("hour", "<", until),
        )
        columns = ("chain_id", "token", "hour")
        before = await self._writer.fetch(Select("token_hour", columns, where))
        gone = {tuple(row) for row in before} - {row[:3] for row in rows}
        emptied = [(*key, *(None,) * (_WIDTH - len(key))) for key in gone]
        rollups: dict[str, Sequence[Row]] = {"token_hour": [*rows, *emptied]}
        if progress:
            rollups["computed"] = progress
        await self._writer.commit(Commit(self._chain.network.chain_id, rollups=rollups))

    def _erc20(self, token: Address) -> Address:
        return self._wrapped if token == NATIVE else token


def _said(row: Row) -> PoolPrices | None:
    """Returns what a row of ``pool_hour`` says; None when the pool had no price or no liquidity."""
    opened, high, low, close, tick_seconds, seconds, liquidity, *held = (
        value if isinstance(value, int) else None for value in row[2:]
    )
    if opened is None or high is None or low is None or close is None:
        return None
    held0, held1, seconds0, seconds1 = held
    if held0 is None or held1 is None or seconds0 is None or seconds1 is None:
        return None
    if tick_seconds is None or seconds is None:
        return None
    return pool_prices(
        (opened, high, low, close), tick_seconds, seconds, liquidity, (held0, held1), (seconds0, seconds1)
    )


def _bytes(value: Value) -> bytes:
    assert isinstance(value, bytes)
    return value


def _address(value: Value) -> Address:
    return checksum("0x" + _bytes(value).hex())
