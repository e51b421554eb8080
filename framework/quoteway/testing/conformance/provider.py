"""The common tests of all providers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from quoteway import Capability, GatewayError, Provider, UpstreamError
from quoteway.evm.address import checksum
from quoteway.evm.deployed_code import without_code
from quoteway.host.registry import PROVIDER_ID

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway
    from quoteway.evm.chain import RpcChain

MAX_BLOCK_S = 0.05
"""The maximum time that a provider may block the event loop, in seconds."""

HOLDER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
"""The devnet's first account, which has every token of its chains. Its nodes have the key."""

STRANGER = "0x0000000000000000000057ac6e00000057Ac6e00"
"""An account without balances and without code."""

_CANCEL_S = 10.0
_MEMORY_S = 0.2
_ROUNDS = 25


class ProviderConformance:
    """Tests identity, cancellation and that no secret is leaked.

    A subclass defines ``provider_id`` and the fixture ``gateway``: a started gateway on the devnet with the
    plugin under test. ``secrets`` lists texts that must not appear in logs or errors (configured keys). The
    networks' endpoints are always included.
    """

    capability: ClassVar[Capability]
    provider_id: ClassVar[str]
    secrets: ClassVar[Sequence[str]] = ()

    @pytest.fixture
    def gateway(self) -> Gateway:
        pytest.fail(f"{type(self).__name__} gives no fixture `gateway`")

    @pytest.fixture
    def provider(self, gateway: Gateway) -> Any:
        """The provider under test, from the gateway's registry."""
        found = gateway.registry.get(self.capability, self.provider_id)
        if found is None:
            refused = [(p.name, p.reason, p.detail) for p in gateway.registry.plugins if p.reason]
            pytest.fail(f"no enabled {self.capability} provider {self.provider_id!r}; refused: {refused}")
        return found

    def test_identity(self, gateway: Gateway, provider: Provider) -> None:
        assert PROVIDER_ID.fullmatch(provider.id), f"id {provider.id!r}: lowercase letters, digits, dashes"
        assert provider.title.strip(), "title: a name for people"
        served = {network.chain_id for network in gateway.runtime.networks}
        assert provider.networks, "networks: the chain ids served"
        assert provider.networks & served, "it serves none of the networks of the gateway it is tested in"
        for chain_id in provider.networks & served:
            contracts, spenders = provider.contracts(chain_id), provider.spenders(chain_id)
            for address in (*contracts, *spenders):
                assert address == checksum(address), f"{address} is not in EIP-55 form"
            assert all(label.strip() for label in contracts.values()), "contracts: labels for people"

    async def test_the_contracts_that_it_expects_have_code(
        self, gateway: Gateway, provider: Provider
    ) -> None:
        for chain_id, chain in gateway.runtime.chains.items():
            expected = provider.expected_contracts(chain_id)
            assert expected.keys() >= provider.contracts(chain_id).keys()
            absent = await without_code(chain, expected) if expected else ()
            assert not absent, f"expected_contracts: no code at {', '.join(absent)}"

    async def test_healthy_answers_at_once(self, provider: Provider) -> None:
        took_s: list[float] = []
        while not took_s or (took_s[-1] >= _MEMORY_S and len(took_s) < _ROUNDS):
            started = time.perf_counter()
            assert await provider.healthy() in (True, False, None)
            took_s.append(time.perf_counter() - started)
        assert min(took_s) < _MEMORY_S, "healthy() answers from memory"


async def longest_block(work: Callable[[], Awaitable[object]]) -> float:
    """Returns the longest time in seconds that ``work`` blocked the event loop.

    Runs up to 25 rounds and returns the lowest value, so that a busy machine does not cause a failure.
    """
    best = await one_longest_block(work)
    for _ in range(_ROUNDS - 1):
        if best < MAX_BLOCK_S:
            break
        best = min(best, await one_longest_block(work))
    return best


async def one_longest_block(work: Callable[[], Awaitable[object]]) -> float:
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    heart = asyncio.create_task(beat())
    await asyncio.sleep(0)
    try:
        await work()
        await asyncio.sleep(0)  # the last block is seen by the beat after it
    finally:
        heart.cancel()
    return longest


async def assert_cancellable(gateway: Gateway, work: Callable[[], Awaitable[object]]) -> None:
    """Cancels ``work`` while its chain reads hang: it must not swallow the cancellation."""

    async def hang(method: str, params: Sequence[Any], timeout_s: float) -> Any:
        await asyncio.sleep(3600)

    with forwarding(gateway, hang):
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0.05)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=_CANCEL_S)
    assert done, f"still running {_CANCEL_S:g} s after it was cancelled"
    if not task.cancelled():
        task.exception()


async def assert_silent(
    gateway: Gateway,
    secrets: Sequence[str],
    caplog: pytest.LogCaptureFixture,
    work: Callable[[], Awaitable[object]],
) -> None:
    """Runs ``work`` with failing nodes: only ``GatewayError`` may be raised, without secrets in any text."""
    endpoints = [e.url for network in gateway.runtime.networks for e in network.endpoints]

    async def fail(method: str, params: Sequence[Any], timeout_s: float) -> Any:
        raise UpstreamError("No node answers.")

    said = []
    with forwarding(gateway, fail):
        try:
            await work()
        except GatewayError as error:
            said.append(error.message)
    text = "\n".join([*said, caplog.text])
    for secret in (*secrets, *endpoints):
        assert secret not in text, "a secret or an endpoint shows in a log line or an error"


class forwarding:  # noqa: N801 - reads as the context manager that it is
    """Sends the JSON-RPC calls of all chains through ``forward`` and drops known heads."""

    def __init__(self, gateway: Gateway, forward: Any) -> None:
        self._chains: list[RpcChain] = list(gateway.runtime.chains.values())
        self._forward = forward
        self._honest: list[Any] = []

    def __enter__(self) -> None:
        for chain in self._chains:
            self._honest.append(chain.forward)
            chain.forward = self._forward

    def __exit__(self, *_: object) -> None:
        for chain, honest in zip(self._chains, self._honest, strict=True):
            chain.forward = honest
