"""Rows of lists, and metrics over time: tokens, pools, positions, vaults, routes, providers, networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from marshmallow import fields

from quoteway import models
from quoteway.networks import Networks
from quoteway.web.wire import text
from quoteway.web.wire.amounts import BlockRef, Leg, Notice, TokenRef
from quoteway.web.wire.terms import Range
from quoteway.web.wire.view import ABSENT, NetworkField, View, itself, nullable, optional, required


class FailedSource(View):
    """A provider whose rows are missing, and why."""

    provider = required(fields.String, 0)
    reason = required(text.CodeText, 1)


class Page(View):
    """``partial`` names the providers that failed or were late. ``data`` is declared by each list: its rows
    are rendered before they are sorted.
    """

    partial_ = required([FailedSource], "missing")
    next_cursor = nullable(fields.String)
    total = nullable(fields.Integer)
    preview = required(fields.Boolean)
    updated_at = required(text.TimeText)


class ExplorerText(fields.String, NetworkField):
    """A token as its page in the network's explorer; the native coin as the explorer itself."""

    def convert(self, value: models.Token, networks: Networks) -> str | None:
        network = networks.by_chain_id(value.chain_id)
        if network is None or not network.explorer_url:
            return None
        base = network.explorer_url.rstrip("/")
        return base if value.is_native else f"{base}/token/{value.address}"


class Contract(View):
    address = required(text.AddressText)
    chain_id = required(fields.Integer)
    explorer_url = nullable(ExplorerText, itself)
    network = required(text.NetworkText, "chain_id")
    decimals = required(fields.Integer)


class Social(View):
    type = required(fields.String, 0)
    url = required(fields.String, 1)


def _safe_socials(profile: models.TokenProfile) -> list[tuple[str, str]]:
    return [(kind, url) for kind, url in profile.socials if text.LinkText.convert(url)]


class TokenEntry(View):
    id = required(fields.String)
    ucid = nullable(fields.String)
    name = required(fields.String)
    symbol = required(fields.String)
    logo_uri = nullable(text.LinkText)
    price_usd = nullable(fields.Float)
    rank = nullable(fields.Integer)
    tags = required([fields.String])
    contracts = required([Contract])


class TokenPage(Page):
    data = required([TokenEntry])


class Profile(TokenEntry):
    description = nullable(fields.String)
    issuer = nullable(fields.String)
    website = nullable(text.LinkText)
    whitepaper = nullable(text.LinkText)
    holders = nullable(fields.Integer)
    price_change_24h_pct = nullable(fields.Float)
    market_cap_usd = nullable(fields.Float)
    fdv_usd = nullable(fields.Float)
    volume_24h_usd = nullable(fields.Float)
    circulating_supply = nullable(fields.String)
    total_supply = nullable(fields.String)
    max_supply = nullable(fields.String)
    audit_score = nullable(fields.Float)
    updated_at = required(text.TimeText)
    socials = required([Social], _safe_socials)
    listed = required(fields.Boolean, description="Whether a token list of this deployment has it")


def _pair(pool: models.Pool) -> str:
    return "/".join(token.symbol or token.address for token in pool.tokens)


class PoolEntry(View):
    id = required(fields.String)
    network = required(fields.String)
    chain_id = required(fields.Integer)
    protocol = required(fields.String)
    kind = required(fields.String)
    address = required(fields.String)
    pair = required(fields.String, _pair)
    tokens = required([TokenRef])
    fee_bps = nullable(fields.Float)
    tvl_usd = nullable(fields.Float)
    apr = nullable(fields.Float)
    volume_24h_usd = nullable(fields.Float)
    fees_24h_usd = nullable(fields.Float)
    hooks = nullable(text.AddressText)
    actions = required([fields.String])
    preview = required(fields.Boolean)
    source = required(fields.String)
    updated_at = required(text.TimeText)


class PoolPage(Page):
    data = required([PoolEntry])


