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
    account = required(text.AddressText, description="Account whose balance changes")
    token = required(
        text.AddressText, description="Token whose balance changes; the zero address is the native coin"
    )
    delta = required(text.DeltaText, description="Gain, or with a minus sign loss, in base units")


class AllowanceChange(View):
    owner = required(text.AddressText, description="Account whose tokens can be taken")
    token = required(text.AddressText, description="Token that can be taken")
    spender = required(text.AddressText, description="Account that may take them")
    before = required(text.AmountText, description="Allowance before the transactions")
    after = required(text.AmountText, description="Allowance after the transactions")


class Simulation(View):
    status = required(
        fields.String,
        enum=["success", "reverted", "skipped"],
        description="`skipped`: no node could simulate; `skipReason` says why",
    )
    block = nullable(
        BlockRef, description="Block on which the transactions were run. Null when they were not run"
    )
    gas_used = nullable(
        text.IntegerText,
        lambda run: sum(run.gas_used) if run.gas_used else None,
        description="Gas of all transactions together. Null when they were not run",
    )
    gas_used_by_transaction = required(
        [text.IntegerText], "gas_used", description="Gas of each transaction, in their order"
    )
    asset_changes = required([AssetChange], description="Balances that the transactions change")
    allowance_changes = required([AllowanceChange], description="Allowances that the transactions change")
    revert_reason = nullable(
        fields.String,
        description="The contract's own words, cut and made printable. Null when nothing reverted or "
        "it gave none",
    )
    reverted_step = nullable(
        fields.Integer, description="Index of the transaction that reverted. Null when none did"
    )
    skip_reason = nullable(fields.String, description="Why nothing was run. Null when it was")
    assumptions = required(
        [fields.String],
        description="What the run assumed, such as a balance that the wallet does not have yet",
    )


class SendCall(View):
    to = required(text.AddressText, description="Called contract or paid account")
    data = required(text.HexText, description="Calldata, empty as `0x`")
    value = required(text.QuantityText, description="Native coin that is sent along, in wei")


class Transaction(SendCall):
    """Exactly four members: more, or a decimal value, breaks wallets (docs: why a transaction has four
    members).
    """

    chain_id = required(text.ChainIdNumber)


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
    name = required(fields.String, description="Name of the parameter; empty where the ABI has none")
    type = required(fields.String, description="Solidity type of the parameter")
    value = nullable(
        ArgumentValue,
        description="Value: integers as decimal strings, bytes as 0x hex, arrays and structs as such",
    )


class Decoded(View):
    signature = required(
        fields.String, description="Signature of the called function, such as `approve(address,uint256)`"
    )
    args = required([Argument], description="Arguments in the order of the signature")
    inner = optional(
        [lambda: Decoded()],
        lambda call: call.inner or ABSENT,
        description="Calls within the calldata, such as those of a multicall",
    )
    opaque = optional(
        fields.Boolean,
        lambda call: call.opaque or ABSENT,
        description="True where the core cannot read a part of the calldata; left out otherwise",
    )


class Target(View):
    label = nullable(
        fields.String,
        "target_label",
        description="Name of the contract, where a provider declares it. Null for an unknown one",
    )
    known = required(
        fields.Boolean,
        lambda step: step.target_label is not None,
        description="Whether a provider declares the contract",
    )
    code_hash = nullable(fields.String, description="keccak-256 of the contract's code")


class ClearSigning(View):
    intent = required(fields.String, description="Sentence that a wallet can show: what signing does")
    descriptor = nullable(
        fields.String, description="ERC-7730 descriptor (JSON) of the function called. Null without one"
    )


class Step(View):
    index = required(fields.Integer, description="Place in `transactions`")
    tx_id = required(
        fields.String, description="Signed commitment to this transaction, for `/v2/transactions/{txId}`"
    )
    kind = required(fields.String, description="What the transaction is for, such as `approval` or `swap`")
    description = required(fields.String, description="Sentence for people: what the transaction does")
    gas_limit = nullable(text.QuantityText, description="Limit of gas with a reserve")
    decoded = required(Decoded, description="Calldata as the core reads it")
    approval = nullable(Approval, description="Allowance that the transaction gives. Null when it gives none")
    target = required(Target, itself, description="Contract that is called")
    clear_signing = required(ClearSigning, itself, description="What a wallet can show before signing")


class AppliesTo(View):
    transaction = required(fields.Integer, "step", description="Index in transactions")
    offset = required(fields.Integer, description="Byte offset in that transaction's data")
    length = required(fields.Integer, description="Bytes replaced by the signature")


class Signature(View):
    kind = required(fields.String, description="What is signed, such as `permit2`")
    typed_data = required(
        fields.Dict, description="EIP-712 message to sign, as `eth_signTypedData_v4` takes it"
    )
    applies_to = required(AppliesTo, itself, description="Where in the transactions the signature goes")


class WalletSendCalls(View):
    """The ``wallet_sendCalls`` parameter of EIP-5792, version 2.0.0."""

    version = required(fields.String, constant("2.0.0"), description="Version of EIP-5792's parameter")
    from_ = required(fields.String, "sender", description="Account that signs")
    chain_id = required(text.QuantityText, description="Chain id of the calls, as a quantity")
    atomic_required = required(
        fields.Boolean,
        lambda action: len(action.parts) > 1,
        description="Whether all calls must succeed or none",
    )
    calls = required([SendCall], "steps", description="Calls in the order of execution")


