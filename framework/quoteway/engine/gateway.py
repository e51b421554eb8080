"""One gateway: owns configuration, plugins, chains, tokens, quotes and actions; starts and stops them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from quoteway.config.model import Config
from quoteway.config.run_folder import note_failure
from quoteway.engine.action_signatures import ActionSigner
from quoteway.engine.building import Building
from quoteway.engine.competition import Competition
from quoteway.engine.custody import Custody
from quoteway.engine.fills import Fills
from quoteway.engine.forwarding import Forwarding
from quoteway.engine.joining import SwapThenBridge
from quoteway.engine.provider_sets import warn_of_unknown
from quoteway.engine.quote_tokens import KeyRing, Sealer
from quoteway.engine.quoting import Quoting
from quoteway.engine.refreshing import Refreshing
from quoteway.engine.rehearsing import Rehearsing
from quoteway.engine.trade_taxes import TradeTaxes
from quoteway.engine.unlisted_tokens import UnlistedTokens
from quoteway.errors import ConfigError, GatewayError
from quoteway.evm.calls.registry import CallRegistry
from quoteway.evm.chain import RpcChain
from quoteway.guard.policy_file import check_names
from quoteway.host.call_descriptions import Descriptions, add_descriptions
from quoteway.host.event_sources import event_sources
from quoteway.host.head_ages import HeadAges
from quoteway.host.history import History
from quoteway.host.known_networks import known_networks
from quoteway.host.liquidity import Liquidity
from quoteway.host.lists import Lists
from quoteway.host.missing_contracts import MissingContracts
from quoteway.host.network_states import NetworkStates
from quoteway.host.plugin_rows import open_rows
from quoteway.host.reachability import Reachability
from quoteway.host.recording import Recorder, observed_reads
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.host.series_book import SeriesBook
from quoteway.host.shared_tier import open_tier
from quoteway.host.states import Lifespan, PluginEntry, State, networks_of
from quoteway.host.token_directory import TokenDirectory
from quoteway.host.watchdog import Watchdog
from quoteway.models import Capability
from quoteway.networks import Network, Networks
from quoteway.pricing.payouts import Payouts
from quoteway.pricing.price_book import WAIT_S, PriceBook
from quoteway.pricing.valuation import Keys, Valuation

if TYPE_CHECKING:
    import aiohttp

log = logging.getLogger("quoteway.engine.gateway")

LOOK_AHEAD_S = 1.0
START_TICK_S = 0.1


class Gateway:
    """The parts of one deployment.

    ``plugins`` adds in-process plugins by name; ``discover=False`` skips installed plugins (for tests).
    ``connector`` is what the HTTP session of plugins connects by, without it TCP.
    """

    def __init__(
        self,
        config: Config,
        *,
        plugins: Mapping[str, object] | None = None,
        discover: bool = True,
        clock: Callable[[], float] = time.time,
        connector: aiohttp.BaseConnector | None = None,
    ) -> None:
        self.config = config
        self._connector = connector
        self.recorder: Recorder | None = None
        if config.server.capture:
            self.recorder = Recorder(config.server.capture, config.server.capture_bytes, clock)
            clock = self.recorder.clock
        self.runtime = Runtime(config, clock=clock, rows=open_rows(config), tier=open_tier(config))
        self.registry = Registry(self.runtime)
        self.forwarding = Forwarding(self.registry)
        self.watchdog = Watchdog(self.registry)
        if discover:
            self.registry.plugins.discover()
        for name, plugin in (plugins or {}).items():
            self.registry.plugins.add(name, plugin)
        self.tokens = self.runtime.tokens = TokenDirectory(self.runtime, self.registry)
        self.runtime.liquidity = Liquidity(self.registry, config.quotes.competition_timeout_s / 2)
        self.history = self.runtime.history = History(self.registry, config.quotes.competition_timeout_s / 2)
        self.keys = _key_ring(config)
        self.quote_tokens = Sealer(self.keys, issuer=config.quotes.issuer, clock=clock)
        self.action_signer = ActionSigner.of(config)
        self.taxes = TradeTaxes(self.runtime)
        shared = config.quotes, self.runtime, self.registry, self.tokens
        rehearsing = Rehearsing(*shared)
        competition = Competition(config.quotes, self.runtime, rehearsing)
        self.missing = MissingContracts(self.runtime, self.registry)
        self.quoting = Quoting(*shared, self.quote_tokens, rehearsing, competition, self.taxes, self.missing)
        self.fills = Fills(self.runtime, self.registry, self.quote_tokens)
        self.building = Building(self.quoting, self.fills, Custody.of(config, self.runtime, self.registry))
        self.refreshing = Refreshing(self.quoting)
        self._joiner = SwapThenBridge(self.quoting)
        self.prices = PriceBook(self.runtime, self.registry)
        self.payouts = Payouts(self.runtime, self.registry)
        self.unlisted = UnlistedTokens(self.runtime, self.tokens)
        self.lists = Lists(self.registry, clock)
        self.series = SeriesBook(self.registry, clock)
        self.reachability = Reachability(self.forwarding.read)
        self._heads = HeadAges(self.runtime)
        self.states = NetworkStates(self.registry, self._heads, self.missing, self.lists, self.tokens)
        self.ready = False
        self.draining = False  # the service is about to stop: it serves as before, but is not ready
        self.described: Descriptions = {}
        self._known = Networks()
        self._authors: dict[int, list[PluginEntry]] = {}
        self._lifespans: list[Lifespan] = []
        self._starting: asyncio.Task[None] | None = None
        self._warming: set[asyncio.Task[None]] = set()
        self.runtime.prices = self.prices

    # --- lifecycle ----------------------------------------------------------------------------------------

    def load(self) -> None:
        """Imports and configures the plugins, then collects networks and providers. Starts nothing."""
        self.registry.plugins.load()
        known = known_networks(self.registry.plugins, self.config, self._authors)
        self.runtime.networks = self._known = known
        if (policy := self.building.custody.policy) is not None:
            plugins = (entry.name for entry in self.registry.plugins)
            check_names(policy, (network.slug for network in known), plugins, str(self.config.policy_file))
        for slug, _ in self.config.server.required:
            known.configured(slug, "[server] ready_when")
        self.registry.collect(Capability.RPC)
        upstreams = [entry.provider for entry in self.registry.providers if entry.not_enabled is None]
        served = {chain_id for upstream in upstreams for chain_id in networks_of(upstream)}
        self.runtime.networks = Networks(network for network in known if network.chain_id in served)
        for network in self.runtime.networks:
            forward = partial(self.forwarding.read, network)
            self.runtime.chains[network.chain_id] = RpcChain(
                network,
                observed_reads(network, forward, self.recorder, timed=self.config.traces.url is not None),
                forward_public=partial(self.forwarding.call, network),
                pushed=partial(self.forwarding.pushed_heads, network),
                sharing=self.runtime.tier.heads(network),
            )
        self.runtime.event_sources = event_sources(self.registry.plugins, self.runtime.networks)
        # Swap providers are made for each executor.
        first = (Capability.LIQUIDITY, Capability.EXECUTION)
        for capability in dict.fromkeys((*first, *Capability)):
            if capability is not Capability.RPC:
                self.registry.collect(capability)
        self.runtime.calls = CallRegistry(self.runtime.networks)
        pinned = self.config.calls.pinned
        self.described = add_descriptions(self.registry.plugins, self.runtime.calls, pinned)
        collected = {entry.provider.capability for entry in self.registry.providers}
        if {Capability.SWAP, Capability.BRIDGE} <= collected:
            self.registry.add_builtin(self._joiner)

    def enable(self) -> None:
        """Enables the loaded plugins that are not refused, also of a gateway that is never started."""
        for entry in self.registry.plugins:
            if entry.reason is None and entry.state in (State.CONFIGURED, State.STARTED):
                entry.state = State.ENABLED
        self.registry.changed()

    async def start(self) -> None:
        """Opens the HTTP session and starts the plugins in the background; ``ready`` tells when they run."""
        self._open_session()
        self._starting = asyncio.create_task(self._start(), name="gateway:start")

    def _open_session(self) -> None:
        from quoteway.host.http_session import open_session

        given, timed = (self.recorder, self._connector), self.config.traces.url is not None
        self.runtime.session = open_session(lambda: self.runtime.networks, *given, timed=timed)

    async def _start(self) -> None:
        try:
            if not self.registry.plugins.loaded:
                self.load()
        except ConfigError as error:
            log.error("the configuration cannot be used: %s", error)
            note_failure(error)
            return
        except Exception:
            log.exception("starting failed")
            return
        await self._enter_lifespans()
        await self._drop_orphaned_networks()
        self.enable()
        self.ready = True
        enabled = sorted({p.provider.id for p in self.registry.providers if p.enabled})
        log.info("ready: providers %s", ", ".join(enabled) or "none")
        warn_of_unknown(self.config, {entry.provider.id for entry in self.registry.providers})
        self._warming = self.lists.warm() | self.tokens.warm()
        self.missing.watch()
        # Read chain ids and heads now, so that the first request does not wait for them.
        looks = [asyncio.create_task(self.look_ahead(network.chain_id)) for network in self.runtime.networks]
        if looks:
            # Bounded: a node that does not answer must not delay the start.
            await asyncio.wait(looks, timeout=LOOK_AHEAD_S)

    async def _enter_lifespans(self, only: Collection[PluginEntry] | None = None) -> None:
        for entry, manager in self.registry.plugins.ask("quoteway_lifespan", only):
            self._lifespans.append(Lifespan(entry, manager))
        waits = [lifespan.begin() for lifespan in self._lifespans]
        timeout_s = self.config.plugins.startup_timeout_s
        loop, entering, left_s = asyncio.get_running_loop(), set(waits), timeout_s
        while entering and left_s > 0.001:  # a clock may not see less pass
            began = loop.time()
            # Not asyncio.gather: it would hang on a plugin that swallows cancellation.
            _, entering = await asyncio.wait(entering, timeout=min(left_s, START_TICK_S))
            # A plugin that blocks the event loop uses up no time of the others.
            left_s -= min(loop.time() - began, 2 * START_TICK_S)
        for lifespan in self._lifespans:
            lifespan.judge(timeout_s)
        await self.registry.plugins.begin_work(only)

    async def _drop_orphaned_networks(self) -> None:
        """Stops serving networks that only failed plugins declare, unless the configuration gives endpoints.

        Another service may answer at the address of a failed plugin's node.
        """
        for network in self.runtime.networks:
            if self._is_orphaned(network):
                log.error("network %s is not served: the plugin that brings it is not enabled", network.slug)
                await self.runtime.chains.pop(network.chain_id).close()
        served = self.runtime.chains
        self.runtime.networks = Networks(n for n in self.runtime.networks if n.chain_id in served)

    def _is_orphaned(self, network: Network) -> bool:
        """Returns whether only plugins that are not enabled tell where the nodes of a network are."""
        authors = self._authors.get(network.chain_id, [])
        settings = self.config.networks.get(network.slug)
        own_endpoints = settings is not None and bool(settings.rpc)
        return bool(authors) and all(entry.reason is not None for entry in authors) and not own_endpoints

    async def started(self) -> None:
        """Waits until the start has succeeded or failed."""
        if self._starting is not None:
            await asyncio.wait([self._starting])

    async def warmed(self, most_s: float) -> None:
        """Waits until the lists have been read once, at most for ``most_s`` seconds."""
        if self._warming:
            await asyncio.wait(self._warming, timeout=most_s)

    async def stop(self) -> None:
        """Exits lifespans in parallel within a deadline, then closes chains and the session."""
        self.ready = False
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        ends = [lifespan.end() for lifespan in self._lifespans]
        if ends:
            _, hanging = await asyncio.wait(ends, timeout=self.config.server.shutdown_timeout_s)
            for task in hanging:
                log.error("%s did not end in time", task.get_name())
                task.cancel()
        await self.registry.plugins.end_work()
        self.registry.plugins.close()
        caches = (self.lists, self.series, self.tokens, self.taxes, self.prices, self.unlisted)
        checks = (self.reachability, self._heads, self.missing)
        for reader in (*caches, *checks, self._joiner, self.fills, self.building.custody, self.runtime.rows):
            await reader.close()
        chains = self.runtime.chains.values()
        await asyncio.gather(*(chain.close() for chain in chains), return_exceptions=True)
        await self.runtime.tier.close()
        for observer in self.registry.plugins.observers:
            observer.close()
        if self.runtime.session is not None:
            await self.runtime.session.close()
            self.runtime.session = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Gateway]:
        """Started and ready inside, stopped after: for tests, commands and embedders."""
        await self.start()
        try:
            await self.started()
            yield self
        finally:
            await self.stop()

    @contextlib.asynccontextmanager
    async def reading(self) -> AsyncIterator[Gateway]:
        """Loaded inside, with the RPC upstreams running, stopped after: for commands that read chains.

        Of the other plugins no lifespan is entered, and nothing is read in advance.
        """
        self._open_session()
        try:
            self.load()
            upstreams = [e for e in self.registry.providers if e.provider.capability is Capability.RPC]
            await self._enter_lifespans([entry.plugin for entry in upstreams])
            self.enable()
            yield self
        finally:
            await self.stop()

    @property
    def halted(self) -> str | None:
        """Returns why the gateway serves nothing, or soon nothing; None while it serves."""
        if self.ready:
            return "the server is stopping" if self.draining else None
        over = self._starting is not None and self._starting.done()
        return "start-up failed: see the log" if over else "plugins are starting"

    def readiness(self) -> list[str]:
        """Returns why the gateway is not ready to serve; empty when it is ready.

        Reads memory only; ``reachability`` tells whether nodes answer, and ``states`` what they lack.
        """
        if self.halted is not None:
            return [self.halted]
        served = {network.slug for network in self.runtime.networks}
        unserved = [
            network.slug
            for network in self._known
            if network.endpoints and network.slug not in served and not self._is_orphaned(network)
        ]
        return [f"no enabled plugin serves the RPC endpoints of {slug}" for slug in unserved] + [
            f"no RPC upstream of {network.slug} is enabled{self.registry.refused_upstreams(network.chain_id)}"
            for network in self.runtime.networks
            if not self.registry.enabled(Capability.RPC, network.chain_id)
        ]

    # --- shared by the parts ------------------------------------------------------------------------------

    async def look_ahead(self, chain_id: int) -> None:
        """Reads a chain's head in advance. Ignores errors: the code that needs the head raises them."""
        chain = self.runtime.chains.get(chain_id)
        if chain is not None:
            with contextlib.suppress(GatewayError):
                await chain.head()

    async def valuation(self, tokens: Keys, *, wait_s: float = WAIT_S) -> Valuation:
        """Returns the USD prices of tokens (chain id, address) that are known within ``wait_s`` seconds."""
        return Valuation(await self.prices.get_each(tokens, wait_s=wait_s))


def _key_ring(config: Config) -> KeyRing:
    keys = [(key.id, key.secret.reveal().encode()) for key in config.quotes.keys]
    if not keys and config.run_key is not None:
        keys = [("run", config.run_key.reveal().encode())]
    if not keys:
        log.warning("no quotes.keys configured: signing with a random key, quotes will not survive a restart")
    return KeyRing(keys) if keys else KeyRing.random()
