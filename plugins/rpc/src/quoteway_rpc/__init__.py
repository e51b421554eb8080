"""JSON-RPC upstreams and the default networks. This module only registers them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from quoteway import hookimpl

if TYPE_CHECKING:
    from marshmallow import Schema
    from quoteway import Context, Network, RpcUpstream


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
    from quoteway_rpc.dispatch import Dispatcher

    return [Dispatcher(context)]
