"""Finds networks without an RPC upstream that answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from quoteway.errors import GatewayError, RpcError
from quoteway.host.refresh import Refresher, RefreshPolicy
from quoteway.networks import Network

EVERY_S = 5.0
"""Minimum time between two checks of a network, however often readiness is requested."""
TIMEOUT_S = 3.0
WAIT_S = 0.5
"""How long a caller waits for the checks. The default timeout of a Kubernetes readiness probe is 1 s."""


class Reachability:
    """Requests the chain id from each network's upstreams and keeps whether they answered."""

    def __init__(
        self,
        forward: Callable[[Network, str, Sequence[Any], float], Awaitable[Any]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._forward = forward
        self._networks: dict[int, Network] = {}
        policy = RefreshPolicy(fresh_s=EVERY_S, newer_wait_s=WAIT_S, first_wait_s=WAIT_S)
        self._answers: Refresher[int, bool] = Refresher(self._ask, policy, most_keys=4_096, clock=clock)

    async def silent(self, networks: Iterable[Network]) -> list[Network]:
        """Returns the networks whose last check got no answer, or has not got one yet."""
        networks = list(networks)
        self._networks.update((network.chain_id, network) for network in networks)
        found = await self._answers.get(network.chain_id for network in networks)
        return [network for network in networks if not found[network.chain_id].value]

    async def close(self) -> None:
        """Cancels running checks."""
        await self._answers.close()

    async def _ask(self, chain_ids: Sequence[int]) -> dict[int, bool]:
        (chain_id,) = chain_ids
        answers = False
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer = await self._forward(self._networks[chain_id], "eth_chainId", [], TIMEOUT_S)
            answers = isinstance(answer, str) and answer.lower() == hex(chain_id)
        except RpcError:
            answers = True  # the node is up: it answered with an error
        except (GatewayError, TimeoutError):
            pass
        return {chain_id: answers}
