"""Uniswap v2, v3 and v4 and their forks: swaps through the Universal Router, liquidity and prices."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import (
        Context,
        EventSource,
        Executor,
        LiquiditySource,
        PoolProvider,
        PriceSource,
        SwapProvider,
    )


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_uniswap.settings import UniswapSettings

    return UniswapSettings


@hookimpl
def quoteway_lifespan(context: Context) -> AbstractAsyncContextManager[Any]:
    from quoteway_uniswap.shared import shared_by

    return shared_by(context)


@hookimpl
def quoteway_swap_providers(context: Context) -> Iterable[SwapProvider]:
    from quoteway_uniswap.provider import UniswapProvider

    return (UniswapProvider(context),)


@hookimpl
def quoteway_liquidity_sources(context: Context) -> Iterable[LiquiditySource]:
    from quoteway_uniswap.fork_liquidity import ForkLiquidity
    from quoteway_uniswap.liquidity_source import UniswapLiquidity

    forks = ForkLiquidity(context)
    return (UniswapLiquidity(context), *((forks,) if forks.networks else ()))


@hookimpl
def quoteway_executors(context: Context) -> Iterable[Executor]:
    from quoteway_uniswap.fork_executors import executors_of
    from quoteway_uniswap.forks import forks_of

    return executors_of(context, forks_of(context))


@hookimpl
def quoteway_pool_providers(context: Context) -> Iterable[PoolProvider]:
    from quoteway_uniswap.pool_provider import UniswapPools

    return (UniswapPools(context),)


@hookimpl
def quoteway_price_sources(context: Context) -> Iterable[PriceSource]:
    from quoteway_uniswap.prices import UniswapPrices

    return (UniswapPrices(context),)


@hookimpl
def quoteway_event_sources(context: Context) -> Iterable[EventSource]:
    from quoteway_uniswap.event_sources import event_sources
    from quoteway_uniswap.position_sources import position_sources

    return (*event_sources(context), *position_sources(context))
