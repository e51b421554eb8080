"""Finds pools by id. Addresses are computed again from the pool's data, v4 keys are read from logs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quoteway import NATIVE, Address, Chain, Context, Token
from quoteway.evm.abi import function
from quoteway.evm.chain import Call
from quoteway_router.logs import Logs

from quoteway_uniswap.abi_words import address_of
from quoteway_uniswap.candidates import (
    EXTSLOAD,
    PoolRef,
    pool_id,
    pools_of_pair,
    v2_pool,
    v3_pool,
    v4_pool,
    v4_pool_slot,
)
from quoteway_uniswap.creations import V4_INITIALIZE, v4_key
from quoteway_uniswap.deployments import Deployment, PoolKey

_GETTERS = tuple(
    function(f"{name}() returns (uint256)") for name in ("token0", "token1", "fee", "tickSpacing")
)

# v4-core Hooks: before and after adding or removing liquidity, and their two delta flags.
_LIQUIDITY_HOOKS = 0b1111_0000_0011


@dataclass(frozen=True, slots=True)
class KnownPool:
    """An existing pool. ``id`` is the API's, ``ref.id`` the chain's. ``coin`` is the native coin."""

    id: str
    deployment: Deployment
    ref: PoolRef
    tokens: tuple[Token, Token]
    coin: Token
    hooks: Address = NATIVE

    @property
    def key(self) -> PoolKey:
        """Returns the v4 key."""
        ref = self.ref
        return PoolKey(ref.token0, ref.token1, ref.fee, ref.tick_spacing, self.hooks)

    @property
    def manager(self) -> Address | None:
        """Returns the v2 router or position manager; None when none is configured."""
        return manager_of(self.deployment, self.ref.kind)

    @property
    def actions(self) -> tuple[str, ...]:
        """Returns the possible actions: none for hooks on liquidity, which may change any amount."""
        if self.manager is None or int(self.hooks, 16) & _LIQUIDITY_HOOKS:
            return ()
        return ("add", "remove") if self.ref.kind == "v2" else ("add", "remove", "collect")

    def in_form(self, native: bool) -> tuple[Token, Token]:
        """Returns the tokens that a wallet uses: with ``native`` the coin instead of its wrapped form."""
        wrapped = self.deployment.wrapped_native
        if not native or self.ref.kind == "v4" or wrapped not in (self.ref.token0, self.ref.token1):
            return self.tokens
        first, second = (self.coin if token.address == wrapped else token for token in self.tokens)
        return first, second


def manager_of(deployment: Deployment, kind: str) -> Address | None:
    """Returns the router (v2) or position manager (v3, v4) of a deployment."""
    if kind == "v2":
        return deployment.v2.router if deployment.v2 else None
    if kind == "v3":
        return deployment.v3.position_manager if deployment.v3 else None
    return deployment.v4.position_manager if deployment.v4 else None


class PoolFinder:
    """Finds and remembers the pools of one chain by id."""

    def __init__(self, context: Context, chain: Chain, deployments: Sequence[Deployment], logs: Logs) -> None:
        self._context = context
        self._chain = chain
        self._deployments = deployments
        self._logs = logs
        self._known: dict[str, KnownPool] = {}
        self._keys: dict[str, tuple[Deployment, PoolKey]] = {
            pool_id(key): (deployment, key)
            for deployment in deployments
            if deployment.v4 is not None
            for key in deployment.v4.known_pools
        }

    async def find(self, own_id: str) -> KnownPool | None:
        """Returns the pool at an address or with a v4 id; None when no deployment has it.

        Raises UpstreamError when the chain could not be read.
        """
        found = self._known.get(own_id)
        if found is None:
            found = await (self._by_key(own_id) if len(own_id) == 66 else self._by_address(own_id))
            if found is not None:
                self._known[own_id] = found
        return found

    async def adopt(self, deployment: Deployment, ref: PoolRef, hooks: Address = NATIVE) -> KnownPool | None:
        """Returns the pool of a reference that exists; None when one of its tokens cannot be read."""
        known = self._known.get(ref.id)
        if known is None:
            wanted = (ref.token0, ref.token1, NATIVE)
            token0, token1, coin = await asyncio.gather(*(self._token(address) for address in wanted))
            if token0 is None or token1 is None or coin is None:
                return None
            identity = f"{deployment.chain_id}:{ref.id}"
            known = KnownPool(identity, deployment, ref, (token0, token1), coin, hooks)
            self._known[ref.id] = known
        return known

    def learn(self, deployment: Deployment, key: PoolKey) -> None:
        """Remembers a v4 key, so that its pool is found without searching logs."""
        self._keys.setdefault(pool_id(key), (deployment, key))

    async def _token(self, address: Address) -> Token | None:
        return await self._context.token(self._chain.network.chain_id, address)

    async def _by_address(self, address: Address) -> KnownPool | None:
        reads = [Call(address, f.encode([]), max_output=32) for f in _GETTERS]
        answers = await self._chain.call_many(reads, block="latest")
        words = [int.from_bytes(a) if isinstance(a, bytes) and len(a) == 32 else None for a in answers]
        token0, token1, fee, spacing = words
        if token0 is None or token1 is None or token0 >= token1 or token1 >> 160:
            return None
        pair = address_of(token0), address_of(token1)
        for deployment in self._deployments:
            ref = None
            if fee is None or spacing is None:
                ref = v2_pool(deployment.v2, *pair) if deployment.v2 else None
            elif deployment.v3 and fee < 1 << 24 and spacing < 1 << 15:
                ref = v3_pool(deployment.v3, *pair, fee, spacing)
            # A contract that only pretends to be a pool is at another address than the factory's.
            if ref is not None and ref.id == address:
                return await self.adopt(deployment, ref)
        return None

    async def _by_key(self, identity: str) -> KnownPool | None:
        known = self._keys.get(identity)
        if known is None:
            known = await self._logged_key(identity)
        if known is None:
            return None
        deployment, key = known
        assert deployment.v4 is not None
        ref = v4_pool(deployment.v4, key)
        # The pool of a known key may not exist.
        slot0 = EXTSLOAD.encode([v4_pool_slot(identity).to_bytes(32)])
        if not int.from_bytes(await self._chain.call(ref.target, slot0)):
            return None
        return await self.adopt(deployment, ref, key.hooks)

    async def _logged_key(self, identity: str) -> tuple[Deployment, PoolKey] | None:
        """Returns the key from the pool's Initialize event."""
        for deployment in self._deployments:
            if deployment.v4 is None:
                continue
            head = await self._chain.head()
            found = await self._logs.search(
                deployment.v4.pool_manager, [V4_INITIALIZE, identity], deployment.v4.since_block, head.number
            )
            for log in found.logs:
                key = v4_key(log)
                if pool_id(key) == identity:
                    return deployment, key
        return None

    async def candidates(self, pairs: Iterable[tuple[Address, Address]]) -> list[tuple[Deployment, PoolRef]]:
        """Returns every computable pool of these pairs, existing or not, and the configured v4 pools."""
        found: dict[str, tuple[Deployment, PoolRef]] = {}
        wanted = list(pairs)
        for deployment in self._deployments:
            for pair in wanted:
                for ref in pools_of_pair(deployment, *pair):
                    found.setdefault(ref.id, (deployment, ref))
            for key in deployment.v4.known_pools if deployment.v4 else ():
                assert deployment.v4 is not None
                ref = v4_pool(deployment.v4, key)
                found.setdefault(ref.id, (deployment, ref))
        self._keys.update(
            (ref.id, (deployment, PoolKey(ref.token0, ref.token1, ref.fee, ref.tick_spacing, ref.hooks)))
            for deployment, ref in found.values()
            if ref.kind == "v4" and ref.id not in self._keys
        )
        return list(found.values())

    def hooks_of(self, identity: str) -> Address:
        """Returns the hooks of a v4 pool; the zero address when its key is unknown."""
        known = self._keys.get(identity)
        return known[1].hooks if known else NATIVE
