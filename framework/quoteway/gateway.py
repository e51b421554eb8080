"""One running gateway: owns configuration, plugins, chains, tokens and the spine; starts and stops them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any, cast

from cachetools import TTLCache

from quoteway.competition import ask_all
from quoteway.config import Config, NetworkConfig
from quoteway.context import Runtime
from quoteway.errors import ConfigError, GatewayError, ProviderUnavailable, Reason, RpcError, UpstreamError
from quoteway.evm.chain import Chain
from quoteway.evm.erc20 import token_facts
from quoteway.models import NATIVE, Address, Capability, Token
from quoteway.networks import Network, Networks
from quoteway.plugins import NotEnabled, PluginEntry, Registry, State
from quoteway.providers import Provider, RpcUpstream, TokenCatalog
from quoteway.sealing import KeyRing, Sealer
from quoteway.spine import Spine

log = logging.getLogger("quoteway.gateway")

TOKEN_CACHE_S = 300
LOOK_AHEAD_S = 1.0


class Gateway:
    """The parts of one deployment.

    ``plugins`` adds in-process plugins by name; ``discover`` False leaves the installed ones alone (tests).
    """

    def __init__(
        self,
        config: Config,
        *,
        plugins: Mapping[str, object] | None = None,
        discover: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.config = config
        self.runtime = Runtime(config, clock=clock)
        self.registry = Registry(config, self.runtime)
        if discover:
            self.registry.discover()
        for name, plugin in (plugins or {}).items():
            self.registry.add(name, plugin)
        self.spine = Spine(config, self.runtime, self.registry, _sealer(config, clock))
        self.ready = False
        self._authors: dict[int, list[PluginEntry]] = {}
        self._lifespans: list[_Lifespan] = []
        self._starting: asyncio.Task[None] | None = None
        self._tokens: TTLCache[tuple[int, Address], Token] = TTLCache(10_000, TOKEN_CACHE_S)
        self.runtime.find_token = self.find_token

    # --- life ---------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Imports and configures the plugins, collects networks and providers. Nothing is started."""
        self.registry.load()
        known = _known_networks(self.registry, self.config, self._authors)
        self.runtime.networks = known
        self.registry.collect(Capability.RPC)
        upstreams = [entry.provider for entry in self.registry.providers if entry.not_enabled is None]
        served = {chain_id for upstream in upstreams for chain_id in upstream.networks}
        self.runtime.networks = Networks(network for network in known if network.chain_id in served)
        for network in self.runtime.networks:
            self.runtime.chains[network.chain_id] = Chain(network, partial(self._forward, network))
        for capability in Capability:
            if capability is not Capability.RPC:
                self.registry.collect(capability)

    async def start(self) -> None:
        """Opens the HTTP session and begins to start the plugins; returns at once. ``ready`` tells when they
        are up."""
        import aiohttp

        self.runtime.session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=30),
            connector=aiohttp.TCPConnector(limit=0, limit_per_host=256),
        )
        self._starting = asyncio.create_task(self._start(), name="gateway:start")

    async def _start(self) -> None:
        try:
            if not self.registry.loaded:
                self.load()
        except ConfigError as error:
            log.error("the configuration cannot be used: %s", error)
            return
        except Exception:
            log.exception("starting failed")
            return
        await self._enter_lifespans()
        await self._drop_orphaned_networks()
        for entry in self.registry.plugins:
            if entry.reason is None and entry.state in (State.CONFIGURED, State.STARTED):
                entry.state = State.ENABLED
        self.registry.changed()
        self.ready = True
        enabled = sorted({p.provider.id for p in self.registry.providers if p.enabled})
        log.info("ready: providers %s", ", ".join(enabled) or "none")
        # The first caller shall not wait for what every caller needs: the nodes' chain ids and heads.
        looks = [asyncio.create_task(self.look_ahead(network.chain_id)) for network in self.runtime.networks]
        if looks:
            await asyncio.wait(
                looks, timeout=LOOK_AHEAD_S
            )  # no longer: one dead node must not hold the others

    async def _enter_lifespans(self) -> None:
        for entry, manager in self.registry.ask("quoteway_lifespan"):
            self._lifespans.append(_Lifespan(entry, manager))
        waits = [lifespan.begin() for lifespan in self._lifespans]
        if not waits:
            return
        timeout_s = self.config.plugins.startup_timeout_s
        await asyncio.wait(
            waits, timeout=timeout_s
        )  # not gather: a plugin that swallows cancellation holds that
        for lifespan in self._lifespans:
            lifespan.judge(timeout_s)

    async def _drop_orphaned_networks(self) -> None:
        """A network described only by plugins that failed is not served, unless the configuration gives it
        endpoints: whatever answers where the plugin's node should be is not that node."""
        for network in self.runtime.networks:
            authors = self._authors.get(network.chain_id, [])
            settings = self.config.networks.get(network.slug)
            if authors and all(entry.reason is not None for entry in authors) and not (settings and settings.rpc):
                log.error("network %s is not served: the plugin that brings it is not enabled", network.slug)
                await self.runtime.chains.pop(network.chain_id).close()
        self.runtime.networks = Networks(n for n in self.runtime.networks if n.chain_id in self.runtime.chains)

    async def started(self) -> None:
        """Waits until starting is over, well or badly."""
        if self._starting is not None:
            await asyncio.wait([self._starting])

    async def stop(self) -> None:
        """Leaves lifespans in parallel under a deadline, closes chains and the session."""
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
        await asyncio.gather(
            *(chain.close() for chain in self.runtime.chains.values()), return_exceptions=True
        )
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

    def readiness(self) -> list[str]:
        """Why the gateway is not ready to serve; empty when it is."""
        if not self.ready:
            over = self._starting is not None and self._starting.done()
            return ["start-up failed: see the log" if over else "plugins are starting"]
        if not self.runtime.networks:
            return []
        return [
            f"no RPC upstream answers for {network.slug}"
            for network in self.runtime.networks
            if not self.registry.enabled(Capability.RPC, network.chain_id)
        ]

    # --- what the parts share -----------------------------------------------------------------------------

    async def _forward(self, network: Network, method: str, params: Sequence[Any], timeout_s: float) -> Any:
        """One JSON-RPC call through the RPC upstream providers, in order; the next is asked when one has no
        answer."""
        last: UpstreamError | None = None
        ends_at = time.monotonic() + timeout_s
        for upstream in self.registry.rpc_upstreams(network.chain_id):
            left_s = max(ends_at - time.monotonic(), 0.0)
            try:
                return await cast(RpcUpstream, upstream).forward(network, method, params, timeout_s=left_s)
            except RpcError:
                raise
            except UpstreamError as error:
                last = error
            except (Exception, SystemExit):
                log.exception("RPC upstream %r raised", upstream.id)
                last = UpstreamError(f"An RPC upstream of {network.slug} failed.", reason=Reason.RPC_ERROR)
        if last is not None:
            raise last
        raise ProviderUnavailable(
            f"No RPC upstream is enabled for {network.slug}.", reason=Reason.CAPABILITY_DISABLED
        )

    async def look_ahead(self, chain_id: int) -> None:
        """Has a chain's head read while something else is waited for; a failure shows where the head is
        needed."""
        chain = self.runtime.chains.get(chain_id)
        if chain is not None:
            with contextlib.suppress(GatewayError):
                await chain.head()

    async def find_token(self, chain_id: int, address: Address) -> Token | None:
        """A token's facts from the catalogs, else from the chain; None when the address is no ERC-20 token.

        ``address`` must be EIP-55. Raises ``UpstreamError`` when nobody could be asked.
        """
        key = (chain_id, address)
        if key in self._tokens:
            return self._tokens[key]
        token = await self._look_up_token(chain_id, address)
        if (
            token is not None
        ):  # an absence may end with the next block: catalogs remember it as long as they dare
            self._tokens[key] = token
        return token

    async def _look_up_token(self, chain_id: int, address: Address) -> Token | None:
        key = (chain_id, address)
        network = self.runtime.networks.by_chain_id(chain_id)
        if network is None:
            return None
        if address == NATIVE:
            return Token(
                chain_id, NATIVE, network.native_decimals, network.native_symbol, network.native_name
            )

        async def ask(catalog: Provider) -> Token | None:
            return await cast(TokenCatalog, catalog).token(chain_id, address)

        catalogs = self.registry.enabled(Capability.TOKENS, chain_id)
        timeout_s = self.config.quotes.competition_timeout_s
        for outcome in await ask_all(
            catalogs, ask, timeout_s=timeout_s, verb="token", observe=self.registry.observe
        ):
            found = outcome.value
            if isinstance(found, Token) and (found.chain_id, found.address) == key:
                return found
        chain = self.runtime.chains[chain_id]
        return await token_facts(chain, address)


