"""Rows of lists, and a wallet's balances and positions."""

from __future__ import annotations

from dataclasses import dataclass
from operator import methodcaller

from marshmallow import fields

from quoteway import models
from quoteway.evm.units import format_units
from quoteway.networks import Networks
from quoteway.web.wire import text
from quoteway.web.wire.parts import BlockRef, Leg, Notice, Range, TokenRef, TradeTax
from quoteway.web.wire.view import (
    View,
    Wire,
    camel_case,
    constant,
    hidden,
    itself,
    nullable,
    optional,
    required,
)


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


class Contract(View):
    address = required(text.AddressText)
    chain_id = required(fields.Integer)
    explorer_url = nullable(text.ExplorerText, itself)
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
    verified = required(
        fields.Boolean, description="Whether the decimals of every contract were compared with the chain"
    )
    look_alike_of = nullable(
        fields.String, description="The id of a token listed before this one, whose symbol looks the same"
    )


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
    trade_tax = nullable(TradeTax, description="As a quote of the unlisted token measured it lately")
    listed = required(fields.Boolean, description="Whether a token list of this deployment has it")
    sources = required(text.Table, lambda profile: {camel_case(name): of for name, of in profile.sources})


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


class VaultFees(View):
    performance_bps = nullable(fields.Integer, methodcaller("get", "performance"))
    management_bps = nullable(fields.Integer, methodcaller("get", "management"))
    entry_bps = nullable(fields.Integer, methodcaller("get", "entry"))
    exit_bps = nullable(fields.Integer, methodcaller("get", "exit"))


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
    warnings = required([Notice], lambda vault: models.own_warnings(vault.source, vault.warnings))
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


@dataclass(frozen=True, slots=True)
class ValuedHolding:
    """``amount`` base units of ``token``, what they are worth, and what a sale of all pays at least.

    ``spam`` are the rules of spam that the token breaks; None: it was not judged.
    """

    token: models.Token
    amount: int
    value_usd: float | None
    realisable_usd: float | None = None
    price: models.Price | None = None
    counted: bool = False
    spam: tuple[str, ...] | None = ()


@dataclass(frozen=True, slots=True)
class HeldPosition:
    """A position with the id of the provider that has it."""

    provider: str
    position: models.PoolPosition | models.VaultPosition

    @property
    def pool_id(self) -> str | None:
        return self.position.pool_id if isinstance(self.position, models.PoolPosition) else None

    @property
    def vault_id(self) -> str | None:
        return self.position.vault_id if isinstance(self.position, models.VaultPosition) else None

    @property
    def chain_id(self) -> int:
        return int((self.pool_id or self.vault_id or "").partition(":")[0])


class Balance(View):
    network = required(text.NetworkText, "token.chain_id")
    chain_id = required(fields.Integer, "token.chain_id")
    token = required(TokenRef)
    amount = required(text.AmountText)
    amount_formatted = required(fields.String, lambda held: format_units(held.amount, held.token.decimals))
    value_usd = nullable(fields.Float)
    realisable_usd = nullable(fields.Float)
    confidence = nullable(fields.Float, lambda held: held.price and held.price.confidence)
    liquidity_usd = nullable(fields.Float, lambda held: held.price and held.price.depth_usd)
    sources = required([fields.String], lambda held: held.price.sources if held.price else ())
    anchored = required(fields.Boolean, lambda held: held.price is not None and held.price.anchored)
    moved_1h_pct = nullable(fields.Float, lambda held: held.price and held.price.moved_1h_pct)
    warnings = required([Notice], lambda held: held.price.warnings if held.price else ())
    counted = required(fields.Boolean)
    listed = required(fields.Boolean, "token.listed", description="Whether a catalog has the token")
    spam = nullable(fields.Boolean, lambda held: None if held.spam is None else bool(held.spam))
    spam_reasons = required([fields.String], lambda held: held.spam or ())


class AsOf(View):
    chain_id = required(fields.Integer, 0)
    block = required(fields.Integer, 1)


@dataclass(frozen=True, slots=True)
class Missing:
    """A token that could not be read, or without ``token`` a network, and why."""

    chain_id: int
    token: models.Address | None
    reason: str


class Partial(View):
    """What is missing from ``data``: a token; with ``token`` null, a network or the rest of its list."""

    chain_id = required(fields.Integer)
    token = nullable(text.AddressText)
    reason = required(fields.String)


class Balances(View):
    wallet = required(text.AddressText)
    data = required([Balance])
    total_usd = nullable(fields.Float, description="The sum of the values that are ``counted``")
    total_complete = required(fields.Boolean)
    as_of = required([AsOf])
    partial_ = required([Partial], "missing")


class BalancesOfWallets(View):
    data = required([Balances])
    total_usd = nullable(fields.Float, description="The sum of the wallets' totals that are known")
    total_complete = required(fields.Boolean)


class Whereabouts(View):
    pool_id = nullable(fields.String)
    vault_id = nullable(fields.String)
    provider = required(fields.String)
    network = required(text.NetworkText, "chain_id")
    chain_id = required(fields.Integer)


class VaultPositionEntry(PositionEntry):
    """A position in a vault with the members of one in a pool."""

    position_id = required(fields.String, "vault_id")
    pool_id = optional(fields.String, hidden)
    kind = required(fields.String, constant("fungible"))
    liquidity = required(text.AmountText, "shares")
    uncollected_fees = required([Leg], constant(()))
    range = nullable(Range, constant(None))
    in_range = nullable(fields.Boolean, constant(None))


class PortfolioPosition(Whereabouts, PositionEntry):
    """``poolId`` of a position in a vault is null, and ``vaultId`` of one in a pool."""

    @classmethod
    def render(cls, model: HeldPosition, networks: Networks) -> Wire:
        view = PositionEntry if isinstance(model.position, models.PoolPosition) else VaultPositionEntry
        return view.render(model.position, networks) | Whereabouts.render(model, networks)


class Positions(Page):
    data = required([PortfolioPosition])
