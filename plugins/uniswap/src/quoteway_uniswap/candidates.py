"""Computes the pools of a token pair: addresses and ids follow from factory, tokens and fee."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

from quoteway import NATIVE, Address
from quoteway.evm.abi import encode, function
from quoteway.evm.address import address_bytes, create2_address, keccak256
from quoteway_amm import Kind

from quoteway_uniswap.deployments import (
    AlgebraDeployment,
    Deployment,
    PoolKey,
    V2Deployment,
    V3Deployment,
    V4Deployment,
)

# v4-core StateLibrary.POOLS_SLOT: the slot of the PoolManager's pools.
_POOLS_SLOT = 6

EXTSLOAD = function("extsload(bytes32 slot) returns (bytes32)")
"""Reads a storage slot of the PoolManager."""


@dataclass(frozen=True, slots=True)
class PoolRef:
    """A pool that may exist.

    ``id`` is the contract (v2, v3) or the 32-byte pool id (v4). ``target`` is the contract that the lens
    calls: the pool, or the PoolManager. ``fee`` is in pips as in the pool's key. ``tick_spacing`` is 0 on v2.
    ``hooks`` is the zero address without hooks.
    """

    kind: Kind
    id: str
    target: Address
    token0: Address
    token1: Address
    fee: int
    tick_spacing: int = 0
    v2_fee: tuple[int, int] = (997, 1000)
    hooks: Address = NATIVE

    def __hash__(self) -> int:
        return hash(self.id)  # a text keeps its hash, and each quote looks up a hundred pools


class PoolRefs(tuple[PoolRef, ...]):
    """Pools in a fixed order. They are hashed once: each quote looks a few graphs up by all of its pools."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()


@lru_cache(maxsize=1024)
def candidate_pools(deployment: Deployment, token_in: Address, token_out: Address) -> PoolRefs:
    """Returns all pools that routes through the base tokens can use.

    The native coin and its wrapped form give the same pools, and so do both directions.
    """
    wrapped, bases = deployment.wrapped_native, deployment.pass_through
    ends = sorted(wrapped if token == NATIVE else token for token in (token_in, token_out))
    tokens = tuple(dict.fromkeys((*bases, *ends)))
    # Pools that all requests share come first in a fixed order, so that requests share their reads.
    pairs = dict.fromkeys((*combinations(bases, 2), *combinations(tokens, 2)))
    return PoolRefs(ref for a, b in pairs for ref in pools_of_pair(deployment, *sorted_pair(a, b)))


def hooked_pools(deployment: Deployment, token_in: Address, token_out: Address) -> tuple[PoolKey, ...]:
    """Returns the configured v4 pools of this pair whose hooks are not allowed. They are never candidates."""
    if deployment.v4 is None:
        return ()
    wrapped = deployment.wrapped_native
    wanted = {wrapped if token == NATIVE else token for token in (token_in, token_out)}
    return tuple(
        key
        for key in deployment.v4.known_pools
        if not deployment.v4.allows(key.hooks)
        and {wrapped if token == NATIVE else token for token in (key.currency0, key.currency1)} == wanted
    )


@lru_cache(maxsize=8192)
def pools_of_pair(deployment: Deployment, token0: Address, token1: Address) -> tuple[PoolRef, ...]:
    """Returns the pools of two ERC-20 tokens in address order.

    When one is the wrapped native coin, v4 pools of the native coin are included.
    """
    refs: list[PoolRef] = []
    if deployment.v2 is not None:
        refs.append(v2_pool(deployment.v2, token0, token1))
    if deployment.v3 is not None:
        refs += (
            v3_pool(deployment.v3, token0, token1, fee, spacing) for fee, spacing in deployment.v3.fee_tiers
        )
    if deployment.algebra is not None:
        refs.append(algebra_pool(deployment.algebra, token0, token1))
    if deployment.v4 is not None:
        pairs = [(token0, token1)]
        if deployment.wrapped_native in (token0, token1):
            pairs.append((NATIVE, token1 if token0 == deployment.wrapped_native else token0))
        for pair in pairs:
            keys = [PoolKey(*pair, fee, spacing) for fee, spacing in deployment.v4.fee_tiers]
            keys += (
                key
                for key in deployment.v4.known_pools
                if deployment.v4.allows(key.hooks)
                and (key.currency0, key.currency1) == pair
                and key not in keys
            )
            refs += (v4_pool(deployment.v4, key) for key in keys)
    return tuple(refs)


def v2_pool(v2: V2Deployment, token0: Address, token1: Address) -> PoolRef:
    """Source: UniswapV2Factory.createPair, salt = keccak256(abi.encodePacked(token0, token1))."""
    salt = keccak256(address_bytes(token0) + address_bytes(token1))
    pair = create2_address(v2.factory, salt, v2.init_code_hash)
    fee = -(-(v2.fee_denominator - v2.fee_numerator) * 1_000_000 // v2.fee_denominator)
    return PoolRef("v2", pair, pair, token0, token1, fee, 0, (v2.fee_numerator, v2.fee_denominator))


def v3_pool(v3: V3Deployment, token0: Address, token1: Address, fee: int, tick_spacing: int) -> PoolRef:
    """Source: UniswapV3PoolDeployer.deploy, salt = keccak256(abi.encode(token0, token1, fee))."""
    salt = keccak256(encode(("address", "address", "uint24"), (token0, token1, fee)))
    pool = create2_address(v3.deployer, salt, v3.init_code_hash)
    return PoolRef("v3", pool, pool, token0, token1, fee, tick_spacing)


def algebra_pool(algebra: AlgebraDeployment, token0: Address, token1: Address) -> PoolRef:
    """Source: AlgebraPoolDeployer.deploy, salt = keccak256(abi.encode(token0, token1)).

    Its state has the fee. The words of its bitmap count ticks, whatever the tick spacing is.
    """
    salt = keccak256(encode(("address", "address"), (token0, token1)))
    pool = create2_address(algebra.deployer, salt, algebra.init_code_hash)
    return PoolRef("algebra", pool, pool, token0, token1, fee=0, tick_spacing=1)


def v4_pool(v4: V4Deployment, key: PoolKey) -> PoolRef:
    """Source: v4-core PoolId.toId."""
    ends = key.currency0, key.currency1
    return PoolRef("v4", pool_id(key), v4.pool_manager, *ends, key.fee, key.tick_spacing, hooks=key.hooks)


def pool_id(key: PoolKey) -> str:
    """Returns a v4 pool's id, keccak256(abi.encode(poolKey)), as 0x hex."""
    fields = (key.currency0, key.currency1, key.fee, key.tick_spacing, key.hooks)
    return "0x" + keccak256(encode(("address", "address", "uint24", "int24", "address"), fields)).hex()


def v4_pool_slot(identity: str) -> int:
    """Returns the storage slot of a v4 pool's state. Source: v4-core StateLibrary._getPoolStateSlot."""
    return int.from_bytes(keccak256(bytes.fromhex(identity[2:]) + _POOLS_SLOT.to_bytes(32)))


def sorted_pair(a: Address, b: Address) -> tuple[Address, Address]:
    """Returns two tokens in ascending order of their addresses."""
    return (a, b) if a.lower() < b.lower() else (b, a)
