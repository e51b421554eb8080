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
    reason = required(
        text.CodeText,
        1,
        description="Why its rows are missing: one of `details.reason`, or a code that the operation's "
        "description names",
    )


class Page(View):
    """``partial`` names the providers that failed or were late. ``data`` is declared by each list: its rows
    are rendered before they are sorted.
    """

    partial_ = required(
        [FailedSource],
        "missing",
        description="Providers whose rows are missing; ask again while there are any",
    )
    next_cursor = nullable(text.CursorText)
    total = nullable(fields.Integer, description="Number of rows that the request selects, on all pages")
    preview = required(
        fields.Boolean,
        description="Whether a provider marks a row of the page as a preview, with values that are not live",
    )
    updated_at = required(
        text.TimeText, description="Time of the newest data among the rows that the request selects"
    )


class Contract(View):
    address = required(
        text.AddressText,
        description="Contract of the token on this network; the zero address stands for the native coin",
    )
    chain_id = required(text.ChainIdNumber)
    explorer_url = nullable(
        text.ExplorerText,
        itself,
        description="Page of the token in the network's explorer. Null where the network has none",
    )
    network = required(text.NetworkText, "chain_id")
    decimals = required(text.DecimalsNumber)


class Social(View):
    type = required(fields.String, 0, description="Name of the service, such as `twitter`")
    url = required(fields.String, 1, description="Link to the token's page at the service")


def _safe_socials(profile: models.TokenProfile) -> list[tuple[str, str]]:
    return [(kind, url) for kind, url in profile.socials if text.LinkText.convert(url)]


class TokenEntry(View):
    id = required(fields.String, description="Id of the token in its catalog, for `GET /v2/tokens/{id}`")
    ucid = nullable(fields.String, description="CoinMarketCap's id of the token")
    name = required(fields.String, description="Name of the token")
    symbol = required(fields.String, description="Ticker of the token. Tokens may share one")
    logo_uri = nullable(text.LogoText)
    price_usd = nullable(text.UsdNumber, description="Price of one whole token")
    rank = nullable(fields.Integer, description="Place by market capitalisation; 1 is the largest")
    tags = required(
        [fields.String], description="Tags that the catalog gives the token, such as `stablecoin`"
    )
    contracts = required([Contract], description="Contracts of the token on the networks of this deployment")
    verified = required(
        fields.Boolean,
        description="Whether the decimals of every contract were compared with the chain and are equal",
    )
    look_alike_of = nullable(
        fields.String,
        description="Id of a token that is listed before this one and whose symbol looks the same. Null "
        "without one",
    )


class TokenPage(Page):
    data = required([TokenEntry], description="Tokens, the best match first")


class Profile(TokenEntry):
    description = nullable(fields.String, description="Description of the token, a text of the catalog")
    issuer = nullable(fields.String, description="Issuer of the token")
    website = nullable(text.LinkText, description="Link to the website of the project")
    whitepaper = nullable(text.LinkText, description="Link to the white paper of the project")
    holders = nullable(fields.Integer, description="Number of accounts that hold the token")
    price_change_24h_pct = nullable(
        fields.Float, description="Change of the price in the last 24 hours, in percent: 5 is 5 %"
    )
    market_cap_usd = nullable(
        text.UsdNumber, description="Market capitalisation: price times circulating supply"
    )
    fdv_usd = nullable(text.UsdNumber, description="Fully diluted valuation, as the catalog computes it")
    volume_24h_usd = nullable(
        text.UsdNumber,
        description="Volume of the trades of the last 24 hours on the markets that the catalog counts",
    )
    circulating_supply = nullable(
        fields.String, description="Circulating supply in whole tokens, as a decimal number in text"
    )
    total_supply = nullable(
        fields.String, description="Total supply in whole tokens, as a decimal number in text"
    )
    max_supply = nullable(
        fields.String, description="Maximum supply in whole tokens, as a decimal number in text"
    )
    audit_score = nullable(
        fields.Float, description="Score of a third party's security audit, as the catalog gives it"
    )
    updated_at = required(text.TimeText, description="Time of the catalog's data of the token")
    socials = required([Social], _safe_socials, description="Pages of the token at other services")
    trade_tax = nullable(
        TradeTax,
        description="Taxes of the token, where a quote of this unlisted token measured them lately. Null "
        "without a measurement",
    )
    listed = required(fields.Boolean, description="Whether a catalog of this deployment lists the token")
    sources = required(
        text.NameTable,
        lambda profile: {camel_case(name): of for name, of in profile.sources},
        description="By name of a member: id of the catalog that gave it, for members that the first "
        "catalog lacks",
    )


