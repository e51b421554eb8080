"""The process of an isolated plugin: loads this one plugin as the server would, and answers its requests.

Started as ``python -m quoteway.host.isolation.child <fd> <memory_mb>``; ``fd`` is its end of the socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from importlib_metadata import EntryPoint

from quoteway.config.model import CallsConfig, Config, PluginsConfig, QuotesConfig
from quoteway.config.server import ServerConfig
from quoteway.context import PRICE_WAIT_S
from quoteway.deadlines import ends_at_s
from quoteway.errors import ConfigError, GatewayError
from quoteway.evm.calls.registry import CallRegistry, digest_of
from quoteway.evm.chain import RpcChain
from quoteway.hookspecs import ENTRY_POINT_GROUP
from quoteway.host.http_session import timing
from quoteway.host.isolation.descriptions import Description, described
from quoteway.host.isolation.link import Link
from quoteway.host.isolation.process import OUT_OF_MEMORY
from quoteway.host.plugins import Plugins
from quoteway.host.registry import CAPABILITY_HOOKS, Registry
from quoteway.host.runtime import Runtime
from quoteway.host.states import PluginEntry
from quoteway.models import Address, Block, Capability, Price, SimulationUnsupported, Token
from quoteway.networks import Network, Networks
from quoteway.providers import Provider
from quoteway.spans import Trace, end_spans, keep_spans, told

log = logging.getLogger("quoteway.host.isolation")

NICENESS = 5
"""The server's own work comes first."""
_HOOKS = {capability: hook for capability, (hook, _) in CAPABILITY_HOOKS.items()}


class RemoteChain(RpcChain):
    """A chain that is read through the server: its head, its batching and its nodes are the server's."""

    def __init__(self, network: Network, link: Link) -> None:
        super().__init__(network, _never)
        self._link = link
        self._newest: Block | None = None

    @property
    def known_head(self) -> Block | None:
        return self._newest

    async def head(self, *, fresh: bool = False) -> Block:
        block: Block = await self._link.ask("head", self.network.chain_id, fresh)
        self._newest = block
        return block

    async def request(
        self,
        method: str,
        params: Sequence[Any] = (),
        *,
        timeout_s: float | None = None,
        shared: bool = True,
        public: bool = False,
        raw: bool = False,
    ) -> Any:
        self.requests += 1
        return await self._link.ask("request", self.network.chain_id, method, params, timeout_s, shared)


async def _never(method: str, params: Sequence[Any], timeout_s: float) -> Any:
    raise AssertionError("an isolated plugin reads chains through the server")


@dataclass(frozen=True, slots=True)
class RemoteTokens:
    """The server's tokens."""

    link: Link

    async def find(self, chain_id: int, address: Address) -> Token | None:
        found: Token | None = await self.link.ask("token", chain_id, address)
        return found

    async def listed(self, chain_id: int) -> Mapping[Address, Token]:
        found: Mapping[Address, Token] = await self.link.ask("listed", chain_id)
        return found


@dataclass(frozen=True, slots=True)
class RemotePrices:
    """The server's prices."""

    link: Link

    async def get(
        self, chain_id: int, addresses: Sequence[Address], *, wait_s: float = PRICE_WAIT_S
    ) -> Mapping[Address, Price]:
        found: Mapping[Address, Price] = await self.link.ask("prices", chain_id, addresses, wait_s)
        return found


@dataclass(frozen=True, slots=True)
class RemoteRows:
    """The values that the server keeps for this plugin: it knows whose they are."""

    link: Link
    failures: int = 0
    """None: the server counts them."""

    async def get(self, plugin: str, key: str) -> bytes | None:
        found: bytes | None = await self.link.ask("stored", "get", key)
        return found

    async def set(self, plugin: str, key: str, value: bytes, ttl_s: float | None, only_new: bool) -> bool:
        kept: bool | None = await self.link.ask("stored", "add" if only_new else "set", key, value, ttl_s)
        return kept is not False

    async def delete(self, plugin: str, key: str) -> None:
        await self.link.ask("stored", "delete", key)

    async def keys(self, plugin: str) -> Sequence[str]:
        found: Sequence[str] = await self.link.ask("stored", "keys")
        return found

    async def close(self) -> None:
        """Does nothing: the place is the server's."""


