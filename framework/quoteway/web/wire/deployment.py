"""What a deployment serves: providers and networks."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire.pages import Page
from quoteway.web.wire.text import AddressText, CodeText, NetworkText
from quoteway.web.wire.view import View, list_of, member, nested, nullable, required, strings


class ProviderActions(View):
    pool = strings()
    vault = strings()
    manage = strings()


class Spender(View):
    chain_id = required(fields.Integer)
    address = required(AddressText)


class ProviderRow(View):
    id = required(fields.String)
    name = required(fields.String)
    version = required(fields.String, "plugin.version")
    package = required(fields.String, "plugin.distribution")
    plugin = required(fields.String, "plugin.name")
    capabilities = strings()
    networks = member(fields.List(NetworkText(), required=True), "chain_ids")
    actions = nested(ProviderActions)
    enabled = required(fields.Boolean)
    state = required(CodeText, "plugin.state")
    healthy = nullable(fields.Boolean)
    reason = nullable(CodeText, description="Why it is not enabled")
    spenders = list_of(Spender)
    docs = nullable(fields.String)


class ProviderPage(Page):
    data = list_of(ProviderRow)


class NativeCurrency(View):
    symbol = required(fields.String, "native_symbol")
    name = required(fields.String, "native_name")
    decimals = required(fields.Integer, "native_decimals")


class NetworkRow(View):
    id = required(fields.String, "network.slug")
    network = required(fields.String, "network.slug")
    chain_id = required(fields.Integer, "network.chain_id")
    caip2 = required(fields.String, "network.caip2")
    name = required(fields.String, "network.name")
    native_currency = nested(NativeCurrency, "network")
    wrapped_native = nullable(AddressText, "network.wrapped_native")
    explorer_url = nullable(fields.String, "network.explorer_url")
    block_time_seconds = required(fields.Float, "network.block_time_s")
    testnet = required(fields.Boolean, "network.testnet")
    capabilities = strings()


class NetworkPage(Page):
    data = list_of(NetworkRow)
