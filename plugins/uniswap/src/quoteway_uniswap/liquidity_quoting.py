"""Reads what a liquidity request needs and computes its terms."""

from __future__ import annotations

import asyncio

from quoteway import Block, InvalidRequest, PoolRequest, PoolState, Reason, Token
from quoteway.evm.calls.router_commands import RESERVED_RECIPIENTS
from quoteway.evm.erc20 import BALANCE_OF
from quoteway.evm.token_text import display_name

from quoteway_uniswap.chain_pools import ChainPools
from quoteway_uniswap.known_pools import KnownPool
from quoteway_uniswap.liquidity_state import (
    Holding,
    PairState,
    RangedState,
    Reading,
    read_nfts,
    read_pair,
    read_ranged,
)
from quoteway_uniswap.liquidity_terms import Sides, Terms
from quoteway_uniswap.pair_terms import add_to_pair, remove_from_pair
from quoteway_uniswap.range_terms import add_to_range, collect, remove_from_range, ticks_of
from quoteway_uniswap.taxes import NO_TAX


def check_request(request: PoolRequest, pool: KnownPool) -> None:
    """Raises InvalidRequest for an action or a recipient that the pool does not allow."""
    if request.action not in pool.actions:
        why = "its hooks may change any amount" if pool.manager else "no contract for it is configured"
        if pool.ref.kind == "v2" and request.action == "collect":
            why = "the fees of a v2 pool are part of its shares: use remove"
        raise InvalidRequest(
            f"action {request.action} is not possible in this pool: {why}.", reason=Reason.UNSUPPORTED_ACTION
        )
    if request.recipient in RESERVED_RECIPIENTS or request.recipient in (
        pool.manager,
        pool.ref.target,
        *(token.address for token in pool.tokens),
    ):
        raise InvalidRequest(
            "recipient must not be a contract of the pool or a reserved address: the tokens would be lost.",
            reason=Reason.INVALID_FORMAT,
        )
    if pool.ref.kind == "v2" and (request.tick_lower is not None or request.tick_upper is not None):
        raise InvalidRequest(
            "A v2 pool has no ticks: leave out tickLower and tickUpper.", reason=Reason.CONFLICT
        )


async def terms_at(pools: ChainPools, block: Block, sides: Sides) -> tuple[Terms, PoolState]:
    """Returns the terms of a request and the pool's state at ``block``."""
    pool = sides.pool
    if pool.ref.kind == "v2":
        pair = await read_pair(pools.chain, block, pool)
        return await _pair_terms(pools, block, sides, pair), _pair_state(pool, pair)
    terms, state = await _range_terms(pools, block, sides)
    return terms, _ranged_state(pool, state)


async def _pair_terms(pools: ChainPools, block: Block, sides: Sides, state: PairState) -> Terms:
    request, pool = sides.request, sides.pool
    if request.position_id not in (None, pool.id, pool.ref.id):
        raise InvalidRequest(
            f"positionId of a v2 pool must be the pool's id, {pool.id}.", reason=Reason.CONFLICT
        )
    share = Token(request.chain_id, pool.ref.id, 18, "UNI-V2", f"{_pair_name(pool)} liquidity shares")
    taxes = await asyncio.gather(*(pools.taxes.of(token, block) for token in pool.tokens))
    if sides.native and any(tax != NO_TAX for tax in taxes):
        raise InvalidRequest(
            "A token of this pool keeps part of every transfer: use the wrapped coin, not the native one.",
            reason=Reason.UNSUPPORTED_TOKEN,
        )
    if request.action == "add":
        await _require_untaxed(pools, block, pool)
        return add_to_pair(sides, state, share)
    reading = Reading()
    held = reading.add(pool.ref.id, BALANCE_OF, request.sender)
    await reading.run(pools.chain, block)
    out_bps = (taxes[0].from_pool_bps, taxes[1].from_pool_bps)
    return remove_from_pair(sides, state, share, reading.word(held), out_bps)


