"""What ``quoteway doctor`` checks of the machine: versions, ports, the clock and the shared store."""

from __future__ import annotations

import asyncio
import importlib.metadata
import platform
import socket
import sqlite3
import time
from collections.abc import Iterator, Sequence
from typing import Final

from quoteway.config.keys import NamedKey
from quoteway.config.model import Config
from quoteway.errors import ConfigError, UpstreamError
from quoteway.plugin_store import Rows
from quoteway.secrets import Secret
from quoteway.server.endpoint_checks import Node
from quoteway.server.findings import Finding
from quoteway.shared_store import ask_store

EXPIRES_SOON_S: Final = 14 * 86_400.0
AHEAD_S: Final = 2.0
"""How far in the future the timestamp of a newest block may be: clocks of producers differ a little."""
_LIBRARIES: Final = ("aiohttp", "pluggy", "marshmallow", "eth-abi")


def versions() -> Finding:
    """Returns which versions run, for reports of bugs."""
    found = [f"{name} {importlib.metadata.version(name)}" for name in ("quoteway", *_LIBRARIES)]
    python = f"Python {platform.python_version()} on {platform.platform()}, SQLite {sqlite3.sqlite_version}"
    return Finding("ok", "versions", ", ".join([*found, python]))


def api_keys(config: Config) -> Iterator[Finding]:
    """Looks for API keys that have expired, or will soon."""
    now = time.time()
    for key in config.auth.keys:
        if not isinstance(key, NamedKey) or key.expires is None:
            continue
        left_s, at = key.expires.timestamp() - now, key.expires.isoformat(timespec="seconds")
        if left_s < EXPIRES_SOON_S:
            text = f"expired at {at}: its requests are refused" if left_s <= 0 else f"expires at {at}"
            remedy = "`quoteway keys new` makes another; remove this one from [[auth.keys]] then"
            yield Finding("warn", f"API key {key.name}", f"{text}. {remedy}")


def ports(config: Config) -> Iterator[Finding]:
    """Looks whether the server can listen where it is configured to."""
    server = config.server
    wanted = {"server.port": (server.host, server.port)}
    if server.metrics_port is not None:
        wanted["server.metrics_port"] = (server.metrics_host or server.host, server.metrics_port)
    for name, (host, port) in wanted.items():
        if not port:
            continue
        problem = _refusal(host, port)
        if problem is None:
            yield Finding("ok", name, f"{host} port {port} is free")
        else:
            text = f"{host} port {port}: {problem}. In order while this server runs; else choose another"
            yield Finding("warn", name, text)


def _refusal(host: str, port: int) -> str | None:
    """Returns why nothing can listen there now, None when it can."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
    except OSError as error:
        return (error.strerror or type(error).__name__).lower()
    return None


async def clock(nodes: Sequence[Node], now_s: float | None = None) -> Finding | None:
    """Compares this machine's clock with the newest blocks of all networks; None when no node answers.

    Quotes and deadlines are given by this clock, and contracts compare them with the time of blocks. A clock
    that is behind makes orders that have expired when they are sent. A clock that is ahead cannot be told
    from nodes that are not synchronised, whose blocks are old.
    """
    answers = await asyncio.gather(*(node.newest_block_s() for node in nodes))
    times_s = [answer for answer in answers if answer is not None]
    if not times_s:
        return None
    ahead_s = max(times_s) - (time.time() if now_s is None else now_s)
    if ahead_s <= AHEAD_S:
        return Finding("ok", "clock", "not behind the newest blocks")
    text = f"{ahead_s:.0f} s behind the newest block: set this machine's clock by NTP, or orders expire early"
    return Finding("fail", "clock", text)


async def stores(config: Config) -> list[Finding]:
    """Asks what workers and replicas share: the places of the limits, of the policy's amounts over time, of
    what is read from chains, and of what plugins keep."""
    from quoteway.host.plugin_rows import open_rows
    from quoteway.host.shared_tier import open_tier
    from quoteway.web.http.buckets import open_store

    findings = []
    try:
        if config.limits.enabled:
            open_store(config.limits.store)
            findings += await _server(
                "limits.store", config.limits.store, "each replica counts a share of its own"
            )
        if config.policy.store is not None:
            findings += await _server("policy.store", config.policy.store, "no action with a limit is made")
        if config.shared.url is not None:
            open_tier(config)
            findings += await _server("shared.url", config.shared.url, "each replica reads chains for itself")
        rows = open_rows(config)
        if config.store.url is not None:
            findings += await _server("store.url", config.store.url, "what plugins keep is not there")
            if not findings or findings[-1].subject != "store.url":
                findings.append(await _file(rows))
    except ConfigError as error:
        findings.append(Finding("fail", str(error).split(" ", 1)[0], str(error)))
    return findings


async def _server(name: str, store: Secret | str, otherwise: str) -> list[Finding]:
    """Returns whether a Valkey or Redis server answers; nothing for another place."""
    url = store.reveal() if isinstance(store, Secret) else store
    if "://" not in url or url.startswith("memory"):
        return []
    try:
        return [Finding("ok", name, await ask_store(url, name))]
    except UpstreamError as error:
        return [Finding("fail", name, f"{error}. Until it can be used, {otherwise}")]


async def _file(rows: Rows) -> Finding:
    try:
        await rows.keys("")
    except UpstreamError:
        return Finding(
            "fail",
            "store.url",
            "the file cannot be used now. Where it is damaged, end the server and restore or delete it",
        )
    finally:
        await rows.close()
    return Finding("ok", "store.url", "the file can be used")
