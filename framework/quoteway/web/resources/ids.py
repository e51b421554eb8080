"""Ids of pools and vaults, and the provider that a pool or vault belongs to."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from quoteway.errors import NotFound, ProviderUnavailable, Reason, UpstreamError
from quoteway.evm.address import parse_address
from quoteway.models import Capability
from quoteway.providers import Provider
from quoteway.web.http.fields import Member
from quoteway.web.http.operation import Call
from quoteway.web.http.schema import refuse

_ID = re.compile(r"([1-9][0-9]{0,15}):(0x[0-9a-fA-F]{40}|0x[0-9a-fA-F]{64})")


@dataclass(frozen=True, slots=True)
class ResourceId:
    """A pool's or vault's id in its one spelling: EIP-55 address, or a lowercase 32-byte id for v4 pools."""

    chain_id: int
    id: str


class VaultIdField(Member[ResourceId]):
    """``{chainId}:{vaultAddress}``, any case in."""

    pattern = r"^[1-9][0-9]{0,15}:0x[0-9a-fA-F]{40}$"
    hint = "must be {chainId}:{address}"
    allows_32_bytes = False

    def __init__(self, description: str) -> None:
        super().__init__(description, schema={"type": "string", "pattern": self.pattern}, required=True)

    def parse(self, value: Any) -> ResourceId:
        match = _ID.fullmatch(value) if isinstance(value, str) else None
        if match is None or (len(match[2]) == 66 and not self.allows_32_bytes):
            raise refuse(Reason.INVALID_FORMAT, self.hint)
        if len(match[2]) == 66:
            return ResourceId(int(match[1]), f"{match[1]}:{match[2].lower()}")
        try:
            return ResourceId(int(match[1]), f"{match[1]}:{parse_address(match[2])}")
        except ValueError as error:
            raise refuse(Reason.INVALID_FORMAT, f"{self.hint}: {error}") from None


class PoolIdField(VaultIdField):
    """``{chainId}:{poolAddress}``, or ``{chainId}:{bytes32}`` for v4."""

    pattern = r"^[1-9][0-9]{0,15}:0x([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$"
    hint = "must be {chainId}:{address}, or {chainId}:{32-byte id} for v4"
    allows_32_bytes = True


async def owner_of(
    call: Call,
    capability: Capability,
    resource: ResourceId,
    look_up: Callable[[Provider], Awaitable[Any]],
) -> Provider:
    """The first enabled provider that lists the pool or vault, else the first that knows it.

    Raises ``ProviderUnavailable`` when the capability is off, ``UpstreamError`` when no provider knows it and
    one failed, and ``NotFound`` otherwise: a provider's own where one says why.
    """
    registry, noun = call.gateway.registry, capability.value
    if not registry.enabled(capability):
        raise ProviderUnavailable(f"No enabled provider serves {noun}s.", reason=Reason.CAPABILITY_DISABLED)
    outcomes = await registry.calls.ask_all(
        registry.enabled(capability, resource.chain_id),
        look_up,
        verb=noun,
    )
    known = [outcome for outcome in outcomes if outcome.value is not None]
    if known:
        return next((o for o in known if getattr(o.value, "listed", True)), known[0]).provider
    refused = next((o.error for o in outcomes if isinstance(o.error, NotFound)), None)
    outcomes = [outcome for outcome in outcomes if not isinstance(outcome.error, NotFound)]
    failed = next((outcome for outcome in outcomes if outcome.kind in ("failed", "timeout")), None)
    if failed is not None:
        raise UpstreamError(
            f"Whether this {noun} exists could not be read.", reason=failed.reason, retryable=True
        )
    if refused is not None:
        raise refused
    raise NotFound(f"This {noun} is unknown to every enabled provider.")
