"""A client of a cluster that outlives the failure of all its nodes. Imported where a URL names a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from valkey.asyncio import ConnectionPool, Valkey
from valkey.asyncio.cluster import ClusterNode, ValkeyCluster

_OF_CONNECTIONS = frozenset(["connection_class", "tls_files"])


class ClusterStore(ValkeyCluster):
    """A cluster, found by the node that the URL names.

    ``ValkeyCluster`` forgets each node that fails, the last one too. Here that of the URL is asked again.
    A command is tried once more, when the cluster has changed: callers limit the time of all tries.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments
        known = {name: value for name, value in arguments.items() if name not in _OF_CONNECTIONS}
        super().__init__(
            **known, cluster_error_retry_attempts=1, connection_error_retry_attempts=0, retry=None
        )
        # It has no argument for the class of its connections, and has made its first node already.
        of_connections = arguments.keys() & _OF_CONNECTIONS
        self.connection_kwargs.update({name: arguments[name] for name in of_connections})
        self.nodes_manager.startup_nodes.clear()

    async def initialize(self) -> ClusterStore:
        """Finds the nodes of the cluster, where they are not known."""
        if self._initialize:
            seed = ClusterNode(
                self._arguments["host"], self._arguments["port"], **self.nodes_manager.connection_kwargs
            )
            self.nodes_manager.startup_nodes.setdefault(seed.name, seed)
        await super().initialize()
        return self

    def subscriber(self) -> Any:
        """Returns a client of one node. ``ValkeyCluster`` has no subscriptions."""
        node = self.get_random_node() if self.nodes_manager.nodes_cache else None
        place = {} if node is None else {"host": node.host, "port": node.port}
        return Valkey.from_pool(ConnectionPool(**{**self._arguments, **place}))
