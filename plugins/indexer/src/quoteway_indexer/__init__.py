"""History: keeps the events of chains as facts, and computes series, prices and positions from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from quoteway import hookimpl

if TYPE_CHECKING:
    import click
    from marshmallow import Schema


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_indexer.settings import IndexerSettings

    return IndexerSettings


@hookimpl
def quoteway_commands() -> Iterable[click.Command]:
    from quoteway_indexer.command import index

    return (index,)
