"""Tokens: the catalog and the profile."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from aiohttp import web

from quoteway.errors import NotFound, Reason, UpstreamError
from quoteway.evm.address import parse_address
from quoteway.host.list_rows import slices
from quoteway.host.lists import ListKind, Merged
from quoteway.models import Address, Capability, TokenProfile
from quoteway.pricing.valuation import Valuation
from quoteway.providers import TokenCatalog
from quoteway.web.http.fields import NetworkField, Text
from quoteway.web.http.operation import Call, get
from quoteway.web.resources import catalog
from quoteway.web.wire.rows import Profile, TokenEntry, TokenPage
from quoteway.web.wire.view import Wire

_ADDRESS_ID = re.compile(r"([1-9][0-9]{0,15}):(0x[0-9a-fA-F]{40})")


class TokensQuery(catalog.PageQuery):
    network = NetworkField("Tokens of this network")
    query = Text("Text in the id, name, symbol or an address", max_length=100)
    sort = catalog.sort_field("rank", "symbol", "priceUsd")


TOKENS = ListKind(Capability.TOKENS, TokenProfile, lambda catalog, chain_id: catalog.tokens(chain_id))


@get("/v2/tokens", "Tokens", TokenPage, query=TokensQuery)
async def list_tokens(call: Call) -> web.Response:
    async def render(profiles: Sequence[TokenProfile]) -> list[dict[str, Any]]:
        # The list has thousands of tokens: it shows the prices in memory and looks none up.
        contracts = ((t.chain_id, t.address) for profile in profiles for t in profile.contracts)
        valuation = Valuation(call.gateway.prices.known(contracts))
        rows: list[dict[str, Any]] = []
        async for part in slices(profiles):
            rows += TokenEntry.render_all(map(valuation.profile, part), call.networks)
        return rows

    def admit(merged: Merged[TokenProfile]) -> Merged[TokenProfile]:
        tokens, network = call.gateway.tokens, call.query.get("network")
        rows = [usable for row in merged.rows if (usable := tokens.checked(row)) is not None]
        refused = tokens.refusals([each.chain_id for each in call.networks if network in (None, each)])
        missing = [(catalog_id, Reason.UNSAFE_ANSWER) for catalog_id in sorted(refused)]
        return replace(merged, rows=rows, partial=[*merged.partial, *missing])

    return await catalog.list_of_network(call, TOKENS, _selected, render, admit)


def _selected(profile: TokenProfile, query: Mapping[str, Any]) -> bool:
    addresses = (token.address for token in profile.contracts)
    return catalog.mentions(query, profile.id, profile.symbol, profile.name, *addresses)


@get("/v2/tokens/{id}", "One token, by its id or {chainId}:{address}", Profile, failures=(404, 502))
async def get_token(call: Call) -> Wire:
    call.require(Capability.TOKENS)
    token_id = _canonical(call.path["id"])
    catalogs = call.gateway.registry.enabled(Capability.TOKENS)
    outcomes = await call.ask(
        catalogs, TokenProfile | None, lambda p: cast(TokenCatalog, p).profile(token_id), verb="profile"
    )
    found = [outcome.value for outcome in outcomes if outcome.value is not None]
    if not found:
        catalog.require_all(outcomes, "Whether this token exists could not be read.")
        raise NotFound("This token is unknown.")
    profile = await _checked(call, found)
    valuation = await call.gateway.valuation({(t.chain_id, t.address) for t in profile.contracts})
    (first, *others) = profile.contracts
    tax = None if others else call.gateway.taxes.known(first.chain_id, first.address)
    return Profile.render(valuation.profile(replace(profile, trade_tax=tax)), call.networks)


async def _checked(call: Call, found: Sequence[TokenProfile]) -> TokenProfile:
    """The first profile whose decimals are those of the chain. Raises ``UpstreamError`` without one."""
    tokens = call.gateway.tokens
    contracts: dict[int, set[Address]] = {}
    for token in (token for profile in found for token in profile.contracts):
        contracts.setdefault(token.chain_id, set()).add(token.address)
    await asyncio.gather(*(tokens.find_each(*each) for each in contracts.items()))
    for profile in found:
        usable = tokens.checked(profile)
        if usable is not None:
            return usable
    text = "The catalog gives this token other decimals than its contract has."
    raise UpstreamError(text, reason=Reason.UNSAFE_ANSWER)


def _canonical(token_id: str) -> str:
    """A slug unchanged; ``{chainId}:{address}`` with the address in EIP-55. Raises ``NotFound``."""
    match = _ADDRESS_ID.fullmatch(token_id)
    if match is None:
        if len(token_id) > 200 or not token_id.isprintable():
            raise NotFound("This token is unknown.")
        return token_id
    try:
        return f"{match[1]}:{parse_address(match[2])}"
    except ValueError as error:
        raise NotFound(f"This token is unknown: {error}.", reason=Reason.INVALID_FORMAT) from None


OPERATIONS = (list_tokens, get_token)
