"""What the positions of a wallet have gained."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from quoteway.engine.position_pnl import position_gain
from quoteway.errors import GatewayError, disabled
from quoteway.models import Address, PoolPosition, PositionFlow, VaultPosition
from quoteway.networks import Network
from quoteway.pricing.past_prices import OLDEST_S, PastPrices, read_past_prices
from quoteway.pricing.valuation import tokens_of_positions
from quoteway.web.http.operation import Call, get
from quoteway.web.resources.balances import VALUES_WAIT_S
from quoteway.web.resources.positions import PositionsQuery, positions_of
from quoteway.web.wire.holdings import (
    HeldPosition,
)
from quoteway.web.wire.view import Wire
from quoteway.web.wire.wallet_past import Gains, PositionGain

MOST_POSITIONS = 200
_AT_ONCE = 16
LIMIT, UNAVAILABLE = "position_limit", "index_unavailable"
METHOD = (
    "Cost: the deposits in US dollars of the hours in which they were made. A withdrawal takes its share of "
    "the cost by liquidity (average cost); realisedUsd is what was withdrawn less that. unrealisedUsd is "
    "valueUsd less costUsd. valueUsd is the principal now, without fees. feesUsd are collected fees at the "
    "prices of the hours of their collection, and uncollected ones at those of now. impermanentLossUsd is "
    "valueUsd less what the deposits that are still in it would be worth now; negative is a loss. Prices of "
    "the past are the closing prices of hours, at most a day old."
)


@get(
    "/v2/portfolio/pnl",
    "What a wallet's positions have gained and lost",
    Gains,
    query=PositionsQuery,
    description=(
        "One row for each position that `GET /v2/portfolio/positions` shows, from all that it took in and "
        "paid out since it was opened, as an index has it. A member is null where it is not known, and "
        "`reasons` says why: `not_indexed`, `flows_incomplete` (its events do not add up to its liquidity), "
        "`price_unknown`, `amount_unknown` (shares that came from another account), `fees_not_logged` (v4, "
        "after the first change), `fees_in_principal` (v2 and vaults), `one_token`. `partial` names a "
        "provider that failed, `position_limit` and `index_unavailable`. 503 where no index is kept."
    ),
    failures=(502,),
)
async def get_portfolio_pnl(call: Call) -> Wire:
    await _check_index(call)
    found, missing, _ = await positions_of(call, call.query)
    partial: list[tuple[str, str]] = [(name, reason.value) for name, reason in missing]
    partial += [(each.provider, LIMIT) for each in found[MOST_POSITIONS : MOST_POSITIONS + 1]]
    rows = found[:MOST_POSITIONS]
    lane = asyncio.Semaphore(_AT_ONCE)

    async def flows_of(held: HeldPosition) -> Sequence[PositionFlow] | GatewayError | None:
        contract, token_id = _place(held.position)
        if contract is None:
            return None
        async with lane:
            try:
                flows = await call.gateway.history.position_flows(
                    held.chain_id, contract, token_id, call.query["wallet"]
                )
            except GatewayError as error:
                return error
        is_whole = flows is not None and flows.reach.from_start and not flows.more
        return flows.flows if flows is not None and is_whole else None

    keys = tokens_of_positions(held.position for held in rows)
    flows, valuation = await asyncio.gather(
        asyncio.gather(*map(flows_of, rows)), call.gateway.valuation(keys, wait_s=VALUES_WAIT_S)
    )
    partial += [
        (held.provider, UNAVAILABLE)
        for held, answer in zip(rows, flows, strict=True)
        if isinstance(answer, GatewayError)
    ]
    known = [None if isinstance(answer, GatewayError) else answer for answer in flows]
    then = await _past_prices(call, rows, known)
    gains = [
        PositionGain(held, position_gain(held.position, own, then[held.chain_id], valuation))
        for held, own in zip(rows, known, strict=True)
    ]
    return Gains.of(
        call.networks,
        wallet=call.query["wallet"],
        data=gains,
        method=METHOD,
        missing=list(dict.fromkeys(partial)),
    )


async def _check_index(call: Call) -> None:
    """Raises ``ProviderUnavailable`` when no network that is asked for has an index."""
    network: Network | None = call.query.get("network")
    asked = call.networks if network is None else [network]
    answers = await asyncio.gather(
        *(call.gateway.history.known_events(each.chain_id, ()) for each in asked), return_exceptions=True
    )
    if all(answer is None for answer in answers):
        raise disabled("This deployment keeps no index of this network.")


def _place(position: PoolPosition | VaultPosition) -> tuple[Address | None, int | None]:
    """Returns the contract that logs what a position does, and the id of its token."""
    if isinstance(position, VaultPosition):
        return position.vault_id.partition(":")[2], None
    if position.kind == "fungible":
        return position.pool_id.partition(":")[2], None
    return position.manager, int(position.position_id) if position.position_id.isdecimal() else None


async def _past_prices(
    call: Call, rows: Sequence[HeldPosition], flows: Sequence[Sequence[PositionFlow] | None]
) -> dict[int, PastPrices]:
    """Returns the prices of all tokens of the positions since their first flow, by chain id."""
    tokens: defaultdict[int, set[Address]] = defaultdict(set)
    since: dict[int, int] = {}
    for held, own in zip(rows, flows, strict=True):
        if own:
            tokens[held.chain_id] |= {leg.token.address for leg in held.position.amounts}
            since[held.chain_id] = min(since.get(held.chain_id, own[0].timestamp), own[0].timestamp)
    now = int(call.gateway.runtime.clock())
    found: dict[int, PastPrices] = {held.chain_id: PastPrices() for held in rows}
    for chain_id, asked in tokens.items():
        try:
            found[chain_id] = await read_past_prices(
                call.gateway.history, chain_id, sorted(asked), since[chain_id] - OLDEST_S, now
            )
        except GatewayError:
            continue
    return found


OPERATIONS = (get_portfolio_pnl,)
