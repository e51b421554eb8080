"""Actions, and what became of their transactions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire import text
from quoteway.web.wire.parts import (
    Approval,
    BlockRef,
    Difference,
    Issue,
    Leg,
    Notice,
    QuotePart,
    RefundPlace,
    terms_wire,
)
from quoteway.web.wire.view import ABSENT, NetworkField, View, constant, itself, nullable, optional, required


class AssetChange(View):
    account = required(text.AddressText)
    token = required(text.AddressText)
    delta = required(text.DeltaText)


class AllowanceChange(View):
    owner = required(text.AddressText)
    token = required(text.AddressText)
    spender = required(text.AddressText)
    before = required(text.AmountText)
    after = required(text.AmountText)


class Simulation(View):
    status = required(fields.String, enum=["success", "reverted", "skipped"])
    block = nullable(BlockRef)
    gas_used = nullable(text.IntegerText, lambda run: sum(run.gas_used) if run.gas_used else None)
    gas_used_by_transaction = required([text.IntegerText], "gas_used")
    asset_changes = required([AssetChange])
    allowance_changes = required([AllowanceChange])
    revert_reason = nullable(fields.String)
    reverted_step = nullable(fields.Integer)
    skip_reason = nullable(fields.String)
    assumptions = required([fields.String])


class SendCall(View):
    to = required(text.AddressText)
    data = required(text.HexText)
    value = required(text.QuantityText)


class Transaction(SendCall):
    """Exactly four members: more, or a decimal value, breaks wallets (docs: why a transaction has four
    members).
    """

    chain_id = required(fields.Integer)


class ArgumentValue(fields.Raw, NetworkField):
    """Integers as decimal strings (JSON readers lose them above 2^53), bytes as 0x hex."""

    def convert(self, value: Any, networks: Networks) -> Any:
        if isinstance(value, bool | str) or value is None:
            return value
        if isinstance(value, int):
            return str(value)
        if isinstance(value, bytes):
            return text.HexText.convert(value)
        if isinstance(value, models.Argument):
            return Argument.render(value, networks)
        if isinstance(value, Mapping):
            return {str(name): self.convert(each, networks) for name, each in value.items()}
        return [self.convert(each, networks) for each in value]


class Argument(View):
    name = required(fields.String)
    type = required(fields.String)
    value = nullable(ArgumentValue)


class Decoded(View):
    signature = required(fields.String)
    args = required([Argument])
    inner = optional([lambda: Decoded()], lambda call: call.inner or ABSENT)
    opaque = optional(fields.Boolean, lambda call: call.opaque or ABSENT)


class Target(View):
    label = nullable(fields.String, "target_label")
    known = required(fields.Boolean, lambda step: step.target_label is not None)
    code_hash = nullable(fields.String)


class ClearSigning(View):
    intent = required(fields.String)
    descriptor = nullable(fields.String, description="ERC-7730 descriptor (JSON) of the function called")


class Step(View):
    index = required(fields.Integer)
    tx_id = required(fields.String)
    kind = required(fields.String)
    description = required(fields.String)
    gas_limit = nullable(text.QuantityText)
    decoded = required(Decoded)
    approval = nullable(Approval)
    target = required(Target, itself)
    clear_signing = required(ClearSigning, itself)


class AppliesTo(View):
    transaction = required(fields.Integer, "step", description="Index in transactions")
    offset = required(fields.Integer, description="Byte offset in that transaction's data")
    length = required(fields.Integer, description="Bytes replaced by the signature")


class Signature(View):
    kind = required(fields.String)
    typed_data = required(fields.Dict)
    applies_to = required(AppliesTo, itself)


class WalletSendCalls(View):
    """The ``wallet_sendCalls`` parameter of EIP-5792, version 2.0.0."""

    version = required(fields.String, constant("2.0.0"))
    from_ = required(fields.String, "sender")
    chain_id = required(text.QuantityText)
    atomic_required = required(fields.Boolean, lambda action: len(action.parts) > 1)
    calls = required([SendCall], "steps")


class ActionPart(QuotePart):
    steps = required([fields.Integer], "indices", description="Indices in steps")


class Action(View):
    action_id = required(fields.String)
    quote_id = nullable(fields.String, "quote_token")
    kind = required(fields.String, lambda action: action.capability or "revocation")
    provider = required(fields.String)
    network = required(text.NetworkText, "chain_id")
    chain_id = required(fields.Integer)
    from_ = required(text.AddressText, "sender")
    created_at = required(text.TimeText)
    expires_at = required(text.TimeText)
    deadline = nullable(fields.Integer)
    transactions = required([Transaction], "steps")
    steps = required([Step])
    signatures = required([Signature])
    # None with signatures: a wallet would send the calls as they are, without the signatures in the calldata.
    wallet_send_calls = nullable(WalletSendCalls, lambda action: None if action.signatures else action)
    inputs = required([Leg])
    outputs = required([Leg])
    parts = nullable([ActionPart], lambda action: action.parts if len(action.parts) > 1 else None)
    simulation = required(Simulation)
    l1_fee = nullable(
        text.AmountText,
        "l1_fee_wei",
        description="Wei that a rollup charges for the data of all transactions on its parent chain",
    )
    issues = required([Issue])
    warnings = required([Notice])

    @classmethod
    def render(cls, model: models.Action, networks: Networks) -> dict[str, Any]:
        return super().render(model, networks) | terms_wire(model.terms, networks)


class Broadcast(View):
    """A transaction of an action as it was sent."""

    tx_id = required(fields.String)
    hash = required(fields.String)


class Submitted(Broadcast):
    broadcast = required(fields.Boolean)
    verified = required(fields.Boolean)


class Realized(View):
    asset_changes = required([AssetChange], "changes")
    native_known = required(
        fields.Boolean, description="Whether movements of the native coin are in assetChanges; gas never is"
    )
    gas_used = required(text.IntegerText)
    vs_quote_bps = nullable(
        fields.Integer, description="Outcome against the quoted output; 0 is as quoted, below 0 is less"
    )


class HashReport(Broadcast):
    chain_id = required(fields.Integer)
    match = required(fields.String, enum=["match", "mismatch", "not_found"])
    differences = required([Difference])
    status = required(fields.String, enum=["pending", "confirmed", "reverted", "unknown"])
    block_number = nullable(fields.Integer, lambda report: report.settled and report.settled.block_number)
    confirmations = nullable(fields.Integer, lambda report: report.settled and report.settled.confirmations)
    realized = nullable(Realized, "settled")


class TrackedRefund(RefundPlace):
    amount = required(text.AmountText)


class Tracked(Broadcast):
    status = required(
        fields.String,
        "state.status",
        enum=list(get_args(models.TransferStatus)),
        description="unknown never means failed: the nodes do not know the transaction now",
    )
    origin_chain_id = nullable(fields.Integer, "state.origin_chain_id")
    destination_chain_id = nullable(fields.Integer, "state.destination_chain_id")
    deposit_id = nullable(fields.String, "state.deposit_id")
    fill_deadline = nullable(fields.Integer, "state.fill_deadline")
    fill_hash = nullable(fields.String, "state.fill_hash")
    refund_hash = nullable(fields.String, "state.refund_hash")
    refund = nullable(TrackedRefund, "state.refund")
    reason = nullable(fields.String, "state.reason", description="what action_required is about")
