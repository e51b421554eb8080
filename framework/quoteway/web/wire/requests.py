"""The request of a quote as it was understood: addresses in EIP-55, defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire.text import AddressText, AmountText, NetworkText
from quoteway.web.wire.view import NetworkField, View, Wire, constant, nullable, required


class SwapEcho(View):
    from_chain = required(NetworkText, "chain_id")
    to_chain = required(NetworkText, "to_chain_id")
    from_token = required(AddressText, "token_in.address")
    to_token = required(AddressText, "token_out.address")
    amount = required(AmountText, "amount_in")
    address = required(AddressText, "sender")
    to_address = required(AddressText, "recipient")
    refund_address = nullable(
        AddressText, lambda request: request.refund_account if request.is_cross_chain else None
    )
    slippage_bps = required(fields.Integer)
    approval_mode = required(
        fields.String,
        lambda request: "permit2-signature" if request.permit2_signature else "transactions",
    )


class PoolEcho(View):
    pool_id = required(fields.String)
    action = required(fields.String)
    asset = required(AddressText)
    amount = required(fields.String, lambda request: "max" if request.amount is None else str(request.amount))
    address = required(AddressText, "sender")
    recipient = required(AddressText)
    slippage_bps = required(fields.Integer)
    tick_lower = nullable(fields.Integer)
    tick_upper = nullable(fields.Integer)
    position_id = nullable(fields.String)
    use_native = required(fields.Boolean)


class VaultEcho(View):
    vault_id = required(fields.String)
    action = required(fields.String)
    asset = nullable(AddressText)
    amount = nullable(AmountText)
    address = required(AddressText, "sender")
    recipient = required(AddressText)
    slippage_bps = required(fields.Integer)
    strategy = nullable(fields.String, constant(None))
    bot = nullable(AddressText, constant(None))


class ManageEcho(View):
    vault_id = required(fields.String)
    action = required(fields.String)
    asset = nullable(AddressText)
    amount = nullable(AmountText)
    address = required(AddressText, "sender")
    slippage_bps = required(fields.Integer)
    strategy = nullable(fields.String)
    bot = nullable(AddressText)


class DeployEcho(View):
    network = required(NetworkText, "chain_id")
    asset = required(AddressText)
    owner = required(AddressText)
    strategy = required(fields.String)
    bot = nullable(AddressText)


ECHOES: Mapping[type, type[View]] = {
    models.SwapRequest: SwapEcho,
    models.PoolRequest: PoolEcho,
    models.VaultRequest: VaultEcho,
    models.ManageRequest: ManageEcho,
    models.DeployRequest: DeployEcho,
}


class RequestEcho(fields.Dict, NetworkField):
    """A request by its kind."""

    def convert(self, value: models.Request, networks: Networks) -> Wire:
        return ECHOES[type(value)].render(value, networks)
