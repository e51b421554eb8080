"""The contracts that LI.FI's transactions may go to and spend through: rows of data.

A row is a mapping, built in below by chain id, from a network's ``deployments["lifi"]``, or from
``[plugin.lifi] deployments``::

    {"address": "0x1231...", "label": "LI.FI Diamond"}

Rows of the configuration replace those of the network, which replace the built-in ones. LI.FI sends a
transaction to its Diamond (EIP-2535) or, for some routes, to others' contracts. The core refuses a contract
that is not listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from quoteway import Address, ConfigError, Context
from quoteway.evm.address import parse_address

_DIAMOND = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
_LABEL = "LI.FI Diamond"

# LiFiDiamond in deployments/<network>.json of lifinance/contracts, and diamondAddress of the API's /chains.
DIAMONDS: Mapping[int, Address] = {
    1: _DIAMOND,  # Ethereum
    10: _DIAMOND,  # Optimism
    56: _DIAMOND,  # BNB Smart Chain
    130: "0x864b314D4C5a0399368609581d3E8933a63b9232",  # Unichain
    137: _DIAMOND,  # Polygon
    8453: _DIAMOND,  # Base
    42161: _DIAMOND,  # Arbitrum One
}


def registry_of(context: Context) -> Mapping[int, Mapping[Address, str]]:
    """Returns the listed contracts with their labels, by chain id. Raises ``ConfigError`` for a bad row."""
    configured: dict[str, list[Mapping[str, Any]]] = {}
    for row in context.settings["deployments"]:
        network = context.networks.configured(row.get("network"), "plugin.lifi.deployments")
        configured.setdefault(network.slug, []).append(row)
    found = {}
    for network in context.networks:
        rows: Iterable[Mapping[str, Any]] = configured.get(network.slug) or network.deployments.get(
            "lifi", ()
        )
        listed = dict(_contract(network.slug, row) for row in rows)
        if not listed and network.chain_id in DIAMONDS:
            listed = {DIAMONDS[network.chain_id]: _LABEL}
        if listed:
            found[network.chain_id] = listed
    return found


def _contract(slug: str, row: Mapping[str, Any]) -> tuple[Address, str]:
    unknown = sorted(set(row) - {"network", "address", "label"})
    if unknown:
        raise ConfigError(f"LI.FI contract on {slug}: unknown member {unknown[0]!r}; known: address, label")
    address, label = row.get("address"), row.get("label", _LABEL)
    try:
        if not isinstance(address, str) or not isinstance(label, str):
            raise ValueError("address and label must be text")
        return parse_address(address), label
    except ValueError as error:
        raise ConfigError(f"LI.FI contract on {slug}: {error}") from None
