"""Sends JSON-RPC calls to the RPC upstreams of a network, in their order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from quoteway.errors import Reason, RpcError, UpstreamError, disabled
from quoteway.host.provider_calls import FORWARD
from quoteway.host.registry import Registry
from quoteway.models import Header
from quoteway.networks import Network
from quoteway.providers import RpcUpstream

log = logging.getLogger("quoteway.engine.forwarding")


class Forwarding:
    """The RPC upstreams of all networks, as chains and clients ask them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def read(self, network: Network, method: str, params: Sequence[Any], timeout_s: float) -> Any:
        """Sends a read of the core to the RPC upstreams in order, until one answers."""
        return await self._ask(RpcUpstream.forward.__name__, network, method, params, timeout_s)

    async def call(self, network: Network, method: str, params: Sequence[Any], timeout_s: float) -> Any:
        """Sends a call of a client to the RPC upstreams in order, until one answers."""
        name = RpcUpstream.forward_public.__name__
        return await self._ask(name, network, method, params, timeout_s)

    def kept(self, network: Network, method: str, params: bytes) -> bytes | None:
        """Returns the result of a client's call that the first RPC upstream holds; see ``RpcUpstream.kept``.

        Counts it as an answer of the upstream. The others are not asked: a call goes to the first.
        """
        started = time.monotonic()
        upstream = next(iter(self._registry.rpc_upstreams(network.chain_id)), None)
        if upstream is None:
            return None
        result = cast(RpcUpstream, upstream).kept(network, method, params)
        if result is not None:
            took_s = time.monotonic() - started
            self._registry.calls.count_kept(upstream, verb=FORWARD, scope=network.chain_id, took_s=took_s)
        return result

    async def _ask(
        self, name: str, network: Network, method: str, params: Sequence[Any], timeout_s: float
    ) -> Any:
        last: UpstreamError | None = None
        ends_at = time.monotonic() + timeout_s
        for upstream in self._registry.rpc_upstreams(network.chain_id):
            left_s = max(ends_at - time.monotonic(), 0.0)
            try:
                answer = getattr(upstream, name)(network, method, params, timeout_s=left_s)
                return await self._registry.calls.counted(
                    upstream, answer, verb=FORWARD, scope=network.chain_id, timeout_s=left_s
                )
            except RpcError:
                raise
            except UpstreamError as error:
                last = error
            except (Exception, SystemExit, asyncio.CancelledError) as error:
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
                    raise  # the caller was cancelled, not the upstream
                log.exception("RPC upstream %r raised", upstream.id)
                last = UpstreamError(f"An RPC upstream of {network.slug} failed.", reason=Reason.RPC_ERROR)
        if last is not None:
            raise last
        raise disabled(f"No RPC upstream is enabled for {network.slug}.")

    def pushed_heads(self, network: Network) -> AsyncIterator[Header] | None:
        """Returns the new heads of the first RPC upstream whose nodes push them."""
        upstreams = cast(list[RpcUpstream], self._registry.rpc_upstreams(network.chain_id))
        return next((heads for each in upstreams if (heads := each.heads(network)) is not None), None)
