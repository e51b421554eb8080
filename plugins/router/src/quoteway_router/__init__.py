"""Routes over the pools that plugins contribute, and the solver processes that split orders."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import Context, SwapProvider


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_router.settings import RouterSettings

    return RouterSettings


@hookimpl
def quoteway_lifespan(context: Context) -> AbstractAsyncContextManager[Any]:
    from quoteway_router.swaps import splitting_of

    return splitting_of(context).solvers


@hookimpl
def quoteway_swap_providers(context: Context) -> Iterable[SwapProvider]:
    from quoteway_router.swaps import ExecutorSwaps

    return tuple(ExecutorSwaps(context, executor) for executor in context.liquidity.executors())
