"""Generates requests for a provider, from the tokens of the devnet and what the provider lists."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quoteway import NATIVE, Capability, GatewayError, PoolRequest, Quote, SwapRequest, Token, VaultRequest
from quoteway.testing.conformance.listing import made_up_id
from quoteway.testing.conformance.provider import HOLDER, STRANGER

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway
    from quoteway.testing.execution import LocalChains

UNKNOWN_TOKEN = "0x1111111111111111111111111111111111111111"

_MOST_CASES = 4
"""The most cases of one provider on one network, or from one network to another."""
_MOST_TRIED = 160
"""The most pairs of a network, listed pools or listed vaults that are tried."""
_ENOUGH = 100_000
"""The least output of a case, in base units."""
_SLIPPAGE_BPS = 50


async def cases_of(devnet: LocalChains, gateway: Gateway, provider: Any) -> list[Any]:
    """Returns requests that a provider quotes, some for each devnet chain, always the same ones.

    Swaps: pairs of a chain's tokens, then transfers where it serves those. Bridges: transfers of a token to
    another account on the other chain. Pools: liquidity for one listed pool of each kind. Vaults: deposits
    into listed vaults. Other capabilities: none.
    """
    chain_ids = sorted(provider.networks & set(gateway.runtime.chains))
    match provider.capability:
        case Capability.SWAP if provider.cross_chain:
            within = await _swaps(devnet, provider, chain_ids)
            return within + await _transfers(devnet, provider, chain_ids)
        case Capability.SWAP:
            return await _swaps(devnet, provider, chain_ids)
        case Capability.BRIDGE:
            return await _transfers(devnet, provider, chain_ids)
        case Capability.POOL:
            return await _additions(provider, chain_ids)
        case Capability.VAULT:
            return await _deposits(provider, chain_ids)
    return []


def tokens_of(devnet: LocalChains, chain_id: int) -> list[Token]:
    """Returns the native coin and the tokens of a devnet chain; empty for another chain."""
    for chain in devnet.chains.values():
        if chain.chain_id == chain_id:
            rows = [Token(chain_id, row.address, row.decimals, row.symbol) for row in chain.tokens]
            return [Token(chain_id, NATIVE, 18, "ETH"), *rows]
    return []


def unknown_of(case: Any) -> Any:
    """Returns the request for a token, pool or vault that does not exist."""
    if isinstance(case, SwapRequest):
        return replace(case, token_out=Token(case.to_chain_id, UNKNOWN_TOKEN, 18, "NONE"))
    made_up = made_up_id(case.chain_id)
    if isinstance(case, PoolRequest):
        return replace(case, pool_id=made_up)
    return replace(case, vault_id=made_up)


def with_amount(request: Any, amount: int) -> Any:
    """Returns the request for another exact input."""
    if isinstance(request, SwapRequest):
        return replace(request, amount_in=amount)
    return replace(request, amount=amount)


async def quoted(provider: Any, request: Any) -> Quote | None:
    """Returns the provider's quote, or None where it has none or refuses the request."""
    try:
        quote: Quote | None = await provider.quote(request)
    except GatewayError:
        return None
    return quote


async def _swaps(devnet: LocalChains, provider: Any, chain_ids: Iterable[int]) -> list[Any]:
    found: list[Any] = []
    order = random.Random(7)
    for chain_id in chain_ids:
        tokens = tokens_of(devnet, chain_id)
        pairs = [(sold, bought) for sold in tokens for bought in tokens if sold is not bought]
        order.shuffle(pairs)
        requests = (_exchanges(sold, bought, HOLDER) for sold, bought in pairs[:_MOST_TRIED])
        found += await _first_quoted(provider, requests)
    return found


async def _transfers(devnet: LocalChains, provider: Any, chain_ids: Iterable[int]) -> list[Any]:
    found: list[Any] = []
    for origin, target in itertools.permutations(chain_ids, 2):
        arriving = {token.symbol: token for token in tokens_of(devnet, target)}
        sent = [token for token in tokens_of(devnet, origin) if token.symbol in arriving]
        requests = (_exchanges(token, arriving[token.symbol], STRANGER) for token in sent)
        found += await _first_quoted(provider, requests)
    return found


def _exchanges(sold: Token, bought: Token, recipient: str) -> Iterator[SwapRequest]:
    """Yields requests of growing amounts, each of which is tried where the one before pays too little."""
    for coins in (1, 100, 10**6):
        amount = 10**sold.decimals * coins // 10
        ends = (sold.chain_id, bought.chain_id, sold, bought)
        yield SwapRequest(*ends, amount, HOLDER, recipient, _SLIPPAGE_BPS)


async def _first_quoted(provider: Any, requests: Iterable[Iterator[SwapRequest]]) -> list[SwapRequest]:
    """Returns cases that pay enough to see a fault of one part in 100,000, at most ``_MOST_CASES``."""
    found: list[SwapRequest] = []
    for growing in requests:
        for request in growing:
            quote = await quoted(provider, request)
            if quote is not None and quote.outputs[0].amount >= _ENOUGH:
                found.append(request)
                break
            if quote is None and not request.is_cross_chain:
                break  # no pool: a larger amount has none either. A bridge may refuse small amounts.
        if len(found) == _MOST_CASES:
            break
    return found


async def _additions(provider: Any, chain_ids: Iterable[int]) -> list[Any]:
    found, kinds = list[Any](), set[tuple[int, str, str]]()
    per_chain = Counter[int]()
    tried = 0
    for pool in await provider.pools(None):
        kind = pool.chain_id, pool.protocol, pool.kind
        if kind in kinds or pool.chain_id not in chain_ids or per_chain[pool.chain_id] == _MOST_CASES:
            continue
        if "add" not in pool.actions or tried == _MOST_TRIED:
            continue
        tried += 1
        asset = pool.tokens[0]
        amount = 10**asset.decimals // 100 or 1
        ends = (asset.address, amount, HOLDER, HOLDER)
        request = PoolRequest(pool.id, pool.chain_id, "add", *ends, _SLIPPAGE_BPS)
        if await quoted(provider, request) is not None:
            found.append(request)
            kinds.add(kind)
            per_chain[pool.chain_id] += 1
    return found


async def _deposits(provider: Any, chain_ids: Iterable[int]) -> list[Any]:
    found, per_chain = list[Any](), Counter[int]()
    tried = 0
    for vault in await provider.vaults(None):
        if vault.chain_id not in chain_ids or per_chain[vault.chain_id] == _MOST_CASES:
            continue
        if "deposit" not in vault.actions or tried == _MOST_TRIED:
            continue
        tried += 1
        ends = (vault.asset.address, 10**vault.asset.decimals, HOLDER, HOLDER)
        request = VaultRequest(vault.id, vault.chain_id, "deposit", *ends, _SLIPPAGE_BPS)
        if await quoted(provider, request) is not None:
            found.append(request)
            per_chain[vault.chain_id] += 1
    return found
