"""Balancer v2: its weighted and composable stable pools as liquidity, and swaps through its Vault."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import Context, Executor, LiquiditySource


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_balancer.settings import BalancerSettings

    return BalancerSettings


@hookimpl
def quoteway_lifespan(context: Context) -> AbstractAsyncContextManager[Any]:
    from quoteway_balancer.source import source_of

    return source_of(context)


@hookimpl
def quoteway_liquidity_sources(context: Context) -> Iterable[LiquiditySource]:
    from quoteway_balancer.source import source_of

    return (source_of(context),)


@hookimpl
def quoteway_executors(context: Context) -> Iterable[Executor]:
    from quoteway_balancer.executor import BalancerVault

    return (BalancerVault(context),)
