"""History: keeps the events of chains as facts, and computes series, prices and positions from them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING

from quoteway import hookimpl

if TYPE_CHECKING:
    import click
    from marshmallow import Schema
    from quoteway import Context, DoctorCheck, EventSource, MetricsProvider, Network


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_indexer.settings import IndexerSettings

    return IndexerSettings


@hookimpl
def quoteway_networks(context: Context) -> Iterable[Network]:
    from quoteway_indexer.embedded import given_networks

    return given_networks(context)


@hookimpl
def quoteway_lifespan(context: Context) -> AbstractAsyncContextManager[None]:
    from quoteway_indexer.deployment import running

    return running(context)


@hookimpl
def quoteway_commands() -> Iterable[click.Command]:
    from quoteway_indexer.command import index

    return (index,)


@hookimpl
def quoteway_doctor_checks(context: Context) -> Iterable[DoctorCheck]:
    from quoteway_indexer.deployment import enabled

    if not enabled(context) or context.settings["store"] == "duckdb":  # a file has no server
        return ()
    from quoteway import DoctorCheck

    from quoteway_indexer.stores import ask_server

    ask = partial(ask_server, context.settings)
    return (DoctorCheck("url", ask, "the index is neither written nor read"),)


@hookimpl
def quoteway_event_sources(context: Context) -> Iterable[EventSource]:
    from quoteway_indexer.deployment import enabled
    from quoteway_indexer.transfer_sources import transfer_sources

    return transfer_sources(context) if enabled(context) else ()


@hookimpl
def quoteway_metrics_providers(context: Context) -> Iterable[MetricsProvider]:
    from quoteway_indexer.deployment import enabled, networks_of, reader_of

    if not enabled(context):
        return ()
    from quoteway_indexer.chosen_rollups import ChosenRollups
    from quoteway_indexer.metrics import IndexMetrics
    from quoteway_indexer.store_settings import chosen_rollups

    chain_ids = frozenset(network.chain_id for network in networks_of(context))
    reader = ChosenRollups(reader_of(context), chosen_rollups(context.settings))
    return [IndexMetrics(context, reader, chain_ids)]
