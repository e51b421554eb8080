"""Actions: unsigned transactions with what is known of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire import text
from quoteway.web.wire.parts import (
    Approval,
    BlockRef,
    Issue,
    Leg,
    Notice,
    QuotePart,
)
from quoteway.web.wire.terms import terms_wire
from quoteway.web.wire.view import ABSENT, NetworkField, View, constant, itself, nullable, optional, required


class AssetChange(View):
    account = required(text.AddressText, description="Account whose balance changes")
    token = required(
        text.AddressText,
        description="Token whose balance changes; the zero address stands for the native coin",
    )
    delta = required(text.DeltaText, description="Change of the balance")


class AllowanceChange(View):
    owner = required(text.AddressText, description="Account that owns the tokens")
    token = required(text.AddressText, description="ERC-20 token of the allowance")
    spender = required(text.AddressText, description="Account that may take the tokens")
    before = required(text.AmountText, description="Allowance before the transactions")
    after = required(text.AmountText, description="Allowance after the transactions")


class Simulation(View):
    status = required(
        fields.String,
        enum=["success", "reverted", "skipped"],
        description="`success`: all transactions ran. `reverted`: one of them failed. `skipped`: none was "
        "run, and `skipReason` says why",
    )
    block = nullable(
        BlockRef, description="Block on whose state the transactions were run. Null when they were not run"
    )
    gas_used = nullable(
        text.IntegerText,
        lambda run: sum(run.gas_used) if run.gas_used else None,
        description="Units of gas that all transactions used together. Null when they were not run",
    )
    gas_used_by_transaction = required(
        [text.IntegerText],
        "gas_used",
        description="Units of gas that each transaction used, in their order; empty when they were not run",
    )
    asset_changes = required(
        [AssetChange],
        description="Changes of the balances that were compared: the caller's of the native coin and of "
        "the tokens that it pays, those of the recipients, and that of the `feeRecipient`",
    )
    allowance_changes = required([AllowanceChange], description="Changes of the caller's ERC-20 allowances")
    revert_reason = nullable(
        fields.String,
        description="Revert reason of the contract, shortened and in printable characters. Null when "
        "nothing reverted, and when it gave none",
    )
    reverted_step = nullable(
        fields.Integer, description="Index of the transaction that reverted. Null when none did"
    )
    skip_reason = nullable(
        fields.String, description="Why the transactions were not run. Null when they were run"
    )
    assumptions = required(
        [fields.String],
        description="State that the run assumed: `native_balance`, `balance:` with the address of a token "
        "that the caller does not have enough of, or `permit2_signature`",
    )


class SendCall(View):
    to = required(text.AddressText, description="Contract that is called, or account that is paid")
    data = required(text.HexText, description="Calldata; `0x` when there is none")
    value = required(text.QuantityText, description="Wei of the native coin that are sent with the call")


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
        description="Value of the parameter: integers as decimal strings, bytes as 0x hex, arrays as "
        "arrays, structs as arrays of arguments",
    )


class Decoded(View):
    signature = required(
        fields.String,
        description="Signature of the called function, such as `approve(address,uint256)`; the four bytes "
        "of the selector as 0x hex where the calldata is `opaque`",
    )
    args = required(
        [Argument],
        description="Arguments in the order of the signature; the bytes after the selector where the "
        "calldata is `opaque`",
    )
    inner = optional(
        [lambda: Decoded()],
        lambda call: call.inner or ABSENT,
        description="Calls inside the calldata, such as those of a multicall; left out when there are none",
    )
    opaque = optional(
        fields.Boolean,
        lambda call: call.opaque or ABSENT,
        description="True where the gateway cannot decode the calldata; left out otherwise",
    )


class Target(View):
    label = nullable(
        fields.String,
        "target_label",
        description="Name of the contract in the gateway's registry of call descriptions; never one that "
        "a provider gives. Null for a contract that the registry does not have",
    )
    known = required(
        fields.Boolean,
        lambda step: step.target_label is not None,
        description="Whether the registry of call descriptions has the contract",
    )
    code_hash = nullable(
        fields.String,
        description="keccak-256 of the contract's code, 32 bytes as 0x hex. Null when the code was not read",
    )


class ClearSigning(View):
    intent = required(
        fields.String,
        description="What the signature does, in one sentence made from the calldata, for a wallet to show",
    )
    descriptor = nullable(
        fields.String,
        description="ERC-7730 descriptor of the called function, as JSON in text. Null where the gateway "
        "has none",
    )


class Step(View):
    index = required(fields.Integer, description="Index of the transaction in `transactions`")
    tx_id = required(
        fields.String,
        description="Signed commitment to this transaction, valid for 7 days, for `/v2/transactions/{txId}`",
    )
    kind = required(
        fields.String,
        description="What the transaction does, such as `approval`, `approval_reset`, `permit`, "
        "`permit2_approval` or `swap`",
    )
    description = required(fields.String, description="What the transaction does, in a sentence")
    gas_limit = nullable(
        text.QuantityText,
        description="Gas limit to set: the units that the simulation used, with a reserve. Null when not "
        "simulated",
    )
    decoded = required(
        Decoded, description="Calldata as the gateway decodes it; encoding it again gives the same bytes"
    )
    approval = nullable(Approval, description="Allowance that the transaction sets. Null when it sets none")
    target = required(Target, itself, description="Contract that the transaction calls")
    clear_signing = required(ClearSigning, itself, description="What a wallet can show before signing")


class AppliesTo(View):
    transaction = required(fields.Integer, "step", description="Index of the transaction in `transactions`")
    offset = required(
        fields.Integer,
        description="Offset in that transaction's `data` at which the signature is inserted, in bytes",
    )
    length = required(
        fields.Integer, description="Number of bytes of `data` that the signature replaces; 65 for r, s and v"
    )


class Signature(View):
    kind = required(fields.String, description="What is signed, such as `permit2`")
    typed_data = required(
        fields.Dict, description="EIP-712 message to sign, as `eth_signTypedData_v4` takes it"
    )
    applies_to = required(
        AppliesTo, itself, description="Where the signature is inserted in the transactions"
    )


class Permit(View):
    token = required(text.AddressText, description="Token of the allowance")
    spender = required(text.AddressText, description="Account that may take the token")
    value = required(
        text.AmountText, description="Allowance that the token sets, exactly that of the approval"
    )
    nonce = required(text.IntegerText, description="Nonce that the token expects")
    deadline = required(
        text.UnixTime, description="Time until which the token accepts the signature: that of `expiresAt`"
    )


class PermitOffer(View):
    permit = required(Permit, description="Values that are signed. With `signature`, an item of `permits`")
    typed_data = required(
        fields.Dict, description="EIP-712 message to sign, as `eth_signTypedData_v4` takes it"
    )


class WalletSendCalls(View):
    """The ``wallet_sendCalls`` parameter of EIP-5792, version 2.0.0."""

    version = required(fields.String, constant("2.0.0"), description="Version of the parameter of EIP-5792")
    from_ = required(fields.String, "sender", description="Account that signs")
    chain_id = required(text.QuantityText, description="Chain id of the calls, as a quantity")
    atomic_required = required(
        fields.Boolean,
        lambda action: len(action.parts) > 1,
        description="Whether the wallet must execute all calls or none: true where several providers "
        "carry out the action",
    )
    calls = required([SendCall], "steps", description="Calls in the order of execution")


class ActionPart(QuotePart):
    steps = required(
        [fields.Integer],
        "indices",
        description="Indices in `steps` of the part's transactions, approvals included",
    )


class Recipient(View):
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    account = required(text.AddressText, description="Account that gets something on the network")


class Policy(View):
    digest = required(
        fields.String, itself, description="`sha256:` and the SHA-256 of the policy file, in hex"
    )


class Action(View):
    action_id = required(
        fields.String, description="keccak-256 of chain id, sender and all transactions in order, as 0x hex"
    )
    quote_id = nullable(
        fields.String,
        "quote_token",
        description="Quote that the action was built from. Null for an action without one",
    )
    kind = required(
        fields.String,
        lambda action: action.capability or "revocation",
        description="Kind of the action: `swap`, `bridge`, `pool`, `vault` or `revocation`",
    )
    provider = required(
        text.ProviderId,
        description="Id of the provider, as in `GET /v2/providers`; `quoteway` for a revocation, which "
        "the gateway builds itself",
    )
    network = required(text.NetworkText, "chain_id")
    chain_id = required(text.ChainIdNumber)
    from_ = required(text.AddressText, "sender", description="Account that signs all transactions")
    created_at = required(text.TimeText, description="When the action was built")
    expires_at = required(
        text.TimeText,
        description="Time until which the quote behind the action is valid: sign and send the "
        "transactions before it",
    )
    deadline = nullable(
        text.UnixTime,
        description="Time after which the contracts refuse the transactions. Null where none of them "
        "takes a deadline",
    )
    transactions = required(
        [Transaction],
        "steps",
        description="Unsigned transactions in the order of sending. The signer adds nonce and gas price",
    )
    steps = required([Step], description="Facts of each transaction, in the same order")
    signatures = required(
        [Signature],
        description="Messages to sign and insert before the transactions are sent; empty for most actions",
    )
    permit_offers = required(
        [PermitOffer],
        description="EIP-2612 permits that can take the place of approvals, where `offerPermits` asks for "
        "them. The action can be sent as it is; with a signature in `permits`, request it again",
    )
    # None with signatures: a wallet would send the calls as they are, without the signatures in the calldata.
    wallet_send_calls = nullable(
        WalletSendCalls,
        lambda action: None if action.signatures else action,
        description="Parameter of `wallet_sendCalls` (EIP-5792). Null when there are signatures to insert "
        "first",
    )
    inputs = required([Leg], description="Tokens and amounts that the caller pays")
    outputs = required(
        [Leg], description="Tokens and amounts that the recipient receives, each with its minimum"
    )
    recipients = required(
        [Recipient],
        "payees",
        description="All accounts that get something: payments, refunds, the fee of the request, or a role "
        "in a vault; the caller too",
    )
    price_impact_bps = nullable(
        text.PriceImpact, description=f"{text.PriceImpact.about}, as quoted. Null where the quote has none"
    )
    policy = nullable(
        Policy,
        "policy_digest",
        description="Custody policy of the deployment, which allows the action. Null where it has none",
    )
    parts = nullable(
        [ActionPart],
        lambda action: action.parts if len(action.parts) > 1 else None,
        description="Parts of an action that several providers carry out, in order. Null where one "
        "provider carries out all",
    )
    simulation = required(Simulation, description="Simulation of all transactions in their order")
    l1_fee = nullable(
        text.WeiText,
        "l1_fee_wei",
        description="Fee that a rollup charges for the data of all transactions on its parent chain. Null "
        "where it charges none, or when not known",
    )
    issues = required(
        [Issue], description="What would make the transactions fail now, or what to check before signing"
    )
    warnings = required([Notice], description="What the signer must know before signing")
    jws = nullable(
        fields.String,
        constant(None),
        description="Signature of the gateway: a compact JWS (EdDSA) over a JWT whose claim `action` is this "
        "object without `jws`. Its key is at `/.well-known/jwks.json`. Null where the deployment signs none",
    )

    @classmethod
    def render(cls, model: models.Action, networks: Networks) -> dict[str, Any]:
        return super().render(model, networks) | terms_wire(model.terms, networks)
