"""USD prices of tokens, and what they are made of."""

from __future__ import annotations

from quoteway.models import Address, Capability
from quoteway.networks import Network
from quoteway.web.http.fields import NetworkField
from quoteway.web.http.name_fields import TokensField
from quoteway.web.http.operation import Call, get
from quoteway.web.http.schema import RequestSchema
from quoteway.web.resources.wallet_reads import NO_TOKEN
from quoteway.web.wire.holdings import (
    Missing,
)
from quoteway.web.wire.prices import PricedToken, Prices
from quoteway.web.wire.view import Wire

MOST_TOKENS = 100
WAIT_S = 1.0
"""How long an answer waits for prices that are not in memory."""


class PricesQuery(RequestSchema):
    network = NetworkField("Network of the tokens", required=True)
    tokens = TokensField(f"Tokens separated by commas, at most {MOST_TOKENS}", MOST_TOKENS, required=True)


@get(
    "/v2/prices",
    "Prices of tokens in US dollars",
    Prices,
    query=PricesQuery,
    description=(
        "`priceUsd` is the median of the sources that agree, which `sources` names; null where none knows a "
        "price or no majority agrees. `confidence`, between 0 and 1, is their own measure, `liquidityUsd` "
        "what can be sold near the price; each is null where no source tells it. `anchored`: it is reached "
        "from confirmed dollar tokens through pools that stood for a while, or sources of several plugins "
        "agree. `moved1hPct` is how far the market is from its price within the last hour, where that was "
        "most; from 2 % on `warnings` has `price_moved`. A price may be some blocks "
        "old: `asOfBlock`. An address that is no token is in `partial` (`no_token`)."
    ),
    failures=(502,),
)
async def get_prices(call: Call) -> Wire:
    network: Network = call.query["network"]
    addresses: tuple[Address, ...] = call.query["tokens"]
    call.require(Capability.PRICES, network.chain_id)
    tokens = await call.gateway.tokens.find_all(network.chain_id, addresses)
    prices = await call.gateway.prices.get(network.chain_id, list(tokens), wait_s=WAIT_S)
    rows = []
    for address in addresses:
        if (token := tokens.get(address)) is not None:
            rows.append(PricedToken(token, prices.get(address)))
    missing = [Missing(network.chain_id, address, NO_TOKEN) for address in addresses if address not in tokens]
    return Prices.of(call.networks, data=rows, missing=missing)


OPERATIONS = (get_prices,)
