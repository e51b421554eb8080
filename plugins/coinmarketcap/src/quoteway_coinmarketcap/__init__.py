"""Market facts of listed tokens from CoinMarketCap. This module only registers them.

Without ``[plugin.coinmarketcap] api_key`` no request is made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import Context, TokenCatalog

    from quoteway_coinmarketcap.catalog import CoinMarketCap


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_coinmarketcap.settings import CoinMarketCapSettings

    return CoinMarketCapSettings


@hookimpl
def quoteway_token_catalogs(context: Context) -> Iterable[TokenCatalog]:
    if context.settings["api_key"] is None:
        context.log.info("CoinMarketCap is not used: set api_key in [plugin.coinmarketcap] to use it")
        return ()
    return (_catalog(context),)


@hookimpl
def quoteway_lifespan(context: Context) -> AbstractAsyncContextManager[None]:
    return contextlib.nullcontext() if context.settings["api_key"] is None else _catalog(context).running()


def _catalog(context: Context) -> CoinMarketCap:
    """Returns the one catalog of this gateway, which is both the provider and the lifespan's object."""
    from quoteway_coinmarketcap.catalog import CoinMarketCap

    if "catalog" not in context.state:
        context.state["catalog"] = CoinMarketCap(context)
    catalog: CoinMarketCap = context.state["catalog"]
    return catalog
