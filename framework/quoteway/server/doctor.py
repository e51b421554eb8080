"""What ``quoteway doctor`` checks: the machine, configuration, plugins, RPC endpoints, a running server."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import aiohttp

from quoteway.config.loading import load_config, source_of
from quoteway.config.model import Config
from quoteway.engine.gateway import Gateway
from quoteway.errors import ConfigError, GatewayError, RpcError
from quoteway.evm.chain import RpcChain
from quoteway.evm.deployed_code import without_code
from quoteway.guard.findings import is_address
from quoteway.host.states import NotEnabled, networks_of
from quoteway.networks import Network
from quoteway.server import machine_checks, plugin_checks
from quoteway.server.endpoint_checks import Node, behind, described, measure_heads
from quoteway.server.findings import Finding


async def examine(config_path: Path | None, url: str | None = None) -> list[Finding]:
    """Examines the deployment, and the running server at ``url``. Problems are findings, not exceptions."""
    findings, headers = [machine_checks.versions()], dict[str, str]()
    try:
        config = load_config(config_path)
        for secret in config.auth.secrets[:1]:
            headers["Authorization"] = f"Bearer {secret.reveal()}"
        findings += machine_checks.api_keys(config)
        findings += await _deployment(config)
        if url is None:
            findings += machine_checks.ports(config)
    except ConfigError as error:
        findings.append(Finding("fail", "config", str(error)))
    if url is None:
        text = "not asked: --url http://127.0.0.1:8080 shows readiness, open breakers and stalls"
        return [*findings, Finding("ok", "running server", text)]
    timeout = aiohttp.ClientTimeout(total=10)
    try:
        async with aiohttp.ClientSession(url.rstrip("/") + "/", timeout=timeout) as session:
            return [*findings, *await _running(session, headers)]
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
        return [*findings, Finding("fail", "running server", f"no usable answer ({type(error).__name__})")]


def _tools() -> Iterator[Finding]:
    """Looks for what the devnet of the embedded default needs to set itself up."""
    for tool, use in (
        ("node", "compiles contracts for the devnet"),
        ("npm", "fetches anvil and the contracts for the devnet"),
    ):
        path = shutil.which(tool)
        if path is None:
            yield Finding("warn", tool, f"not on PATH; at the first start it {use}: install Node.js")
            continue
        try:
            answer = subprocess.run(  # noqa: S603 - found on PATH, asked for its version
                [path, "--version"], capture_output=True, text=True, timeout=10, check=False
            )
            yield Finding("ok", tool, (answer.stdout.splitlines() or ["no version"])[0])
        except (OSError, subprocess.TimeoutExpired) as error:
            yield Finding("warn", tool, f"does not run: {error}")


async def _deployment(config: Config) -> list[Finding]:
    kind = "embedded default: the devnet, a random signing key" if config.embedded else source_of(config)
    findings = [Finding("ok", "config", kind), *(_tools() if config.embedded else ())]
    findings += await machine_checks.stores(config)
    gateway = loaded(config)
    of_plugins = await plugin_checks.checks(gateway.registry.plugins)  # which may refuse one
    for plugin in gateway.registry.plugins:
        name = f"plugin {plugin.name} {plugin.version}"
        if plugin.reason in (None, "not_selected"):
            findings.append(Finding("ok", name, plugin.reason or plugin.state.value))
        else:
            text = f"{plugin.reason}: {plugin.detail}{plugin.trace}"
            findings.append(Finding(_mark(plugin.reason), name, text))
    if (policy := gateway.building.custody.policy) is not None:
        names = ", ".join(rule.name for rule in policy.rules)
        findings.append(Finding("ok", "policy", f"{policy.digest}, rules: {names}"))
    if config.plugin_lock is None:
        unlocked = [p.name for p in gateway.registry.plugins if p.reason is None and p.installed is not None]
        text = f"not locked: {', '.join(unlocked) or 'none'} (`quoteway plugins lock` writes a lock file)"
        findings.append(Finding("ok" if config.embedded else "warn", "plugins.lock", text))
    findings += [
        Finding(_mark(entry.reason), f"provider {entry.provider.id}", f"{entry.reason}: {entry.detail}")
        for entry in gateway.registry.providers
        if entry.reason is not None and entry.reason != "disabled"
    ]
    return [*findings, *of_plugins, *await _endpoints(gateway)]


def _mark(reason: NotEnabled | None) -> Literal["warn", "fail"]:
    """A squatter takes nothing from the owner, so the deployment works."""
    return "warn" if reason is NotEnabled.SQUATTER else "fail"


def loaded(config: Config) -> Gateway:
    """A gateway whose plugins are loaded and configured; nothing is started, no network is touched."""
    gateway = Gateway(config)
    gateway.load()
    return gateway


async def _endpoints(gateway: Gateway) -> list[Finding]:
    """Asks every configured endpoint for its chain id and for the contracts that the providers need, and
    measures it. Those of the devnet only run while it is served.
    """
    findings: list[Finding] = []
    asked: list[Node] = []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        for network in gateway.runtime.networks:
            nodes = [Node(session, endpoint) for endpoint in network.endpoints]
            await measure_heads(nodes)
            found = await asyncio.gather(
                *(
                    _endpoint(gateway, network, node, nodes, f"rpc {network.slug} #{position}")
                    for position, node in enumerate(nodes, 1)
                )
            )
            findings += [finding for each in found for finding in each]
            asked += nodes
        clock = None if gateway.config.embedded else await machine_checks.clock(asked)
    findings += [clock] if clock is not None else []
    return findings + list(_alone(gateway))


def _alone(gateway: Gateway) -> Iterator[Finding]:
    """Yields what networks do not have: another endpoint when one fails, and nodes that must agree."""
    for network in gateway.runtime.networks:
        name, count = f"rpc {network.slug}", len(network.endpoints)
        if count == 1 and not gateway.config.embedded:
            text = (
                "one endpoint: nobody answers when it fails, and it is believed. Add two more, and quorum = 2"
            )
            yield Finding("warn", name, text)
        elif count > 1 and network.quorum == 1:
            yield Finding("warn", name, "each endpoint is believed by itself: quorum = 2 compares them")
        elif count > 1 and network.quorum == count:
            text = f"all {count} endpoints must agree: when one fails, nothing is answered. Add another one"
            yield Finding("warn", name, text)


async def _endpoint(
    gateway: Gateway, network: Network, node: Node, nodes: Sequence[Node], name: str
) -> list[Finding]:
    cordoned = node.endpoint.cordoned
    unused = [Finding("warn", name, f"cordoned: {cordoned}")] if cordoned else []
    try:
        found = int(await node.ask("eth_chainId"), 16)
    except (RpcError, aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
        if gateway.config.embedded and isinstance(error, aiohttp.ClientConnectorError):
            return [Finding("ok", name, "not running: `quoteway serve` starts it")]
        # the type only: messages of the HTTP client hold the URL
        return [*unused, Finding("fail", name, f"no usable answer ({type(error).__name__})")]
    if found != network.chain_id:
        text = f"chain {found}, expected {network.chain_id}: correct the URL or the network"
        return [*unused, Finding("fail", name, text)]
    findings = [*unused, Finding("ok", name, f"chain {found}"), Finding("ok", name, await described(node))]
    lag = behind(network, node, nodes)
    if lag is not None:
        text = f"{lag} blocks behind the newest endpoint of the network: wait until it has synchronised"
        findings.append(Finding("warn", name, text))
    expected = _expected(gateway, network.chain_id)
    try:
        absent = await without_code(RpcChain(network, node.ask), expected) if expected else frozenset[str]()
    except (GatewayError, aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
        text = f"the code of the providers' contracts could not be read ({type(error).__name__})"
        return [*findings, Finding("warn", name, text)]
    missing = (f"{expected[contract]} ({contract})" for contract in expected if contract in absent)
    return [*findings, *(Finding("warn", name, _absent(each)) for each in missing)]


def _expected(gateway: Gateway, chain_id: int) -> dict[str, str]:
    """The contracts that the enabled providers need on a network, each with its provider and label."""
    return {
        contract: f"{entry.provider.id}: {label}"
        for entry in gateway.registry.providers
        if entry.not_enabled is None and chain_id in networks_of(entry.provider)
        for contract, label in entry.provider.expected_contracts(chain_id).items()
        if is_address(contract)
    }


def _absent(contract: str) -> str:
    return (
        f"{contract} has no code: use a synchronised node of this network, or correct the address in the "
        "section of the plugin"
    )


async def _running(session: aiohttp.ClientSession, headers: Mapping[str, str]) -> list[Finding]:
    """Asks a server what it says of itself and of its providers."""
    async with session.get("readyz?verbose", allow_redirects=False) as response:
        answer = await response.json(content_type=None)
    if response.status == 200:
        found = [Finding("ok", "running server", "ready")]
    else:
        found = [Finding("fail", "running server", answer["error"]["message"])]
    for slug, network in answer.get("networks", {}).items():
        found += [
            Finding("warn", f"network {slug}", f"{capability} is {told['state']}: {', '.join(told['why'])}")
            for capability, told in network["capabilities"].items()
            if told["why"]
        ]
    rows: list[Mapping[str, Any]] = []
    query = {"limit": "200"}
    while True:
        async with session.get(
            "v2/providers", params=query, headers=headers, allow_redirects=False
        ) as response:
            page = await response.json(content_type=None)
        if response.status != 200:
            found.append(Finding("fail", "running server", f"/v2/providers: {page['error']['message']}"))
            return found
        rows += page["data"]
        if page["nextCursor"] is None:
            break
        query["cursor"] = page["nextCursor"]
    for row in rows:
        found += [Finding("warn", f"provider {row['id']}", text) for text in _complaints(row)]
    return found


def _complaints(row: Mapping[str, Any]) -> Iterator[str]:
    """Yields what is wrong with a provider by its row."""
    if not row["enabled"] and row["reason"] not in (NotEnabled.NOT_SELECTED, NotEnabled.DISABLED):
        yield f"not enabled: {row['reason']} (plugin {row['plugin']} of {row['package']})"
    if row["healthy"] is False:
        yield "says that it is not healthy"
    for calls in row["methods"]:
        if calls["breaker"] != "closed":
            state, method = calls["breaker"].replace("_", "-"), f"{calls['capability']} {calls['method']}"
            yield f"the breaker of {method} is {state}: {calls['reason']}"
    stall = row["worstStall"]
    if stall is not None:
        took_ms, function = stall["milliseconds"], stall["function"]
        yield f"plugin {row['plugin']} blocked the server for {took_ms} ms in {function}"
    for missing in row["missingContracts"]:
        yield _absent(f"{missing['label']} ({missing['contract']}) on {missing['network']}")
    for node in row.get("upstreams", ()):
        if node["state"] in ("open", "cordoned"):
            yield f"{node['label']} of {node['network']} is {node['state']}: {node['reason']}"
    for refusal in row["refusals"]:
        yield f"is not used on chain {refusal['chainId']}: {refusal['reason']}"
    if row["priceOutliers"]:
        yield f"{row['priceOutliers']} of its prices are far from those of the other sources"
