"""Which networks have an RPC upstream that answers: asked when somebody wants to know, and seldom."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from quoteway.errors import GatewayError, RpcError
from quoteway.networks import Network

EVERY_S = 5.0
"""A network is asked at most once in so many seconds, however often readiness is asked for."""
TIMEOUT_S = 3.0
WAIT_S = 0.5
"""So long a caller waits for answers. Kubernetes gives a readiness probe one second by default."""


class Reachability:
    """Asks each network's upstreams for the chain id and remembers the outcome until the next time."""

    def __init__(
        self,
        forward: Callable[[Network, str, Sequence[Any], float], Awaitable[Any]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._forward = forward
        self._clock = clock
        self._answers: dict[int, bool] = {}
        self._asked_at: dict[int, float] = {}
        self._asking: dict[int, asyncio.Task[None]] = {}

    async def silent(self, networks: Iterable[Network]) -> list[Network]:
        """The networks of which no upstream answered when last asked, or none has answered yet."""
        networks = list(networks)
        now = self._clock()
        for network in networks:
            if now - self._asked_at.get(network.chain_id, float("-inf")) >= EVERY_S:
                self._asked_at[network.chain_id] = now
                self._asking[network.chain_id] = asyncio.create_task(
                    self._ask(network), name=f"reachability of {network.slug}"
                )
        running = [task for task in self._asking.values() if not task.done()]
        if running:
            await asyncio.wait(running, timeout=WAIT_S)
        return [network for network in networks if not self._answers.get(network.chain_id, False)]

    async def close(self) -> None:
        """Ends what is under way."""
        running = [task for task in self._asking.values() if not task.done()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=1.0)

    async def _ask(self, network: Network) -> None:
        answers = False
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer = await self._forward(network, "eth_chainId", [], TIMEOUT_S)
            answers = isinstance(answer, str) and answer.lower() == hex(network.chain_id)
        except RpcError:
            answers = True  # a node's own error is an answer
        except (GatewayError, TimeoutError):
            pass
        self._answers[network.chain_id] = answers
