"""Tokens: the catalog and the profile."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from aiohttp import web

from quoteway.errors import NotFound, Reason, UpstreamError
from quoteway.evm.address import parse_address
from quoteway.guard.findings import check_form
from quoteway.host.lists import ListKind
from quoteway.models import Capability, TokenProfile
from quoteway.pricing.valuation import Valuation
from quoteway.providers import Provider, TokenCatalog
from quoteway.web.http.fields import Choice, NetworkField, Text
from quoteway.web.http.operation import Call, Operation
from quoteway.web.resources import catalog
from quoteway.web.wire.tokens import Profile, TokenEntry, TokenPage

_ADDRESS_ID = re.compile(r"([1-9][0-9]{0,15}):(0x[0-9a-fA-F]{40})")


class TokensQuery(catalog.PageQuery):
    network = NetworkField("Tokens of this network")
    query = Text("Text in the id, name, symbol or an address", max_length=100)
    sort = Choice(
        "The member to sort by; - before it for descending",
        catalog.sort_choices("rank", "symbol", "priceUsd"),
    )


TOKENS = ListKind(Capability.TOKENS, TokenProfile, lambda catalog, chain_id: catalog.tokens(chain_id))


async def list_tokens(call: Call) -> web.Response:
    async def render(profiles: Sequence[TokenProfile]) -> list[dict[str, Any]]:
        # The list has thousands of tokens: it shows the prices in memory and looks none up.
        contracts = ((t.chain_id, t.address) for profile in profiles for t in profile.contracts)
        valuation = Valuation(call.gateway.prices.known(contracts))
        return TokenEntry.render_all(map(valuation.profile, profiles), call.networks)

    return await catalog.list_of_network(call, TOKENS, _selected, render)


def _selected(profile: TokenProfile, query: Mapping[str, Any]) -> bool:
    if "query" not in query:
        return True
    addresses = [token.address for token in profile.contracts]
    return catalog.mentions(query["query"], profile.id, profile.symbol, profile.name, *addresses)


async def show_token(call: Call) -> dict[str, Any]:
    call.require(Capability.TOKENS)
    token_id = _canonical(call.path["id"])
    registry = call.gateway.registry

    async def ask(source: Provider) -> TokenProfile | None:
        profile = await cast(TokenCatalog, source).profile(token_id)
        check_form(source, profile, TokenProfile | None)
        return profile

    outcomes = await registry.calls.ask_all(registry.enabled(Capability.TOKENS), ask, verb="profile")
    for outcome in outcomes:
        if outcome.value is not None:
            profile = outcome.value
            valuation = await call.gateway.valuation([(t.chain_id, t.address) for t in profile.contracts])
            return Profile.render(valuation.profile(profile), call.networks)
    failed = next((outcome for outcome in outcomes if outcome.kind in ("failed", "timeout")), None)
    if failed is not None:
        raise UpstreamError(
            "Whether this token exists could not be read.", reason=failed.reason, retryable=True
        )
    raise NotFound("This token is unknown.")


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


OPERATIONS = (
    Operation("GET", "/v2/tokens", "listTokens", "Tokens", list_tokens, TokenPage, query=TokensQuery),
    Operation(
        "GET",
        "/v2/tokens/{id}",
        "getToken",
        "One token, by its id or {chainId}:{address}",
        show_token,
        Profile,
        failures=(404, 502),
    ),
)
