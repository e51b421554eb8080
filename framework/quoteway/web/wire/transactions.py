"""What became of the transactions of an action."""

from __future__ import annotations

from typing import get_args

from marshmallow import fields

from quoteway import models
from quoteway.web.wire import text
from quoteway.web.wire.actions import AssetChange
from quoteway.web.wire.parts import Difference
from quoteway.web.wire.terms import RefundPlace
from quoteway.web.wire.view import View, nullable, required


class Broadcast(View):
    """A transaction of an action as it was sent."""

    tx_id = required(fields.String, description="`txId` of the path")
    hash = required(fields.String, description="Hash of the transaction")


class Submitted(Broadcast):
    broadcast = required(fields.Boolean, description="Always true: a relay has broadcast the transaction")
    verified = required(fields.Boolean, description="Always true: the transaction is the one that was built")


class Realized(View):
    asset_changes = required(
        [AssetChange],
        "changes",
        description="Changes of the balances of the sender and of the quoted recipients, without the gas",
    )
    native_known = required(
        fields.Boolean,
        description="Whether `assetChanges` has movements of the native coin, which emit no logs",
    )
    gas_used = required(text.IntegerText, description="Units of gas that the transaction used")
    vs_quote_bps = nullable(
        fields.Integer,
        description="Received output less the quoted one, in basis points of the quoted one: 0 is as "
        "quoted, negative is less. The lowest of several outputs. Null for a transaction with "
        "no quoted output, when it reverted, is not the one that was built, or the output is "
        "not known",
    )


class HashReport(Broadcast):
    chain_id = required(
        text.ChainIdNumber, description="Chain id of the network for which the transaction was built"
    )
    match = required(
        fields.String,
        enum=["match", "mismatch", "not_found"],
        description="`match`: the transaction is the one that was built. `mismatch`: `differences` says "
        "what differs. `not_found`: no network of this deployment has it now",
    )
    differences = required(
        [Difference],
        description="Members that differ from the transaction that was built; empty unless `match` is "
        "`mismatch`",
    )
    status = required(
        fields.String,
        enum=["pending", "confirmed", "reverted", "unknown"],
        description="`pending`: not in a block yet. `confirmed` or `reverted`: in a block. `unknown`: the "
        "nodes do not have the transaction now, which does not mean that it failed",
    )
    block_number = nullable(
        fields.Integer,
        lambda report: report.settled and report.settled.block_number,
        description="Number of the block with the transaction. Null when it is in none",
    )
    block_hash = nullable(
        fields.String,
        lambda report: report.settled and report.settled.block_hash,
        description="Hash of that block. Null when it is in none",
    )
    confirmations = nullable(
        fields.Integer,
        lambda report: report.settled and report.settled.confirmations,
        description="Number of blocks from that block to the newest one, both included. Null when it is "
        "in none",
    )
    realized = nullable(
        Realized,
        "settled",
        description="What the transaction did. Null when it is in no block",
    )


class TrackedRefund(RefundPlace):
    amount = required(text.AmountText, description="Amount of the refund")


class Tracked(Broadcast):
    status = required(
        fields.String,
        "state.status",
        enum=list(get_args(models.TransferStatus)),
        description="`origin_*`: the deposit is sent or mined. `fill_pending` and `filled`: the payment "
        "on the other network. `refund_*`: the refund. `action_required`: see `reason`. "
        "`unknown`: the nodes do not have the transaction now, which does not mean that it "
        "failed",
    )
    origin_chain_id = nullable(
        fields.Integer,
        "state.origin_chain_id",
        description="Chain id of the network on which the deposit was made",
    )
    destination_chain_id = nullable(
        fields.Integer,
        "state.destination_chain_id",
        description="Chain id of the network on which the transfer is paid",
    )
    deposit_id = nullable(
        fields.String, "state.deposit_id", description="Number of the deposit at the bridge, as decimal text"
    )
    fill_deadline = nullable(
        text.UnixTime,
        "state.fill_deadline",
        description="Time until which the transfer can be filled; after it the deposit is refunded",
    )
    fill_hash = nullable(
        fields.String,
        "state.fill_hash",
        description="Hash of the transaction that paid the recipient. Null before that",
    )
    refund_hash = nullable(
        fields.String,
        "state.refund_hash",
        description="Hash of the transaction that paid the refund. Null without one",
    )
    refund = nullable(TrackedRefund, "state.refund", description="Refund of the transfer. Null without one")
    reason = nullable(
        fields.String,
        "state.reason",
        description="Code of what the caller must do. Null unless `status` is `action_required`",
    )
