"""Rows of lists, and a wallet's balances and positions."""

from __future__ import annotations

from operator import methodcaller

from marshmallow import fields

from quoteway import models
from quoteway.web.wire import text
from quoteway.web.wire.parts import BlockRef, Leg, Notice, Range, TokenRef, TradeTax
from quoteway.web.wire.view import (
    View,
    camel_case,
    itself,
    nullable,
    required,
)


class FailedSource(View):
    """A provider whose rows are missing, and why."""

    provider = required(text.ProviderId, 0)
    reason = required(text.CodeText, 1, description="Why rows are missing, a `details.reason`")


class Page(View):
    """``partial`` names the providers that failed or were late. ``data`` is declared by each list: its rows
    are rendered before they are sorted.
    """

    partial_ = required(
        [FailedSource],
        "missing",
        description="Providers that failed or were late; ask again while there are any",
    )
    next_cursor = nullable(text.CursorText)
    total = nullable(fields.Integer, description="How many rows the request selects on all pages")
    preview = required(fields.Boolean, description="Whether any row of the page is a preview")
    updated_at = required(text.TimeText, description="When the newest row has last changed")


class Contract(View):
    address = required(
        text.AddressText,
        description="Contract of the token on this network; the zero address is the native coin",
    )
    chain_id = required(text.ChainIdNumber)
    explorer_url = nullable(
        text.ExplorerText,
        itself,
        description="Page of the contract in the network's explorer. Null without an explorer",
    )
    network = required(text.NetworkText, "chain_id")
    decimals = required(text.DecimalsNumber)


class Social(View):
    type = required(fields.String, 0, description="Name of the service, such as `twitter`")
    url = required(fields.String, 1, description="Page of the token there")


def _safe_socials(profile: models.TokenProfile) -> list[tuple[str, str]]:
    return [(kind, url) for kind, url in profile.socials if text.LinkText.convert(url)]


class TokenEntry(View):
    id = required(fields.String, description="Id of the token in the catalog, for `GET /v2/tokens/{id}`")
    ucid = nullable(fields.String, description="Id of the token at CoinMarketCap")
    name = required(fields.String, description="Name of the token for people")
    symbol = required(fields.String, description="Ticker of the token; not unique")
    logo_uri = nullable(text.LogoText)
    price_usd = nullable(text.UsdNumber, description="Price of one whole token")
    rank = nullable(fields.Integer, description="Place by market capitalisation; 1 is the largest")
    tags = required(
        [fields.String], description="Words that the catalog gives the token, such as `stablecoin`"
    )
    contracts = required([Contract], description="Contracts of the token, one for each network")
    verified = required(
        fields.Boolean, description="Whether the decimals of every contract were compared with the chain"
    )
    look_alike_of = nullable(
        fields.String,
        description="The id of a token listed before this one, whose symbol looks the same. Null without one",
    )


class TokenPage(Page):
    data = required([TokenEntry], description="Tokens, the best match first")


class Profile(TokenEntry):
    description = nullable(fields.String, description="Text about the token for people")
    issuer = nullable(fields.String, description="Who issues the token")
    website = nullable(text.LinkText, description="Link to the project's pages")
    whitepaper = nullable(text.LinkText, description="Link to the project's paper")
    holders = nullable(fields.Integer, description="How many accounts hold the token")
    price_change_24h_pct = nullable(
        fields.Float, description="Change of the price within 24 hours, in percent"
    )
    market_cap_usd = nullable(text.UsdNumber, description="Price times circulating supply")
    fdv_usd = nullable(text.UsdNumber, description="Price times maximum supply")
    volume_24h_usd = nullable(text.UsdNumber, description="Trades of the last 24 hours on all markets")
    circulating_supply = nullable(fields.String, description="Tokens in circulation, in whole tokens")
    total_supply = nullable(fields.String, description="Tokens that exist, in whole tokens")
    max_supply = nullable(fields.String, description="Most tokens that will exist, in whole tokens")
    audit_score = nullable(fields.Float, description="Score of the catalog's auditor; higher is better")
    updated_at = required(text.TimeText, description="When the catalog has last changed the token")
    socials = required([Social], _safe_socials, description="Pages of the token at other services")
    trade_tax = nullable(
        TradeTax,
        description="As a quote of the unlisted token measured it lately. Null without a measurement",
    )
    listed = required(fields.Boolean, description="Whether a token list of this deployment has it")
    sources = required(
        text.NameTable,
        lambda profile: {camel_case(name): of for name, of in profile.sources},
        description="Catalog of each member that the first catalog left out",
    )


