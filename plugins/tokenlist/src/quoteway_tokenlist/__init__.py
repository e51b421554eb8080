"""Token catalog from Token Lists and the chain. This module only registers it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import Context, TokenCatalog

    from quoteway_tokenlist.catalog import TokenListCatalog


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_tokenlist.settings import TokenListSettings

    return TokenListSettings


@hookimpl
def quoteway_token_catalogs(context: Context) -> Iterable[TokenCatalog]:
    return [_catalog(context)]


@hookimpl
def quoteway_lifespan(context: Context) -> AbstractAsyncContextManager[None]:
    return _catalog(context).running()


def _catalog(context: Context) -> TokenListCatalog:
    """Returns the one catalog of this gateway, which is both the provider and the lifespan's object."""
    from quoteway_tokenlist.catalog import TokenListCatalog

    if "catalog" not in context.state:
        context.state["catalog"] = TokenListCatalog(context)
    catalog: TokenListCatalog = context.state["catalog"]
    return catalog
