"""Volatile and stable pools of Solidly's descendants with the interface of Aerodrome and Velodrome v2.

Nothing is built in: without rows in `[plugin.solidly] deployments` the plugin does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import Context, ContractDescription, EventSource, Executor, LiquiditySource


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_solidly.settings import SolidlySettings

    return SolidlySettings


@hookimpl
def quoteway_liquidity_sources(context: Context) -> Iterable[LiquiditySource]:
    from quoteway_solidly.deployments import deployments_of
    from quoteway_solidly.source import SolidlyPools

    return [SolidlyPools(context, name, rows) for name, rows in deployments_of(context).items()]


@hookimpl
def quoteway_executors(context: Context) -> Iterable[Executor]:
    from quoteway_solidly.deployments import deployments_of
    from quoteway_solidly.executor import SolidlyRouter

    return [SolidlyRouter(context, name, rows) for name, rows in deployments_of(context).items()]


@hookimpl
def quoteway_call_descriptions(context: Context) -> Iterable[ContractDescription]:
    from quoteway_solidly.deployments import deployments_of
    from quoteway_solidly.executor import descriptions

    return descriptions(deployments_of(context))


@hookimpl
def quoteway_event_sources(context: Context) -> Iterable[EventSource]:
    from quoteway_solidly.event_sources import event_sources

    return event_sources(context)
