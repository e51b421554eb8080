"""Reads the events by which factories and the PoolManager tell new pools.

Addresses and ids are computed again: a log of another contract, or of a pool that the factory did not make,
gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from quoteway import NATIVE, Address
from quoteway.evm.abi import event_topic
from quoteway_router.logs import LoggedEvent

from quoteway_uniswap.abi_words import address_of, signed, words_of
from quoteway_uniswap.candidates import PoolRef, algebra_pool, pool_id, v2_pool, v3_pool, v4_pool
from quoteway_uniswap.deployments import Deployment, PoolKey

PAIR_CREATED = event_topic("PairCreated(address,address,address,uint256)")
"""UniswapV2Factory."""
POOL_CREATED = event_topic("PoolCreated(address,address,uint24,int24,address)")
"""UniswapV3Factory."""
V4_INITIALIZE = event_topic("Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)")
"""v4-core PoolManager."""
ALGEBRA_POOL = event_topic("Pool(address,address,address)")
"""AlgebraFactory."""

_MOST_SPACING = 32_767


@dataclass(frozen=True, slots=True)
class Creation:
    """A new pool of a deployment. ``hooks`` is the zero address without hooks."""

    deployment: Deployment
    ref: PoolRef
    hooks: Address = NATIVE


def creation(log: LoggedEvent, deployments: Iterable[Deployment]) -> Creation | None:
    """Returns the pool that a log tells; None for any other log."""
    topic = log.topics[0] if log.topics else None
    if topic not in (PAIR_CREATED, POOL_CREATED, V4_INITIALIZE, ALGEBRA_POOL):
        return None
    for deployment in deployments:
        try:
            made = _creation(log, deployment)
        except (ValueError, IndexError):
            return None
        if made is not None:
            return made
    return None


def _creation(log: LoggedEvent, deployment: Deployment) -> Creation | None:
    topic, source, words = log.topics[0], log.address, words_of(log.data)
    v2, v3, v4 = deployment.v2, deployment.v3, deployment.v4
    if topic == V4_INITIALIZE and v4 is not None and source == v4.pool_manager:
        key = v4_key(log)
        if pool_id(key) != log.topics[1] or not 0 < key.tick_spacing <= _MOST_SPACING:
            return None
        return Creation(deployment, v4_pool(v4, key), key.hooks)
    if topic == V4_INITIALIZE:
        return None
    token0, token1 = (address_of(int(each, 16)) for each in log.topics[1:3])
    algebra = deployment.algebra
    if topic == ALGEBRA_POOL and algebra is not None and source == algebra.factory:
        pool = algebra_pool(algebra, token0, token1)
        return Creation(deployment, pool) if pool.id == address_of(words[0]) else None
    if topic == PAIR_CREATED and v2 is not None and source == v2.factory:
        pair = v2_pool(v2, token0, token1)
        return Creation(deployment, pair) if pair.id == address_of(words[0]) else None
    if topic == POOL_CREATED and v3 is not None and source == v3.factory:
        spacing = signed(words[0], 24)
        pool = v3_pool(v3, token0, token1, int(log.topics[3], 16), spacing)
        return Creation(deployment, pool) if pool.id == address_of(words[1]) and spacing > 0 else None
    return None


def v4_key(log: LoggedEvent) -> PoolKey:
    """Returns the key in an Initialize event. Raises ValueError or IndexError when it is malformed."""
    fee, spacing, hooks = words_of(log.data)[:3]
    currency0, currency1 = (address_of(int(each, 16)) for each in log.topics[2:4])
    return PoolKey(currency0, currency1, fee, signed(spacing), address_of(hooks))
