"""What became of transactions that were built.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from typing import Unpack

from quoteway_client.calls import Call, segment
from quoteway_client.models.transactions import HashBody, HashReport, SubmitBody, Submitted, Tracked
from quoteway_client.resource import Awaited, Blocking, Resource, ResourceAsync


def submit_transaction(tx_id: str, **body: Unpack[SubmitBody]) -> Call[Submitted]:
    """Broadcast a signed transaction, where a relay is enabled.

    The transaction is compared with the one that was built, and broadcast by a relay. Without an
    enabled relay the answer is 503 `relay_unsupported`: nothing is ever said to be sent that was not.

    ``tx_id``: Signed commitment to a transaction, the `txId` of a step of an action.
    """
    return Call("POST", f"/v2/transactions/{segment(tx_id)}/submit", Submitted, body=body)


def submit_transaction_hash(tx_id: str, **body: Unpack[HashBody]) -> Call[HashReport]:
    """Compare a broadcast transaction with the one that was built.

    Looks for the transaction on its network, else on the others. `realized` is what it did beside the
    quote.

    ``tx_id``: Signed commitment to a transaction, the `txId` of a step of an action.
    """
    return Call("POST", f"/v2/transactions/{segment(tx_id)}/submit-hash", HashReport, body=body)


def track_transaction(tx_id: str, *, hash: str) -> Call[Tracked]:
    """Where a bridge transfer is.

    By the transaction on the network that it left: `txId` of the step, and the hash sent.

    ``tx_id``: Signed commitment to a transaction, the `txId` of a step of an action
    ``hash``: Hash of the broadcast transaction, 32 bytes as 0x hex.
    """
    return Call("GET", f"/v2/transactions/{segment(tx_id)}", Tracked, query={"hash": hash})


class TransactionsOperations(Resource):
    """What became of transactions that were built."""

    submit = Blocking(submit_transaction)
    submit_hash = Blocking(submit_transaction_hash)
    track = Blocking(track_transaction)


class AsyncTransactionsOperations(ResourceAsync):
    """What became of transactions that were built."""

    submit = Awaited(submit_transaction)
    submit_hash = Awaited(submit_transaction_hash)
    track = Awaited(track_transaction)
