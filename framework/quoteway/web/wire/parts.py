"""What answers are made of: tokens, legs, gas, approvals, routes; the request as it was understood; terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire.text import AddressText, AmountText, CodeText, IntegerText, LinkText, NetworkText
from quoteway.web.wire.view import (
    NetworkField,
    View,
    camel_case,
    constant,
    hidden,
    itself,
    nullable,
    optional,
    required,
)


class TokenRef(View):
    address = required(AddressText)
    chain_id = required(fields.Integer)
    network = required(NetworkText, "chain_id")
    symbol = nullable(fields.String)
    name = nullable(fields.String)
    decimals = required(fields.Integer)
    is_native = required(fields.Boolean)
    logo_uri = nullable(LinkText)
    price_usd = nullable(fields.Float)


class BlockRef(View):
    number = required(fields.Integer)
    hash = required(fields.String)
    timestamp = required(fields.Integer, description="Unix seconds")


class Leg(View):
    token = required(TokenRef)
    amount = required(AmountText)
    amount_min = nullable(AmountText)
    amount_max = nullable(AmountText)
    amount_usd = nullable(fields.Float)
    account = required(AddressText)


class Fee(View):
    name = required(fields.String)
    kind = required(fields.String, enum=["protocol", "integrator", "bridge", "lp", "gas"])
    token = required(TokenRef)
    amount = required(AmountText)
    amount_usd = nullable(fields.Float)
    bps = nullable(fields.Float)
    included = required(fields.Boolean, description="Whether the outputs are after it")
    recipient = nullable(AddressText, description="Who gets it, where that is known")


class Gas(View):
    units = required(IntegerText)
    limit = required(IntegerText)
    max_fee_per_gas = nullable(AmountText, "max_fee_per_gas_wei")
    l1_fee = nullable(
        AmountText, "l1_fee_wei", description="Wei that a rollup charges for data on its parent chain"
    )
    cost = nullable(AmountText, "cost_wei")
    price = nullable(AmountText, "price_wei", description="Wei per unit that `cost` is counted with")
    cost_usd = nullable(fields.Float)


class Approval(View):
    token = required(AddressText)
    spender = required(AddressText)
    required = required(AmountText)
    current = nullable(AmountText)
    needed = nullable(fields.Boolean)
    needs_reset = nullable(fields.Boolean)


class Issue(View):
    code = required(fields.String)
    token = nullable(AddressText)
    actual = nullable(AmountText)
    required = nullable(AmountText)


class TradeTax(View):
    """What a token's own taxes take, in a simulation against a pool."""

    token = required(AddressText)
    buy_bps = nullable(fields.Integer, description="Of a purchase, in basis points")
    sell_bps = nullable(fields.Integer, description="Of a sale, in basis points")
    sellable = nullable(fields.Boolean, description="Whether the simulated sale succeeded")


class Notice(View):
    code = required(fields.String)
    message = required(fields.String)


class Hop(View):
    provider = required(fields.String)
    protocol = required(fields.String)
    pool = required(fields.String)
    token_in = required(AddressText)
    token_out = required(AddressText)
    amount_in = required(AmountText)
    amount_out = required(AmountText)
    fee_bps = nullable(fields.Float)


class RoutePath(View):
    bps = required(fields.Integer)
    hops = required([Hop])


class RouteLeg(Hop):
    """All that passes through one pool of a route."""

    share_bps = required(
        fields.Integer, description="Of what leaves `tokenIn` (the native coin and its wrapped form are one)"
    )


class QuotePart(View):
    """One provider's part of a quote that several carry out, in order: its own legs and minimums."""

    kind = required(CodeText, "capability", enum=["swap", "bridge"])
    provider = required(fields.String)
    inputs = required([Leg])
    outputs = required([Leg])


