"""Tokens: the catalog and the profile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from aiohttp import web

from quoteway.errors import NotFound, Reason, UpstreamError
from quoteway.evm.asset_ids import parse_asset_id
from quoteway.host.list_rows import slices
from quoteway.host.token_search import MAX_QUERY_CHARS, TokenSearch
from quoteway.models import Address, Capability, TokenProfile
from quoteway.networks import Network
from quoteway.pricing.valuation import Valuation
from quoteway.providers import TokenCatalog
from quoteway.web.http.fields import NetworkField, Text
from quoteway.web.http.operation import Call, get
from quoteway.web.resources import catalog
from quoteway.web.wire.rows import Profile, TokenEntry, TokenPage
from quoteway.web.wire.view import Wire

_MEMBERS = {"rank": "rank", "symbol": "symbol", "priceUsd": "price_usd"}


class TokensQuery(catalog.PageQuery):
    network = NetworkField("Only tokens of this network")
    query = Text(
        "Id, symbol, name or address to look for, or a part of one; typing errors are forgiven",
        max_length=MAX_QUERY_CHARS,
    )
    sort = catalog.sort_field("rank", "symbol", "priceUsd")


@get(
    "/v2/tokens",
    "Tokens, the best match first",
    TokenPage,
    query=TokensQuery,
    cached=True,
    description="With `query`: whole symbols, names and ids first, then beginnings, then typing errors. "
    "Without: by market rank, then in the order of the catalogs.",
)
async def list_tokens(call: Call) -> web.Response:
    network: Network | None = call.query.get("network")
    chain_ids = (network.chain_id,) if network else ()
    call.require(Capability.TOKENS, *chain_ids)

    async def collect() -> catalog.Window:
        providers = call.gateway.registry.enabled(Capability.TOKENS)
        async with call.gateway.missing.explaining(providers, *chain_ids):
            found = await call.gateway.tokens.searchable()
        asked = chain_ids or [each.chain_id for each in call.networks]
        lacking = [each.provider for one in providers for each in call.gateway.missing.of(one, asked)]
        refused = sorted(call.gateway.tokens.refusals(asked))
        missing = dict.fromkeys(lacking, Reason.CONTRACT_MISSING) | dict(found.missing)
        missing |= dict.fromkeys(refused, Reason.UNSAFE_ANSWER)
        chosen = await _chosen(call, found.search, chain_ids)
        return catalog.Window(
            _rows(call, found.search, chosen.positions, chain_ids),
            chosen.next_cursor,
            chosen.total,
            found.search.updated_at or found.read_at,
            list(missing.items()),
        )

    return await catalog.answer(call, collect)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What a page has, as positions in the search, and how many the request selects."""

    positions: Sequence[int]
    next_cursor: str | None
    total: int


async def _chosen(call: Call, search: TokenSearch, chain_ids: Sequence[int]) -> _Chosen:
    text, sort, limit = call.query.get("query", ""), call.query.get("sort"), call.query.get("limit", 50)
    last, start = catalog.read_cursor(call.query["cursor"]) if "cursor" in call.query else (None, 0)
    chain_id = chain_ids[0] if chain_ids else None
    before = 1 if start else 0
    positions, total = search.find(text, chain_id, limit + before, start - before)
    if sort is not None or (start and [search.profiles[at].id for at in positions[:1]] != [last]):
        # Another order; or the row before the page is at another place than it was, or gone.
        everything, total = search.find(text, chain_id, len(search.profiles))
        if sort is not None:
            everything = await _sorted(call, search, everything, sort)
        ids = (search.profiles[at].id for at in everything)
        start = next((at + 1 for at, token_id in enumerate(ids) if token_id == last), start)
        page = everything[start : start + limit]
    else:
        page = positions[before:]
    more = page and start + len(page) < total
    cursor = catalog.cursor_of(search.profiles[page[-1]].id, start + limit) if more else None
    return _Chosen(page, cursor, total)


async def _sorted(call: Call, search: TokenSearch, positions: Sequence[int], sort: str) -> list[int]:
    """By a member. Those without it come last in both directions; equal ones stay in their order."""
    values: dict[int, Any] = {}
    async for part in slices(positions):
        profiles = _priced(call, [search.profiles[at] for at in part])
        for at, profile in zip(part, profiles, strict=True):
            values[at] = getattr(profile, _MEMBERS[sort.removeprefix("-")])
    known = [at for at in positions if values[at] is not None]
    known.sort(key=values.__getitem__, reverse=sort.startswith("-"))
    return known + [at for at in positions if values[at] is None]