def _pair(pool: models.Pool) -> str:
    return "/".join(token.symbol or token.address for token in pool.tokens)


class PoolEntry(View):
    id = required(fields.String, description="Id of the pool: chain id, colon, address or 32-byte id")
    network = required(fields.String, description="Name of the network")
    chain_id = required(text.ChainIdNumber)
    protocol = required(fields.String, description="Protocol of the pool, such as `uniswap-v3`")
    kind = required(fields.String, description="Family of the pool's contract, such as `v2`, `v3` or `v4`")
    address = required(fields.String, description="Address of the pool; for Uniswap v4 its 32-byte id")
    pair = required(
        fields.String,
        _pair,
        description="Symbols of the tokens, separated by a slash; the address of a token without a symbol",
    )
    tokens = required([TokenRef], description="Tokens of the pool, in the order of its contract")
    fee_bps = nullable(fields.Float, description="Fee of a swap, in basis points of the amount sold")
    tvl_usd = nullable(text.UsdNumber, description="Value of the tokens in the pool")
    apr = nullable(
        fields.Float,
        description="Yearly rate that fees pay for liquidity, not compounded, as a fraction: 0.05 is 5 %",
    )
    volume_24h_usd = nullable(text.UsdNumber, description="Volume of the swaps of the last 24 hours")
    fees_24h_usd = nullable(text.UsdNumber, description="Fees of the swaps of the last 24 hours")
    hooks = nullable(
        text.AddressText, description="Contract of the hooks of a Uniswap v4 pool. Null without one"
    )
    actions = required(
        [fields.String],
        description="Actions that `POST /v2/pools/{poolId}/quote` takes for it, such as `add`",
    )
    preview = required(
        fields.Boolean,
        description="Whether the provider marks the row as a preview, with values that are not live",
    )
    source = required(fields.String, description="Where the provider has the row from, such as `chain`")
    updated_at = required(text.TimeText, description="Time of the row's data")


class PoolPage(Page):
    data = required([PoolEntry], description="Pools that the request selects")


class PositionEntry(View):
    position_id = required(
        fields.String, description="Id of the position, for `positionId` in requests; of an NFT its token id"
    )
    pool_id = required(fields.String, description="Id of the pool that holds the position")
    owner = required(text.AddressText, description="Account that owns the position")
    kind = required(
        fields.String,
        enum=["fungible", "nft"],
        description="`fungible`: shares of a pool or vault. `nft`: a token of its own",
    )
    liquidity = required(
        text.CountText,
        description="Size of the position: base units of the shares, or units of liquidity for v3 and v4",
    )
    share = nullable(
        fields.Float,
        description="Fraction of the pool's liquidity or of all shares: 0.05 is 5 %. Null out of range, "
        "and when not known",
    )
    amounts = required(
        [Leg],
        description="Amounts that a withdrawal of the whole position pays now, without fees; empty when "
        "not known",
    )
    uncollected_fees = required([Leg], description="Fees that can be collected now")
    range = nullable(
        Range, "tick_range", description="Ticks of the position. Null for a position without a range"
    )
    in_range = nullable(
        fields.Boolean,
        description="Whether the pool's price is in the range. Null for a position without a range",
    )
    value_usd = nullable(
        text.UsdNumber,
        description="Value of `amounts` and `uncollectedFees`. Null unless all of them have a price",
    )
    as_of_block = required(BlockRef, "block", description="Block at which the position was read")


