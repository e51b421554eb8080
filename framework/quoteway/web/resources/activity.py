"""What a wallet did, transaction by transaction."""

from __future__ import annotations

from quoteway.engine.activity import activity
from quoteway.errors import FieldError, Reason
from quoteway.networks import Network
from quoteway.web.http.fields import NetworkField, QueryInteger, Text
from quoteway.web.http.name_fields import AccountField
from quoteway.web.http.operation import Call, get
from quoteway.web.http.schema import RequestSchema, invalid
from quoteway.web.resources.catalog import cursor_of, read_cursor
from quoteway.web.wire.view import Wire
from quoteway.web.wire.wallet_past import Activity

MOST_TRANSACTIONS = 50


class ActivityQuery(RequestSchema):
    wallet = AccountField("Account whose transactions are listed", required=True)
    network = NetworkField("Network to read", required=True)
    cursor = Text("Value of `nextCursor` of the page before", max_length=400)
    limit = QueryInteger("Number of transactions on a page", 1, MOST_TRANSACTIONS, load_default=25)


@get(
    "/v2/portfolio/activity",
    "A wallet's transactions, newest first",
    Activity,
    query=ActivityQuery,
    description=(
        "The transactions in which tokens came to the wallet or went from it, as far as the index reaches "
        "(`coverage`). Which they are is from the index; what happened in them is from their receipts on the "
        "chain. `call` is what a known description reads from the calldata, `description` a sentence of the "
        "core, `events` what known protocols logged in it. `hearsay` marks what an unlisted token says that "
        "the wallet sent in a transaction of another account: any contract can say that. Native coin counts "
        "where the wallet sent it with a transaction. A transaction that cannot be read is in `partial`. "
        "503 where no index keeps the wallet's transfers."
    ),
    failures=(502,),
)
async def get_portfolio_activity(call: Call) -> Wire:
    network: Network = call.query["network"]
    wallet, before = call.query["wallet"], None
    if "cursor" in call.query:
        last, position = read_cursor(call.query["cursor"])
        if not last.isascii() or not last.isdecimal() or len(last) > 15:
            refusal = FieldError("cursor", Reason.INVALID_FORMAT, "must be a nextCursor of this list")
            raise invalid(refusal)
        before = int(last), position
    found = await activity(call.gateway, network.chain_id, wallet, before, call.query["limit"])
    return Activity.of(
        call.networks,
        wallet=wallet,
        chain_id=network.chain_id,
        data=found.done,
        next_cursor=None if found.before is None else cursor_of(str(found.before[0]), found.before[1]),
        coverage=found.reach,
        missing=found.missing,
    )


OPERATIONS = (get_portfolio_activity,)
