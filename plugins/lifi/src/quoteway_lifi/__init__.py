"""The LI.FI API as a provider of swaps and transfers. This module only registers it.

Without ``[plugin.lifi] enabled = true`` no request is made to LI.FI.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import BridgeProvider, Context, SwapProvider

    from quoteway_lifi.quoting import Quoter


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_lifi.settings import LifiSettings

    return LifiSettings


@hookimpl
def quoteway_swap_providers(context: Context) -> Iterable[SwapProvider]:
    if not context.settings["enabled"]:
        context.log.info("LI.FI is disabled: set enabled = true in [plugin.lifi] to use it")
        return ()
    from quoteway_lifi.provider import LifiSwaps

    return (LifiSwaps(_quoter(context)),)


@hookimpl
def quoteway_bridge_providers(context: Context) -> Iterable[BridgeProvider]:
    if not context.settings["enabled"]:
        return ()
    from quoteway_lifi.provider import LifiBridges

    return (LifiBridges(_quoter(context)),)


def _quoter(context: Context) -> Quoter:
    """Returns the object that both providers share: API client, pause after a 429, cache of builds."""
    from quoteway_lifi.quoting import Quoter

    if "quoter" not in context.state:
        context.state["quoter"] = Quoter(context)
    quoter: Quoter = context.state["quoter"]
    return quoter
