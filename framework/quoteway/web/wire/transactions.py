"""What became of a transaction that a ``txId`` commits to."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, get_args

from marshmallow import fields

from quoteway.models import TransferStatus
from quoteway.web.wire.actions import AssetChange
from quoteway.web.wire.text import AddressText, AmountText, IntegerText
from quoteway.web.wire.view import View, list_of, nested_or_null, nullable, required


class Submitted(View):
    tx_id = required(fields.String)
    hash = required(fields.String)
    broadcast = required(fields.Boolean)
    verified = required(fields.Boolean)


class Difference(View):
    member = required(fields.String)
    expected = nullable(fields.String)
    actual = nullable(fields.String)


class Realized(View):
    asset_changes = list_of(AssetChange, "changes")
    native_known = required(
        fields.Boolean, description="Whether movements of the native coin are in assetChanges; gas never is"
    )
    gas_used = required(IntegerText)
    vs_quote_bps = nullable(
        fields.Integer, description="Outcome against the quoted output; 0 is as quoted, below 0 is less"
    )


def _settled(path: str) -> Callable[[Any], Any]:
    read = attrgetter(path)
    return lambda report: None if report.settled is None else read(report.settled)


class HashReport(View):
    tx_id = required(fields.String)
    hash = required(fields.String)
    chain_id = required(fields.Integer)
    match = required(fields.String, enum=["match", "mismatch", "not_found"])
    differences = list_of(Difference)
    status = required(fields.String, enum=["pending", "confirmed", "reverted", "unknown"])
    block_number = nullable(fields.Integer, _settled("block_number"))
    confirmations = nullable(fields.Integer, _settled("confirmations"))
    realized = nested_or_null(Realized, "settled")


class TrackedRefund(View):
    chain_id = required(fields.Integer)
    token = required(AddressText)
    address = required(AddressText)
    amount = required(AmountText)


class Tracked(View):
    tx_id = required(fields.String)
    hash = required(fields.String)
    status = required(
        fields.String,
        "state.status",
        enum=list(get_args(TransferStatus)),
        description="unknown never means failed: the nodes do not know the transaction now",
    )
    origin_chain_id = nullable(fields.Integer, "state.origin_chain_id")
    destination_chain_id = nullable(fields.Integer, "state.destination_chain_id")
    deposit_id = nullable(fields.String, "state.deposit_id")
    fill_deadline = nullable(fields.Integer, "state.fill_deadline")
    fill_hash = nullable(fields.String, "state.fill_hash")
    refund_hash = nullable(fields.String, "state.refund_hash")
    refund = nested_or_null(TrackedRefund, "state.refund")
    reason = nullable(fields.String, "state.reason", description="what action_required is about")
