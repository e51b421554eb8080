"""JSON-RPC upstreams and the default networks. This module only registers them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import Context, DoctorCheck, Network, RpcUpstream

    from quoteway_rpc.dispatch import Dispatcher


@hookimpl
def quoteway_settings() -> type[Schema]:
    from quoteway_rpc.settings import RpcSettings

    return RpcSettings


@hookimpl
def quoteway_networks() -> Iterable[Network]:
    from quoteway_rpc.default_networks import DEFAULT_NETWORKS

    return DEFAULT_NETWORKS


@hookimpl
def quoteway_rpc_upstreams(context: Context) -> Iterable[RpcUpstream]:
    return [_dispatcher(context)]


@hookimpl
def quoteway_lifespan(context: Context) -> AbstractAsyncContextManager[None]:
    return _dispatcher(context).running()


@hookimpl
def quoteway_doctor_checks(context: Context) -> Iterable[DoctorCheck]:
    url = context.settings["cache_store"]
    if url is None:
        return ()
    from quoteway_rpc.cache_store import cache_check

    return (cache_check(url.reveal()),)


def _dispatcher(context: Context) -> Dispatcher:
    """Returns the one dispatcher of this gateway, which is both the provider and the lifespan's object."""
    from quoteway_rpc.dispatch import Dispatcher

    if "dispatcher" not in context.state:
        context.state["dispatcher"] = Dispatcher(context)
    dispatcher: Dispatcher = context.state["dispatcher"]
    return dispatcher
