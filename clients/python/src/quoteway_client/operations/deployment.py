"""Providers, networks and the index of the deployment.

Written by clients/python/generate.py from the OpenAPI document: do not edit.
"""

from __future__ import annotations

from quoteway_client.calls import Call, segment
from quoteway_client.models.deployment import IndexStatus, NetworkPage, ProviderPage, ProviderPerformance
from quoteway_client.resource import AsyncListed, Awaited, Blocking, Listed, Resource, ResourceAsync


def list_providers(*, limit: int | None = None, cursor: str | None = None) -> Call[ProviderPage]:
    """Providers, and why one is not enabled.

    Made at each request: how the calls of each provider did in the worker that answers, and for one
    that is not enabled the reason. With an API key that is limited to some providers, of those that
    quote only these.

    ``limit``: Number of rows on a page
    ``cursor``: Value of `nextCursor` of the page before.
    """
    return Call("GET", "/v2/providers", ProviderPage, query={"limit": limit, "cursor": cursor})


def list_networks(*, limit: int | None = None, cursor: str | None = None) -> Call[NetworkPage]:
    """Networks of this deployment.

    All networks that providers or the configuration name, with what is served on each and whether it
    works.

    ``limit``: Number of rows on a page
    ``cursor``: Value of `nextCursor` of the page before.
    """
    return Call("GET", "/v2/networks", NetworkPage, query={"limit": limit, "cursor": cursor})


def get_provider_performance(provider_id: str) -> Call[ProviderPerformance]:
    """Realised against quoted amounts of a provider's swaps.

    By network, class of pairs and size. A swap counts when its hash was reported (`POST
    /v2/transactions/{txId}/submit-hash`), or when the index finds its transaction, and the transaction
    is the one that was built. At most the newest 1,000 of a provider.

    ``provider_id``: Id of a swap provider.
    """
    return Call("GET", f"/v2/providers/{segment(provider_id)}/performance", ProviderPerformance)


def get_index_status(*, network: str | None = None) -> Call[IndexStatus]:
    """How far the index of each network is.

    `state` is `starting`, `indexing` (history is missing), `following` (complete, and new blocks are
    read), `waiting` (the last attempt failed, `problem` says why, and it goes on by itself) or
    `stopped` (the index process says nothing since `updatedAt`). `etaSeconds` is an estimate. `spans`
    of a source are the blocks that were read. 503 in a deployment without an index.

    ``network``: Only this network.
    """
    return Call("GET", "/v2/index/status", IndexStatus, query={"network": network})


class DeploymentOperations(Resource):
    """Providers, networks and the index of the deployment."""

    providers = Listed(list_providers)
    networks = Listed(list_networks)
    performance = Blocking(get_provider_performance)
    index_status = Blocking(get_index_status)


class AsyncDeploymentOperations(ResourceAsync):
    """Providers, networks and the index of the deployment."""

    providers = AsyncListed(list_providers)
    networks = AsyncListed(list_networks)
    performance = Awaited(get_provider_performance)
    index_status = Awaited(get_index_status)
