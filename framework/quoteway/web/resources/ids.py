"""Ids of pools and vaults, and the provider that a pool or vault belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

from quoteway.errors import NotFound, Reason, disabled
from quoteway.evm.address import parse_address
from quoteway.host.missing_contracts import missing_error
from quoteway.models import Capability
from quoteway.providers import Provider
from quoteway.web.http.fields import Member
from quoteway.web.http.operation import Call
from quoteway.web.http.schema import RequestSchema, refuse
from quoteway.web.resources.catalog import require_all


@dataclass(frozen=True, slots=True)
class ResourceId:
    """A pool's or vault's id in its one spelling: EIP-55 address, or a lowercase 32-byte id for v4 pools."""

    chain_id: int
    id: str


class VaultIdField(Member[ResourceId]):
    """``{chainId}:{vaultAddress}``, any case in."""

    schema = {"type": "string", "pattern": r"^[1-9][0-9]{0,15}:0x[0-9a-fA-F]{40}$"}
    hint = "must be {chainId}:{address}"

    def parse(self, value: Any) -> ResourceId:
        if not isinstance(value, str) or not re.fullmatch(self.schema["pattern"], value):
            raise refuse(Reason.INVALID_FORMAT, self.hint)
        chain_id, _, place = value.partition(":")
        try:
            spelled = place.lower() if len(place) == 66 else parse_address(place)
        except ValueError as error:
            raise refuse(Reason.INVALID_FORMAT, f"{self.hint}: {error}") from None
        return ResourceId(int(chain_id), f"{chain_id}:{spelled}")


class PoolIdField(VaultIdField):
    """``{chainId}:{poolAddress}``, or ``{chainId}:{bytes32}`` for v4."""

    schema = {"type": "string", "pattern": r"^[1-9][0-9]{0,15}:0x([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$"}
    hint = "must be {chainId}:{address}, or {chainId}:{32-byte id} for v4"


class PoolPath(RequestSchema):
    resource = PoolIdField(
        "Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4",
        data_key="poolId",
        required=True,
    )


class VaultPath(RequestSchema):
    resource = VaultIdField("Id of the vault: {chainId}:{address}", data_key="vaultId", required=True)


async def owner_of(call: Call, capability: Capability) -> tuple[ResourceId, Provider]:
    """The id in the path, and the first enabled provider that lists the pool or vault, else the first that
    knows it.

    Raises ``ProviderUnavailable`` when the capability is off, ``UpstreamError`` when no provider knows it and
    one failed or misses contracts, and ``NotFound`` otherwise: a provider's own where one says why.
    """
    registry, noun = call.gateway.registry, capability.value
    resource: ResourceId = call.path["resource"]
    if not registry.enabled(capability):
        raise disabled(f"No enabled provider serves {noun}s.")
    # the method has the name of the capability: PoolProvider.pool, VaultProvider.vault
    providers = registry.enabled(capability, resource.chain_id)
    outcomes = await registry.calls.ask_all(providers, methodcaller(noun, resource.id), verb=noun)
    known = [outcome for outcome in outcomes if outcome.value is not None]
    if known:
        return resource, next((o for o in known if getattr(o.value, "listed", True)), known[0]).provider
    place = resource.id.partition(":")[2]
    if hiding := await call.gateway.missing.hiding([place], providers, resource.chain_id):
        raise missing_error(hiding)
    refused = next((o.error for o in outcomes if isinstance(o.error, NotFound)), None)
    failed = [outcome for outcome in outcomes if not isinstance(outcome.error, NotFound)]
    require_all(failed, f"Whether this {noun} exists could not be read.")
    raise refused or NotFound(f"This {noun} is unknown to every enabled provider.")
