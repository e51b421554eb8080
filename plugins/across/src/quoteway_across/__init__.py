"""Across: transfers to another chain by intent deposits, as a bridge and as a cross-chain swap of one
token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import BridgeProvider, Context, EventSource, SwapProvider

    from quoteway_across.transfers import Transfers


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_across.settings import AcrossSettings

    return AcrossSettings


@hookimpl
def quoteway_bridge_providers(context: Context) -> Iterable[BridgeProvider]:
    from quoteway_across.provider import AcrossBridge

    return (AcrossBridge(context, _transfers(context)),)


@hookimpl
def quoteway_swap_providers(context: Context) -> Iterable[SwapProvider]:
    from quoteway_across.provider import AcrossSwaps

    return (AcrossSwaps(_transfers(context)),)


@hookimpl
def quoteway_event_sources(context: Context) -> Iterable[EventSource]:
    from quoteway_across.event_sources import event_sources

    return event_sources(context)


def _transfers(context: Context) -> Transfers:
    """Returns the object that both providers share: its list of routes and the API's health."""
    from quoteway_across.transfers import Transfers

    if "transfers" not in context.state:
        context.state["transfers"] = Transfers(context)
    transfers: Transfers = context.state["transfers"]
    return transfers