def _priced(call: Call, profiles: Sequence[TokenProfile]) -> list[TokenProfile]:
    """With the prices in memory: the list looks none up."""
    contracts = ((t.chain_id, t.address) for profile in profiles for t in profile.contracts)
    return list(map(Valuation(call.gateway.prices.known(contracts)).profile, profiles))


def _rows(
    call: Call, search: TokenSearch, positions: Sequence[int], chain_ids: Sequence[int]
) -> list[dict[str, Any]]:
    """As the first catalog describes each whose decimals are those of the chain; others are left out."""
    usable = (_usable(call, search.described(at), chain_ids) for at in positions)
    return TokenEntry.render_all(_priced(call, [each for each in usable if each]), call.networks)


def _usable(call: Call, profiles: Iterable[TokenProfile], chain_ids: Sequence[int]) -> TokenProfile | None:
    for profile in profiles:
        shown = _on_chain(profile, chain_ids[0]) if chain_ids else profile
        checked = None if shown is None else call.gateway.tokens.checked(shown)
        if checked is not None:
            return checked
    return None


def _on_chain(profile: TokenProfile, chain_id: int) -> TokenProfile | None:
    """With the contracts of one chain, named as it is there. None without any."""
    contracts = tuple(token for token in profile.contracts if token.chain_id == chain_id)
    if len(contracts) == len(profile.contracts):
        return profile
    if not contracts:
        return None
    first = contracts[0]
    return replace(
        profile,
        name=first.name or profile.name,
        symbol=first.symbol or profile.symbol,
        logo_uri=first.logo_uri or profile.logo_uri,
        contracts=contracts,
    )


@get(
    "/v2/tokens/{id}",
    "One token, by its id, {chainId}:{address} or CAIP-19 id",
    Profile,
    description="What the catalogs say of the token, each member from the first that has it; `sources` names "
    "the others. Decimals are those of the chain.",
    failures=(404, 502),
)
async def get_token(call: Call) -> Wire:
    call.require(Capability.TOKENS)
    token_id = _canonical(call.path["id"])
    enabled = call.gateway.registry.enabled(Capability.TOKENS)
    catalogs = [each for each in enabled if cast(TokenCatalog, each).lists]
    outcomes = await call.ask(
        catalogs, TokenProfile | None, lambda p: cast(TokenCatalog, p).profile(token_id), verb="profile"
    )
    found = [(each.provider.id, each.value) for each in outcomes if each.value is not None]
    if not found:
        catalog.require_all(outcomes, "Whether this token exists could not be read.")
        raise NotFound("This token is unknown.")
    source, profile = await _checked(call, found)
    everything = await call.gateway.tokens.searchable()
    profile = everything.facts.filled(profile, source)
    valuation = await call.gateway.valuation({(t.chain_id, t.address) for t in profile.contracts})
    (first, *others) = profile.contracts
    tax = None if others else call.gateway.taxes.known(first.chain_id, first.address)
    listed = everything.search.by_id(profile.id)
    alike = None if listed is None else listed.look_alike_of
    shown = replace(profile, trade_tax=tax, look_alike_of=alike)
    return Profile.render(valuation.profile(shown), call.networks)


async def _checked(call: Call, found: Sequence[tuple[str, TokenProfile]]) -> tuple[str, TokenProfile]:
    """The first profile whose decimals are those of the chain, with its catalog's id. Raises
    ``UpstreamError`` without one."""
    tokens = call.gateway.tokens
    contracts: dict[int, set[Address]] = {}
    for token in (token for _, profile in found for token in profile.contracts):
        contracts.setdefault(token.chain_id, set()).add(token.address)
    await asyncio.gather(*(tokens.find_each(*each) for each in contracts.items()))
    for source, profile in found:
        usable = tokens.checked(profile)
        if usable is not None:
            return source, usable
    text = "The catalog gives this token other decimals than its contract has."
    raise UpstreamError(text, reason=Reason.UNSAFE_ANSWER)


def _canonical(token_id: str) -> str:
    """A slug unchanged; an id with chain and address as ``{chainId}:{address}``, in EIP-55. Raises
    ``NotFound``."""
    try:
        asset = parse_asset_id(token_id)
    except ValueError as error:
        raise NotFound(f"This token is unknown: {error}.", reason=Reason.INVALID_FORMAT) from None
    if asset is not None:
        return f"{asset.chain_id}:{asset.address}"
    if len(token_id) > 200 or not token_id.isprintable():
        raise NotFound("This token is unknown.")
    return token_id


OPERATIONS = (list_tokens, get_token)
