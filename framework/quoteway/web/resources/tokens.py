"""Tokens: the catalog and the profile."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from aiohttp import web

from quoteway.errors import NotFound, Reason
from quoteway.evm.address import parse_address
from quoteway.host.lists import ListKind
from quoteway.models import Capability, TokenProfile
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
        return TokenEntry.render_all(map(valuation.profile, profiles), call.networks)

    return await catalog.list_of_network(call, TOKENS, _selected, render)


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
    profile: TokenProfile | None = next((o.value for o in outcomes if o.value is not None), None)
    if profile is None:
        catalog.require_all(outcomes, "Whether this token exists could not be read.")
        raise NotFound("This token is unknown.")
    valuation = await call.gateway.valuation({(t.chain_id, t.address) for t in profile.contracts})
    return Profile.render(valuation.profile(profile), call.networks)


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
