"""What the tokens of a wallet were worth over time."""

from __future__ import annotations

from quoteway.engine.wallet_value import wallet_value
from quoteway.errors import FieldError, Reason
from quoteway.host.series_book import DEFAULT_SPAN_S, MAX_POINTS
from quoteway.models import NATIVE
from quoteway.networks import Network
from quoteway.web.http.fields import NetworkField, QueryBoolean
from quoteway.web.http.name_fields import AccountField
from quoteway.web.http.operation import Call, get
from quoteway.web.http.schema import invalid
from quoteway.web.resources.series import INTERVALS_S, SeriesQuery
from quoteway.web.wire.holdings import (
    Missing,
)
from quoteway.web.wire.view import Wire
from quoteway.web.wire.wallet_past import WalletHistory

NOT_INDEXED, POSITIONS = "not_indexed", "positions_not_counted"
METHOD = (
    "Balances at each point: those at asOfBlock, read from the chain, less what came since and plus what "
    "went, by all ERC-20 transfers of the wallet. Times the closing price of the last hour that had ended, "
    "at most a day old. The native coin and positions in pools and vaults are not counted. A token without "
    "a price is in unpriced, and one whose transfers do not explain its balance in partial: neither is "
    "counted."
)


class WalletHistoryQuery(SeriesQuery):
    wallet = AccountField("Account whose tokens are valued", required=True)
    network = NetworkField("Network to read", required=True)
    include_unlisted = QueryBoolean("Whether tokens that no catalog lists count too", load_default=False)


@get(
    "/v2/portfolio/history",
    "The value of a wallet's tokens over time",
    WalletHistory,
    query=WalletHistoryQuery,
    description=(
        "`valueUsd` of a point is what the wallet's listed tokens with a known price were worth; null "
        "outside of `coverage`, and where none of what it had is priced. `tokens` has the exact balances at "
        "the points, in base units. `partial` names what is not counted: the native coin (`not_indexed`), "
        "positions (`positions_not_counted`, `position_not_counted` with the token of its shares), a token "
        "whose transfers do not explain its balance (`balance_unexplained`), such as a rebasing one, and "
        "limits (`token_limit`, `transfer_limit`). 503 where no index keeps the wallet's transfers."
    ),
    failures=(502,),
)
async def get_portfolio_history(call: Call) -> Wire:
    query, network = call.query, call.query["network"]
    assert isinstance(network, Network)
    end: int = query.get("to", int(call.gateway.runtime.clock()))
    start: int = query.get("from_", max(0, end - DEFAULT_SPAN_S))
    step_s = INTERVALS_S[query["interval"]]
    if start >= end:
        raise invalid(FieldError("from", Reason.CONFLICT, "must be before to, which is now by default"))
    if (end - start) // step_s > MAX_POINTS:
        text = f"gives more than {MAX_POINTS} points: ask for a longer interval"
        raise invalid(FieldError("interval", Reason.OUT_OF_RANGE, text))
    moments = range(-(-start // step_s) * step_s, end + 1, step_s)
    chain_id = network.chain_id
    found = await wallet_value(
        call.gateway, chain_id, query["wallet"], moments, unlisted=query["include_unlisted"]
    )
    missing = [Missing(chain_id, NATIVE, NOT_INDEXED), Missing(chain_id, None, POSITIONS)]
    missing += (Missing(chain_id, token, reason) for token, reason in found.missing)
    return WalletHistory.of(
        call.networks,
        wallet=query["wallet"],
        chain_id=chain_id,
        interval=query["interval"],
        start=start,
        end=end,
        points=found.points,
        tokens=found.tokens,
        coverage=found.coverage,
        block=found.block,
        method=METHOD,
        missing=missing,
    )


OPERATIONS = (get_portfolio_history,)