@dataclass(eq=False)
class Child:
    """The one plugin of this process. The server asks: load, hook, start, call, ping, stop."""

    link: Link = field(init=False)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _clock_ahead_s: float = 0.0
    _is_timed: bool = False
    _runtime: Runtime = field(init=False)
    _registry: Registry = field(init=False)
    _entry: PluginEntry = field(init=False)
    _providers: dict[tuple[str, str], Provider] = field(default_factory=dict)
    _told: list[Description] = field(default_factory=list)
    _lifespan: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    def __post_init__(self) -> None:
        self.link = Link(self.serve, lambda reason: self.ended.set(), failed=self._failed, rests=False)

    async def serve(self, verb: str, arguments: tuple[Any, ...]) -> Any:
        """Answers one request of the server."""
        if verb == "call":
            return await self._call(*arguments)
        if verb == "ping":
            return self._changed()
        if verb == "load":
            return self._load(*arguments)
        if verb == "hook":
            return self._hook(*arguments)
        if verb == "start":
            return await self._start()
        if verb == "stop":
            await self._stop()
            asyncio.get_running_loop().call_later(0.05, self.ended.set)
            return None
        raise ConfigError(f"request {verb!r} does not exist")

    # --- start-up -------------------------------------------------------------------------------------------

    def _load(self, setup: Mapping[str, Any]) -> tuple[str, str] | Sequence[str]:
        """Loads the plugin. Returns its hooks, or the reason and detail why it is not enabled."""
        name, sys.pycache_prefix = setup["plugin"], setup["pycache_prefix"]
        logging.getLogger().setLevel(setup["log_level"])
        self._clock_ahead_s, self._is_timed = setup["now"] - time.time(), setup["timed"]
        config = Config(
            server=replace(ServerConfig(), workers=setup["workers"]),
            quotes=replace(QuotesConfig(), action_deadline_s=setup["action_deadline_s"]),
            plugins=PluginsConfig(load=(name,)),
            calls=CallsConfig(setup["pinned"]),
            providers=setup["providers"],
            plugin_sections={name: setup["section"]} if setup["section"] else {},
            embedded=setup["embedded"],
            path=None if setup["path"] is None else Path(setup["path"]),
            worker=setup["worker"],
        )
        self._runtime = Runtime(config, clock=lambda: time.time() + self._clock_ahead_s)
        self._runtime.tokens, self._runtime.prices = RemoteTokens(self.link), RemotePrices(self.link)
        self._runtime.rows = RemoteRows(self.link)
        self._registry = Registry(self._runtime)
        plugins: Plugins = self._registry.plugins
        loader = EntryPoint(name, setup["target"], ENTRY_POINT_GROUP).load
        self._entry = PluginEntry(name, setup["distribution"], setup["version"], loader=loader)
        plugins.add_entry(self._entry)
        plugins.load()
        if self._entry.reason is not None:
            return self._refused()
        return [hook for hook in dir(self._entry.plugin) if hook.startswith("quoteway_")]

    def _refused(self) -> tuple[str, str]:
        return str(self._entry.reason), f"{self._entry.detail}{self._entry.trace}"

    def _hook(self, hook: str, networks: Sequence[Network], served: Sequence[int]) -> Any:
        """Calls a hook of the plugin. Returns data, or for provider hooks the providers' descriptions; a
        tuple of reason and detail when the plugin is refused.
        """
        runtime = self._runtime
        runtime.networks = Networks(networks)
        runtime.calls = CallRegistry(runtime.networks)
        for network in networks:
            if network.chain_id in served and network.chain_id not in runtime.chains:
                runtime.chains[network.chain_id] = RemoteChain(network, self.link)
        capability = next((each for each in Capability if _HOOKS[each] == hook), None)
        if capability is None:
            answers = [list(answer) for _, answer in self._registry.plugins.ask(hook)]
            if hook == "quoteway_call_descriptions":
                pinned = runtime.config.calls.pinned
                for answer in answers:
                    runtime.calls.add(answer if digest_of(answer) in pinned else ())
            return self._refused() if self._entry.reason else answers
        self._registry.collect(capability)
        if self._entry.reason is not None:
            return self._refused()
        for claim in self._registry.providers:
            self._providers[claim.provider.capability.value, claim.provider.id] = claim.provider
        mine = [each for each in self._descriptions() if each[0] == capability.value]
        self._told = [each for each in self._told if each[0] != capability.value] + mine
        return mine

    async def _start(self) -> tuple[str, str] | None:
        """Opens the HTTP session and enters the plugin's lifespan."""
        import aiohttp

        self._runtime.session = await self._lifespan.enter_async_context(
            aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=30),
                middlewares=(timing(lambda: self._runtime.networks),) if self._is_timed else (),
            )
        )
        for _, manager in self._registry.plugins.ask("quoteway_lifespan"):
            await self._lifespan.enter_async_context(manager)
        if self._entry.reason is None and self._entry.context is not None:
            self._entry.context.background.start()
        return None if self._entry.reason is None else self._refused()

    async def _stop(self) -> None:
        try:
            await self._lifespan.aclose()
        except Exception:
            log.exception("plugin %r failed while stopping", self._entry.name)
        finally:
            await self._entry.close()

    # --- while it runs --------------------------------------------------------------------------------------

    async def _call(
        self,
        capability: str,
        provider_id: str,
        method: str,
        arguments: Sequence[Any],
        named: Mapping[str, Any],
        left_s: float | None,
        is_traced: bool,
    ) -> Any:
        if left_s is not None:
            ends_at_s.set(asyncio.get_running_loop().time() + left_s)
        provider = self._providers[capability, provider_id]
        if not is_traced:
            return await getattr(provider, method)(*arguments, **named)
        trace = Trace()
        mark = keep_spans(trace)
        try:
            return await getattr(provider, method)(*arguments, **named)
        finally:
            end_spans(trace, mark)
            self.link.tell_spans(told(trace))

    def _changed(self) -> list[Description]:
        """Returns the descriptions of the providers that have changed since the last time."""
        now = self._descriptions()
        changed = [each for each in now if each not in self._told]
        self._told = now
        return changed

    def _descriptions(self) -> list[Description]:
        return [described(provider) for provider in self._providers.values()]

    def _failed(self, error: BaseException) -> Exception | str:
        if isinstance(error, MemoryError):
            os._exit(OUT_OF_MEMORY)
        if isinstance(error, GatewayError | ConfigError | SimulationUnsupported):
            return error
        return "".join(traceback.format_exception(error))[-8_192:]


