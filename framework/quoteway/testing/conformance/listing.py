"""Checks catalog entries, positions and series."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from quoteway import (
    MAX_UINT256,
    Pool,
    PoolLiquidity,
    PoolPosition,
    PoolProvider,
    Series,
    Token,
    Vault,
    VaultPosition,
    VaultProvider,
)
from quoteway.evm.address import checksum

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway

_POOL_ID = re.compile(r"([1-9][0-9]*):(0x[0-9a-fA-F]{40}|0x[0-9a-f]{64})")
_VAULT_ID = re.compile(r"([1-9][0-9]*):(0x[0-9a-fA-F]{40})")


def check_token(token: Token) -> None:
    """Checks the EIP-55 address, the decimals, and texts without control characters."""
    assert token.address == checksum(token.address), f"{token.address} is not in EIP-55 form"
    assert 0 <= token.decimals <= 255, f"{token.decimals} decimals"
    for text in (token.symbol, token.name):
        assert text is None or (text.isprintable() and text.strip()), f"{text!r} of {token.address}"
    _known_number(token.price_usd, "price_usd")


def check_pool(gateway: Gateway, provider: PoolProvider, pool: Pool) -> None:
    match = _POOL_ID.fullmatch(pool.id)
    assert match, f"id {pool.id}: {{chainId}}:{{address}} or {{chainId}}:{{bytes32}}"
    assert int(match[1]) == pool.chain_id
    _served(gateway, pool.chain_id, pool.network)
    assert len(match[2]) == 66 or match[2] == checksum(match[2]), f"{pool.id} is not in EIP-55 form"
    assert len(pool.tokens) >= 2, f"{pool.id} has {len(pool.tokens)} tokens"
    for token in pool.tokens:
        check_token(token)
        assert token.chain_id == pool.chain_id
    assert set(pool.actions) <= set(provider.actions), f"{pool.id} offers what the provider does not"
    assert pool.fee_bps is None or 0 <= pool.fee_bps <= 10_000
    for name in ("tvl_usd", "volume_24h_usd", "fees_24h_usd"):
        _known_number(getattr(pool, name), name)
    assert not pool.preview or pool.source, "a preview says where it comes from"


def check_vault(gateway: Gateway, provider: VaultProvider, vault: Vault) -> None:
    match = _VAULT_ID.fullmatch(vault.id)
    assert match, f"id {vault.id}: {{chainId}}:{{address}}"
    assert (int(match[1]), match[2]) == (vault.chain_id, vault.address)
    _served(gateway, vault.chain_id, vault.network)
    for token in (vault.asset, vault.share):
        check_token(token)
        assert token.chain_id == vault.chain_id
    assert vault.share.address != vault.asset.address
    assert set(vault.actions) <= {*provider.actions, *provider.manage_actions}
    assert vault.name.strip()
    assert vault.name.isprintable()
    _known_number(vault.tvl_usd, "tvl_usd")
    assert vault.risk_score is None or 0 <= vault.risk_score <= 100
    assert vault.apy is None or math.isfinite(vault.apy)


def check_position(position: PoolPosition | VaultPosition, wallet: str) -> None:
    assert position.owner == wallet
    assert position.share is None or 0 <= position.share <= 1
    _known_number(position.value_usd, "value_usd")
    legs = position.amounts
    if isinstance(position, PoolPosition):
        legs = (*legs, *position.uncollected_fees)
        assert position.position_id
        assert position.liquidity >= 0
        assert position.tick_range is None or position.tick_range[0] < position.tick_range[1]
    else:
        assert position.vault_id
        assert position.shares >= 0
    for leg in legs:
        check_token(leg.token)
        assert 0 <= leg.amount <= MAX_UINT256


def check_liquidity(found: PoolLiquidity, pool_id: str) -> None:
    assert type(found) is PoolLiquidity
    assert found.pool_id == pool_id
    ticks = [each.tick for each in found.ticks]
    assert ticks == sorted(set(ticks)), "ticks are ascending, each once"
    assert all(tick % found.tick_spacing == 0 for tick in ticks), "a position has no such tick"
    assert found.known[0] <= found.tick <= found.known[1], "the ticks around the price are not known"
    assert all(found.known[0] <= tick <= found.known[1] for tick in ticks)
    assert found.liquidity >= 0
    assert found.sqrt_price_x96 > 0


def check_series(series: Series, resource_id: str, metric: str) -> None:
    assert (series.id, series.metric) == (resource_id, metric)
    assert series.unit.strip()
    assert series.method.strip(), "a series says how it was made"
    assert series.source.strip()
    times = [when for when, _ in series.points]
    assert times == sorted(set(times)), "points are in order, one per time"
    for value in [series.current, *(value for _, value in series.points)]:
        assert value is None or math.isfinite(value), "what is not known is None"


def made_up_id(chain_id: int) -> str:
    """Returns the id of a resource that does not exist."""
    return f"{chain_id}:{checksum('0x' + 'de' * 20)}"


def _served(gateway: Gateway, chain_id: int, slug: str) -> None:
    network = gateway.runtime.networks.by_chain_id(chain_id)
    assert network is not None, f"chain {chain_id} is not served"
    assert network.slug == slug


def _known_number(value: float | None, name: str) -> None:
    assert value is None or (math.isfinite(value) and value >= 0), f"{name} is {value}"
