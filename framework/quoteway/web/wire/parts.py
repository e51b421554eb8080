"""What answers are made of: tokens, legs, gas, approvals, routes; the request as it was understood; terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire.text import (
    AddressText,
    AmountText,
    ChainIdNumber,
    CodeText,
    DecimalsNumber,
    IntegerText,
    LogoText,
    NetworkText,
    ProviderId,
    UnixTime,
    UsdNumber,
)
from quoteway.web.wire.view import (
    View,
    itself,
    nullable,
    optional,
    required,
)


class TokenRef(View):
    address = required(AddressText, description="Contract of the token; the zero address is the native coin")
    chain_id = required(ChainIdNumber)
    network = required(NetworkText, "chain_id")
    symbol = nullable(fields.String, description="Ticker of the token; not unique")
    name = nullable(fields.String, description="Name of the token for people")
    decimals = required(DecimalsNumber)
    is_native = required(fields.Boolean, description="Whether it is the native coin of the network")
    logo_uri = nullable(LogoText)
    price_usd = nullable(UsdNumber, description="Price of one whole token")


class BlockRef(View):
    number = required(fields.Integer, description="Height of the block")
    hash = required(fields.String, description="Hash of the block, 0x hex")
    timestamp = required(UnixTime, description="Time of the block")


class Leg(View):
    token = required(TokenRef, description="Token that moves")
    amount = required(AmountText, description="How much moves, as quoted")
    amount_min = nullable(
        AmountText,
        description="Least that the chain or the simulation allows. Null where it is exact or not limited",
    )
    amount_max = nullable(
        AmountText,
        description="Most that the chain or the simulation allows. Null where it is exact or not limited",
    )
    amount_usd = nullable(UsdNumber, description="Worth of the amount")
    account = required(AddressText, description="Account that pays or gets it")


class Fee(View):
    name = required(fields.String, description="Name of the fee for people")
    kind = required(
        fields.String,
        enum=["protocol", "integrator", "bridge", "lp", "gas"],
        description="Who the fee is for",
    )
    token = required(TokenRef, description="Token that the fee is paid in")
    amount = required(AmountText, description="How much the fee is")
    amount_usd = nullable(UsdNumber, description="Worth of the fee")
    bps = nullable(
        fields.Float, description="Rate of the fee, in basis points. Null for a fee that is no rate"
    )
    included = required(fields.Boolean, description="Whether the outputs are after it")
    recipient = nullable(AddressText, description="Who gets it. Null where that is not known")


class Gas(View):
    units = required(IntegerText, description="Gas that the transactions use, as simulated or estimated")
    limit = required(IntegerText, description="Limit of gas with a reserve")
    max_fee_per_gas = nullable(
        AmountText, "max_fee_per_gas_wei", description="Most to pay for a unit of gas, in wei"
    )
    l1_fee = nullable(
        AmountText, "l1_fee_wei", description="Wei that a rollup charges for data on its parent chain"
    )
    cost = nullable(AmountText, "cost_wei", description="What the gas costs, in wei, with `l1Fee`")
    price = nullable(AmountText, "price_wei", description="Wei per unit that `cost` is counted with")
    cost_usd = nullable(UsdNumber, description="Worth of the cost")


class Approval(View):
    token = required(AddressText, description="Token that must be approved")
    spender = required(AddressText, description="Contract that must be allowed to take it")
    required = required(AmountText, description="Allowance that the transactions need")
    current = nullable(AmountText, description="Allowance that there is now")
    needed = nullable(fields.Boolean, description="Whether an approval must come before the transactions")
    needs_reset = nullable(
        fields.Boolean, description="Whether the token wants the allowance set to zero first"
    )


class Issue(View):
    code = required(
        fields.String, description="What is wrong, such as `insufficient_balance`; more codes may come"
    )
    token = nullable(AddressText, description="Token that it is about. Null when it is about none")
    actual = nullable(AmountText, description="What there is. Null where it is no amount")
    required = nullable(AmountText, description="What is needed. Null where it is no amount")


class TradeTax(View):
    """What a token's own taxes take, in a simulation against a pool."""

    token = required(AddressText, description="Token that was measured")
    buy_bps = nullable(fields.Integer, description="Of a purchase, in basis points")
    sell_bps = nullable(fields.Integer, description="Of a sale, in basis points")
    sellable = nullable(fields.Boolean, description="Whether the simulated sale succeeded")


