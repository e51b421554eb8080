"""Runs the request of a bundle again, without any network, and compares the answers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import orjson
from aiohttp import web
from marshmallow import ValidationError

from quoteway.config.fields import load_section
from quoteway.config.limits import LimitsConfig
from quoteway.config.model import Config, PluginsConfig, SigningKey
from quoteway.config.network import NetworkConfig
from quoteway.config.server import ServerConfig
from quoteway.engine.bundles import PUBLIC_KEY, PUBLIC_KEY_ID, Bundle, BundleError
from quoteway.engine.gateway import Gateway
from quoteway.host.recorded_exchanges import recorded_exchanges
from quoteway.host.recorded_nodes import Ask, RecordedChain, RecordedNodes
from quoteway.host.recording import Key
from quoteway.host.redaction import Redaction
from quoteway.host.states import NotEnabled
from quoteway.secrets import REDACTED, Secret
from quoteway.server.serve import make_runner
from quoteway.web.app import make_app

PLUGIN = "recorded-chain"
VOLATILE = frozenset({"updatedAt", "verified"})
"""Members that tell what a server had read when, which no replay repeats."""
PATIENCE_S = 10.0
STEP_S = 0.2
"""How long, and how often, what differs is asked for again: the server's memory was warm, this one is cold,
and prices and lists come from the background."""
REQUEST_TIMEOUT_S = 120.0

Send = Callable[[Mapping[str, Any]], Awaitable[tuple[int, Any]]]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a replay. ``differences`` are sentences, by member; none: the answers are the same.

    ``missing`` names reads that were not recorded, ``notes`` what is not as it was on the server. ``added``
    has outcomes of reads that were asked for while it ran.
    """

    status: int
    answer: Any
    differences: Sequence[str]
    missing: Sequence[str]
    notes: Sequence[str]
    added: Mapping[Key, Mapping[str, Any]]


async def replay(
    bundle: Bundle,
    *,
    plugins: Mapping[str, object] | None = None,
    patience_s: float = PATIENCE_S,
    ask: Ask | None = None,
) -> Replayed:
    """Runs a bundle. ``plugins`` are in-process plugins by name, for those that are not installed.

    A request whose answer differs is sent again for ``patience_s`` seconds. Reads that were not recorded are
    sent to ``ask``, if it is given, and come back in ``added``.

    Raises ``BundleError`` when a plugin that the server used cannot be used here.
    """
    nodes = RecordedNodes(bundle.networks, bundle.own, bundle.known, ask)
    given = {PLUGIN: RecordedChain(bundle.networks, nodes, bundle.catalogs), **(plugins or {})}
    config, clock = _config(bundle), float(bundle.content["clock"])
    normal = Redaction(config, bundle.networks).exchange
    async with recorded_exchanges(bundle.own, bundle.known, normal, nodes.missing) as connector:
        gateway = Gateway(config, plugins=given, clock=lambda: clock, connector=connector)
        notes = tuple(_missing_plugins(bundle, gateway))
        async with _serving(gateway) as send:
            return await _compared(bundle, gateway, nodes, send, notes, patience_s)


async def completed(
    bundle: Bundle,
    ask: Ask,
    *,
    plugins: Mapping[str, object] | None = None,
    patience_s: float = PATIENCE_S,
) -> tuple[Bundle, Replayed]:
    """Runs a bundle and adds the reads that it lacks: what the server's memory held, a replay must read.

    Raises ``BundleError`` as ``replay`` does.
    """
    found = await replay(bundle, plugins=plugins, patience_s=patience_s, ask=ask)
    known = [*bundle.content["known"], *([*key, outcome] for key, outcome in found.added.items())]
    return Bundle({**bundle.content, "known": known}), found


async def _compared(
    bundle: Bundle,
    gateway: Gateway,
    nodes: RecordedNodes,
    send: Send,
    notes: Sequence[str],
    patience_s: float,
) -> Replayed:
    for entry in gateway.registry.plugins:
        if entry.reason not in (None, NotEnabled.NOT_SELECTED):
            raise BundleError(f"plugin {entry.name!r} is not enabled here: {entry.reason} ({entry.detail})")
    request, expected = bundle.content["request"], bundle.content["answer"]
    ends_at = time.monotonic() + patience_s
    while True:
        nodes.rewind()
        status, answer = await send(request)
        found = list(differences(expected["body"], answer))
        if status != expected["status"]:
            found.insert(0, f"status: {expected['status']} was recorded, {status} now")
        if not found or time.monotonic() > ends_at:
            return Replayed(status, answer, found, tuple(nodes.missing), notes, nodes.added)
        await asyncio.sleep(STEP_S)


