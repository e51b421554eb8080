"""Actions: transactions, the steps beside them, signatures, and the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire.amounts import Approval, BlockRef, Issue, Leg, Notice, QuotePart
from quoteway.web.wire.terms import terms_wire
from quoteway.web.wire.text import (
    AddressText,
    AmountText,
    CodeText,
    DeltaText,
    HexText,
    IntegerText,
    NetworkText,
    QuantityText,
    TimeText,
)
from quoteway.web.wire.view import (
    ABSENT,
    NetworkField,
    View,
    Wire,
    constant,
    itself,
    list_of,
    list_or_null,
    member,
    named,
    nested,
    nested_or_null,
    nullable,
    required,
    strings,
)


class AssetChange(View):
    account = required(AddressText)
    token = required(AddressText)
    delta = required(DeltaText)


class AllowanceChange(View):
    owner = required(AddressText)
    token = required(AddressText)
    spender = required(AddressText)
    before = required(AmountText)
    after = required(AmountText)


class Simulation(View):
    status = required(fields.String, enum=["success", "reverted", "skipped"])
    block = nested_or_null(BlockRef)
    gas_used = nullable(IntegerText, lambda run: sum(run.gas_used) if run.gas_used else None)
    gas_used_by_transaction = member(fields.List(IntegerText(), required=True), "gas_used")
    asset_changes = list_of(AssetChange)
    allowance_changes = list_of(AllowanceChange)
    revert_reason = nullable(fields.String)
    reverted_step = nullable(fields.Integer)
    skip_reason = nullable(fields.String)
    assumptions = strings()


class Transaction(View):
    """Exactly four members: more, or a decimal value, breaks wallets (docs: why a transaction has four
    members).
    """

    to = required(AddressText)
    data = required(HexText)
    value = required(QuantityText)
    chain_id = required(fields.Integer)


class ArgumentValue(fields.Raw, NetworkField):
    """Integers as decimal strings (JSON readers lose them above 2^53), bytes as 0x hex."""

    def convert(self, value: Any, networks: Networks) -> Any:
        if isinstance(value, bool | str) or value is None:
            return value
        if isinstance(value, int):
            return str(value)
        if isinstance(value, bytes):
            return "0x" + value.hex()
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
    args = list_of(Argument)
    inner = member(fields.List(fields.Nested(lambda: Decoded())), lambda call: call.inner or ABSENT)
    opaque = member(fields.Boolean(), lambda call: call.opaque or ABSENT)


class Target(View):
    label = nullable(fields.String, "target_label")
    known = required(fields.Boolean, lambda step: step.target_label is not None)
    code_hash = nullable(fields.String)


class ClearSigning(View):
    intent = required(fields.String)
    descriptor = nullable(fields.String, constant(None))


class Step(View):
    index = required(fields.Integer)
    tx_id = required(fields.String)
    kind = required(fields.String)
    description = required(fields.String)
    gas_limit = nullable(QuantityText)
    decoded = nested(Decoded)
    approval = nested_or_null(Approval)
    target = nested(Target, itself)
    clear_signing = nested(ClearSigning, itself)


class AppliesTo(View):
    transaction = required(fields.Integer, "step", description="Index in transactions")
    offset = required(fields.Integer, description="Byte offset in that transaction's data")
    length = required(fields.Integer, description="Bytes replaced by the signature")


class Signature(View):
    kind = required(fields.String)
    typed_data = required(fields.Dict)
    applies_to = nested(AppliesTo, itself)


class SendCall(View):
    to = required(AddressText)
    data = required(HexText)
    value = required(QuantityText)


class WalletSendCalls(View):
    """The ``wallet_sendCalls`` parameter of EIP-5792, version 2.0.0."""

    version = required(fields.String, constant("2.0.0"))
    from_ = named("from", required(fields.String, "sender"))
    chain_id = required(QuantityText)
    atomic_required = required(fields.Boolean, constant(True))
    calls = list_of(SendCall, "steps")


class ActionPart(QuotePart):
    steps = member(
        fields.List(fields.Integer(), required=True, metadata={"description": "Indices in steps"}), "indices"
    )


class Action(View):
    action_id = required(fields.String)
    quote_id = nullable(fields.String, "quote_token")
    kind = required(CodeText, "capability")
    provider = required(fields.String)
    network = required(NetworkText, "chain_id")
    chain_id = required(fields.Integer)
    from_ = named("from", required(AddressText, "sender"))
    created_at = required(TimeText)
    expires_at = required(TimeText)
    deadline = nullable(fields.Integer)
    transactions = list_of(Transaction, "steps")
    steps = list_of(Step)
    signatures = list_of(Signature)
    # None with signatures: a wallet would send the calls as they are, without the signatures in the calldata.
    wallet_send_calls = nested_or_null(WalletSendCalls, lambda action: None if action.signatures else action)
    inputs = list_of(Leg)
    outputs = list_of(Leg)
    parts = list_or_null(ActionPart, lambda action: action.parts if len(action.parts) > 1 else None)
    simulation = nested(Simulation)
    issues = list_of(Issue)
    warnings = list_of(Notice)

    @classmethod
    def render(cls, model: models.Action, networks: Networks) -> Wire:
        return super().render(model, networks) | terms_wire(model.terms, networks)