def _pair(pool: models.Pool) -> str:
    return "/".join(token.symbol or token.address for token in pool.tokens)


class PoolEntry(View):
    id = required(fields.String, description="Id of the pool: chain id, colon, address or 32-byte id")
    network = required(fields.String, description="Name of the network")
    chain_id = required(text.ChainIdNumber)
    protocol = required(fields.String, description="Protocol of the pool, such as `uniswap-v3`")
    kind = required(fields.String, description="How the pool prices, such as `v2` or `v3`")
    address = required(fields.String, description="Contract of the pool; of v4 its 32-byte id")
    pair = required(fields.String, _pair, description="Symbols of the tokens with a slash between")
    tokens = required([TokenRef], description="Tokens of the pool in the order of its contract")
    fee_bps = nullable(fields.Float, description="Fee of a swap, in basis points")
    tvl_usd = nullable(text.UsdNumber, description="Worth of all tokens in the pool")
    apr = nullable(
        fields.Float, description="Yearly yield of liquidity from fees, as a fraction: 0.05 is 5 %"
    )
    volume_24h_usd = nullable(text.UsdNumber, description="Swaps of the last 24 hours")
    fees_24h_usd = nullable(text.UsdNumber, description="Fees of the last 24 hours")
    hooks = nullable(
        text.AddressText, description="Contract that a v4 pool calls around swaps. Null without one"
    )
    actions = required([fields.String], description="What can be done with its liquidity, such as `add`")
    preview = required(fields.Boolean, description="Whether the provider calls the row a preview")
    source = required(fields.String, description="Id of the provider that lists the pool")
    updated_at = required(text.TimeText, description="When the row has last changed")


class PoolPage(Page):
    data = required([PoolEntry], description="Pools that the request selects")


class PositionEntry(View):
    position_id = required(fields.String, description="Id of the position, for `positionId` in requests")
    pool_id = required(fields.String, description="Id of the pool that holds the position")
    owner = required(text.AddressText, description="Account that owns the position")
    kind = required(
        fields.String,
        enum=["fungible", "nft"],
        description="`fungible`: shares of a pool or vault; `nft`: one token for each position",
    )
    liquidity = required(
        text.AmountText,
        description="Size of the position in the pool's own measure: shares, or liquidity of v3 and v4",
    )
    share = nullable(fields.Float, description="Part of the pool or vault, as a fraction: 0.05 is 5 %")
    amounts = required([Leg], description="What a withdrawal of all would pay now, without fees")
    uncollected_fees = required([Leg], description="Fees that can be collected now")
    range = nullable(
        Range, "tick_range", description="Ticks between which the position works. Null where it has no range"
    )
    in_range = nullable(
        fields.Boolean, description="Whether the pool's price is within the range. Null where it has no range"
    )
    value_usd = nullable(
        text.UsdNumber, description="Worth of principal and uncollected fees. Null unless all is priced"
    )
    as_of_block = required(BlockRef, "block", description="Block at which the position was read")


class PositionPage(Page):
    data = required([PositionEntry], description="Positions of the wallet in the pool")


class VaultFees(View):
    performance_bps = nullable(
        fields.Integer,
        methodcaller("get", "performance"),
        description="Part of the yield that the vault keeps, in basis points",
    )
    management_bps = nullable(
        fields.Integer,
        methodcaller("get", "management"),
        description="Part of the assets that the vault takes a year, in basis points",
    )
    entry_bps = nullable(
        fields.Integer,
        methodcaller("get", "entry"),
        description="Part of a deposit that the vault keeps, in basis points",
    )
    exit_bps = nullable(
        fields.Integer,
        methodcaller("get", "exit"),
        description="Part of a withdrawal that the vault keeps, in basis points",
    )


