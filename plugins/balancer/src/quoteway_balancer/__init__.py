"""Balancer v2 and v3: weighted and composable stable pools as liquidity, and swaps through them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import Context, EventSource, Executor, LiquiditySource


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_balancer.settings import BalancerSettings

    return BalancerSettings


@hookimpl
@asynccontextmanager
async def quoteway_lifespan(context: Context) -> AsyncIterator[None]:
    from quoteway_balancer.source import sources_of

    sources = sources_of(context)
    async with sources.v2, sources.v3:
        yield


@hookimpl
def quoteway_liquidity_sources(context: Context) -> Iterable[LiquiditySource]:
    from quoteway_balancer.source import sources_of

    sources = sources_of(context)
    return (sources.v2, sources.v3) if sources.v3.networks else (sources.v2,)


@hookimpl
def quoteway_executors(context: Context) -> Iterable[Executor]:
    from quoteway_balancer.batch_router import BalancerBatchRouter
    from quoteway_balancer.executor import BalancerVault

    vault, router = BalancerVault(context), BalancerBatchRouter(context)
    return (vault, router) if router.networks else (vault,)


@hookimpl
def quoteway_event_sources(context: Context) -> Iterable[EventSource]:
    from quoteway_balancer.event_sources import event_sources

    return event_sources(context)