class SwapEcho(View):
    from_chain = required(NetworkText, "chain_id")
    to_chain = required(NetworkText, "to_chain_id")
    from_token = required(AddressText, "token_in.address")
    to_token = required(AddressText, "token_out.address")
    amount = required(AmountText, description="Of `fromToken`; with `exactOut` of `toToken`")
    side = required(fields.String, enum=list(models.SIDES))
    address = required(AddressText, "sender")
    to_address = required(AddressText, "recipient")
    refund_address = nullable(AddressText, lambda swap: swap.refund_account if swap.is_cross_chain else None)
    slippage_bps = required(fields.Integer)
    approval_mode = required(
        fields.String, lambda request: "permit2-signature" if request.permit2_signature else "transactions"
    )
    max_hops = nullable(fields.Integer, "routing.max_hops")
    max_legs = nullable(fields.Integer, "routing.max_legs")
    protocols = nullable([fields.String], lambda swap: swap.routing.protocols or None)
    exclude_protocols = nullable([fields.String], lambda swap: swap.routing.exclude_protocols or None)
    pools = nullable([fields.String], lambda swap: swap.routing.pools or None)
    exclude_pools = nullable([fields.String], lambda swap: swap.routing.exclude_pools or None)
    max_price_impact_bps = nullable(fields.Integer, "routing.max_price_impact_bps")
    gas_price_wei = nullable(AmountText, "routing.gas_price_wei")
    fee_bps = nullable(fields.Integer, lambda swap: swap.fee and swap.fee.bps)
    fee_recipient = nullable(AddressText, lambda swap: swap.fee and swap.fee.recipient)
    omitted = nullable(
        [fields.String],
        lambda swap: list(map(camel_case, swap.routing.omitted)) or None,
        description="Members that were given and that the quote token has no space for",
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


class ManageEcho(VaultEcho):
    recipient = optional(AddressText, hidden)
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

    def convert(self, value: models.Request, networks: Networks) -> dict[str, Any]:
        return ECHOES[type(value)].render(value, networks)


class Range(View):
    tick_lower = required(fields.Integer, 0)
    tick_upper = required(fields.Integer, 1)


class PoolState(View):
    kind = required(fields.String)
    fee_bps = optional(fields.Float, allow_none=True)
    reserves = optional([IntegerText], allow_none=True)
    sqrt_price_x96 = optional(IntegerText, allow_none=True)
    tick = optional(fields.Integer, allow_none=True)
    liquidity = optional(IntegerText, allow_none=True)


class PoolTerms(View):
    pool_state = optional(PoolState, allow_none=True)
    dependent = optional(Leg, allow_none=True)
    liquidity_delta = optional(IntegerText, allow_none=True)
    range = optional(Range, "tick_range", allow_none=True)
    share_of_pool = optional(fields.Float, allow_none=True)


class QuotedVault(View):
    id = required(fields.String, "vault_id")
    asset = required(TokenRef)
    share = required(TokenRef)
    share_price = nullable(fields.String, description="Whole assets per whole share")


class QuotedVaultFees(View):
    entry = nullable(fields.Integer, "entry_bps")
    exit = nullable(fields.Integer, "exit_bps")


class VaultTerms(View):
    vault = optional(QuotedVault, itself)
    limit = optional(IntegerText, allow_none=True)
    lock_seconds = optional(fields.Integer, allow_none=True)
    fees_bps = optional(QuotedVaultFees, itself)


class RefundPlace(View):
    chain_id = required(fields.Integer)
    token = required(AddressText)
    address = required(AddressText)


class Refund(RefundPlace):
    on_expiry = nullable(fields.String)


class TransferTerms(View):
    estimated_seconds = optional(fields.Integer, allow_none=True)
    fill_deadline = optional(fields.Integer, allow_none=True)
    refund = optional(Refund, allow_none=True)


class Tracking(View):
    bridge = required(fields.String)
    origin_chain_id = required(fields.Integer)
    destination_chain_id = required(fields.Integer)
    expected_seconds = nullable(fields.Integer)
    refund_address = nullable(AddressText)


class TransferTracking(View):
    tracking = optional(Tracking, itself)


class DeploymentParams(View):
    asset = required(AddressText)
    owner = required(AddressText)
    bot = nullable(AddressText)
    strategy = required(fields.String)


class DeploymentTerms(View):
    factory = optional(fields.String)
    predicted_address = optional(fields.String)
    salt = optional(fields.String)
    init_code_hash = optional(fields.String)
    params = optional(DeploymentParams, itself)


class Difference(View):
    member = required(fields.String)
    expected = nullable(fields.String)
    actual = nullable(fields.String)


class RequiredRole(View):
    """Who may take a vault's management action."""

    name = required(fields.String)
    holder = nullable(AddressText)
    caller_has_role = nullable(fields.Boolean)


class ManagementTerms(View):
    required_role = optional(RequiredRole, allow_none=True)


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