class Notice(View):
    code = required(fields.String, description="Word for programs; more may come")
    message = required(fields.String, description="Sentence for people")


class Hop(View):
    provider = required(ProviderId)
    protocol = required(fields.String, description="Protocol of the pool, such as `uniswap-v3`")
    pool = required(fields.String, description="Contract of the pool; of v4 its 32-byte id")
    token_in = required(AddressText, description="Token that goes into the pool")
    token_out = required(AddressText, description="Token that comes out of the pool")
    amount_in = required(AmountText, description="How much goes into the pool")
    amount_out = required(AmountText, description="How much comes out of the pool")
    fee_bps = nullable(fields.Float, description="Fee of the pool, in basis points")


class RoutePath(View):
    bps = required(fields.Integer, description="Part of the input that goes this way, in basis points")
    hops = required([Hop], description="Pools of the way in their order")


class RouteLeg(Hop):
    """All that passes through one pool of a route."""

    share_bps = required(
        fields.Integer, description="Of what leaves `tokenIn` (the native coin and its wrapped form are one)"
    )


class QuotePart(View):
    """One provider's part of a quote that several carry out, in order: its own legs and minimums."""

    kind = required(CodeText, "capability", enum=["swap", "bridge"], description="What the part does")
    provider = required(ProviderId)
    inputs = required([Leg], description="What the part takes")
    outputs = required([Leg], description="What the part pays, with its own minimum")


class Range(View):
    tick_lower = required(fields.Integer, 0, description="Where the position begins")
    tick_upper = required(fields.Integer, 1, description="Where the position ends")


class PoolState(View):
    kind = required(fields.String, description="How the pool prices, such as `v2` or `v3`")
    fee_bps = optional(fields.Float, allow_none=True, description="Fee of a swap, in basis points")
    reserves = optional(
        [IntegerText], allow_none=True, description="What the pool holds of each token, in base units"
    )
    sqrt_price_x96 = optional(
        IntegerText, allow_none=True, description="Square root of the price times 2^96, of v3 and v4"
    )
    tick = optional(fields.Integer, allow_none=True, description="Tick of the price, of v3 and v4")
    liquidity = optional(IntegerText, allow_none=True, description="Liquidity in range, of v3 and v4")


class PoolTerms(View):
    pool_state = optional(PoolState, allow_none=True, description="State of the pool at the quote's block")
    dependent = optional(
        Leg,
        allow_none=True,
        description="Side that follows from `amount`: the other token that is taken or paid",
    )
    liquidity_delta = optional(
        IntegerText,
        allow_none=True,
        description="Liquidity or shares that the position gains, or with a minus sign loses",
    )
    range = optional(
        Range, "tick_range", allow_none=True, description="Ticks of the position. Null where it has no range"
    )
    share_of_pool = optional(
        fields.Float,
        allow_none=True,
        description="Part of the pool that the position has then, as a fraction: 0.05 is 5 %",
    )


class QuotedVault(View):
    id = required(fields.String, "vault_id", description="Id of the vault")
    asset = required(TokenRef, description="Token that is deposited (the underlying)")
    share = required(TokenRef, description="Token that the vault gives for it")
    share_price = nullable(fields.String, description="Whole assets per whole share")


class QuotedVaultFees(View):
    entry = nullable(
        fields.Integer, "entry_bps", description="Part of a deposit that the vault keeps, in basis points"
    )
    exit = nullable(
        fields.Integer, "exit_bps", description="Part of a withdrawal that the vault keeps, in basis points"
    )