class VaultEntry(View):
    id = required(fields.String, description="Id of the vault: chain id, colon, address")
    network = required(fields.String, description="Name of the network")
    chain_id = required(text.ChainIdNumber)
    address = required(text.AddressText, description="Contract of the vault")
    name = required(fields.String, description="Name of the vault for people")
    protocol = required(fields.String, description="Protocol of the vault, such as `erc4626`")
    strategy = required(fields.String, description="What the vault does with its assets, in one word")
    asset = required(TokenRef, description="Token that is deposited (the underlying)")
    share = required(TokenRef, description="Token that the vault gives for it")
    apy = nullable(fields.Float, description="Yearly yield with compounding, as a fraction: 0.05 is 5 %")
    total_assets = nullable(text.AmountText, description="base units of the asset")
    tvl_usd = nullable(text.UsdNumber, description="Worth of all assets of the vault")
    risk_score = nullable(fields.Float, description="From 0 to 100; lower is safer")
    fees = required(VaultFees, "fees_bps", description="What the vault takes")
    caps = nullable(text.AmountTable, description="Limits of the vault in base units, by name")
    status = required(
        fields.String,
        enum=["active", "paused", "retired"],
        description="`active` takes deposits, `paused` takes none now, `retired` takes none any more",
    )
    actions = required([fields.String], description="What depositors can do, such as `deposit`")
    is_transactional = required(
        fields.Boolean, description="Whether the gateway builds transactions for the vault"
    )
    warnings = required(
        [Notice],
        lambda vault: models.own_warnings(vault.source, vault.warnings),
        description="What to know before depositing",
    )
    preview = required(fields.Boolean, description="Whether the provider calls the row a preview")
    source = required(fields.String, description="Id of the provider that lists the vault")
    updated_at = required(text.TimeText, description="When the row has last changed")


class VaultPage(Page):
    data = required([VaultEntry], description="Vaults that the request selects")


class BridgeRouteEntry(View):
    from_chain = required(text.NetworkText, "from_chain_id", description="Name of the network of origin")
    to_chain = required(text.NetworkText, "to_chain_id", description="Name of the network of destination")
    from_token = required(TokenRef, description="Token that leaves")
    to_token = required(TokenRef, description="Token that arrives")
    bridge = required(fields.String, description="Id of the provider that carries the transfer")
    min_amount = nullable(text.AmountText, description="Least that it takes of the token that leaves")
    max_amount = nullable(
        text.AmountText,
        description="Most that it takes of the token that leaves. Null is unknown, never unlimited",
    )
    estimated_seconds = nullable(
        fields.Integer, description="Seconds until arrival, as the bridge estimates them"
    )
    enabled = required(fields.Boolean, description="Whether the route can be quoted now")


class RoutePage(Page):
    data = required([BridgeRouteEntry], description="Routes that the request selects")


class NativeCurrency(View):
    symbol = required(fields.String, "native_symbol", description="Ticker of the coin, such as `ETH`")
    name = required(fields.String, "native_name", description="Name of the coin for people")
    decimals = required(text.DecimalsNumber, "native_decimals")


class NetworkRow(View):
    id = required(fields.String, "network.slug", description="Name by which requests name the network")
    network = required(fields.String, "network.slug", description="The same as `id`")
    chain_id = required(text.ChainIdNumber, "network.chain_id")
    caip2 = required(
        fields.String, "network.caip2", description="Id of the network in CAIP-2: `eip155:` and the chain id"
    )
    name = required(fields.String, "network.name", description="Name of the network for people")
    native_currency = required(NativeCurrency, "network", description="Coin that gas is paid in")
    wrapped_native = nullable(
        text.AddressText,
        "network.wrapped_native",
        description="Contract of the wrapped coin. Null without one",
    )
    explorer_url = nullable(
        fields.String,
        "network.explorer_url",
        description="Address of the network's explorer. Null without one",
    )
    block_time_seconds = required(
        fields.Float, "network.block_time_s", description="Usual seconds between blocks"
    )
    testnet = required(fields.Boolean, "network.testnet", description="Whether its coins have no worth")
    capabilities = required(
        [fields.String], description="What an enabled provider serves there, such as `swap`"
    )


class NetworkPage(Page):
    data = required([NetworkRow], description="Networks of this deployment")
