"""ERC-4626 tokenized vaults: those of the configuration and of networks' rows, and any other by its id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import Context, EventSource, VaultProvider


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_erc4626.settings import Erc4626Settings

    return Erc4626Settings


@hookimpl
def quoteway_vault_providers(context: Context) -> Iterable[VaultProvider]:
    from quoteway_erc4626.provider import Erc4626Provider

    return (Erc4626Provider(context),)


@hookimpl
def quoteway_event_sources(context: Context) -> Iterable[EventSource]:
    from quoteway_erc4626.event_sources import event_sources

    return tuple(event_sources(context))
