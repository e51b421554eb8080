"""Vaults, what is quoted of them, and the deployment of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from marshmallow import fields

from quoteway.web.wire.actions import Action
from quoteway.web.wire.amounts import Notice
from quoteway.web.wire.pages import Page
from quoteway.web.wire.quotes import Quote
from quoteway.web.wire.terms import DeploymentTerms, ManagementTerms, VaultTerms
from quoteway.web.wire.text import AddressText, AmountTable, AmountText, TimeText
from quoteway.web.wire.tokens import TokenRef
from quoteway.web.wire.view import View, list_of, nested, nullable, required, strings


def _fee(name: str) -> Callable[[Mapping[str, int | None]], int | None]:
    return lambda fees_bps: fees_bps.get(name)


class VaultFees(View):
    performance_bps = nullable(fields.Integer, _fee("performance"))
    management_bps = nullable(fields.Integer, _fee("management"))
    entry_bps = nullable(fields.Integer, _fee("entry"))
    exit_bps = nullable(fields.Integer, _fee("exit"))


class VaultEntry(View):
    id = required(fields.String)
    network = required(fields.String)
    chain_id = required(fields.Integer)
    address = required(AddressText)
    name = required(fields.String)
    protocol = required(fields.String)
    strategy = required(fields.String)
    asset = nested(TokenRef)
    share = nested(TokenRef)
    apy = nullable(fields.Float)
    total_assets = nullable(AmountText, description="base units of the asset")
    tvl_usd = nullable(fields.Float)
    risk_score = nullable(fields.Float, description="0 to 100, lower is safer")
    fees = nested(VaultFees, "fees_bps")
    caps = nullable(AmountTable)
    status = required(fields.String, enum=["active", "paused", "retired"])
    actions = strings()
    is_transactional = required(fields.Boolean)
    warnings = list_of(Notice)
    preview = required(fields.Boolean)
    source = required(fields.String)
    updated_at = required(TimeText)


class VaultPage(Page):
    data = list_of(VaultEntry)


class VaultQuote(VaultTerms, Quote):
    pass


class ManageAction(ManagementTerms, Action):
    pass


class DeployQuote(DeploymentTerms, Quote):
    pass


class DeployAction(DeploymentTerms, Action):
    pass