def differences(expected: Any, found: Any, path: str = "") -> Iterator[str]:
    """Yields what differs between two JSON values, member by member, as sentences with dotted paths."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for name in dict.fromkeys((*expected, *found)):
            if name in VOLATILE:
                continue
            below = f"{path}.{name}".removeprefix(".")
            if name not in found:
                yield f"{below}: {_short(expected[name])} was recorded, now it is missing"
            elif name not in expected:
                yield f"{below}: was not recorded, now it is {_short(found[name])}"
            else:
                yield from differences(expected[name], found[name], below)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif expected != found:
        yield f"{path or 'the answer'}: {_short(expected)} was recorded, {_short(found)} now"


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 120 else f"{text[:117]}..."


def _missing_plugins(bundle: Bundle, gateway: Gateway) -> Iterator[str]:
    """Yields a note for each plugin of another version. Raises ``BundleError`` for one that is not there."""
    installed = {entry.name: entry for entry in gateway.registry.plugins}
    for row in bundle.content["plugins"]:
        here = installed.get(row["name"])
        if not row["replayed"]:
            continue
        if here is None:
            raise BundleError(f"plugin {row['name']!r} is not installed here: install {row['distribution']}")
        if here.version != row["version"]:
            yield f"plugin {row['name']} is {here.version} here, the server had {row['version']}"


def _config(bundle: Bundle) -> Config:
    """Returns the configuration of the bundle, for one process that nobody else reaches."""
    tree = _without_nulls(bundle.content["config"])
    names = [row["name"] for row in bundle.content["plugins"] if row["replayed"]]
    sections = {name: _with_secrets(section) for name, section in tree.pop("plugin", {}).items()}
    quotes = {"acknowledge_price_impact_bps": "off", **tree.pop("quotes", {})}
    quotes.pop("keys", None)
    for name in ("store", "actions", "shared"):
        tree.pop(name, None)
    try:
        config = load_section(Config, {**tree, "quotes": quotes})
    except ValidationError as error:
        raise BundleError(f"the bundle's configuration cannot be used here: {error.messages}") from None
    submission = {n.slug: NetworkConfig(private_submission=n.private_submission) for n in bundle.networks}
    return replace(
        config,
        server=ServerConfig(port=0, request_timeout_s=REQUEST_TIMEOUT_S),
        limits=LimitsConfig(enabled=False),
        plugins=PluginsConfig(load=(PLUGIN, *names), owners=config.plugins.owners),
        providers={name: replace(row, isolation="none") for name, row in config.providers.items()},
        quotes=replace(config.quotes, keys=(SigningKey(PUBLIC_KEY_ID, Secret(PUBLIC_KEY.decode())),)),
        networks=submission,
        plugin_sections={name: section for name, section in sections.items() if name in names},
        embedded=False,
    )


def _without_nulls(value: Any) -> Any:
    """Returns a configuration without what is not set: TOML has no null, and the sections take none."""
    if isinstance(value, Mapping):
        return {name: _without_nulls(member) for name, member in value.items() if member is not None}
    return value


def _with_secrets(value: Any) -> Any:
    """Returns a plugin's settings with a secret wherever one was taken out: its schema asks for one."""
    if value == REDACTED:
        return Secret(REDACTED)
    if isinstance(value, Mapping):
        return {name: _with_secrets(member) for name, member in value.items()}
    return [_with_secrets(member) for member in value] if isinstance(value, list) else value


@contextlib.asynccontextmanager
async def _serving(gateway: Gateway) -> AsyncIterator[Send]:
    """Serves the gateway on a free port of 127.0.0.1. Yields what sends a recorded request to it."""
    runner = make_runner(make_app(gateway), gateway.config)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        await gateway.started()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with aiohttp.ClientSession() as session:

            async def send(request: Mapping[str, Any]) -> tuple[int, Any]:
                headers = {"X-Request-ID": request["id"], "Content-Type": "application/json"}
                body = None if request["body"] is None else orjson.dumps(request["body"])
                target = url + request["path"]
                async with session.request(request["method"], target, data=body, headers=headers) as response:
                    raw = await response.read()
                return response.status, orjson.loads(raw) if raw else None

            yield send
    finally:
        await runner.cleanup()
