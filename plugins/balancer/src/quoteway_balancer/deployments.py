"""Balancer v2 on a network, as a row of data.

A row is a mapping from a network's ``deployments["balancer"]`` or from ``[plugin.balancer] deployments``::

    {
        "vault": "0xBA12...",                   # default: the address on all public networks
        "factories": {                          # which pools are used, by the factory that made them
            "0x5Dd9...": "weighted",
            "0xdba1...": "composable-stable",
        },
        "since_block": 16580899,                # where to begin to look for pools that the factories made
        "pools": ["0x5c6e..."],                 # ids of pools to use, of these factories
    }

Without ``since_block`` only ``pools`` are used. One row a network.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quoteway import Address, ConfigError, Context, Network
from quoteway.evm.address import parse_address
from quoteway_amm.balancer_stable import ComposableStablePool
from quoteway_amm.weighted import WeightedPool

VAULT = "0xBA12222222228d8Ba445958a75a0704d566BF2C8"


@dataclass(frozen=True, slots=True)
class Family:
    """How the pools of a factory swap.

    ``exact_powers`` is as in ``WeightedPool``. Pools with ``recovery`` have a recovery mode.
    """

    kind: str
    exact_powers: bool = True
    recovery: bool = True


FAMILIES: Mapping[str, Family] = {
    "weighted": Family(WeightedPool.kind),
    # The first factory: its pools take powers otherwise.
    "weighted-2021": Family(WeightedPool.kind, exact_powers=False, recovery=False),
    "composable-stable": Family(ComposableStablePool.kind),
}
"""By the names of the configuration."""

_POOL_ID = re.compile(r"0x[0-9a-f]{64}")
_MEMBERS = {"vault", "factories", "since_block", "pools"}


@dataclass(frozen=True, slots=True)
class Deployment:
    """The Vault of a network. ``factories`` have the names of their families; ``pools`` are ids."""

    chain_id: int
    vault: Address
    wrapped_native: Address
    factories: Mapping[Address, str]
    pools: tuple[str, ...]
    since_block: int | None


def configured_deployments(context: Context) -> dict[int, Deployment]:
    """Returns the deployments by chain id. Raises ConfigError for a wrong row."""
    rows: dict[int, tuple[Network, Mapping[str, Any]]] = {}
    for network in context.networks:
        for row in network.deployments.get("balancer", ()):
            _add(rows, network, row, f"deployments.balancer of network {network.slug!r}")
    own: dict[int, tuple[Network, Mapping[str, Any]]] = {}
    where = "plugin.balancer.deployments"
    for row in context.settings.get("deployments", ()):
        members = dict(row)
        slug = members.pop("network", None)
        found = context.networks.find(slug) if isinstance(slug, str) else None
        if found is None:
            known = ", ".join(network.slug for network in context.networks)
            raise ConfigError(f"{where}: network must be one of {known}, got {slug!r}")
        _add(own, found, members, where)
    return {chain_id: _parsed(*row) for chain_id, row in (rows | own).items()}


def _add(
    rows: dict[int, tuple[Network, Mapping[str, Any]]], network: Network, row: Mapping[str, Any], where: str
) -> None:
    if network.chain_id in rows:
        raise ConfigError(f"{where}: network {network.slug!r} has two rows, and may have one")
    rows[network.chain_id] = network, row


def _parsed(network: Network, row: Mapping[str, Any]) -> Deployment:
    where = f"the balancer row of network {network.slug!r}"
    if network.wrapped_native is None:
        raise ConfigError(f"{where}: the network has no wrapped_native, which the Vault needs")
    try:
        unknown = sorted(set(row) - _MEMBERS)
        if unknown:
            raise ValueError(f"unknown member {unknown[0]!r}: expected one of {', '.join(sorted(_MEMBERS))}")
        return Deployment(
            network.chain_id,
            _address(row.get("vault", VAULT)),
            parse_address(network.wrapped_native),
            _factories(row.get("factories")),
            tuple(_pool_id(text) for text in row.get("pools", ())),
            _since_block(row.get("since_block")),
        )
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{where}: {error}") from None


def _factories(given: Any) -> dict[Address, str]:
    if not isinstance(given, Mapping) or not given:
        raise ValueError("factories must be a table of addresses with the families of their pools")
    for family in given.values():
        if family not in FAMILIES:
            raise ValueError(f"factories: {family!r} is no family; known: {', '.join(FAMILIES)}")
    return {_address(address): family for address, family in given.items()}


def _address(text: Any) -> Address:
    if not isinstance(text, str):
        raise ValueError(f"an address is text, got {text!r}")
    return parse_address(text)


def _pool_id(text: Any) -> str:
    if not isinstance(text, str) or not _POOL_ID.fullmatch(text.lower()):
        raise ValueError(f"pools: {text!r} is no id of 0x and 64 hex digits")
    return text.lower()


def _since_block(number: Any) -> int | None:
    if number is not None and (type(number) is not int or number < 0):
        raise ValueError(f"since_block must be a block number, got {number!r}")
    return number