class _Lifespan:
    """One plugin's lifespan in a task of its own: entered and left by the same task, failing for that plugin
    only."""

    def __init__(self, entry: PluginEntry, manager: AbstractAsyncContextManager[Any]) -> None:
        self._entry = entry
        self._manager = manager
        self._entered = False
        self._up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> asyncio.Future[None]:
        """Starts entering; the returned future is done when it is entered or has failed."""
        self._task = asyncio.create_task(self._run(), name=f"plugin:{self._entry.name}.lifespan")
        return self._up

    async def _run(self) -> None:
        try:
            async with self._manager:
                self._entered = True
                if self._entry.reason is None:
                    self._entry.state = State.STARTED
                self._up.set_result(None)
                await self._leave.wait()
        except ConfigError as error:  # what the operator can mend: a sentence says it, no traceback
            self._entry.refuse(NotEnabled.STARTUP_FAILED, str(error))
        except (Exception, SystemExit) as error:  # asyncio lets a task's SystemExit end the event loop
            if self._entered:
                log.exception("plugin %r failed while stopping", self._entry.name)
            else:
                self._entry.refuse(NotEnabled.STARTUP_FAILED, f"{type(error).__name__}: {error}", error=error)
        finally:
            if not self._up.done():
                self._up.set_result(None)

    def judge(self, timeout_s: float) -> None:
        """Refuses the plugin when its lifespan was not entered in time."""
        if self._entered:
            return
        if self._up.done():
            self._entry.refuse(NotEnabled.STARTUP_FAILED, "its lifespan was cancelled while starting")
            return
        self._entry.refuse(NotEnabled.STARTUP_FAILED, f"it did not start within {timeout_s:g} s")
        if self._task is not None:
            self._task.cancel()

    def end(self) -> asyncio.Task[None]:
        """Leaves the lifespan; the returned task ends when that is done."""
        self._leave.set()
        assert self._task is not None
        if not self._entered:
            self._task.cancel()
        return self._task