async def _require_untaxed(pools: ChainPools, block: Block, pool: KnownPool) -> None:
    for token in pool.tokens:
        if await pools.taxes.of(token, block) != NO_TAX:
            raise InvalidRequest(
                f"{display_name(token)} keeps part of every transfer: it can be removed but not added.",
                reason=Reason.UNSUPPORTED_TOKEN,
            )


async def _range_terms(pools: ChainPools, block: Block, sides: Sides) -> tuple[Terms, RangedState]:
    request, pool = sides.request, sides.pool
    manager = pool.manager
    assert manager is not None
    kind = pool.ref.kind
    if request.action == "add":
        await _require_untaxed(pools, block, pool)
    position = Token(request.chain_id, manager, 0, f"UNI-{kind.upper()}-POS", "Uniswap position")
    if request.action == "add" and request.position_id is None:
        ticks = ticks_of(pool, request)
        (state,) = await read_ranged(pools.chain, block, [pool])
        if not state.sqrt_price_x96:
            raise InvalidRequest(
                "This pool has no price: it is not initialised.",
                reason=Reason.INSUFFICIENT_LIQUIDITY,
            )
        return add_to_range(sides, state, ticks, position, None), state
    holding = await _holding(pools, block, sides)
    nft, state = holding.nft, holding.state
    own = (nft.tick_lower, nft.tick_upper)
    for asked, tick, name in zip(
        (request.tick_lower, request.tick_upper), own, ("tickLower", "tickUpper"), strict=True
    ):
        if asked is not None and asked != tick:
            raise InvalidRequest(f"{name} must be {tick}, as in the position.", reason=Reason.CONFLICT)
    if request.action == "add":
        return add_to_range(sides, state, own, position, holding), state
    if request.action == "remove":
        return remove_from_range(sides, holding, position), state
    return collect(sides, holding), state


async def _holding(pools: ChainPools, block: Block, sides: Sides) -> Holding:
    """Returns the requested position; without a positionId, the wallet's only one in the pool."""
    request, pool = sides.request, sides.pool
    if request.position_id is None:
        owned = await pools.wallets.nfts(block, request.sender, (pool.ref.kind,), pool)
        nfts = owned.found
        if owned.unsearched is not None:
            text = "positionId is required: not all positions of this wallet could be looked for."
            raise InvalidRequest(text, reason=Reason.MISSING)
        if len(nfts) != 1:
            named = ", ".join(str(nft.token_id) for nft in nfts[:20])
            have = f"has several positions in this pool: {named}" if nfts else "has no position in this pool"
            raise InvalidRequest(f"positionId is required: this wallet {have}.", reason=Reason.MISSING)
    else:
        if not request.position_id.isdecimal() or len(request.position_id) > 78:
            raise InvalidRequest(
                "positionId must be the decimal number of the position token.", reason=Reason.INVALID_FORMAT
            )
        token_id = int(request.position_id)
        found = await read_nfts(pools.chain, block, pool.deployment, pool.ref.kind, [token_id])
        nfts = [nft for nft in found if nft.pool == pool.ref.id]
        if not nfts:
            raise InvalidRequest("positionId must be a position in this pool.", reason=Reason.CONFLICT)
        if nfts[0].owner != request.sender:
            raise InvalidRequest(
                "The position belongs to another account than sender.", reason=Reason.CONFLICT
            )
    (holding,) = await pools.wallets.holdings(block, nfts)
    return holding


def _pair_name(pool: KnownPool) -> str:
    return "/".join(token.symbol or token.address for token in pool.tokens)


def _pair_state(pool: KnownPool, state: PairState) -> PoolState:
    reserves = (state.reserve0, state.reserve1)
    return PoolState("v2", pool.ref.fee / 100, liquidity=state.total_supply, reserves=reserves)


def _ranged_state(pool: KnownPool, state: RangedState) -> PoolState:
    return PoolState(
        pool.ref.kind,
        state.lp_fee / 100,
        liquidity=state.liquidity,
        sqrt_price_x96=state.sqrt_price_x96,
        tick=state.tick,
    )
