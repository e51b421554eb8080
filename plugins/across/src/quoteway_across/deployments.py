"""The deployment of Across on a network, as a row of data.

A row is a mapping as it comes from a network's ``deployments["across"]`` or from ``[plugin.across]
deployments``::

    {
        "spoke_pool": "0x5c7B...",              # the SpokePool proxy
        "api": "https://app.across.to/api",     # the API that suggests fees for deposits made here
        "wrapped_native": "0xC02a...",          # default: the network's
    }

Transfers go between networks whose rows name the same API.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quoteway import Address, ConfigError, Context, Network
from quoteway.evm.address import parse_address
from yarl import URL

from quoteway_across.public_networks import ROWS


@dataclass(frozen=True, slots=True)
class Deployment:
    """One network's SpokePool and the API that serves it."""

    chain_id: int
    slug: str
    spoke_pool: Address
    api: URL
    wrapped_native: Address | None
    block_time_s: float


def configured_deployments(context: Context) -> dict[int, Deployment]:
    """Returns the deployment of each chain id. Configured rows replace the network's own, which replace the
    built-in ones. Raises ConfigError.
    """
    chosen: dict[int, Mapping[str, object]] = {}
    for row in context.settings.get("deployments", ()):
        members = dict(row)
        network = context.networks.configured(members.pop("network", None), "plugin.across.deployments")
        chosen[network.chain_id] = members
    found = {}
    for network in context.networks:
        rows = network.deployments.get("across", ())
        row = chosen.get(network.chain_id) or (rows[0] if rows else ROWS.get(network.chain_id))
        if row is not None:
            found[network.chain_id] = deployment_of(network, row)
    return found


def deployment_of(network: Network, row: Mapping[str, object]) -> Deployment:
    """Returns the deployment that a row describes. Raises ConfigError naming the member at fault."""
    unknown = row.keys() - {"spoke_pool", "api", "wrapped_native"}
    if unknown:
        raise ConfigError(f"across row of {network.slug}: unknown member {', '.join(sorted(unknown))}")
    wrapped = row.get("wrapped_native", network.wrapped_native)
    return Deployment(
        network.chain_id,
        network.slug,
        _address(network, "spoke_pool", row.get("spoke_pool")),
        _url(network, row.get("api")),
        None if wrapped is None else _address(network, "wrapped_native", wrapped),
        network.block_time_s,
    )


def _address(network: Network, member: str, value: object) -> Address:
    try:
        return parse_address(value if isinstance(value, str) else "")
    except ValueError:
        raise ConfigError(
            f"across row of {network.slug}: {member} {value!r} is not an EIP-55 address: correct it"
        ) from None


def _url(network: Network, value: object) -> URL:
    try:
        url = URL(value) if isinstance(value, str) else URL()
    except ValueError:
        url = URL()
    if url.scheme not in ("http", "https") or not url.host or url.query_string:
        raise ConfigError(f"across row of {network.slug}: api must be an http(s) URL without a query")
    return url
