"""Balancer v2 and v3 on a network, as rows of data.

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

Without ``since_block`` only ``pools`` are used. A row of v3 has other members::

    {
        "version": 3,
        "vault": "0xbA13...",                   # default: the address on all public networks
        "batch_router": "0x136f...",            # executes swaps: a contract of kind balancer.batch-router
        "factories": {"0x201e...": "weighted"},
        "since_block": 21332121,
        "pools": ["0xa1b2..."],                 # addresses
        "fee_controllers": ["0xa731..."],       # the present and earlier ones, for an index
    }

One row of each version a network.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from quoteway import Address, ConfigError, Context, Network
from quoteway.evm.address import checksum, parse_address
from quoteway_amm.balancer_stable import ComposableStablePool
from quoteway_amm.balancer_v3 import WeightedV3Pool
from quoteway_amm.weighted import WeightedPool

VAULT = "0xBA12222222228d8Ba445958a75a0704d566BF2C8"
VAULT_V3 = "0xbA1333333333a1BA1108E8412f11850A5C319bA9"


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

FAMILIES_V3: Mapping[str, str] = {"weighted": WeightedV3Pool.kind}
"""The kinds of v3's pools by the names of the configuration."""

_POOL_ID = re.compile(r"0x[0-9a-f]{64}")
_MEMBERS = {"version", "vault", "factories", "since_block", "pools"}


@dataclass(frozen=True, slots=True)
class Deployment:
    """The Vault of a network. ``factories`` have the names of their families; ``pools`` are ids."""

    chain_id: int
    vault: Address
    wrapped_native: Address
    factories: Mapping[Address, str]
    pools: tuple[str, ...]
    since_block: int | None

    @property
    def listed(self) -> Sequence[Address]:
        """Returns the addresses of ``pools``, with which their ids begin."""
        return tuple(checksum(pool_id[:42]) for pool_id in self.pools)


@dataclass(frozen=True, slots=True)
class DeploymentV3:
    """The Vault of v3 and its batch router on a network, as ``Deployment``; ``listed`` are pools.

    ``fee_controllers`` are the contracts that the Vault has asked for the fees of new pools, over time.
    """

    chain_id: int
    vault: Address
    batch_router: Address
    wrapped_native: Address
    factories: Mapping[Address, str]
    listed: tuple[Address, ...]
    since_block: int | None
    fee_controllers: tuple[Address, ...]


def configured_deployments(context: Context) -> dict[int, Deployment]:
    """Returns the deployments of v2 by chain id. Raises ConfigError for a wrong row."""
    return _configured(context, 2, _v2)


def configured_v3(context: Context) -> dict[int, DeploymentV3]:
    """Returns the deployments of v3 by chain id. Raises ConfigError for a wrong row."""
    return _configured(context, 3, _v3)


_Row = TypeVar("_Row")
_Rows = dict[tuple[int, object], tuple[Network, Mapping[str, Any]]]


def _configured(
    context: Context, version: int, parsed: Callable[[Network, Address, Mapping[str, Any]], _Row]
) -> dict[int, _Row]:
    rows: _Rows = {}
    for network in context.networks:
        for row in network.deployments.get("balancer", ()):
            _add(rows, network, row, f"deployments.balancer of network {network.slug!r}")
    own: _Rows = {}
    where = "plugin.balancer.deployments"
    for row in context.settings.get("deployments", ()):
        members = dict(row)
        slug = members.pop("network", None)
        found = context.networks.find(slug) if isinstance(slug, str) else None
        if found is None:
            known = ", ".join(network.slug for network in context.networks)
            raise ConfigError(f"{where}: network must be one of {known}, got {slug!r}")
        _add(own, found, members, where)
    return {
        chain_id: _parsed(network, row, parsed)
        for (chain_id, of), (network, row) in (rows | own).items()
        if of == version
    }


def _add(rows: _Rows, network: Network, row: Mapping[str, Any], where: str) -> None:
    version = row.get("version", 2)
    if version not in (2, 3):
        raise ConfigError(f"{where}: version must be 2 or 3, got {version!r}")
    if (network.chain_id, version) in rows:
        raise ConfigError(f"{where}: network {network.slug!r} has two rows of v{version}, and may have one")
    rows[network.chain_id, version] = network, row


def _parsed(
    network: Network, row: Mapping[str, Any], parsed: Callable[[Network, Address, Mapping[str, Any]], _Row]
) -> _Row:
    where = f"the balancer row of network {network.slug!r}"
    if network.wrapped_native is None:
        raise ConfigError(f"{where}: the network has no wrapped_native, which the Vault needs")
    try:
        return parsed(network, parse_address(network.wrapped_native), row)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{where}: {error}") from None


def _v2(network: Network, wrapped: Address, row: Mapping[str, Any]) -> Deployment:
    _check_members(row, _MEMBERS)
    return Deployment(
        network.chain_id,
        _address(row.get("vault", VAULT)),
        wrapped,
        _factories(row.get("factories"), FAMILIES),
        tuple(_pool_id(text) for text in row.get("pools", ())),
        _since_block(row.get("since_block")),
    )


def _v3(network: Network, wrapped: Address, row: Mapping[str, Any]) -> DeploymentV3:
    _check_members(row, _MEMBERS | {"batch_router", "fee_controllers"})
    if "batch_router" not in row:
        raise ValueError("batch_router is missing: the contract that executes swaps")
    return DeploymentV3(
        network.chain_id,
        _address(row.get("vault", VAULT_V3)),
        _address(row["batch_router"]),
        wrapped,
        _factories(row.get("factories"), FAMILIES_V3),
        tuple(_address(text) for text in row.get("pools", ())),
        _since_block(row.get("since_block")),
        tuple(_address(text) for text in row.get("fee_controllers", ())),
    )


def _check_members(row: Mapping[str, Any], expected: set[str]) -> None:
    unknown = sorted(set(row) - expected)
    if unknown:
        raise ValueError(f"unknown member {unknown[0]!r}: expected one of {', '.join(sorted(expected))}")


def _factories(given: Any, families: Mapping[str, object]) -> dict[Address, str]:
    if not isinstance(given, Mapping) or not given:
        raise ValueError("factories must be a table of addresses with the families of their pools")
    for family in given.values():
        if family not in families:
            raise ValueError(f"factories: {family!r} is no family; known: {', '.join(families)}")
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
