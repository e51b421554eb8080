"""The suite for RPC upstreams."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import pytest

from quoteway import Capability, Network, RpcError, RpcUpstream
from quoteway.testing.conformance import provider as suite

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway

_TIMEOUT_S = 10.0


class RpcConformance(suite.ProviderConformance):
    """Fixture: ``gateway``."""

    capability: ClassVar[Capability] = Capability.RPC

    async def test_it_is_on_the_chain_that_it_says(self, gateway: Gateway, provider: RpcUpstream) -> None:
        for network in _networks(gateway, provider):
            found = await provider.forward(network, "eth_chainId", [], timeout_s=_TIMEOUT_S)
            assert int(found, 16) == network.chain_id, f"{network.slug} answers chain id {found}"

    async def test_the_newest_block_is_complete(self, gateway: Gateway, provider: RpcUpstream) -> None:
        for network in _networks(gateway, provider):
            head = await provider.forward(
                network, "eth_getBlockByNumber", ["latest", False], timeout_s=_TIMEOUT_S
            )
            assert len(head["hash"]) == 66, f"the newest block of {network.slug} has no hash"
            same = await provider.forward(
                network, "eth_getBlockByNumber", [head["number"], False], timeout_s=_TIMEOUT_S
            )
            assert same["hash"] == head["hash"], f"{network.slug} has two blocks {head['number']}"

    async def test_an_error_of_the_node_is_an_rpc_error(
        self, gateway: Gateway, provider: RpcUpstream
    ) -> None:
        for network in _networks(gateway, provider):
            with pytest.raises(RpcError):
                await provider.forward(network, "eth_noSuchMethod", [], timeout_s=_TIMEOUT_S)

    async def test_reads_at_once_get_their_own_answers(self, gateway: Gateway, provider: RpcUpstream) -> None:
        for network in _networks(gateway, provider):
            numbers = [hex(number) for number in range(8)]
            blocks = await asyncio.gather(
                *(
                    provider.forward(network, "eth_getBlockByNumber", [n, False], timeout_s=_TIMEOUT_S)
                    for n in numbers
                )
            )
            answered = [block and block["number"] for block in blocks]
            assert all(n in (None, asked) for n, asked in zip(answered, numbers, strict=True)), (
                f"asked for blocks {numbers}, got {answered}"
            )

    async def test_upstreams_are_told_from_memory(self, provider: RpcUpstream) -> None:
        await provider.upstreams()
        assert await suite.longest_block(provider.upstreams) < suite.MAX_BLOCK_S


def _networks(gateway: Gateway, provider: RpcUpstream) -> Iterator[Network]:
    for chain_id in sorted(provider.networks & set(gateway.runtime.chains)):
        yield gateway.runtime.chains[chain_id].network
