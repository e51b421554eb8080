"""The deployment of a factory on a network, as a row of data.

Rows come from a network's ``deployments["managedvault"]`` or from ``[plugin.managedvault] deployments``::

    {
        "factory": "0x22E1...",
        # ERC-4626 vaults, by names of your choice
        "strategies": [{"id": "steady-usdc", "vault": "0x169f..."}],
    }

One factory per network; of several rows the last counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quoteway import Address, ConfigError, Context
from quoteway.evm.address import parse_address

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Deployment:
    """A factory and the strategies offered with it, by id."""

    factory: Address
    strategies: Mapping[str, Address]

    def strategy(self, text: str) -> Address | None:
        """Returns the offered strategy with that id or address; None when there is none."""
        if text in self.strategies:
            return self.strategies[text]
        try:
            address = parse_address(text)
        except ValueError:
            return None
        return address if address in self.strategies.values() else None


def deployments_of(context: Context) -> dict[int, Deployment]:
    """Returns the deployments by chain id. Raises ``ConfigError``."""
    found: dict[int, Deployment] = {}
    for network in context.networks:
        for row in network.deployments.get("managedvault", ()):
            found[network.chain_id] = _parsed(row, f"deployments.managedvault of network {network.slug!r}")
    for row in context.settings.get("deployments", ()):
        members, where = dict(row), "plugin.managedvault.deployments"
        network = context.networks.configured(members.pop("network", None), where)
        found[network.chain_id] = _parsed(members, where)
    return found


def _parsed(row: Mapping[str, Any], where: str) -> Deployment:
    unknown = sorted(set(row) - {"factory", "strategies"})
    if unknown:
        raise ConfigError(f"{where}: unknown member {unknown[0]!r}; known: network, factory, strategies")
    try:
        strategies = {}
        for item in row.get("strategies", ()):
            name = str(item["id"])
            if not _ID.fullmatch(name):
                raise ValueError(f"strategy id {name!r} must be lowercase words joined by dashes")
            strategies[name] = parse_address(item["vault"])
        return Deployment(parse_address(row["factory"]), strategies)
    except KeyError as error:
        raise ConfigError(f"{where}: {error.args[0]} is missing") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"{where}: {error}") from None
