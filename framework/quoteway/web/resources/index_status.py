"""How far the index of each network is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from quoteway import models
from quoteway.engine.gateway import Gateway
from quoteway.errors import ProviderUnavailable, disabled
from quoteway.metrics_provider import MetricsProvider
from quoteway.models import Capability
from quoteway.networks import Network
from quoteway.providers import Provider
from quoteway.web.http.fields import NetworkField
from quoteway.web.http.operation import Call, ask_each, get
from quoteway.web.http.schema import RequestSchema
from quoteway.web.wire.index_status import IndexStatus
from quoteway.web.wire.view import Wire


class IndexQuery(RequestSchema):
    network = NetworkField("Only this network")


@get(
    "/v2/index/status",
    "How far the index of each network is",
    IndexStatus,
    tag="deployment",
    query=IndexQuery,
    description=(
        "`state` is `starting`, `indexing` (history is missing), `following` (complete, and new blocks are "
        "read), `waiting` (the last attempt failed, `problem` says why, and it goes on by itself) or "
        "`stopped` (the index process says nothing since `updatedAt`). `etaSeconds` is an estimate. `spans` "
        "of a source are the blocks that were read. 503 in a deployment without an index."
    ),
    failures=(502,),
)
async def get_index_status(call: Call) -> Wire:
    network: Network | None = call.query.get("network")
    found = await index_rows(call.gateway)
    rows = [each for each in found if network is None or each.chain_id == network.chain_id]
    return IndexStatus.of(call.networks, data=sorted(rows, key=lambda each: each.chain_id))


async def index_rows(gateway: Gateway) -> Sequence[models.IndexStatus]:
    """Returns how far the index of each network is.

    Raises ``ProviderUnavailable`` without an index, and ``UpstreamError`` when it does not answer.
    """
    kind = tuple[models.IndexStatus, ...]
    outcomes = await ask_each(gateway, indexes(gateway), kind, _status, verb="index_status")
    found = [each for outcome in outcomes for each in outcome.value or ()]
    failed = [outcome for outcome in outcomes if outcome.value is None]
    if not found and failed:
        raise failed[0].failure("The index did not answer.")
    if not found:
        raise _without_index()
    return found


def indexes(gateway: Gateway) -> Sequence[Provider]:
    """Returns the providers that may have an index. Raises ``ProviderUnavailable`` without any."""
    providers = gateway.registry.enabled(Capability.METRICS)
    if not providers:
        raise _without_index()
    return providers


def _without_index() -> ProviderUnavailable:
    return disabled("This deployment has no index.")


async def _status(provider: Provider) -> tuple[models.IndexStatus, ...]:
    return await cast(MetricsProvider, provider).index_status()


OPERATIONS = (get_index_status,)