class PositionEntry(View):
    position_id = required(fields.String)
    pool_id = required(fields.String)
    owner = required(text.AddressText)
    kind = required(fields.String, enum=["fungible", "nft"])
    liquidity = required(text.AmountText)
    share = nullable(fields.Float)
    amounts = required([Leg])
    uncollected_fees = required([Leg])
    range = nullable(Range, "tick_range")
    in_range = nullable(fields.Boolean)
    value_usd = nullable(fields.Float)
    as_of_block = required(BlockRef, "block")


class PositionPage(Page):
    data = required([PositionEntry])


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
    address = required(text.AddressText)
    name = required(fields.String)
    protocol = required(fields.String)
    strategy = required(fields.String)
    asset = required(TokenRef)
    share = required(TokenRef)
    apy = nullable(fields.Float)
    total_assets = nullable(text.AmountText, description="base units of the asset")
    tvl_usd = nullable(fields.Float)
    risk_score = nullable(fields.Float, description="0 to 100, lower is safer")
    fees = required(VaultFees, "fees_bps")
    caps = nullable(text.AmountTable)
    status = required(fields.String, enum=["active", "paused", "retired"])
    actions = required([fields.String])
    is_transactional = required(fields.Boolean)
    warnings = required([Notice])
    preview = required(fields.Boolean)
    source = required(fields.String)
    updated_at = required(text.TimeText)


class VaultPage(Page):
    data = required([VaultEntry])


class BridgeRouteEntry(View):
    from_chain = required(text.NetworkText, "from_chain_id")
    to_chain = required(text.NetworkText, "to_chain_id")
    from_token = required(TokenRef)
    to_token = required(TokenRef)
    bridge = required(fields.String)
    min_amount = nullable(text.AmountText)
    max_amount = nullable(text.AmountText)
    estimated_seconds = nullable(fields.Integer)
    enabled = required(fields.Boolean)


class RoutePage(Page):
    data = required([BridgeRouteEntry])


class ProviderActions(View):
    pool = required([fields.String], 0)
    vault = required([fields.String], 1)
    manage = required([fields.String], 2)


class Spender(View):
    chain_id = required(fields.Integer, 0)
    address = required(text.AddressText, 1)


class ProviderRow(View):
    id = required(fields.String)
    name = required(fields.String)
    version = required(fields.String, "plugin.version")
    package = required(fields.String, "plugin.distribution")
    plugin = required(fields.String, "plugin.name")
    capabilities = required([fields.String])
    networks = required([text.NetworkText], "chain_ids")
    actions = required(ProviderActions)
    enabled = required(fields.Boolean)
    state = required(text.CodeText, "plugin.state")
    healthy = nullable(fields.Boolean)
    reason = nullable(text.CodeText, description="Why it is not enabled")
    spenders = required([Spender])
    docs = nullable(fields.String)


class ProviderPage(Page):
    data = required([ProviderRow])


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
    native_currency = required(NativeCurrency, "network")
    wrapped_native = nullable(text.AddressText, "network.wrapped_native")
    explorer_url = nullable(fields.String, "network.explorer_url")
    block_time_seconds = required(fields.Float, "network.block_time_s")
    testnet = required(fields.Boolean, "network.testnet")
    capabilities = required([fields.String])


class NetworkPage(Page):
    data = required([NetworkRow])


_YIELDS = ("apr", "apy")


def _components(series: models.Series) -> Any:
    """Those of a yield are always shown, null when not known."""
    return ABSENT if series.components is None and series.metric not in _YIELDS else series.components


def _windows(series: models.Series) -> Any:
    return series.windows if series.metric in _YIELDS else ABSENT


class Point(View):
    timestamp = required(fields.Integer, 0)
    value = nullable(fields.Float, 1)


class Series(View):
    id = required(fields.String)
    metric = required(fields.String)
    unit = required(fields.String)
    interval = required(fields.String, enum=["1h", "1d", "1w"])
    from_ = required(fields.Integer, "start")
    to = required(fields.Integer, "end")
    points = required([Point])
    current = nullable(fields.Float)
    source = required(fields.String)
    method = required(fields.String)
    as_of_block = nullable(BlockRef, "block")
    updated_at = required(text.TimeText)
    preview = required(fields.Boolean)
    gaps = required([[fields.Integer]])
    components = optional(text.Table, _components, allow_none=True)
    windows = optional(text.Table, _windows, allow_none=True)
