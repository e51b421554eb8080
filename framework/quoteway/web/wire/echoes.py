"""Requests as they were understood, in the members of a quote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire.text import (
    AddressText,
    AmountText,
    NetworkText,
    SideText,
    SlippageNumber,
    WeiText,
)
from quoteway.web.wire.view import (
    NetworkField,
    View,
    camel_case,
    constant,
    hidden,
    nullable,
    optional,
    required,
)


class SwapEcho(View):
    from_chain = required(NetworkText, "chain_id", description="Name of the network of `fromToken`")
    to_chain = required(NetworkText, "to_chain_id", description="Name of the network of `toToken`")
    from_token = required(
        AddressText,
        "token_in.address",
        description="Token that is sold; the zero address stands for the native coin",
    )
    to_token = required(
        AddressText,
        "token_out.address",
        description="Token that is bought; the zero address stands for the native coin",
    )
    amount = required(AmountText, description="Exact amount: of `fromToken`, with `exactOut` of `toToken`")
    side = required(SideText)
    address = required(AddressText, "sender", description="Account that signs and pays")
    to_address = required(AddressText, "recipient", description="Account that receives the output")
    refund_address = nullable(
        AddressText,
        lambda swap: swap.refund_account if swap.is_cross_chain else None,
        description="Account that receives the refund when a transfer is not filled. Null within one network",
    )
    slippage_bps = required(SlippageNumber)
    approval_mode = required(
        fields.String,
        lambda request: "permit2-signature" if request.permit2_signature else "transactions",
        description="`transactions`: allowances are set by transactions. `permit2-signature`: a Permit2 "
        "allowance by typed data to sign",
    )
    max_hops = nullable(
        fields.Integer,
        "routing.max_hops",
        description="Most pools on a path. Null where not given",
    )
    max_legs = nullable(
        fields.Integer,
        "routing.max_legs",
        description="Most pools in the route. Null where not given",
    )
    protocols = nullable(
        [fields.String],
        lambda swap: swap.routing.protocols or None,
        description="Only protocols that the route may use. Null where not given",
    )
    exclude_protocols = nullable(
        [fields.String],
        lambda swap: swap.routing.exclude_protocols or None,
        description="Protocols that the route may not use. Null where not given",
    )
    pools = nullable(
        [fields.String],
        lambda swap: swap.routing.pools or None,
        description="Only pools that the route may use. Null where not given",
    )
    exclude_pools = nullable(
        [fields.String],
        lambda swap: swap.routing.exclude_pools or None,
        description="Pools that the route may not use. Null where not given",
    )
    max_price_impact_bps = nullable(
        fields.Integer,
        "routing.max_price_impact_bps",
        description="Highest price impact that is accepted, in basis points. Null where not given",
    )
    gas_price_wei = nullable(
        WeiText,
        "routing.gas_price_wei",
        description="Price of a unit of gas with which quotes are compared. Null where not given",
    )
    fee_bps = nullable(
        fields.Integer,
        lambda swap: swap.fee and swap.fee.bps,
        description="Rate of the integrator's fee, in basis points. Null without one",
    )
    fee_recipient = nullable(
        AddressText,
        lambda swap: swap.fee and swap.fee.recipient,
        description="Account that receives the integrator's fee. Null without one",
    )
    omitted = nullable(
        [fields.String],
        lambda swap: list(map(camel_case, swap.routing.omitted)) or None,
        description="Members of the request that the quote token has no space for. Null when there are none",
    )


class PoolEcho(View):
    pool_id = required(fields.String, description="Id of the pool: chain id, colon, address or 32-byte id")
    action = required(fields.String, description="Action of the request: `add`, `remove` or `collect`")
    asset = required(
        AddressText,
        description="Token that `amount` counts; the zero address stands for the native coin, and for no "
        "token with `collect`",
    )
    amount = required(
        fields.String,
        lambda request: "max" if request.amount is None else str(request.amount),
        description="Amount in base units of `asset`, or `max` for everything and where not given",
    )
    address = required(AddressText, "sender", description="Account that signs and pays")
    recipient = required(
        AddressText, description="Account that receives the outputs, or owns the new position"
    )
    slippage_bps = required(SlippageNumber)
    tick_lower = nullable(
        fields.Integer,
        description="Lower tick of the position. Null where neither the request nor the quote sets one",
    )
    tick_upper = nullable(
        fields.Integer,
        description="Upper tick of the position. Null where neither the request nor the quote sets one",
    )
    position_id = nullable(fields.String, description="Id of the position. Null where not given")
    use_native = required(
        fields.Boolean,
        description="Whether the native coin is paid and received in place of its wrapped form",
    )


class VaultEcho(View):
    vault_id = required(fields.String, description="Id of the vault: chain id, colon, address")
    action = required(fields.String, description="Action of the request, such as `deposit`")
    asset = nullable(AddressText, description="Token that `amount` counts. Null where not given")
    amount = nullable(AmountText, description="Amount of `asset`. Null for `max`, and where not given")
    address = required(AddressText, "sender", description="Account that signs")
    recipient = required(AddressText, description="Account that receives the outputs")
    slippage_bps = required(SlippageNumber)
    strategy = nullable(
        fields.String, constant(None), description="Strategy of the request. Null where not given"
    )
    bot = nullable(
        AddressText, constant(None), description="Account of the request's `bot`. Null where not given"
    )


class ManageEcho(VaultEcho):
    recipient = optional(AddressText, hidden, description="Not of a management action")
    strategy = nullable(fields.String, description="Strategy of the request. Null where not given")
    bot = nullable(AddressText, description="Account of the request's `bot`. Null where not given")


class DeployEcho(View):
    network = required(NetworkText, "chain_id", description="Name of the network of the new vault")
    asset = required(AddressText, description="Token that the vault takes in (the underlying)")
    owner = required(AddressText, description="Account that signs, and that will own the vault")
    strategy = required(fields.String, description="Id of the strategy that the vault gets")
    bot = nullable(AddressText, description="Account that may rebalance beside the owner. Null for none")


ECHOES: Mapping[type, type[View]] = {
    models.SwapRequest: SwapEcho,
    models.PoolRequest: PoolEcho,
    models.VaultRequest: VaultEcho,
    models.ManageRequest: ManageEcho,
    models.DeployRequest: DeployEcho,
}


class RequestEcho(fields.Dict, NetworkField):
    """A request by its kind."""

    def convert(self, value: models.Request, networks: Networks) -> dict[str, Any]:
        return ECHOES[type(value)].render(value, networks)