class ActionPart(QuotePart):
    steps = required([fields.Integer], "indices", description="Indices in steps")


class Action(View):
    action_id = required(
        fields.String, description="Hash of what the action does; the same action has the same id"
    )
    quote_id = nullable(
        fields.String, "quote_token", description="Quote that was exchanged. Null for an action without one"
    )
    kind = required(
        fields.String,
        lambda action: action.capability or "revocation",
        description="What the action is for: `swap`, `bridge`, `pool`, `vault` or `revocation`",
    )
    provider = required(text.ProviderId)
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    from_ = required(text.AddressText, "sender", description="Account that signs all transactions")
    created_at = required(text.TimeText, description="When the action was built")
    expires_at = required(text.TimeText, description="Until when to sign and send it")
    deadline = nullable(
        text.UnixTime,
        description="Until when the contracts execute it. Null where none of them takes a deadline",
    )
    transactions = required(
        [Transaction],
        "steps",
        description="Unsigned transactions in the order to send them; nonce and gas price are the signer's",
    )
    steps = required([Step], description="What is known of each transaction, in the same order")
    signatures = required(
        [Signature], description="Messages to sign before the transactions are sent; usually none"
    )
    # None with signatures: a wallet would send the calls as they are, without the signatures in the calldata.
    wallet_send_calls = nullable(
        WalletSendCalls,
        lambda action: None if action.signatures else action,
        description="Parameter of `wallet_sendCalls` (EIP-5792). Null when there are signatures",
    )
    inputs = required([Leg], description="What the caller pays")
    outputs = required([Leg], description="What the recipient gets, with the minimum that the chain enforces")
    parts = nullable(
        [ActionPart],
        lambda action: action.parts if len(action.parts) > 1 else None,
        description="Parts of an action that several providers carry out. Null where one does it all",
    )
    simulation = required(Simulation, description="Run of all transactions in their order")
    l1_fee = nullable(
        text.AmountText,
        "l1_fee_wei",
        description="Wei that a rollup charges for the data of all transactions on its parent chain",
    )
    issues = required([Issue], description="What would keep the transactions from succeeding now")
    warnings = required([Notice], description="What to know before signing")

    @classmethod
    def render(cls, model: models.Action, networks: Networks) -> dict[str, Any]:
        return super().render(model, networks) | terms_wire(model.terms, networks)


class Broadcast(View):
    """A transaction of an action as it was sent."""

    tx_id = required(fields.String, description="Commitment of the path")
    hash = required(fields.String, description="Hash of the transaction that was broadcast")


class Submitted(Broadcast):
    broadcast = required(fields.Boolean, description="Always true: a relay took the transaction")
    verified = required(fields.Boolean, description="Always true: the transaction is the one that was built")


class Realized(View):
    asset_changes = required([AssetChange], "changes", description="Balances that the transaction changed")
    native_known = required(
        fields.Boolean, description="Whether movements of the native coin are in assetChanges; gas never is"
    )
    gas_used = required(text.IntegerText, description="Gas that the transaction used")
    vs_quote_bps = nullable(
        fields.Integer, description="Outcome against the quoted output; 0 is as quoted, below 0 is less"
    )


class HashReport(Broadcast):
    chain_id = required(text.ChainIdNumber)
    match = required(
        fields.String,
        enum=["match", "mismatch", "not_found"],
        description="Whether the transaction is the one that was built",
    )
    differences = required(
        [Difference], description="Members that differ from what was built; empty with `match`"
    )
    status = required(
        fields.String,
        enum=["pending", "confirmed", "reverted", "unknown"],
        description="`unknown` never means failed: the nodes do not know the transaction now",
    )
    block_number = nullable(
        fields.Integer,
        lambda report: report.settled and report.settled.block_number,
        description="Number of its block. Null before it is in one",
    )
    confirmations = nullable(
        fields.Integer,
        lambda report: report.settled and report.settled.confirmations,
        description="Blocks from its block to the head, both included. Null before it is in one",
    )
    realized = nullable(
        Realized,
        "settled",
        description="What the transaction did, beside the quote. Null before it is in a block",
    )


class TrackedRefund(RefundPlace):
    amount = required(text.AmountText, description="How much is paid back")


class Tracked(Broadcast):
    status = required(
        fields.String,
        "state.status",
        enum=list(get_args(models.TransferStatus)),
        description="unknown never means failed: the nodes do not know the transaction now",
    )
    origin_chain_id = nullable(
        fields.Integer, "state.origin_chain_id", description="Chain id of the network that the transfer left"
    )
    destination_chain_id = nullable(
        fields.Integer,
        "state.destination_chain_id",
        description="Chain id of the network where the transfer arrives",
    )
    deposit_id = nullable(
        fields.String, "state.deposit_id", description="Number by which the bridge names the transfer"
    )
    fill_deadline = nullable(
        text.UnixTime,
        "state.fill_deadline",
        description="Until when the transfer may arrive; after it the refund is due",
    )
    fill_hash = nullable(
        fields.String,
        "state.fill_hash",
        description="Hash of the transaction that paid the recipient. Null before it",
    )
    refund_hash = nullable(
        fields.String,
        "state.refund_hash",
        description="Hash of the transaction that paid the refund. Null without one",
    )
    refund = nullable(
        TrackedRefund, "state.refund", description="What is paid back, and to whom. Null without a refund"
    )
    reason = nullable(
        fields.String, "state.reason", description="what action_required is about. Null with another status"
    )
