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
    from_chain = required(NetworkText, "chain_id", description="Network of the token sold, by name")
    to_chain = required(NetworkText, "to_chain_id", description="Network of the token bought, by name")
    from_token = required(
        AddressText, "token_in.address", description="Token sold; the zero address is the native coin"
    )
    to_token = required(
        AddressText, "token_out.address", description="Token bought; the zero address is the native coin"
    )
    amount = required(AmountText, description="Of `fromToken`; with `exactOut` of `toToken`")
    side = required(SideText)
    address = required(AddressText, "sender", description="Account that signs and pays")
    to_address = required(AddressText, "recipient", description="Account that is paid")
    refund_address = nullable(
        AddressText,
        lambda swap: swap.refund_account if swap.is_cross_chain else None,
        description="Account that is paid back when a transfer does not arrive. Null within one network",
    )
    slippage_bps = required(SlippageNumber)
    approval_mode = required(
        fields.String,
        lambda request: "permit2-signature" if request.permit2_signature else "transactions",
        description="`transactions`, or `permit2-signature` for typed data to sign",
    )
    max_hops = nullable(
        fields.Integer,
        "routing.max_hops",
        description="The most pools on any way through the route. Null where not given",
    )
    max_legs = nullable(
        fields.Integer,
        "routing.max_legs",
        description="The most pools in the whole route. Null where not given",
    )
    protocols = nullable(
        [fields.String],
        lambda swap: swap.routing.protocols or None,
        description="Protocols that alone may be used. Null where not given",
    )
    exclude_protocols = nullable(
        [fields.String],
        lambda swap: swap.routing.exclude_protocols or None,
        description="Protocols that may not be used. Null where not given",
    )
    pools = nullable(
        [fields.String],
        lambda swap: swap.routing.pools or None,
        description="Pools that alone may be used. Null where not given",
    )
    exclude_pools = nullable(
        [fields.String],
        lambda swap: swap.routing.exclude_pools or None,
        description="Pools that may not be used. Null where not given",
    )
    max_price_impact_bps = nullable(
        fields.Integer,
        "routing.max_price_impact_bps",
        description="Limit of the price impact, in basis points. Null where not given",
    )
    gas_price_wei = nullable(
        AmountText,
        "routing.gas_price_wei",
        description="Price of a unit of gas in the comparison, in wei. Null where not given",
    )
    fee_bps = nullable(
        fields.Integer,
        lambda swap: swap.fee and swap.fee.bps,
        description="Fee of the integrator, in basis points. Null without one",
    )
    fee_recipient = nullable(
        AddressText,
        lambda swap: swap.fee and swap.fee.recipient,
        description="Account that gets the fee. Null without one",
    )
    omitted = nullable(
        [fields.String],
        lambda swap: list(map(camel_case, swap.routing.omitted)) or None,
        description="Members that were given and that the quote token has no space for. Null when "
        "there are none",
    )


class PoolEcho(View):
    pool_id = required(
        fields.String, description="Pool that was named: chain id, colon, address or 32-byte id"
    )
    action = required(fields.String, description="What to do with liquidity")
    asset = required(
        AddressText, description="Token that `amount` counts; the zero address is the native coin"
    )
    amount = required(
        fields.String,
        lambda request: "max" if request.amount is None else str(request.amount),
        description="Base units of `asset`, or `max`",
    )
    address = required(AddressText, "sender", description="Account that signs and pays")
    recipient = required(AddressText, description="Account that is paid, or owns the new position")
    slippage_bps = required(SlippageNumber)
    tick_lower = nullable(fields.Integer, description="Where the position begins. Null where not given")
    tick_upper = nullable(fields.Integer, description="Where the position ends. Null where not given")
    position_id = nullable(fields.String, description="Position that was named. Null where not given")
    use_native = required(
        fields.Boolean, description="Whether the native coin is used in place of its wrapped form"
    )


class VaultEcho(View):
    vault_id = required(fields.String, description="Vault that was named: chain id, colon, address")
    action = required(fields.String, description="What to do with the vault")
    asset = nullable(AddressText, description="Token that `amount` counts. Null where not given")
    amount = nullable(AmountText, description="How much, of `asset`. Null for `max`, or where not given")
    address = required(AddressText, "sender", description="Account that signs")
    recipient = required(AddressText, description="Account that is paid")
    slippage_bps = required(SlippageNumber)
    strategy = nullable(
        fields.String, constant(None), description="Strategy that was named. Null where not given"
    )
    bot = nullable(AddressText, constant(None), description="Account that was named. Null where not given")


class ManageEcho(VaultEcho):
    recipient = optional(AddressText, hidden, description="Not of a management action")
    strategy = nullable(fields.String, description="Strategy that was named. Null where not given")
    bot = nullable(AddressText, description="Account that was named. Null where not given")


class DeployEcho(View):
    network = required(NetworkText, "chain_id", description="Network of the new vault, by name")
    asset = required(AddressText, description="Token that the vault takes (the underlying)")
    owner = required(AddressText, description="Account that signs and owns the vault")
    strategy = required(fields.String, description="Strategy of the new vault")
    bot = nullable(AddressText, description="Account that may rebalance. Null for nobody")


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
