"""Lists: merged from every provider, filtered, sorted, paged, rendered once, answered with a strong ETag."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import orjson
from aiohttp import web

from quoteway.caching import compact
from quoteway.errors import FieldError, Reason, UpstreamError
from quoteway.evm.address import is_native_alias
from quoteway.evm.asset_ids import ETHER, AssetId, parse_asset_id
from quoteway.host.lists import ListKind, Merged, Scope
from quoteway.host.missing_contracts import missing_error
from quoteway.host.outcomes import Outcome
from quoteway.host.states import networks_of
from quoteway.models import Capability, Incomplete, Pool, Token, Vault
from quoteway.near_names import suggestion
from quoteway.networks import Network
from quoteway.providers import Provider, SwapProvider
from quoteway.web.http.cache import CACHE, changed_at, keep, revalidated
from quoteway.web.http.envelope import json_response
from quoteway.web.http.fields import Choice, QueryInteger, Text
from quoteway.web.http.operation import NO_STORE, Call
from quoteway.web.http.schema import RequestSchema, invalid
from quoteway.web.wire.rows import Page

FROM_MEMORY = (
    "Rows are served from memory and read anew in the background: `updatedAt` says how old they are, and "
    "`partial` names providers without an answer. Ask again while there are any."
)

ONE_ROW = (
    "The row of the list, from memory; where no list has it, what its provider reads from the chain by the "
    "id. A malformed id is 404, as one that no provider knows."
)

T = TypeVar("T")
D = TypeVar("D", Pool, Vault)
Row = Mapping[str, Any]


class PageQuery(RequestSchema):
    limit = QueryInteger("Number of rows on a page", 1, 200, load_default=50)
    cursor = Text(
        "Value of `nextCursor` of the page before",
        max_length=300,
        pattern=r"[A-Za-z0-9_-]+",
        hint="must be a nextCursor of this list",
    )


@dataclass(frozen=True, slots=True)
class Listing:
    """All rows that a request selects, before paging.

    ``key`` names a row uniquely; ``updated_at`` is in Unix seconds; ``missing`` has the ids of the providers
    whose rows are missing, with the reasons. ``more`` are members of the page of this list alone.
    """

    rows: Sequence[Row]
    key: Callable[[Row], str] = lambda row: str(row["id"])
    updated_at: float | None = None
    missing: Sequence[tuple[str, Reason]] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Window:
    """The rows of one page, where only these were rendered. ``total`` counts all that the request selects."""

    rows: Sequence[Row]
    next_cursor: str | None
    total: int
    updated_at: float | None
    missing: Sequence[tuple[str, Reason]] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


async def answer(call: Call, collect: Callable[[], Awaitable[Listing | Window]]) -> web.Response:
    """The page that a request asks for. It is cached unless rows are missing."""

    async def make() -> tuple[bytes, bool]:
        found = await collect()
        return _rendered(call, found), not found.missing

    return await once(call, make)


async def once(call: Call, make: Callable[[], Coroutine[Any, Any, tuple[bytes, bool]]]) -> web.Response:
    """What ``make`` returns for a request: the bytes, and whether they are complete and so may be cached.

    Requests for what is being made share its result.
    """
    revision = call.gateway.registry.revision
    flights = call.request.app[CACHE].flights
    body, complete = await flights.run((revision, call.request.raw_path), make)
    return keep(call, revision, compact(body)) if complete else json_response(body, 200, NO_STORE)


def current(call: Call, listing: Listing, variant: str = "") -> web.Response:
    """The page that a request asks for, made for it alone. ``updatedAt`` is when a row has last changed, so
    that the ETag is that of the rows. ``variant`` says which callers get these rows.
    """
    rows = orjson.dumps(listing.rows)
    since = changed_at(call, rows, int(call.gateway.runtime.clock()), variant)
    return revalidated(call, _rendered(call, replace(listing, updated_at=since)))


def fresh(call: Call, listing: Listing) -> web.Response:
    """The page that a request asks for, not cached."""
    return json_response(_rendered(call, listing), 200, NO_STORE)


def _rendered(call: Call, found: Listing | Window) -> bytes:
    window = found if isinstance(found, Window) else _window(call, found)
    now = int(call.gateway.runtime.clock())
    members = Page.of(
        call.networks,
        next_cursor=window.next_cursor,
        total=window.total,
        preview=any(row.get("preview", False) for row in window.rows),
        updated_at=int(window.updated_at or now),
        missing=window.missing,
    )
    return orjson.dumps({"data": window.rows, **members, **window.more})


def _window(call: Call, listing: Listing) -> Window:
    rows = _sorted(listing, call.query.get("sort"))
    page, next_cursor = _page(rows, listing.key, call.query.get("limit", 50), call.query.get("cursor"))
    return Window(page, next_cursor, len(rows), listing.updated_at, listing.missing, listing.more)


async def merge(call: Call, kind: ListKind[T], scope: Scope | None, *chain_ids: int) -> Merged[T]:
    """What every enabled provider of these chains lists, from memory; see ``Lists.get``.

    A provider that misses contracts on them is partial. Raises ``UpstreamError`` (``contract_missing``) when
    that leaves nothing.
    """
    enabled = call.gateway.registry.enabled(kind.capability)
    providers = [p for p in enabled if set(chain_ids) <= networks_of(p)]
    asked = chain_ids or {chain_id for provider in providers for chain_id in networks_of(provider)}
    async with call.gateway.missing.explaining(providers, *asked):
        merged = await call.gateway.lists.get(kind, scope, providers)
    missing = [each for provider in providers for each in call.gateway.missing.of(provider, asked)]
    if not missing:
        return merged
    if not merged.rows:
        raise missing_error(missing)
    partial = {each.provider: Reason.CONTRACT_MISSING for each in missing} | dict(merged.partial)
    return replace(merged, partial=list(partial.items()))


async def list_of_network(
    call: Call,
    kind: ListKind[D],
    selected: Callable[[D, Mapping[str, Any]], bool],
    render: Callable[[Sequence[D]], Awaitable[Sequence[Row]]],
) -> web.Response:
    """Lists what every provider of a capability has, on the query's ``network`` or on all.

    ``selected`` tells whether the query asks for an item, and ``render`` makes the rows. Of items with one id
    the first provider's is taken. Raises ``InvalidRequest`` for a ``protocol`` that is known to nobody.
    """
    network: Network | None = call.query.get("network")
    chain_ids = (network.chain_id,) if network else ()
    call.require(kind.capability, *chain_ids)

    async def collect() -> Listing:
        merged = await merge(call, kind, chain_ids or None, *chain_ids)
        if "protocol" in call.query and not merged.partial:
            await _check_protocol(call, kind, merged.rows)
        first = {item.id: item for item in reversed(merged.rows)}
        chosen = [item for item in first.values() if selected(item, call.query)]
        updated_at = max((item.updated_at for item in chosen), default=merged.read_at)
        return Listing(await render(chosen), updated_at=updated_at, missing=merged.partial)

    return await answer(call, collect)


async def _check_protocol(call: Call, kind: ListKind[D], rows: Sequence[D]) -> None:
    """Raises ``InvalidRequest`` when no provider knows the query's protocol, on any network.

    Known are those of listed items, and what enabled providers declare: a provider may list nothing yet.
    """
    name = call.query["protocol"]
    registry = call.gateway.registry
    known = {item.protocol: None for item in rows}
    if name in known:
        return
    everywhere = await merge(call, kind, None)
    known |= {item.protocol: None for item in everywhere.rows}
    declared = {provider.id for provider in registry.enabled(kind.capability)}
    for provider in registry.enabled(Capability.SWAP):
        declared.update(provider.protocols if isinstance(provider, SwapProvider) else ())
    if everywhere.partial or name in known or name in declared:
        return
    text = f"names no protocol of this list.{suggestion(name, sorted(known), 'Protocols')}"
    raise invalid(FieldError("protocol", Reason.UNSUPPORTED_PROTOCOL, text))


def failed_sources(outcomes: Sequence[Outcome[Provider, Any]]) -> list[tuple[str, Reason]]:
    """The ids of the providers that failed or were late, with the reasons."""
    return [(o.provider.id, o.reason or Reason.PROVIDER_ERROR) for o in outcomes if o.failed]


def unsearched_reason(answer: object) -> Reason | None:
    """Why a provider could not look for everything; None when it could."""
    if type(answer) is not Incomplete:
        return None
    known = {reason.value: reason for reason in Reason}
    return known.get(str(answer.reason), Reason.PROVIDER_ERROR)


def require_all(outcomes: Sequence[Outcome[Provider, Any]], unknown: str) -> None:
    """Raises ``UpstreamError`` with the text ``unknown`` when a provider failed or was late."""
    failed = failed_sources(outcomes)
    if failed:
        raise UpstreamError(unknown, reason=failed[0][1], retryable=True)


def _sorted(listing: Listing, sort: str | None) -> list[Row]:
    """Rows by key, then by the member to sort by. Rows without it come last in both directions."""
    rows = sorted(listing.rows, key=listing.key)
    if sort is None:
        return rows
    member = sort.removeprefix("-")
    known = [row for row in rows if row.get(member) is not None]
    known.sort(key=lambda row: row[member], reverse=sort.startswith("-"))
    return known + [row for row in rows if row.get(member) is None]


def _page(
    rows: Sequence[Row], key: Callable[[Row], str], limit: int, cursor: str | None
) -> tuple[Sequence[Row], str | None]:
    start = 0 if cursor is None else _after(rows, key, cursor)
    page = rows[start : start + limit]
    if start + limit >= len(rows):
        return page, None
    return page, cursor_of(key(page[-1]), start + limit)


def _after(rows: Sequence[Row], key: Callable[[Row], str], cursor: str) -> int:
    """Where the next page starts: after the last row seen, or at its old position when that row has gone."""
    last, position = read_cursor(cursor)
    return next((index + 1 for index, row in enumerate(rows) if key(row) == last), position)


def cursor_of(last: str, position: int) -> str:
    """The cursor of the page after the row ``last``, which is now at ``position``."""
    return base64.urlsafe_b64encode(orjson.dumps([last, position])).decode().rstrip("=")


def read_cursor(cursor: str) -> tuple[str, int]:
    """The last row of the page before, and the position after it then. Raises ``InvalidRequest``."""
    try:
        last, position = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if not isinstance(last, str) or type(position) is not int or position < 0:
            raise ValueError
    except (ValueError, TypeError):
        refusal = FieldError("cursor", Reason.INVALID_FORMAT, "must be a nextCursor of this list")
        raise invalid(refusal) from None
    return last, position


def sort_field(*members: str) -> Choice:
    """``sort`` of a query: each of these members, and with ``-`` before it for descending."""
    choices = [sign + member for member in members for sign in ("", "-")]
    return Choice(
        "Member to sort by, ascending; with `-` before it descending. Rows without it come last", choices
    )


def names_token(text: str, token: Token) -> bool:
    """Whether a filter's text is this token's symbol or address, in any case, its CAIP-19 id, or ``native``
    for a native coin. Ether alone has an id among coins."""
    lowered = text.lower()
    if lowered in (token.address.lower(), (token.symbol or "").lower()):
        return True
    if token.is_native and is_native_alias(text):
        return True
    try:
        asset = parse_asset_id(text)
    except ValueError:
        return False
    return asset == AssetId(token.chain_id, token.address) and not (token.is_native and token.symbol != ETHER)


def matches(item: object, query: Mapping[str, Any], *members: str) -> bool:
    """Whether the item has what the query asks of these members."""
    return all(query.get(member, getattr(item, member)) == getattr(item, member) for member in members)


def mentions(query: Mapping[str, Any], *members: str) -> bool:
    """Whether any member contains the text that the query asks for, in any case."""
    lowered = query.get("query", "").lower()
    return any(lowered in member.lower() for member in members)
