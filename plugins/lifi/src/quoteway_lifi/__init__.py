"""The LI.FI API as one more provider of swaps and transfers. This module only registers.

Nothing is offered before ``[plugin.lifi] enabled = true``: a default installation never talks to LI.FI.
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
        context.log.info("LI.FI is not asked: set enabled = true in [plugin.lifi] to use it")
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
    """What both providers share: one API, one hold after a 429, one memory of what was built."""
    from quoteway_lifi.quoting import Quoter

    if "quoter" not in context.state:
        context.state["quoter"] = Quoter(context)
    quoter: Quoter = context.state["quoter"]
    return quoter
