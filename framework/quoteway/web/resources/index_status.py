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
from quoteway.web.http.operation import Call, ask_checked, get
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
    found = await index_statuses(call.gateway)
    network: Network | None = call.query.get("network")
    rows = [each for each in found if network is None or each.chain_id == network.chain_id]
    return IndexStatus.of(call.networks, data=rows)


async def index_statuses(gateway: Gateway) -> list[models.IndexStatus]:
    """Returns how far the indexes are, by chain id. Raises ``UpstreamError`` when none answers, and
    ``ProviderUnavailable`` when there is none.
    """
    kind = tuple[models.IndexStatus, ...]
    outcomes = await ask_checked(gateway, indexes(gateway), kind, _status, verb="index_status")
    found = [each for outcome in outcomes for each in outcome.value or ()]
    failed = [outcome for outcome in outcomes if outcome.value is None]
    if not found and failed:
        raise failed[0].failure("The index did not answer.")
    if not found:
        raise _without_index()
    return sorted(found, key=lambda each: each.chain_id)


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
