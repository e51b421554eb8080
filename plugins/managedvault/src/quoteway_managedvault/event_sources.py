"""The deposits and withdrawals of managed vaults, for an indexer."""

from __future__ import annotations

from collections.abc import Iterator

from quoteway import ChildContracts, Context, EventSource
from quoteway_erc4626.event_sources import vault_source

from quoteway_managedvault.deployments import deployments_of

_DEPLOYED = (
    "VaultDeployed(address indexed vault, address indexed asset, address indexed owner, address bot, "
    "address strategy, bytes32 salt)"
)


def event_sources(context: Context) -> Iterator[EventSource]:
    """Yields one source for each factory: all its vaults. Raises ``ConfigError``."""
    for chain_id, deployment in deployments_of(context).items():
        children = ChildContracts((deployment.factory,), _DEPLOYED, "vault")
        yield vault_source("managedvault", chain_id, children=children)
