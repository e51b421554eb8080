"""Managed vaults: our own ERC-4626 vaults with an owner, a bot and strategies. Unaudited contracts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import Context, EventSource, VaultProvider


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_managedvault.settings import ManagedVaultSettings

    return ManagedVaultSettings


@hookimpl
def quoteway_vault_providers(context: Context) -> Iterable[VaultProvider]:
    from quoteway_managedvault.provider import ManagedVaultProvider

    return (ManagedVaultProvider(context),)


@hookimpl
def quoteway_event_sources(context: Context) -> Iterable[EventSource]:
    from quoteway_managedvault.event_sources import event_sources

    return tuple(event_sources(context))