def _sealer(config: Config, clock: Callable[[], float]) -> Sealer:
    keys = [(key.id, key.secret.reveal().encode()) for key in config.quotes.keys]
    if not keys:
        log.warning("no quotes.keys configured: signing with a random key, quotes will not survive a restart")
    return Sealer(KeyRing(keys) if keys else KeyRing.random(), issuer=config.quotes.issuer, clock=clock)


def _known_networks(
    registry: Registry, config: Config, authors: dict[int, list[PluginEntry]]
) -> Networks:
    """What plugins describe, with the configuration's endpoints and facts laid over it; notes who describes what."""
    known = Networks()
    for entry, networks in registry.ask("quoteway_networks"):
        with_these = Networks(known)
        try:
            for network in networks:
                with_these.add(network)
        except ConfigError as error:
            entry.refuse(NotEnabled.CONFIG_INVALID, str(error))
        except Exception as error:
            entry.refuse(NotEnabled.INCOMPLETE, f"quoteway_networks: {error!r}", error=error)
        else:
            known = with_these
            for network in networks:
                authors.setdefault(network.chain_id, []).append(entry)
    overlaid = Networks()
    for network in known:
        settings = config.networks.get(network.slug)
        overlaid.add(network if settings is None else _overlay(network, settings))
    described = {network.slug for network in known}
    for slug, settings in config.networks.items():
        if slug not in described:
            overlaid.add(_from_config(slug, settings))
    return overlaid


_FACTS = (
    "name",
    "native_symbol",
    "native_name",
    "native_decimals",
    "wrapped_native",
    "explorer_url",
    "block_time_s",
    "head_poll_s",
    "multicall3",
    "testnet",
)


def _overlay(network: Network, settings: NetworkConfig) -> Network:
    if settings.chain_id not in (None, network.chain_id):
        raise ConfigError(
            f"[networks.{network.slug}]: chain_id is {settings.chain_id}, yet {network.slug!r} is known "
            f"with chain id {network.chain_id}: remove the line, or give the network another name"
        )
    facts = {name: value for name in _FACTS if (value := getattr(settings, name)) is not None}
    deployments = dict(network.deployments)
    for family, rows in settings.deployments.items():
        deployments[family] = (*deployments.get(family, ()), *rows)
    return replace(
        network,
        **facts,
        endpoints=settings.rpc or network.endpoints,
        deployments=deployments,
        token_lists=(*network.token_lists, *settings.token_lists),
    )


def _from_config(slug: str, settings: NetworkConfig) -> Network:
    if settings.chain_id is None:
        raise ConfigError(
            f"[networks.{slug}]: no plugin describes this network: give its chain_id, or correct the name"
        )
    return _overlay(Network(slug, settings.chain_id, settings.name or slug), settings)
