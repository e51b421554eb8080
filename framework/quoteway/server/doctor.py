"""What ``quoteway doctor`` checks: the tools, the configuration, the plugins, the RPC endpoints."""

from __future__ import annotations

import logging
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import aiohttp

from quoteway.config.loading import load_config, source_of
from quoteway.config.model import Config
from quoteway.engine.gateway import Gateway
from quoteway.errors import ConfigError
from quoteway.networks import Endpoint
from quoteway.server.serve import check_store


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. ``fail``: the deployment does not work."""

    mark: Literal["ok", "warn", "fail"]
    subject: str
    text: str


async def examine(config_path: Path | None) -> list[Finding]:
    """Examines the deployment. Problems are findings, not exceptions."""
    findings = list(_tools())
    try:
        findings += await _deployment(config_path)
    except ConfigError as error:
        findings.append(Finding("fail", "config", str(error)))
    return findings


def _tools() -> Iterator[Finding]:
    for tool, use in (
        ("anvil", "runs the devnet (fetched when missing)"),
        ("node", "fetches anvil for the devnet"),
    ):
        path = shutil.which(tool)
        if path is None:
            yield Finding("warn", tool, f"not on PATH; it {use}")
            continue
        try:
            answer = subprocess.run(  # noqa: S603 - found on PATH, asked for its version
                [path, "--version"], capture_output=True, text=True, timeout=10, check=False
            )
            yield Finding("ok", tool, (answer.stdout.splitlines() or ["no version"])[0])
        except (OSError, subprocess.TimeoutExpired) as error:
            yield Finding("warn", tool, f"does not run: {error}")


async def _deployment(config_path: Path | None) -> list[Finding]:
    config = load_config(config_path)
    kind = "embedded default: the devnet, a random signing key" if config.embedded else source_of(config)
    findings = [Finding("ok", "config", kind)]
    try:
        check_store(config)
    except ConfigError as error:
        findings.append(Finding("fail", "limits.store", str(error)))
    gateway = loaded(config)
    for plugin in gateway.registry.plugins:
        name = f"plugin {plugin.name} {plugin.version}"
        if plugin.reason in (None, "not_selected"):
            findings.append(Finding("ok", name, plugin.reason or plugin.state.value))
        else:
            findings.append(Finding("fail", name, f"{plugin.reason}: {plugin.detail}{plugin.trace}"))
    findings += [
        Finding("fail", f"provider {entry.provider.id}", f"{entry.reason}: {entry.detail}")
        for entry in gateway.registry.providers
        if entry.reason is not None and entry.reason != "disabled"
    ]
    return findings + await _endpoints(gateway)


def loaded(config: Config) -> Gateway:
    """A gateway whose plugins are loaded and configured; nothing is started, no network is touched."""
    logging.getLogger("quoteway").setLevel(logging.CRITICAL)
    gateway = Gateway(config)
    gateway.load()
    return gateway


async def _endpoints(gateway: Gateway) -> list[Finding]:
    """Asks every configured endpoint for its chain id, without the devnet's, which only run while served."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        return [
            await _endpoint(session, f"rpc {network.slug} #{position}", endpoint, network.chain_id)
            for network in gateway.runtime.networks
            for position, endpoint in enumerate(network.endpoints, 1)
        ]


async def _endpoint(session: aiohttp.ClientSession, name: str, endpoint: Endpoint, chain_id: int) -> Finding:
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
    headers = dict(endpoint.headers)
    try:
        # A redirect would take the headers, which hold credentials, to another host.
        async with session.post(endpoint.url, json=call, headers=headers, allow_redirects=False) as response:
            answer = await response.json(content_type=None)
        found = int(answer["result"], 16)
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
        # the type only: messages of the HTTP client hold the URL
        return Finding("fail", name, f"no usable answer ({type(error).__name__})")
    if found != chain_id:
        return Finding("fail", name, f"chain {found}, expected {chain_id}: correct the URL or the network")
    return Finding("ok", name, f"chain {found}")
