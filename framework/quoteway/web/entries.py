"""Tokens, pools, vaults, positions, routes and series as wire shapes: the rows of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quoteway.models import BridgeRoute, Pool, Position, Series, Token, TokenProfile, Vault
from quoteway.web.rendering import Wire, amount, block, legs, link, notice, slug, timestamp, token_ref

if TYPE_CHECKING:
    from quoteway.networks import Networks


def listed_token(profile: TokenProfile, networks: Networks) -> Wire:
    return {
        "id": profile.id,
        "ucid": profile.ucid,
        "name": profile.name,
        "symbol": profile.symbol,
        "logoUri": link(profile.logo_uri),
        "priceUsd": profile.price_usd,
        "rank": profile.rank,
        "tags": list(profile.tags),
        "contracts": [_contract(token, networks) for token in profile.contracts],
    }


def token_profile(profile: TokenProfile, networks: Networks) -> Wire:
    return {
        "id": profile.id,
        "ucid": profile.ucid,
        "name": profile.name,
        "symbol": profile.symbol,
        "description": profile.description,
        "issuer": profile.issuer,
        "logoUri": link(profile.logo_uri),
        "website": link(profile.website),
        "whitepaper": link(profile.whitepaper),
        "rank": profile.rank,
        "holders": profile.holders,
        "priceUsd": profile.price_usd,
        "priceChange24hPct": profile.price_change_24h_pct,
        "marketCapUsd": profile.market_cap_usd,
        "fdvUsd": profile.fdv_usd,
        "volume24hUsd": profile.volume_24h_usd,
        "circulatingSupply": profile.circulating_supply,
        "totalSupply": profile.total_supply,
        "maxSupply": profile.max_supply,
        "auditScore": profile.audit_score,
        "updatedAt": timestamp(profile.updated_at),
        "tags": list(profile.tags),
        "contracts": [_contract(token, networks) for token in profile.contracts],
        "socials": [{"type": kind, "url": url} for kind, url in profile.socials if link(url)],
        "listed": profile.listed,
    }


def _contract(token: Token, networks: Networks) -> Wire:
    network = networks.by_chain_id(token.chain_id)
    base = network.explorer_url.rstrip("/") if network and network.explorer_url else None
    return {
        "address": token.address,
        "chainId": token.chain_id,
        "explorerUrl": f"{base}/token/{token.address}" if base and not token.is_native else base,
        "network": slug(networks, token.chain_id),
        "decimals": token.decimals,
    }


def pool(item: Pool, networks: Networks) -> Wire:
    return {
        "id": item.id,
        "network": item.network,
        "chainId": item.chain_id,
        "protocol": item.protocol,
        "kind": item.kind,
        "address": item.address,
        "pair": "/".join(token.symbol or token.address for token in item.tokens),
        "tokens": [token_ref(token, networks) for token in item.tokens],
        "feeBps": item.fee_bps,
        "tvlUsd": item.tvl_usd,
        "apr": item.apr,
        "volume24hUsd": item.volume_24h_usd,
        "fees24hUsd": item.fees_24h_usd,
        "hooks": item.hooks,
        "actions": list(item.actions),
        "preview": item.preview,
        "source": item.source,
        "updatedAt": timestamp(item.updated_at),
    }


def vault(item: Vault, networks: Networks) -> Wire:
    fees = {f"{name}Bps": item.fees_bps.get(name) for name in ("performance", "management", "entry", "exit")}
    caps = None
    if item.caps is not None:
        caps = {name: amount(value) for name, value in item.caps.items()}
    return {
        "id": item.id,
        "network": item.network,
        "chainId": item.chain_id,
        "address": item.address,
        "name": item.name,
        "protocol": item.protocol,
        "strategy": item.strategy,
        "asset": token_ref(item.asset, networks),
        "share": token_ref(item.share, networks),
        "apy": item.apy,
        "totalAssets": amount(item.total_assets),
        "tvlUsd": item.tvl_usd,
        "riskScore": item.risk_score,
        "fees": fees,
        "caps": caps,
        "status": item.status,
        "actions": list(item.actions),
        "isTransactional": item.is_transactional,
        "warnings": [notice(found) for found in item.warnings],
        "preview": item.preview,
        "source": item.source,
        "updatedAt": timestamp(item.updated_at),
    }


def position(item: Position, networks: Networks) -> Wire:
    ticks = item.tick_range
    return {
        "positionId": item.position_id,
        "poolId": item.pool_id,
        "owner": item.owner,
        "kind": item.kind,
        "liquidity": str(item.liquidity),
        "share": item.share,
        "amounts": legs(item.amounts, networks),
        "uncollectedFees": legs(item.uncollected_fees, networks),
        "range": None if ticks is None else {"tickLower": ticks[0], "tickUpper": ticks[1]},
        "inRange": item.in_range,
        "valueUsd": item.value_usd,
        "asOfBlock": block(item.block),
    }


def bridge_route(item: BridgeRoute, networks: Networks) -> Wire:
    return {
        "fromChain": slug(networks, item.from_chain_id),
        "toChain": slug(networks, item.to_chain_id),
        "fromToken": token_ref(item.from_token, networks),
        "toToken": token_ref(item.to_token, networks),
        "bridge": item.bridge,
        "minAmount": amount(item.min_amount),
        "maxAmount": amount(item.max_amount),
        "estimatedSeconds": item.estimated_seconds,
        "enabled": item.enabled,
    }


def series(item: Series) -> Wire:
    wire: Wire = {
        "id": item.id,
        "metric": item.metric,
        "unit": item.unit,
        "interval": item.interval,
        "from": item.start,
        "to": item.end,
        "points": [{"timestamp": when, "value": value} for when, value in item.points],
        "current": item.current,
        "source": item.source,
        "method": item.method,
        "asOfBlock": block(item.block) if item.block else None,
        "updatedAt": timestamp(item.updated_at),
        "preview": item.preview,
        "gaps": [list(gap) for gap in item.gaps],
    }
    if item.metric in ("apr", "apy") or item.components is not None:
        wire["components"] = dict(item.components) if item.components is not None else None
    if item.metric in ("apr", "apy"):
        wire["windows"] = dict(item.windows) if item.windows is not None else None
    return wire
