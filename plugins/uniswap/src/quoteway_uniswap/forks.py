"""Forks that have a router of their own, as rows of data.

A row stands where the rows of ``deployments`` do, and has ``router_kind``::

    {
        "protocol": "sushiswap-v2",             # the family of its pools, and the id of its executor
        "title": "SushiSwap v2",                # what people read; default: the protocol
        "router_kind": "v2-router02",           # one of ``ROUTER_KINDS``
        "router": "0xd9e1...",
        "wrapped_native": "0xC02a...",          # default: the network's
        "base_tokens": ["0xA0b8..."],           # tokens that routes may pass through
        "v2": {"factory": "0xC0AE...", "init_code_hash": "0xe18a...", "fee": [997, 1000]},
    }

``v2-router02`` has ``v2``, ``v3-router`` has ``v3``, with the members that ``deployments`` explains.
``algebra-router`` (Algebra Integral) has ``algebra``, with ``factory``, ``deployer`` and ``init_code_hash``.
The core knows what the calls of a router mean once ``[networks.<slug>.contracts]`` says which kind it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quoteway import Address, ConfigError, Context, Network
from quoteway.evm.address import parse_address

from quoteway_uniswap.deployments import (
    PROVIDER_ID,
    Deployment,
    check_members,
    deployments_of,
    labelled,
    parse_algebra,
    parse_v2,
    parse_v3,
    rows_of,
)
from quoteway_uniswap.provider import configured_rows

ROUTER_KINDS: Mapping[str, str] = {
    "v2-router02": "v2",
    "v3-router": "v3",
    "algebra-router": "algebra",
}
"""Kind of router -> the member of the row that has its pools."""
_MEMBERS = {"protocol", "title", "router_kind", "router", "wrapped_native", "base_tokens"}
_NO_VERSION = ""
_PROTOCOL = re.compile(r"[a-z0-9][a-z0-9-]{0,55}")
_RESERVED = frozenset({"v2", "v3", "v4", "algebra", PROVIDER_ID})
"""Names of families and of the plugin's own provider."""


@dataclass(frozen=True, slots=True)
class Fork:
    """One fork on one network. ``deployment`` has its contracts; no Universal Router executes it."""

    deployment: Deployment
    router_kind: str
    title: str

    @property
    def protocol(self) -> str:
        """Returns the family of its pools, which is the id of its executor too."""
        return self.deployment.protocol

    @property
    def expected(self) -> Mapping[Address, str]:
        """Returns the contracts that must have code, each with a label."""
        row, found = self.deployment, {self.deployment.router: f"{self.title} router"}
        if row.v2 is not None:
            found |= labelled((row.v2.factory, f"{self.title} factory"))
        if row.v3 is not None:
            found |= labelled(
                (row.v3.deployer, f"{self.title} pool deployer"), (row.v3.factory, f"{self.title} factory")
            )
        if row.algebra is not None:
            places = row.algebra.deployer, row.algebra.factory
            names = f"{self.title} pool deployer", f"{self.title} factory"
            found |= labelled(*zip(places, names, strict=True))
        return found


def forks_of(context: Context) -> dict[str, dict[int, Fork]]:
    """Returns the forks by protocol and chain id. Raises ConfigError for a wrong row."""
    extra, found = configured_rows(context), dict[str, dict[int, Fork]]()
    for network in context.networks:
        makers: dict[Address, str] = {}
        for deployment in deployments_of(network, extra.get(network.slug, ())):
            makers |= dict.fromkeys(_makers(deployment), deployment.protocol)
        for row in rows_of(network, extra.get(network.slug, ())):
            if "router_kind" in row:
                fork = parse_fork(row, network)
                _check_makers(fork, makers, network)
                found.setdefault(fork.protocol, {})[network.chain_id] = fork
    for protocol, forks in found.items():
        if len(kinds := {fork.router_kind for fork in forks.values()}) > 1:
            named = " and ".join(sorted(kinds))
            raise ConfigError(
                f"deployments.uniswap: {protocol} has the routers {named}: name one another way"
            )
    return found


def forks_on(context: Context, chain_id: int) -> tuple[Deployment, ...]:
    """Returns the deployments of the forks on one network. Raises ConfigError for a wrong row."""
    rows = (forks.get(chain_id) for forks in forks_of(context).values())
    return tuple(fork.deployment for fork in rows if fork is not None)


def _makers(row: Deployment) -> tuple[Address, ...]:
    """Returns the contracts that the addresses of a row's pools follow from."""
    return (
        *((row.v2.factory,) if row.v2 else ()),
        *((row.v3.deployer,) if row.v3 else ()),
        *((row.algebra.deployer,) if row.algebra else ()),
    )


def _check_makers(fork: Fork, makers: dict[Address, str], network: Network) -> None:
    """Adds what makes a fork's pools. Raises ConfigError when another row of the network has them too: of two
    fees of one pool the logs would change one alone."""
    for address in _makers(fork.deployment):
        other = makers.setdefault(address, fork.protocol)
        if other != fork.protocol:
            raise ConfigError(
                f"deployments.uniswap: the rows {other!r} and {fork.protocol!r} of network {network.slug!r} "
                f"both have the pools of {address}: remove one"
            )


def parse_fork(row: Mapping[str, Any], network: Network) -> Fork:
    """Returns a row as a ``Fork``. Raises ConfigError with the network, the row and the member."""
    where = f"deployments.uniswap row {row.get('protocol', '?')!r} of network {network.slug!r}"
    try:
        kind = str(row["router_kind"])
        if kind not in ROUTER_KINDS:
            raise ValueError(f"router_kind must be one of {', '.join(ROUTER_KINDS)}, got {kind!r}")
        member = ROUTER_KINDS[kind]
        check_members(row, _MEMBERS | {member})
        wrapped = row.get("wrapped_native") or network.wrapped_native
        if wrapped is None:
            raise ValueError("wrapped_native is required because the network has none")
        protocol = str(row["protocol"])
        if _PROTOCOL.fullmatch(protocol) is None or protocol in _RESERVED:
            raise ValueError(
                "protocol must be lower-case letters, digits and hyphens, at most 56, and none of "
                f"{', '.join(sorted(_RESERVED))}: got {protocol!r}"
            )
        deployment = Deployment(
            protocol=protocol,
            chain_id=network.chain_id,
            router=parse_address(row["router"]),
            router_version=_NO_VERSION,
            wrapped_native=parse_address(wrapped),
            base_tokens=tuple(parse_address(token) for token in row.get("base_tokens", ())),
            v2=parse_v2(row["v2"]) if member == "v2" else None,
            v3=parse_v3(row["v3"]) if member == "v3" else None,
            algebra=parse_algebra(row["algebra"]) if member == "algebra" else None,
        )
        if deployment.v3 is not None and deployment.v3.factory is None:
            raise ValueError("v3.factory is required")
        return Fork(deployment, kind, str(row.get("title", protocol)))
    except KeyError as error:
        raise ConfigError(f"{where}: {error.args[0]} is required") from None
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{where}: {error}") from None