class _ToServer(logging.Handler):
    """Sends log records to the server, as text."""

    def __init__(self, link: Link, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._link = link
        self._loop = loop

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)[:8_192]
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._link.tell, record.name, record.levelno, text)


def _end_with_the_server(fd: int) -> None:
    """Ends this process when the server is gone. A thread: the plugin may keep the event loop busy."""
    poll = select.poll()
    poll.register(fd, 0)  # POLLHUP is always reported
    poll.poll()
    time.sleep(1.0)  # the plugin's lifespan may end
    os.killpg(0, signal.SIGKILL)  # this process, and those that the plugin started


async def _run(end: socket.socket) -> None:
    child = Child()
    logging.getLogger().addHandler(_ToServer(child.link, asyncio.get_running_loop()))
    await child.link.attach(end)
    await child.ended.wait()


def main() -> None:
    """Runs until the server stops the plugin or is gone."""
    fd, memory_mb = map(int, sys.argv[1:])
    for limit, most in ((resource.RLIMIT_DATA, memory_mb << 20), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (most, most))
    os.nice(NICENESS)
    end = socket.socket(fileno=fd)
    os.set_inheritable(end.fileno(), False)
    threading.Thread(target=_end_with_the_server, args=(os.dup(end.fileno()),), daemon=True).start()
    try:
        import uvloop
    except ImportError:
        asyncio.run(_run(end))
    else:
        uvloop.run(_run(end))
    sys.stderr.flush()
    os._exit(0)  # what the plugin left running ends with it


if __name__ == "__main__":
    main()
