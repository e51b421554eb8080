"""Level 0: the plugin loads, and the types of what it says of itself are right."""

from __future__ import annotations

import inspect

from quoteway.guard.findings import is_address
from quoteway.testing.levels.check import TRANSACTIONS, Check, require
from quoteway.testing.levels.subject import Subject


async def facts_have_their_types(subject: Subject) -> None:
    provider = subject.provider
    require(isinstance(provider.title, str) and provider.title.strip(), "title is not a text for people")
    require(isinstance(provider.networks, frozenset), "networks is not a frozenset of chain ids")
    require(provider.docs is None or str(provider.docs).startswith("https://"), "docs is no https:// link")
    healthy = await provider.healthy()
    require(healthy in (True, False, None), f"healthy() returns {healthy!r:.60}")


async def a_network_of_the_devnet_is_served(subject: Subject) -> None:
    require(subject.chain_ids, "it serves none of the networks of the gateway, so nothing can be checked")


async def contracts_are_addresses_with_labels(subject: Subject) -> None:
    for chain_id in subject.chain_ids:
        contracts = subject.provider.contracts(chain_id)
        for address in (*contracts, *subject.provider.spenders(chain_id)):
            require(is_address(address), f"{address!r:.60} is no address")
        for address, label in contracts.items():
            require(label.strip() and label.isprintable(), f"the label of {address} is {label!r:.60}")


async def plan_version_is_positive(subject: Subject) -> None:
    version = subject.provider.plan_version
    require(type(version) is int and version > 0, f"plan_version is {version!r:.60}")


async def plain_methods_are_not_async(subject: Subject) -> None:
    provider = subject.provider
    for name in ("contracts", "spenders", "serves"):
        require(not inspect.iscoroutinefunction(getattr(provider, name)), f"{name} is async")


LOADING: tuple[Check, ...] = (
    Check(
        "facts_have_their_types",
        0,
        "Set title, networks and docs of the provider class as their annotations say.",
        facts_have_their_types,
    ),
    Check(
        "a_network_of_the_devnet_is_served",
        0,
        "Give the plugin settings for chain 31337 or 31338 (`--config FILE`, section [plugin.NAME]).",
        a_network_of_the_devnet_is_served,
    ),
    Check(
        "contracts_are_addresses_with_labels",
        0,
        "Return EIP-55 addresses, each with a printable label, from contracts() and spenders().",
        contracts_are_addresses_with_labels,
    ),
    Check(
        "plain_methods_are_not_async",
        0,
        "Write contracts(), spenders() and serves() as plain functions that answer from memory.",
        plain_methods_are_not_async,
    ),
    Check(
        "plan_version_is_positive",
        0,
        "Set plan_version to 1, and increase it when build() can no longer use older plans.",
        plan_version_is_positive,
        TRANSACTIONS,
    ),
)
