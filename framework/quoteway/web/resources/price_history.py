"""The USD price of a token over time, from an indexer."""

from __future__ import annotations

from typing import cast

from quoteway.errors import NotFound, UpstreamError, disabled
from quoteway.metrics_provider import MetricsProvider
from quoteway.models import NATIVE, Capability, PriceHistory
from quoteway.networks import Network
from quoteway.providers import Provider
from quoteway.web.http.fields import NetworkField
from quoteway.web.http.name_fields import TokenField
from quoteway.web.http.operation import Call, get
from quoteway.web.resources.series import INTERVALS_S, SeriesQuery, asked_series
from quoteway.web.wire.candles import CandleRow, TokenHistory
from quoteway.web.wire.candles import PriceHistory as PriceHistoryView
from quoteway.web.wire.view import Wire


class PriceHistoryQuery(SeriesQuery):
    network = NetworkField("Network of the token", required=True)
    token = TokenField("Token whose prices are shown", native=True, required=True)


@get(
    "/v2/prices/history",
    "The price of a token in US dollars over time",
    PriceHistoryView,
    query=PriceHistoryQuery,
    description=(
        "One row for each interval, with nulls where no price is known. `mean` is weighted by time, "
        "`confidence` and `depthUsd` are the least of the interval, and `hours` of it have a price. "
        "`coverage` is the span in which prices were looked for, null where none were."
    ),
    failures=(404, 502),
)
async def get_price_history(call: Call) -> Wire:
    network: Network = call.query["network"]
    chain_id, address = network.chain_id, call.query["token"]
    providers = call.gateway.registry.enabled(Capability.METRICS, chain_id)
    if not providers:
        raise disabled("No enabled provider keeps prices of this network.")
    asked = asked_series(call, address, "price")
    start, end = asked.span(int(call.gateway.runtime.clock()))
    token = (await call.gateway.tokens.find_all(chain_id, [address])).get(address)
    if token is None:
        raise NotFound("There is no such token on this network.")
    priced = network.wrapped_native or NATIVE if address == NATIVE else address

    async def ask(provider: Provider) -> PriceHistory | None:
        keeper = cast(MetricsProvider, provider)
        return await keeper.price_history(chain_id, priced, start, end, asked.interval)

    outcomes = await call.ask(providers, PriceHistory | None, ask, verb="price_history")
    history = next((each.value for each in outcomes if each.value is not None), None)
    if history is None:
        failed = next((each for each in outcomes if not each.answered), None)
        if failed is None:
            raise disabled("No enabled provider keeps prices of this network.")
        raise UpstreamError("The prices could not be read.", reason=failed.reason, retryable=True)
    step_s = INTERVALS_S[asked.interval]
    candles = {candle.timestamp: candle for candle in history.candles}
    grid = range(-(-start // step_s) * step_s, end, step_s)
    rows = [CandleRow(moment, candles.get(moment)) for moment in grid]
    return PriceHistoryView.render(TokenHistory(token, history, rows), call.networks)


OPERATIONS = (get_price_history,)
