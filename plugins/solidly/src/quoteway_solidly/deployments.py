"""The configured deployments, by their name and chain."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway import Address, ConfigError, Context
from quoteway.evm.address import parse_address


@dataclass(frozen=True, slots=True)
class Deployment:
    """The contracts on one network, and the tokens that routes may pass through."""

    factory: Address
    router: Address
    wrapped_native: Address
    base_tokens: tuple[Address, ...]


Rows = dict[int, Deployment]


def title_of(name: str) -> str:
    """Returns what `/v2/providers` shows: how far a deployment is proven."""
    return f"{name.capitalize()} (not compared with its makers' contracts)"


def deployments_of(context: Context) -> dict[str, Rows]:
    """Returns the rows by name, then chain id. Raises ConfigError that names the wrong one.

    A row of a network that is not configured is left out, as everywhere.
    """
    found: dict[str, Rows] = {}
    for at, row in enumerate(context.settings["deployments"]):
        where = f"plugin.solidly.deployments[{at}]"
        network = context.networks.find(row["network"])
        if network is None:
            continue
        if network.wrapped_native is None:
            raise ConfigError(f"{where}: network {network.name} has no wrapped native coin")
        try:
            deployment = Deployment(
                parse_address(row["factory"]),
                parse_address(row["router"]),
                parse_address(network.wrapped_native),
                tuple(dict.fromkeys(parse_address(token) for token in row["base_tokens"])),
            )
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from None
        rows = found.setdefault(row["name"], {})
        if network.chain_id in rows:
            raise ConfigError(f"{where}: {row['name']} has two rows for network {network.name}")
        rows[network.chain_id] = deployment
    return found
