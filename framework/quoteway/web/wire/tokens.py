"""Tokens in every answer, and the token catalog."""

from __future__ import annotations

from marshmallow import fields

from quoteway.models import Token, TokenProfile
from quoteway.networks import Networks
from quoteway.web.wire.pages import Page
from quoteway.web.wire.text import AddressText, LinkText, NetworkText, TimeText, is_link
from quoteway.web.wire.view import NetworkField, View, itself, list_of, nullable, required, strings


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


class ExplorerText(fields.String, NetworkField):
    """A token as its page in the network's explorer; the native coin as the explorer itself."""

    def convert(self, value: Token, networks: Networks) -> str | None:
        network = networks.by_chain_id(value.chain_id)
        if network is None or not network.explorer_url:
            return None
        base = network.explorer_url.rstrip("/")
        return base if value.is_native else f"{base}/token/{value.address}"


class Contract(View):
    address = required(AddressText)
    chain_id = required(fields.Integer)
    explorer_url = nullable(ExplorerText, itself)
    network = required(NetworkText, "chain_id")
    decimals = required(fields.Integer)


class Social(View):
    type = required(fields.String, 0)
    url = required(fields.String, 1)


def _safe_socials(profile: TokenProfile) -> list[tuple[str, str]]:
    return [(kind, url) for kind, url in profile.socials if is_link(url)]


class TokenEntry(View):
    id = required(fields.String)
    ucid = nullable(fields.String)
    name = required(fields.String)
    symbol = required(fields.String)
    logo_uri = nullable(LinkText)
    price_usd = nullable(fields.Float)
    rank = nullable(fields.Integer)
    tags = strings()
    contracts = list_of(Contract)


class TokenPage(Page):
    data = list_of(TokenEntry)


class Profile(TokenEntry):
    description = nullable(fields.String)
    issuer = nullable(fields.String)
    website = nullable(LinkText)
    whitepaper = nullable(LinkText)
    holders = nullable(fields.Integer)
    price_change_24h_pct = nullable(fields.Float)
    market_cap_usd = nullable(fields.Float)
    fdv_usd = nullable(fields.Float)
    volume_24h_usd = nullable(fields.Float)
    circulating_supply = nullable(fields.String)
    total_supply = nullable(fields.String)
    max_supply = nullable(fields.String)
    audit_score = nullable(fields.Float)
    updated_at = required(TimeText)
    socials = list_of(Social, _safe_socials)
    listed = required(fields.Boolean, description="Whether a token list of this deployment has it")
