"""A wallet's positions in pools and vaults of all providers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from aiohttp import web

from quoteway.errors import Reason, disabled
from quoteway.guard.findings import check_form
from quoteway.host.states import networks_of
from quoteway.models import Address, Capability, PoolPosition, VaultPosition
from quoteway.networks import Network
from quoteway.pricing.valuation import tokens_of_positions
from quoteway.providers import PoolProvider, Provider, VaultProvider
from quoteway.web.http.fields import NetworkField
from quoteway.web.http.freshness import FreshQuery, at_least_there
from quoteway.web.http.name_fields import AccountField
from quoteway.web.http.operation import Call, get
from quoteway.web.resources import catalog
from quoteway.web.resources.balances import VALUES_WAIT_S
from quoteway.web.wire.holdings import (
    HeldPosition,
    PortfolioPosition,
    Positions,
)


class PositionsQuery(FreshQuery, catalog.PageQuery):
    wallet = AccountField("Account whose positions are listed", required=True)
    network = NetworkField("Network to read. Left out: all")


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
    found, missing = await positions_of(call, call.query)
    valuation = await call.gateway.valuation(
        tokens_of_positions(held.position for held in found), wait_s=VALUES_WAIT_S
    )
    rows = [
        PortfolioPosition.render(
            HeldPosition(held.provider, valuation.position(held.position)), call.networks
        )
        for held in found
    ]
    listing = catalog.Listing(rows, lambda row: f"{row['provider']}/{row['positionId']}", missing=missing)
    return catalog.fresh(call, listing)


async def positions_of(
    call: Call, asked: Mapping[str, Any]
) -> tuple[list[HeldPosition], list[tuple[str, Reason]]]:
    """Returns the asked wallet's positions, each once, and the providers that may have others.

    Raises ``ProviderUnavailable`` when no enabled provider has positions.
    """
    wallet: Address = asked["wallet"]
    network: Network | None = asked.get("network")
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

    async with at_least_there(call.gateway, asked):
        outcomes = await registry.calls.ask_all(sources, ask, verb="positions")
    once: dict[tuple[object, ...], HeldPosition] = {}
    for outcome in outcomes:
        for position in outcome.value or ():
            held = HeldPosition(outcome.provider.id, position)
            own_id = position.position_id if isinstance(position, PoolPosition) else position.vault_id
            # Two sources may know one vault or pool: what a wallet has there is not counted twice. The last
            # is shown: a source of all vaults of a standard comes before that of the vault's own protocol.
            if network is None or held.chain_id == network.chain_id:
                once[held.vault_id, held.pool_id, own_id] = held
    return list(once.values()), [*catalog.failed_sources(outcomes), *unsearched.items()]


OPERATIONS = (get_portfolio_positions,)
