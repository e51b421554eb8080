"""A wallet's positions in pools and vaults of all providers."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, cast

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
    AsOf,
    HeldPosition,
    PortfolioPosition,
    Positions,
)

HEADS_WAIT_S: Final = 0.5
"""How long the newest blocks are waited for, which answer `asOf` where a wallet has no position."""


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
    found, missing, as_of = await positions_of(call, call.query)
    valuation = await call.gateway.valuation(
        tokens_of_positions(held.position for held in found), wait_s=VALUES_WAIT_S
    )
    rows = [
        PortfolioPosition.render(
            HeldPosition(held.provider, valuation.position(held.position)), call.networks
        )
        for held in found
    ]
    more = {"asOf": AsOf.render_all(as_of.items(), call.networks)}
    listing = catalog.Listing(
        rows, lambda row: f"{row['provider']}/{row['positionId']}", missing=missing, more=more
    )
    return catalog.fresh(call, listing)


async def positions_of(
    call: Call, asked: Mapping[str, Any]
) -> tuple[list[HeldPosition], list[tuple[str, Reason]], Mapping[int, int]]:
    """Returns the asked wallet's positions, each once, the providers that may have others, and the block of
    each network, by chain id, at which they were read.

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
        chain_ids = {chain_id for source in sources for chain_id in networks_of(source)}
        heads = await _heads(call, chain_ids if network is None else {network.chain_id})
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
    read: dict[int, int] = {}
    for held in once.values():
        number = held.position.block.number
        read[held.chain_id] = min(read.get(held.chain_id, number), number)
    as_of = dict(sorted((heads | read).items()))
    return list(once.values()), [*catalog.failed_sources(outcomes), *unsearched.items()], as_of


async def _heads(call: Call, chain_ids: Collection[int]) -> dict[int, int]:
    """Returns the numbers of the newest blocks of networks, of those that are known at once."""
    chains = call.gateway.runtime.chains
    reads = {each: asyncio.ensure_future(chains[each].head()) for each in sorted(chain_ids) if each in chains}
    if reads:
        await asyncio.wait(reads.values(), timeout=HEADS_WAIT_S)
    known: dict[int, int] = {}
    for chain_id, reading in reads.items():
        if not reading.done():
            reading.cancel()
        elif not reading.cancelled() and reading.exception() is None:
            known[chain_id] = reading.result().number
    return known


OPERATIONS = (get_portfolio_positions,)