class PositionPage(Page):
    data = required([PositionEntry], description="Positions that the wallet has in the pool")


class VaultFees(View):
    performance_bps = nullable(
        fields.Integer,
        methodcaller("get", "performance"),
        description="Fee on the yield, in basis points of it",
    )
    management_bps = nullable(
        fields.Integer,
        methodcaller("get", "management"),
        description="Fee on the assets, in basis points a year",
    )
    entry_bps = nullable(
        fields.Integer,
        methodcaller("get", "entry"),
        description="Fee on a deposit, in basis points",
    )
    exit_bps = nullable(
        fields.Integer,
        methodcaller("get", "exit"),
        description="Fee on a withdrawal, in basis points",
    )


class VaultEntry(View):
    id = required(fields.String, description="Id of the vault: chain id, colon, address")
    network = required(fields.String, description="Name of the network")
    chain_id = required(text.ChainIdNumber)
    address = required(text.AddressText, description="Contract of the vault")
    name = required(fields.String, description="Name of the vault")
    protocol = required(fields.String, description="Protocol of the vault, such as `erc4626`")
    strategy = required(
        fields.String,
        description="Strategy of the vault, as its provider names it; empty where it names none",
    )
    asset = required(TokenRef, description="Token that the vault takes in (the underlying)")
    share = required(TokenRef, description="Token of the vault's shares")
    apy = nullable(fields.Float, description="Yearly yield with compounding, as a fraction: 0.05 is 5 %")
    total_assets = nullable(
        text.AmountText, description="Assets that the vault holds, by its `totalAssets()`"
    )
    tvl_usd = nullable(text.UsdNumber, description="Value of `totalAssets`")
    risk_score = nullable(fields.Float, description="Risk score from 0 to 100; lower is safer")
    fees = required(VaultFees, "fees_bps", description="Fees of the vault")
    caps = nullable(
        text.AmountTable,
        description="Limits of the vault by name, such as `maxDeposit`, in base units of its asset. Null "
        "when there is no limit or it is not known",
    )
    status = required(
        fields.String,
        enum=["active", "paused", "retired"],
        description="`active`: takes deposits. `paused`: takes none now. `retired`: takes none any more",
    )
    actions = required(
        [fields.String],
        description="Actions that `POST /v2/vaults/{vaultId}/quote` takes for it, such as `deposit`",
    )
    is_transactional = required(
        fields.Boolean, description="Whether quotes and actions can be requested for the vault"
    )
    warnings = required(
        [Notice],
        lambda vault: models.own_warnings(vault.source, vault.warnings),
        description="What a depositor must know",
    )
    preview = required(
        fields.Boolean,
        description="Whether the provider marks the row as a preview, with values that are not live",
    )
    source = required(fields.String, description="Where the provider has the row from, such as `chain`")
    updated_at = required(text.TimeText, description="Time of the row's data")


class VaultPage(Page):
    data = required([VaultEntry], description="Vaults that the request selects")


class BridgeRouteEntry(View):
    from_chain = required(
        text.NetworkText, "from_chain_id", description="Name of the network that the transfer leaves"
    )
    to_chain = required(
        text.NetworkText, "to_chain_id", description="Name of the network on which it arrives"
    )
    from_token = required(TokenRef, description="Token that is sent")
    to_token = required(TokenRef, description="Token that is received")
    bridge = required(fields.String, description="Id of the provider of the transfer")
    min_amount = nullable(text.AmountText, description="Least amount of `fromToken` that the bridge takes")
    max_amount = nullable(
        text.AmountText,
        description="Most that the bridge takes of `fromToken`. Null when not known, which does not mean "
        "unlimited",
    )
    estimated_seconds = nullable(
        fields.Integer, description="Estimated seconds from the deposit to the payment on the other network"
    )
    enabled = required(fields.Boolean, description="Whether the route can be quoted now")


class RoutePage(Page):
    data = required([BridgeRouteEntry], description="Routes that the request selects")
