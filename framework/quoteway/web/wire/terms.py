"""What quotes and actions show beyond amounts, for each capability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire.amounts import Leg
from quoteway.web.wire.text import AddressText, IntegerText
from quoteway.web.wire.tokens import TokenRef
from quoteway.web.wire.view import View, Wire, itself, member, named, nested, nullable, required


class Range(View):
    tick_lower = required(fields.Integer, 0)
    tick_upper = required(fields.Integer, 1)


class PoolState(View):
    kind = required(fields.String)
    fee_bps = member(fields.Float(allow_none=True))
    reserves = member(fields.List(IntegerText(), allow_none=True))
    sqrt_price_x96 = named("sqrtPriceX96", member(IntegerText(allow_none=True)))
    tick = member(fields.Integer(allow_none=True))
    liquidity = member(IntegerText(allow_none=True))


class PoolTerms(View):
    pool_state = member(fields.Nested(PoolState, allow_none=True))
    dependent = member(fields.Nested(Leg, allow_none=True))
    liquidity_delta = member(IntegerText(allow_none=True))
    range = member(fields.Nested(Range, allow_none=True), "tick_range")
    share_of_pool = member(fields.Float(allow_none=True))


class QuotedVault(View):
    id = required(fields.String, "vault_id")
    asset = nested(TokenRef)
    share = nested(TokenRef)
    share_price = nullable(fields.String, description="Whole assets per whole share")


class QuotedVaultFees(View):
    entry = nullable(fields.Integer, "entry_bps")
    exit = nullable(fields.Integer, "exit_bps")


class VaultTerms(View):
    vault = member(fields.Nested(QuotedVault), itself)
    limit = member(IntegerText(allow_none=True))
    lock_seconds = member(fields.Integer(allow_none=True))
    fees_bps = member(fields.Nested(QuotedVaultFees), itself)


class Refund(View):
    chain_id = required(fields.Integer)
    token = required(AddressText)
    address = required(AddressText)
    on_expiry = nullable(fields.String)


class TransferTerms(View):
    estimated_seconds = member(fields.Integer(allow_none=True))
    fill_deadline = member(fields.Integer(allow_none=True))
    refund = member(fields.Nested(Refund, allow_none=True))


class Tracking(View):
    bridge = required(fields.String)
    origin_chain_id = required(fields.Integer)
    destination_chain_id = required(fields.Integer)
    expected_seconds = nullable(fields.Integer)
    refund_address = nullable(AddressText)


class TransferTracking(View):
    tracking = member(fields.Nested(Tracking), itself)


class DeploymentParams(View):
    asset = required(AddressText)
    owner = required(AddressText)
    bot = nullable(AddressText)
    strategy = required(fields.String)


class DeploymentTerms(View):
    factory = member(fields.String())
    predicted_address = member(fields.String())
    salt = member(fields.String())
    init_code_hash = member(fields.String())
    params = member(fields.Nested(DeploymentParams), itself)


class RequiredRole(View):
    """Who may take a vault's management action."""

    name = required(fields.String)
    holder = nullable(AddressText)
    caller_has_role = nullable(fields.Boolean)


class ManagementTerms(View):
    required_role = member(fields.Nested(RequiredRole, allow_none=True))


VIEWS: Mapping[type, type[View]] = {
    models.PoolTerms: PoolTerms,
    models.VaultTerms: VaultTerms,
    models.TransferTerms: TransferTerms,
    models.TransferTracking: TransferTracking,
    models.DeploymentTerms: DeploymentTerms,
    models.ManagementTerms: ManagementTerms,
}


def terms_wire(terms: Any, networks: Networks) -> Wire:
    """The members that terms add to a quote or an action."""
    return {} if terms is None else VIEWS[type(terms)].render(terms, networks)
