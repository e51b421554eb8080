"""Token catalog from Token Lists and the chain. This module only registers; the work is in its neighbours."""

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
    """The one catalog of this gateway: the provider that answers is the object that the lifespan feeds."""
    from quoteway_tokenlist.catalog import TokenListCatalog

    if "catalog" not in context.state:
        context.state["catalog"] = TokenListCatalog(context)
    catalog: TokenListCatalog = context.state["catalog"]
    return catalog
