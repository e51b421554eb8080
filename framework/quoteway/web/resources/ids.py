"""Ids of pools and vaults, the provider that a pool or vault belongs to, and the answer with one of them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Final, Generic

import orjson
from aiohttp import web
from marshmallow import ValidationError

from quoteway.errors import GatewayError, NotFound, Reason, disabled
from quoteway.evm.address import parse_address
from quoteway.guard.findings import Expect
from quoteway.host.lists import ListKind
from quoteway.host.missing_contracts import missing_error
from quoteway.models import Capability, Pool, Vault
from quoteway.providers import Provider
from quoteway.web.http.fields import Member
from quoteway.web.http.operation import Call
from quoteway.web.http.schema import RequestSchema, refuse
from quoteway.web.resources.catalog import D, Row, merge, once, require_all


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


MALFORMED: Final = ResourceId(0, "")
"""Stands for a malformed id in a path. No network has the chain id 0, so nobody knows it either."""


class PoolPathField(PoolIdField):
    """A pool's id in a path. One that is malformed is no wrong member, but a pool that nobody knows."""

    def parse(self, value: Any) -> ResourceId:
        try:
            return super().parse(value)
        except ValidationError:
            return MALFORMED


class VaultPathField(PoolPathField):
    """As of pools, with a vault's id."""

    schema, hint = VaultIdField.schema, VaultIdField.hint


class PoolPath(RequestSchema):
    resource = PoolPathField(
        "Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4",
        data_key="poolId",
        required=True,
    )


class VaultPath(RequestSchema):
    resource = VaultPathField("Id of the vault: {chainId}:{address}", data_key="vaultId", required=True)


@dataclass(frozen=True, slots=True)
class Owned(Generic[D]):
    """The pool or vault of a path, and the provider that it belongs to."""

    resource: ResourceId
    provider: Provider
    item: D


async def owner_of(call: Call, capability: Capability) -> tuple[ResourceId, Provider]:
    """The id in the path, and the provider of ``find``. Raises as ``find``."""
    found: Owned[Any] = await find(call, capability)
    return found.resource, found.provider


async def find(call: Call, capability: Capability) -> Owned[Any]:
    """The pool or vault in the path, of the first enabled provider that lists it, else the first that knows
    it.

    Raises ``ProviderUnavailable`` when the capability is off, ``UpstreamError`` when no provider knows it and
    one failed or misses contracts, and ``NotFound`` otherwise: a provider's own where one says why.
    """
    registry, noun = call.gateway.registry, capability.value
    resource: ResourceId = call.path["resource"]
    if not registry.enabled(capability):
        raise disabled(f"No enabled provider serves {noun}s.")
    if resource is MALFORMED:
        hint = PoolIdField.hint if capability is Capability.POOL else VaultIdField.hint
        raise NotFound(f"This {noun} is unknown: {noun}Id {hint}.", reason=Reason.INVALID_FORMAT)
    kind = Pool if capability is Capability.POOL else Vault

    async def ask(provider: Provider) -> Any:
        # the method has the name of the capability: PoolProvider.pool, VaultProvider.vault
        item = await methodcaller(noun, resource.id)(provider)
        if type(item) is kind:
            Expect(provider)(item.id == resource.id, f"it shows another {noun} than the one asked for")
        return item

    providers = registry.enabled(capability, resource.chain_id)
    outcomes = await call.ask(providers, kind | None, ask, verb=noun)
    known = [outcome for outcome in outcomes if outcome.value is not None]
    if known:
        first = next((o for o in known if getattr(o.value, "listed", True)), known[0])
        return Owned(resource, first.provider, first.value)
    place = resource.id.partition(":")[2]
    if hiding := await call.gateway.missing.hiding([place], providers, resource.chain_id):
        raise missing_error(hiding)
    refused = next((o.error for o in outcomes if isinstance(o.error, NotFound)), None)
    failed = [outcome for outcome in outcomes if not isinstance(outcome.error, NotFound)]
    require_all(failed, f"Whether this {noun} exists could not be read.")
    raise refused or NotFound(f"This {noun} is unknown to every enabled provider.")


async def show(
    call: Call, kind: ListKind[D], render: Callable[[Sequence[D]], Awaitable[Sequence[Row]]]
) -> web.Response:
    """Answers with the item in the path: its row of the list, else what its provider says of it by its id.

    ``render`` makes rows of items. It is cached as lists are, unless a provider of the list has failed or is
    late. Raises as ``find``.
    """
    resource: ResourceId = call.path["resource"]

    async def make() -> tuple[bytes, bool]:
        item: D | None = None
        complete = True
        if resource is not MALFORMED:
            with contextlib.suppress(GatewayError):  # of a list that failed: its providers are asked by id
                merged = await merge(call, kind, (resource.chain_id,), resource.chain_id)
                item = next((row for row in merged.rows if row.id == resource.id), None)
                complete = not merged.partial
        if item is None:
            item = (await find(call, kind.capability)).item
        (row,) = await render([item])
        return orjson.dumps(row), complete

    return await once(call, make)
