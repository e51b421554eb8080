"""How the swaps of a provider did on the chain, beside what was quoted."""

from __future__ import annotations

from quoteway.errors import NotFound
from quoteway.models import Capability
from quoteway.web.http.fields import Text
from quoteway.web.http.operation import Call, get
from quoteway.web.http.schema import RequestSchema
from quoteway.web.wire.performance import ProviderPerformance
from quoteway.web.wire.view import Wire


class ProviderPath(RequestSchema):
    provider = Text(
        "Id of a swap provider",
        max_length=64,
        pattern=r"[a-z0-9][a-z0-9-]*",
        hint="must be the id of a provider",
        data_key="id",
        required=True,
    )


@get(
    "/v2/providers/{id}/performance",
    "Realised against quoted amounts of a provider's swaps",
    ProviderPerformance,
    tag="deployment",
    path_schema=ProviderPath,
    description=(
        "By network, class of pairs and size. A swap counts when its hash was reported "
        "(`POST /v2/transactions/{txId}/submit-hash`), or when the index finds its transaction, and the "
        "transaction is the one that was built. At most the newest 1,000 of a provider."
    ),
    failures=(404,),
)
async def get_provider_performance(call: Call) -> Wire:
    provider_id: str = call.path["provider"]
    registry, fills = call.gateway.registry, call.gateway.fills
    if registry.get(Capability.SWAP, provider_id) is None:
        raise NotFound("No enabled swap provider has this id: GET /v2/providers lists them.")
    return ProviderPerformance.of(
        call.networks,
        provider=provider_id,
        since=fills.since,
        indexed=bool(registry.enabled(Capability.METRICS)),
        waiting=fills.waiting,
        data=fills.of(provider_id),
    )


OPERATIONS = (get_provider_performance,)
