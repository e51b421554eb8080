"""A wallet's positions in pools and vaults of all providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from aiohttp import web

from quoteway.errors import Reason, disabled
from quoteway.guard.findings import check_form
from quoteway.host.states import networks_of
from quoteway.models import Address, Capability, PoolPosition, VaultPosition
from quoteway.networks import Network
from quoteway.pricing.valuation import tokens_of_positions
from quoteway.providers import PoolProvider, Provider, VaultProvider
from quoteway.web.http.fields import AddressField, NetworkField
from quoteway.web.http.operation import Call, get
from quoteway.web.resources import catalog
from quoteway.web.resources.balances import VALUES_WAIT_S
from quoteway.web.resources.freshness import FreshQuery, at_least_there
from quoteway.web.wire.rows import HeldPosition, PortfolioPosition, Positions
from quoteway.web.wire.view import Wire


class PositionsQuery(FreshQuery, catalog.PageQuery):
    wallet = AddressField("Whose positions", required=True)
    network = NetworkField("On this network; on all when left out")


@get(
    "/v2/portfolio/positions",
    "A wallet's positions in pools and vaults",
    Positions,
    query=PositionsQuery,
    description=(
        "Merged from every pool and vault provider under one deadline. A provider that fails or is late "
        "is named in `partial`. `valueUsd` is principal and uncollected fees, null unless all is priced."
    ),
    failures=(502,),
)
async def get_portfolio_positions(call: Call) -> web.Response:
    wallet: Address = call.query["wallet"]
    network: Network | None = call.query.get("network")
    registry = call.gateway.registry
    every = [*registry.enabled(Capability.POOL), *registry.enabled(Capability.VAULT)]
    if not every:
        raise disabled("No enabled provider has positions.")
    sources = [p for p in every if network is None or network.chain_id in networks_of(p)]

    unsearched: dict[str, Reason] = {}

    async def ask(source: Provider) -> Sequence[PoolPosition | VaultPosition]:
        answer: Sequence[PoolPosition | VaultPosition]
        if isinstance(source, PoolProvider):
            answer = await source.positions(wallet, None)
            check_form(source, tuple(answer), tuple[PoolPosition, ...])
        else:
            answer = await cast(VaultProvider, source).positions(wallet)
            check_form(source, tuple(answer), tuple[VaultPosition, ...])
        found: tuple[PoolPosition | VaultPosition, ...] = tuple(answer)
        for position in found:  # a position that cannot be rendered fails its source, not the request
            PortfolioPosition.render(HeldPosition(source.id, position), call.networks)
        if (reason := catalog.unsearched_reason(answer)) is not None:
            unsearched[source.id] = reason
        return found

    async with at_least_there(call, call.query):
        outcomes = await registry.calls.ask_all(sources, ask, verb="positions")
    found = [(outcome.provider, position) for outcome in outcomes for position in outcome.value or ()]
    tokens = tokens_of_positions(position for _, position in found)
    valuation = await call.gateway.valuation(tokens, wait_s=VALUES_WAIT_S)
    once: dict[tuple[object, ...], Wire] = {}
    for source, position in found:
        row = PortfolioPosition.render(HeldPosition(source.id, valuation.position(position)), call.networks)
        # Two sources may know one vault or pool: what a wallet has there is not counted twice.
        once.setdefault((row["vaultId"], row["poolId"], row["positionId"]), row)
    rows = [row for row in once.values() if network is None or row["chainId"] == network.chain_id]
    missing = [*catalog.failed_sources(outcomes), *unsearched.items()]
    listing = catalog.Listing(rows, lambda row: f"{row['provider']}/{row['positionId']}", missing=missing)
    return catalog.fresh(call, listing)


OPERATIONS = (get_portfolio_positions,)
