"""A wallet across networks: its balances, and its positions in pools and vaults."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from aiohttp import web

from quoteway.errors import FieldError, GatewayError, Reason, UpstreamError, disabled
from quoteway.evm.holdings import Holding, Holdings, read_holdings
from quoteway.guard.findings import check_form
from quoteway.host.states import networks_of
from quoteway.models import NATIVE, Address, Capability, PoolPosition, VaultPosition
from quoteway.networks import Network
from quoteway.pricing.valuation import Valuation, tokens_of_positions, total
from quoteway.providers import PoolProvider, Provider, VaultProvider
from quoteway.web.http.fields import AddressesField, AddressField, NetworkField, QueryBoolean
from quoteway.web.http.operation import Call, get
from quoteway.web.http.schema import invalid
from quoteway.web.resources import catalog
from quoteway.web.resources.freshness import FreshQuery, at_least_there
from quoteway.web.wire.rows import (
    Balances,
    HeldPosition,
    Missing,
    PortfolioPosition,
    Positions,
    ValuedHolding,
)
from quoteway.web.wire.view import Wire

log = logging.getLogger("quoteway.portfolio")

T = TypeVar("T")

MAX_TOKENS = 1_000
"""Of one request, over all its networks."""

VALUES_WAIT_S = 0.25
"""How long an answer waits for prices once the balances are read."""

NO_TOKEN = "no_token"  # noqa: S105 - a reason, not a secret
TOKEN_LIMIT = "token_limit"  # noqa: S105


def tokens_field() -> AddressesField:
    """The tokens that a wallet is asked about."""
    description = (
        f"Token addresses separated by commas, at most {MAX_TOKENS} over all networks. The request "
        "line is limited too (`server.max_line_bytes`, 8,190: some 180 addresses). Left out: the tokens "
        "listed by this deployment, of which only those held are shown."
    )
    return AddressesField(description, MAX_TOKENS)


class BalancesQuery(FreshQuery):
    wallet = AddressField("Whose balances", required=True)
    network = NetworkField("On this network; on all when left out")
    tokens = tokens_field()
    include_native = QueryBoolean("Whether the native coin is read too", load_default=True)
    include_unlisted = QueryBoolean(
        "Whether totalUsd counts tokens that no catalog lists", load_default=False
    )


class PositionsQuery(FreshQuery, catalog.PageQuery):
    wallet = AddressField("Whose positions", required=True)
    network = NetworkField("On this network; on all when left out")


# --- balances ---------------------------------------------------------------------------------------------


@get(
    "/v2/portfolio/balances",
    "A wallet's balances",
    Balances,
    query=BalancesQuery,
    description=(
        "All balances of a network are of one block, named in `asOf`. With `tokens`, each of them is "
        "shown, zero or not; without, those listed by this deployment that the wallet holds. A token "
        "that cannot be read is in `partial` (`call_failed`, `short_answer`, `no_token`, `out_of_gas`), "
        "and so is a network that cannot, with `token` null; `token_limit` there tells that the "
        "network's list is longer than what one request reads. `totalUsd` adds up what is `counted`: the "
        "values of listed tokens, and with `includeUnlisted` those of others; `totalComplete` is false while "
        "one of these, or anything else, is missing. `realisableUsd` is what the pools pay at least for all "
        "of it, each token sold alone; what no catalog lists is worth no more."
    ),
    failures=(502,),
)
async def get_portfolio_balances(call: Call) -> Wire:
    wallet: Address = call.query["wallet"]
    networks = networks_asked(call)
    asked: tuple[Address, ...] | None = call.query.get("tokens")
    chain_ids = [network.chain_id for network in networks]
    known = (call.gateway.tokens.listed(chain_id, asked or ()) for chain_id in chain_ids)
    facts = dict(zip(chain_ids, await asyncio.gather(*known), strict=True))
    wanted = {chain_id: facts[chain_id] if asked is None else asked for chain_id in chain_ids}
    shares = fair_shares({chain_id: len(wanted[chain_id]) for chain_id in chain_ids})
    tokens = {chain_id: [token for token in wanted[chain_id] if token != NATIVE] for chain_id in chain_ids}

    def read(chain_id: int) -> Coroutine[Any, Any, Holdings]:
        chain, known = call.gateway.runtime.chains[chain_id], facts[chain_id]
        return read_holdings(chain, wallet, tokens[chain_id][: shares[chain_id]], known)

    held, missing = await read_each(call, networks, read)
    for holdings in held.values():
        for token in holdings.found:
            call.gateway.tokens.remember(token)
    too_long = {chain_id for chain_id in held if len(tokens[chain_id]) > shares[chain_id]}
    missing += _unreadable(held, too_long, explicit=asked is not None)
    return await _rendered(call, held, missing)


def fair_shares(sizes: Mapping[int, int]) -> dict[int, int]:
    """How many tokens of each network are read: all where the list is short, the rest in equal parts."""
    shares, left = {}, MAX_TOKENS
    for place, chain_id in enumerate(sorted(sizes, key=lambda one: sizes[one])):
        shares[chain_id] = min(sizes[chain_id], left // (len(sizes) - place))
        left -= shares[chain_id]
    return shares


def networks_asked(call: Call) -> list[Network]:
    """The network that a query names, or all. Raises ``InvalidRequest`` for too many tokens on them."""
    only: Network | None = call.query.get("network")
    networks = [only] if only is not None else list(call.networks)
    if not networks:
        raise disabled("This deployment serves no network.")
    if len(call.query.get("tokens", ())) * len(networks) > MAX_TOKENS:
        text = f"are more than {MAX_TOKENS} over {len(networks)} networks: name one network or fewer tokens"
        raise invalid(FieldError("tokens", Reason.OUT_OF_RANGE, text))
    return networks


async def read_each(
    call: Call, networks: Sequence[Network], read: Callable[[int], Coroutine[Any, Any, T]]
) -> tuple[dict[int, T], list[Missing]]:
    """What ``read`` gives of each network, by chain id, and the networks that failed or were late.

    Raises ``UpstreamError`` when all did.
    """
    async with at_least_there(call, call.query.get("network")):
        reads = {
            network.chain_id: asyncio.create_task(read(network.chain_id), name=f"portfolio:{network.slug}")
            for network in networks
        }
    try:
        _, late = await asyncio.wait(reads.values(), timeout=call.gateway.config.quotes.competition_timeout_s)
    finally:
        for task in reads.values():
            task.cancel()
    found: dict[int, T] = {}
    missing: list[Missing] = []
    for chain_id, task in reads.items():
        failure = _failure(task, late=task in late)
        if failure is None:
            found[chain_id] = task.result()
        else:
            missing.append(Missing(chain_id, None, failure.value))
    if not found:
        text = "The wallet could not be read on any of the networks."
        raise UpstreamError(text, reason=Reason(missing[0].reason), retryable=True)
    return found, missing


def _failure(task: asyncio.Task[Any], *, late: bool) -> Reason | None:
    """Why a network has nothing to show; None when it has."""
    if late:
        return Reason.PROVIDER_TIMEOUT
    error = task.exception()
    if error is None:
        return None
    if isinstance(error, GatewayError):
        return error.reason or Reason.RPC_ERROR
    log.error("%s failed", task.get_name(), exc_info=error)
    return Reason.RPC_ERROR


async def _rendered(call: Call, held: Mapping[int, Holdings], missing: Sequence[Missing]) -> Wire:
    explicit: Sequence[Address] | None = call.query.get("tokens")
    with_native = call.query["include_native"] or (explicit is not None and NATIVE in explicit)
    shown: list[Holding] = []
    for chain_id, holdings in held.items():
        if with_native:
            shown.append(Holding(call.gateway.tokens.coin(chain_id), holdings.native))
        shown += [row for row in holdings.tokens if explicit is not None or row.amount]
    amounts = {(row.token.chain_id, row.token.address): row.amount for row in shown if row.amount}
    valuation, payouts = await asyncio.gather(
        call.gateway.valuation(set(amounts), wait_s=VALUES_WAIT_S), call.gateway.payouts.get(amounts)
    )
    unlisted: bool = call.query["include_unlisted"]
    rows = [_valued(row, valuation, payouts, unlisted=unlisted) for row in shown]
    values = [row.value_usd for row in rows if row.counted and row.value_usd is not None]
    unvalued = (row for row in rows if row.amount and row.value_usd is None)
    complete = not missing and not any(row.token.listed or unlisted for row in unvalued)
    return Balances.of(
        call.networks,
        wallet=call.query["wallet"],
        data=rows,
        total_usd=total(values),
        total_complete=complete,
        as_of=[(chain_id, holdings.block.number) for chain_id, holdings in held.items()],
        missing=missing,
    )


def _valued(
    held: Holding, valuation: Valuation, payouts: Mapping[tuple[int, Address], float], *, unlisted: bool
) -> ValuedHolding:
    token, key = valuation.token(held.token), (held.token.chain_id, held.token.address)
    payout_usd = payouts.get(key)
    value_usd = valuation.usd(token, held.amount, payout_usd)
    counted = value_usd is not None and (token.listed or unlisted)
    return ValuedHolding(token, held.amount, value_usd, payout_usd, valuation.prices.get(key), counted)


def _unreadable(held: Mapping[int, Holdings], too_long: set[int], *, explicit: bool) -> Iterator[Missing]:
    """Tokens that could not be read. Without a network given, an address is a token somewhere and nothing
    elsewhere: it is named only when it is a token nowhere."""
    tokens = {row.token.address for holdings in held.values() for row in holdings.tokens}
    for chain_id, holdings in held.items():
        for address, reason in holdings.unreadable:
            if not (explicit and reason == NO_TOKEN and address in tokens):
                yield Missing(chain_id, address, reason)
        if chain_id in too_long:
            yield Missing(chain_id, None, TOKEN_LIMIT)


# --- positions --------------------------------------------------------------------------------------------


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

    async def ask(source: Provider) -> Sequence[PoolPosition | VaultPosition]:
        found: tuple[PoolPosition | VaultPosition, ...]
        if isinstance(source, PoolProvider):
            found = tuple(await source.positions(wallet, None))
            check_form(source, found, tuple[PoolPosition, ...])
        else:
            found = tuple(await cast(VaultProvider, source).positions(wallet))
            check_form(source, found, tuple[VaultPosition, ...])
        for position in found:  # a position that cannot be rendered fails its source, not the request
            PortfolioPosition.render(HeldPosition(source.id, position), call.networks)
        return found

    async with at_least_there(call, network):
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
    missing = catalog.failed_sources(outcomes)
    listing = catalog.Listing(rows, lambda row: f"{row['provider']}/{row['positionId']}", missing=missing)
    return catalog.fresh(call, listing)


OPERATIONS = (get_portfolio_balances, get_portfolio_positions)