class VaultTerms(View):
    vault = optional(QuotedVault, itself, description="Vault with its tokens and share price")
    limit = optional(
        IntegerText,
        allow_none=True,
        description="Most that the vault takes or pays now, in base units. Null when there is no limit",
    )
    lock_seconds = optional(
        fields.Integer, allow_none=True, description="Seconds that a deposit is locked. Null when it is not"
    )
    fees_bps = optional(
        QuotedVaultFees, itself, description="Fees of deposits and withdrawals, in basis points"
    )


class RefundPlace(View):
    chain_id = required(ChainIdNumber)
    token = required(AddressText, description="Token that is paid back")
    address = required(AddressText, description="Account that is paid back")


class Refund(RefundPlace):
    on_expiry = nullable(
        fields.String, description="Sentence: what happens when the transfer does not arrive in time"
    )


class TransferTerms(View):
    estimated_seconds = optional(
        fields.Integer, allow_none=True, description="Seconds until arrival, as the bridge estimates them"
    )
    fill_deadline = optional(
        UnixTime,
        allow_none=True,
        description="Until when the transfer may arrive; after it the refund is due",
    )
    refund = optional(
        Refund,
        allow_none=True,
        description="Where the refund goes when the transfer does not arrive. Null when the provider "
        "does not say",
    )


class Tracking(View):
    bridge = required(fields.String, description="Id of the provider that carries the transfer")
    origin_chain_id = required(fields.Integer, description="Chain id of the network that the transfer leaves")
    destination_chain_id = required(
        fields.Integer, description="Chain id of the network where the transfer arrives"
    )
    expected_seconds = nullable(
        fields.Integer, description="Seconds until arrival, as the bridge estimates them"
    )
    refund_address = nullable(
        AddressText,
        description="Account that is paid back when the transfer does not arrive. Null when the "
        "provider does not say",
    )


class TransferTracking(View):
    tracking = optional(Tracking, itself, description="How to follow the transfer")


class DeploymentParams(View):
    asset = required(AddressText, description="Token that the vault takes (the underlying)")
    owner = required(AddressText, description="Account that owns the vault")
    bot = nullable(AddressText, description="Account that may rebalance. Null for nobody")
    strategy = required(fields.String, description="Strategy of the new vault")


class DeploymentTerms(View):
    factory = optional(fields.String, description="Contract that deploys the vault")
    predicted_address = optional(fields.String, description="Address that the vault will have")
    salt = optional(fields.String, description="Salt of CREATE2, 32 bytes as 0x hex")
    init_code_hash = optional(fields.String, description="keccak-256 of the code that CREATE2 runs, 0x hex")
    params = optional(DeploymentParams, itself, description="What the vault is deployed with")


class Difference(View):
    member = required(fields.String, description="Member of the transaction that differs")
    expected = nullable(fields.String, description="Value that was built. Null for none")
    actual = nullable(fields.String, description="Value that was found. Null for none")


class RequiredRole(View):
    """Who may take a vault's management action."""

    name = required(fields.String, description="Name of the role in the contract")
    holder = nullable(AddressText, description="Account that has the role")
    caller_has_role = nullable(fields.Boolean, description="Whether the caller has the role")


class ManagementTerms(View):
    required_role = optional(RequiredRole, allow_none=True, description="Who may take the action")


VIEWS: Mapping[type, type[View]] = {
    models.PoolTerms: PoolTerms,
    models.VaultTerms: VaultTerms,
    models.TransferTerms: TransferTerms,
    models.TransferTracking: TransferTracking,
    models.DeploymentTerms: DeploymentTerms,
    models.ManagementTerms: ManagementTerms,
}


def terms_wire(terms: Any, networks: Networks) -> dict[str, Any]:
    """The members that terms add to a quote or an action."""
    return {} if terms is None else VIEWS[type(terms)].render(terms, networks)
