"""The plugin's provider: each call passes the stages in their order, the last of which asks the nodes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from quoteway import Context, Header, Network, RpcUpstream, UpstreamHealth

from quoteway_rpc.agreement import Agreement
from quoteway_rpc.asking import Ask
from quoteway_rpc.cache import Cache
from quoteway_rpc.cache_store import open_store
from quoteway_rpc.checks import Checks
from quoteway_rpc.cordons import Cordons
from quoteway_rpc.heads import HeadSource, NetworkHeads
from quoteway_rpc.health import Health
from quoteway_rpc.log_ranges import LogRanges
from quoteway_rpc.race import Race, RaceLimits
from quoteway_rpc.receiving import Budget
from quoteway_rpc.shared_chain_ids import SharedChainIds
from quoteway_rpc.shared_looks import SharedLooks
from quoteway_rpc.shared_reads import SharedReads
from quoteway_rpc.upstream import Upstream


class Dispatcher(RpcUpstream):
    """Answers calls of clients and reads of the core from the nodes of each network."""

    id = "rpc"
    title = "JSON-RPC upstreams"
    keeps_quorum = True

    def __init__(self, context: Context, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        settings = context.settings
        self._total_timeout_s: float = settings["total_timeout_s"]
        budget = Budget(max(settings["max_received_bytes"], settings["max_response_bytes"]))
        chain_ids = None if context.shared is None else SharedChainIds(context.shared)
        self._upstreams: dict[int, list[Upstream]] = {
            network.chain_id: [
                Upstream(
                    endpoint,
                    network.chain_id,
                    index,
                    settings["max_response_bytes"],
                    budget,
                    lambda: context.trace,
                    chain_ids,
                )
                for index, endpoint in enumerate(network.endpoints)
            ]
            for network in context.networks
            if network.endpoints
        }
        self.networks = frozenset(self._upstreams)
        served = [network for network in context.networks if network.chain_id in self._upstreams]
        cordon_file = settings["cordon_file"]
        cordons = Cordons(None if cordon_file is None else Path(cordon_file), clock)
        self._healths = {
            network.chain_id: Health(
                network,
                self._upstreams[network.chain_id],
                context.log,
                clock=clock,
                attempt_timeout_s=settings["attempt_timeout_s"],
                cooldown_s=settings["cooldown_s"],
                cordons=cordons,
            )
            for network in served
        }
        self.heads_of = {
            network.chain_id: NetworkHeads(
                network,
                self._upstreams[network.chain_id],
                lambda: context.http,
                clock,
                context.log,
                self._healths[network.chain_id].head_seen,
                self._healths[network.chain_id].is_cordoned,
                None if context.shared is None else SharedLooks(context.shared),
            )
            for network in served
        }
        self.known_heads = HeadSource(self.heads_of)
        for network in served:
            if len(network.endpoints) == 1 and not context.config.embedded:
                text = "%s has one endpoint: no failover, and no agreement of nodes (quorum)"
                context.log.info(text, network.slug)
        self._send = self._stages(context)

    def _stages(self, context: Context) -> Cache:
        """Returns the first stage. Each one has the next: read from the bottom, the last stage is first."""
        settings = context.settings
        race = Race(
            self._healths,
            self._upstreams,
            clock=self._clock,
            limits=RaceLimits(
                attempt_timeout_s=settings["attempt_timeout_s"],
                hedge_share=settings["hedge_share"],
                hedge_floor_s=settings["hedge_floor_s"],
                hedge_unknown_s=settings["hedge_unknown_s"],
                most_requests=settings["most_requests"],
            ),
            count=context.count,
            lacks=self._lacks,
        )
        self.agreement = Agreement(
            Checks(race, self.heads_of, context.log, context.count),
            race,
            self._healths,
            self._upstreams,
            context.log,
            clock=self._clock,
            count=context.count,
            attempt_timeout_s=settings["attempt_timeout_s"],
        )
        self.log_ranges = LogRanges(
            self.agreement,
            clock=self._clock,
            max_logs=settings["max_logs"],
            max_bytes=settings["max_response_bytes"],
        )
        store = settings["cache_store"]
        return Cache(
            self.log_ranges,
            capacity_bytes=settings["cache_bytes"],
            clock=self._clock,
            count=context.count,
            heads=self.known_heads,
            store=None if store is None else open_store(store.reveal()),
            shared=None if context.shared is None else SharedReads(context.shared, context.count),
        )

    def _lacks(self, ask: Ask, upstream: Upstream) -> bool:
        return self.heads_of[ask.network.chain_id].lacks(upstream, ask.method, ask.params)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The plugin's lifespan: on its end the background work ends and the connections close."""
        try:
            yield
        finally:
            await self._send.close()
            await asyncio.gather(*(heads.close() for heads in self.heads_of.values()))
            await asyncio.gather(*(health.close() for health in self._healths.values()))
            self.close()

    def heads(self, network: Network) -> AsyncIterator[Header] | None:
        """Returns the new heads that WebSockets push; see ``RpcUpstream.heads``."""
        heads = self.heads_of.get(network.chain_id)
        if heads is None:
            return None
        heads.used()
        return heads.pushed()

    async def healthy(self) -> bool | None:
        """Whether every network has an upstream whose breaker is closed."""
        if not self._healths:
            return None
        return all(health.ok for health in self._healths.values())

    async def upstreams(self) -> Sequence[UpstreamHealth]:
        """Returns the health of each upstream; see ``RpcUpstream.upstreams``."""
        return [row for health in self._healths.values() for row in health.rows()]

    def close(self) -> None:
        """Closes the connections to the upstreams that are not in use."""
        for upstreams in self._upstreams.values():
            for upstream in upstreams:
                upstream.close()

    async def forward(self, network: Network, method: str, params: Sequence[Any], *, timeout_s: float) -> Any:
        """Answers a read of the core; see ``RpcUpstream.forward``."""
        return await self._answer(network, method, params, timeout_s, public=False)

    async def forward_public(
        self, network: Network, method: str, params: Sequence[Any], *, timeout_s: float
    ) -> Any:
        """Answers a call of a client; see ``RpcUpstream.forward_public``."""
        return await self._answer(network, method, params, timeout_s, public=True)

    def kept(self, network: Network, method: str, params: bytes) -> bytes | None:
        """Returns what the cache has for a client's call; see ``RpcUpstream.kept``."""
        return self._send.kept(network, method, params)

    async def _answer(
        self, network: Network, method: str, params: Sequence[Any], timeout_s: float, *, public: bool
    ) -> Any:
        ends_at = self._clock() + min(timeout_s, self._total_timeout_s)
        return await self._send(Ask(network, method, params, ends_at, public, raw=public))
