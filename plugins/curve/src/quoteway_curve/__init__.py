"""StableSwap pools of Curve, swapped through Curve's Router NG.

Nothing is built in: without rows in `[plugin.curve] routers` and `pools` the plugin does nothing.
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
    from quoteway_curve.settings import CurveSettings

    return CurveSettings


@hookimpl
def quoteway_liquidity_sources(context: Context) -> Iterable[LiquiditySource]:
    from quoteway_curve.source import source_of

    return [source_of(context)] if source_of(context).networks else []


@hookimpl
def quoteway_executors(context: Context) -> Iterable[Executor]:
    from quoteway_curve.executor import CurveRouter
    from quoteway_curve.source import source_of

    return [CurveRouter(source_of(context))] if source_of(context).networks else []


@hookimpl
def quoteway_call_descriptions(context: Context) -> Iterable[ContractDescription]:
    from quoteway_curve.deployments import deployments_of
    from quoteway_curve.executor import descriptions

    return descriptions(deployments_of(context))


@hookimpl
def quoteway_event_sources(context: Context) -> Iterable[EventSource]:
    from quoteway_curve.event_sources import event_sources

    return event_sources(context)
