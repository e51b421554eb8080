"""The suite for pool providers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from quoteway import Capability, NotFound, Pool, PoolProvider
from quoteway.testing.conformance.listing import (
    check_liquidity,
    check_pool,
    check_position,
    check_series,
    made_up_id,
)
from quoteway.testing.conformance.movement import MovementConformance
from quoteway.testing.conformance.provider import MAX_BLOCK_S, STRANGER, longest_block

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway


class PoolConformance(MovementConformance):
    """Fixtures: ``gateway``, ``cases`` (``PoolRequest``), ``unknown`` (no such pool)."""

    capability: ClassVar[Capability] = Capability.POOL
    metrics: ClassVar[Sequence[str]] = ("tvl", "volume", "fees", "apr")

    async def test_the_catalog_is_sound(self, gateway: Gateway, provider: PoolProvider) -> None:
        pools = await provider.pools(None)
        assert pools, "an empty catalog has nothing to check"
        ids = [pool.id for pool in pools]
        assert len(set(ids)) == len(ids), "two pools have one id"
        for pool in pools:
            check_pool(gateway, provider, pool)
        for chain_id in provider.networks:
            here = {pool.id for pool in await provider.pools(chain_id)}
            assert here == {pool.id for pool in pools if pool.chain_id == chain_id}

    async def test_a_listed_pool_is_found_and_a_made_up_one_is_not(self, provider: PoolProvider) -> None:
        for listed in (await provider.pools(None))[:20]:
            found = await provider.pool(listed.id)
            assert isinstance(found, Pool)
            assert (found.id, found.tokens) == (listed.id, listed.tokens)
        for chain_id in provider.networks:
            with contextlib.suppress(NotFound):
                assert await provider.pool(made_up_id(chain_id)) is None

    async def test_the_catalog_does_not_keep_the_event_loop(self, provider: PoolProvider) -> None:
        await provider.pools(None)
        assert await longest_block(lambda: provider.pools(None)) < MAX_BLOCK_S

    async def test_series_are_known_numbers_or_nothing(
        self, gateway: Gateway, provider: PoolProvider
    ) -> None:
        end = int(time.time())
        for listed in (await provider.pools(None))[:3]:
            for metric in self.metrics:
                series = await provider.series(listed.id, metric, end - 86_400, end, "1h")
                if series is not None:
                    check_series(series, listed.id, metric)

    async def test_the_liquidity_of_a_pool_is_sound_or_not_told(self, provider: PoolProvider) -> None:
        for listed in (await provider.pools(None))[:5]:
            found = await provider.liquidity(listed.id)
            if found is not None:
                check_liquidity(found, listed.id)

    async def test_a_stranger_has_no_positions(self, provider: PoolProvider) -> None:
        assert list(await provider.positions(STRANGER, None)) == []

    async def test_positions_are_sound(
        self, gateway: Gateway, provider: PoolProvider, cases: Sequence[Any]
    ) -> None:
        for wallet in dict.fromkeys(request.sender for request in cases):
            for position in await provider.positions(wallet, None):
                check_position(position, wallet)
                found = await provider.positions(wallet, position.pool_id)
                assert position.position_id in [one.position_id for one in found]
