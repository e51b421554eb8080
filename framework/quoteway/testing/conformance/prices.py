"""The suite for price sources."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import pytest

from quoteway import Address, Capability, PriceSource
from quoteway.testing.conformance import provider as suite

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway

_MOST_USD = 1e15
"""A price above this, of one whole token, is an error."""


class PriceConformance(suite.ProviderConformance):
    """Fixtures: ``gateway``, and ``priced``: (chain id, token) that the source can price."""

    capability: ClassVar[Capability] = Capability.PRICES

    @pytest.fixture
    def priced(self) -> Sequence[tuple[int, Address]]:
        pytest.fail(f"{type(self).__name__} gives no fixture `priced`")

    async def test_prices_are_positive_numbers_at_the_block(
        self, gateway: Gateway, provider: PriceSource, priced: Sequence[tuple[int, Address]]
    ) -> None:
        for chain_id, address in priced:
            block = await gateway.runtime.chain(chain_id).head()
            found = await provider.prices(chain_id, [address], block)
            assert set(found) == {address}, f"asked for {address}, it prices {sorted(found)}"
            price = found[address]
            assert price.source.strip(), "source: which source says so"
            assert price.block == block, f"it is asked at block {block.number}, and says {price.block}"
            assert price.usd is None or 0 < price.usd < _MOST_USD, f"{address} costs {price.usd} US dollars"
            assert price.confidence is None or 0 <= price.confidence <= 1, f"confidence {price.confidence}"
            assert price.depth_usd is None or (math.isfinite(price.depth_usd) and price.depth_usd >= 0)

    async def test_a_price_does_not_depend_on_what_else_is_asked(
        self, gateway: Gateway, provider: PriceSource, priced: Sequence[tuple[int, Address]]
    ) -> None:
        by_chain: dict[int, list[Address]] = {}
        for chain_id, address in priced:
            by_chain.setdefault(chain_id, []).append(address)
        for chain_id, addresses in by_chain.items():
            block = await gateway.runtime.chain(chain_id).head()
            together = await provider.prices(chain_id, addresses, block)
            for address in addresses:
                alone = await provider.prices(chain_id, [address], block)
                assert alone.get(address) == together.get(address), f"{address} alone costs something else"

    async def test_an_unknown_token_is_left_out(self, gateway: Gateway, provider: PriceSource) -> None:
        for chain_id in provider.networks & set(gateway.runtime.chains):
            block = await gateway.runtime.chain(chain_id).head()
            found = await provider.prices(chain_id, [suite.STRANGER], block)
            price = found.get(suite.STRANGER)
            assert price is None or price.usd is None, f"it prices {suite.STRANGER}, which is no token"

    async def test_the_event_loop_is_never_kept(
        self, gateway: Gateway, provider: PriceSource, priced: Sequence[tuple[int, Address]]
    ) -> None:
        for chain_id, address in priced[:3]:
            block = await gateway.runtime.chain(chain_id).head()

            async def work(chain_id: int = chain_id, address: Address = address) -> None:
                await provider.prices(chain_id, [address], block)  # noqa: B023 - it runs in this round

            await work()
            kept_s = await suite.longest_block(work)
            assert kept_s < suite.MAX_BLOCK_S, f"{kept_s * 1000:.0f} ms on the event loop"
