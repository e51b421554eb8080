"""The deposits and withdrawals of vaults, for an indexer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quoteway import Address, ChildContracts, Context, EventRule, EventSource

FAMILY = "erc4626"
"""The indexer stores the share prices of these vaults."""
VERSION = 1
RULES = (
    EventRule(
        "Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares)",
        "vault_flow",
        {"vault": "@", "sender": "sender", "owner": "owner", "assets": "assets", "shares": "shares"},
    ),
    EventRule(
        "Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, "
        "uint256 shares)",
        "vault_flow",
        {"vault": "@", "sender": "sender", "owner": "owner", "assets": "-assets", "shares": "-shares"},
    ),
)


def vault_source(
    source_id: str,
    chain_id: int,
    vaults: Iterable[Address] = (),
    children: ChildContracts | None = None,
) -> EventSource:
    """Returns the source of these vaults, or of those that a factory makes."""
    return EventSource(source_id, chain_id, VERSION, RULES, tuple(vaults), children, family=FAMILY)


def event_sources(context: Context) -> Iterator[EventSource]:
    """Yields one source for each network with listed vaults. Raises ``ConfigError``."""
    from quoteway_erc4626.provider import listed_rows

    for chain_id, vaults in listed_rows(context).items():
        yield vault_source("erc4626", chain_id, vaults)
