"""Prices of tokens in USD.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from quoteway_client.calls import Call
from quoteway_client.models.prices import PriceHistory, Prices
from quoteway_client.resource import Awaited, Blocking, Resource, ResourceAsync


def get_prices(*, network: str, tokens: str | Sequence[str]) -> Call[Prices]:
    """Prices of tokens in US dollars.

    `priceUsd` is the median of the sources that agree, which `sources` names; null where none knows a
    price or no majority agrees. `confidence`, between 0 and 1, is their own measure, `liquidityUsd`
    what can be sold near the price; each is null where no source tells it. `anchored`: it is reached
    from confirmed dollar tokens through pools that stood for a while, or sources of several plugins
    agree. `moved1hPct` is how far the market is from its price within the last hour, where that was
    most; from 2 % on `warnings` has `price_moved`. A price may be some blocks old: `asOfBlock`. An
    address that is no token is in `partial` (`no_token`).

    ``network``: Network of the tokens
    ``tokens``: Tokens separated by commas, at most 100; by address, `native` or the zero address for
    the native coin, and with `network` by the symbol or id of a listed token, or a CAIP-19 id.
    """
    return Call("GET", "/v2/prices", Prices, query={"network": network, "tokens": tokens})


def get_price_history(
    *,
    network: str,
    token: str,
    from_: int | None = None,
    to: int | None = None,
    interval: Literal["1h", "1d", "1w"] | None = None,
) -> Call[PriceHistory]:
    """The price of a token in US dollars over time.

    One row for each interval, with nulls where no price is known. `mean` is weighted by time,
    `confidence` and `depthUsd` are the least of the interval, and `hours` of it have a price.
    `coverage` is the span in which prices were looked for, null where none were.

    ``from_``: Start of the series, in Unix seconds. Left out: 30 days before `to`
    ``to``: End of the series, in Unix seconds. Left out: now
    ``interval``: Time between points: an hour, a day or a week
    ``network``: Network of the token
    ``token``: Token whose prices are shown; by address, `native` or the zero address for the native
    coin, by the symbol or id of a listed token, or a CAIP-19 id.
    """
    return Call(
        "GET",
        "/v2/prices/history",
        PriceHistory,
        query={"from": from_, "to": to, "interval": interval, "network": network, "token": token},
    )


class PricesOperations(Resource):
    """Prices of tokens in USD."""

    get = Blocking(get_prices)
    history = Blocking(get_price_history)


class AsyncPricesOperations(ResourceAsync):
    """Prices of tokens in USD."""

    get = Awaited(get_prices)
    history = Awaited(get_price_history)
