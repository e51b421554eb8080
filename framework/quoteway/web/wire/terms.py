"""The members that the terms of a pool, vault or transfer add to a quote or an action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire.parts import Leg, Range, RequiredRole, TokenRef
from quoteway.web.wire.text import AddressText, ChainIdNumber, IntegerText, UnixTime
from quoteway.web.wire.view import View, itself, nullable, optional, required


class PoolState(View):
    kind = required(fields.String, description="Family of the pool's contract, such as `v2`, `v3` or `v4`")
    fee_bps = optional(
        fields.Float,
        allow_none=True,
        description="Fee of a swap in this pool, in basis points of the amount sold",
    )
    reserves = optional(
        [IntegerText],
        allow_none=True,
        description="Reserves of the pool, in base units, in the order of its tokens. Null for a pool "
        "without reserves, such as v3 and v4",
    )
    sqrt_price_x96 = optional(
        IntegerText,
        allow_none=True,
        description="Square root of the price of token 0 in token 1, in base units, times 2^96. Null for "
        "a pool without ticks",
    )
    tick = optional(
        fields.Integer,
        allow_none=True,
        description="Tick of the present price. Null for a pool without ticks",
    )
    liquidity = optional(
        IntegerText,
        allow_none=True,
        description="Liquidity of the pool: for v3 and v4 that in range at the present price, for v2 the "
        "total supply of its shares. Null where the pool has no such number",
    )


class PoolTerms(View):
    pool_state = optional(PoolState, allow_none=True, description="State of the pool at the quote's block")
    dependent = optional(
        Leg,
        allow_none=True,
        description="Input or output of the token that is not `asset`, computed from `amount`. Null where "
        "nothing is computed from an amount, as when everything is removed",
    )
    liquidity_delta = optional(
        IntegerText,
        allow_none=True,
        description="Change of the position's liquidity or shares, in the unit of `poolState.liquidity`; "
        "negative when it is reduced",
    )
    range = optional(
        Range,
        "tick_range",
        allow_none=True,
        description="Ticks of the position. Null for a position without a range",
    )
    share_of_pool = optional(
        fields.Float,
        allow_none=True,
        description="`liquidityDelta` as a fraction of the pool's liquidity, with what is added: 0.05 is "
        "5 %. Null out of range, and when not known",
    )


class QuotedVault(View):
    id = required(fields.String, "vault_id", description="Id of the vault: chain id, colon, address")
    asset = required(TokenRef, description="Token that the vault takes in (the underlying)")
    share = required(TokenRef, description="Token of the vault's shares")
    share_price = nullable(
        fields.String, description="Whole assets that a whole share is worth, as a decimal number in text"
    )


class QuotedVaultFees(View):
    entry = nullable(fields.Integer, "entry_bps", description="Fee on a deposit, in basis points")
    exit = nullable(fields.Integer, "exit_bps", description="Fee on a withdrawal, in basis points")


class VaultTerms(View):
    vault = optional(QuotedVault, itself, description="The vault, its tokens and the price of its shares")
    limit = optional(
        IntegerText,
        allow_none=True,
        description="Most that the vault accepts or pays now, in base units of the `asset` of the "
        "request, or of the share where `amount` is `max`. Null when there is no limit or it "
        "is not known",
    )
    lock_seconds = optional(
        fields.Integer,
        allow_none=True,
        description="Seconds for which a deposit cannot be withdrawn. Null when not known",
    )
    fees_bps = optional(QuotedVaultFees, itself, description="Fees of the vault on deposits and withdrawals")


class RefundPlace(View):
    chain_id = required(ChainIdNumber, description="Chain id of the network on which the refund is paid")
    token = required(AddressText, description="Token of the refund")
    address = required(AddressText, description="Account that receives the refund")


class Refund(RefundPlace):
    on_expiry = nullable(
        fields.String,
        description="How and when the refund is paid when the transfer is not filled, in a sentence",
    )


class TransferTerms(View):
    estimated_seconds = optional(
        fields.Integer,
        allow_none=True,
        description="Estimated seconds from the deposit to the payment on the other network",
    )
    fill_deadline = optional(
        UnixTime,
        allow_none=True,
        description="Time until which the transfer can be filled; after it the deposit is refunded",
    )
    refund = optional(
        Refund,
        allow_none=True,
        description="Refund when the transfer is not filled. Null when the provider does not declare one",
    )


class Tracking(View):
    bridge = required(fields.String, description="Id of the provider of the transfer")
    origin_chain_id = required(
        fields.Integer, description="Chain id of the network on which the deposit is made"
    )
    destination_chain_id = required(
        fields.Integer, description="Chain id of the network on which the transfer is paid"
    )
    expected_seconds = nullable(
        fields.Integer, description="Estimated seconds from the deposit to the payment on the other network"
    )
    refund_address = nullable(
        AddressText,
        description="Account that receives the refund when the transfer is not filled. Null when the "
        "provider does not declare one",
    )


class TransferTracking(View):
    tracking = optional(
        Tracking, itself, description="Facts to follow the transfer with `GET /v2/transactions/{txId}`"
    )


class DeploymentParams(View):
    asset = required(AddressText, description="Token that the vault takes in (the underlying)")
    owner = required(AddressText, description="Account that will own the vault")
    bot = nullable(AddressText, description="Account that may rebalance beside the owner. Null for none")
    strategy = required(fields.String, description="Address of the strategy that the vault gets")


class DeploymentTerms(View):
    factory = optional(fields.String, description="Address of the factory that deploys the vault")
    predicted_address = optional(fields.String, description="Address of the new vault (CREATE2, EIP-1014)")
    salt = optional(fields.String, description="Salt of CREATE2, 32 bytes as 0x hex")
    init_code_hash = optional(
        fields.String, description="keccak-256 of the vault's init code for CREATE2, 32 bytes as 0x hex"
    )
    params = optional(DeploymentParams, itself, description="Arguments with which the vault is deployed")


class ManagementTerms(View):
    required_role = optional(
        RequiredRole, allow_none=True, description="Role that the management action requires"
    )


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
