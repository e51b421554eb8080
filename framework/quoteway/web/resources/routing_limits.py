"""The members of a swap's request that limit its route."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import validates_schema

from quoteway.errors import FieldError, Reason
from quoteway.host.registry import Registry
from quoteway.models import Capability, RoutingLimits
from quoteway.near_names import suggestion
from quoteway.networks import Network
from quoteway.providers import SwapProvider
from quoteway.web.http import fields
from quoteway.web.http.schema import RequestSchema, invalid, refuse_all
from quoteway.web.resources.ids import PoolIdField

MOST_NAMES = 64
_NAME = fields.Text("A protocol", max_length=64, pattern=r"[a-z0-9][a-z0-9.+_-]*", hint="must be a protocol")
_POOL = PoolIdField("A pool")


class RoutingBody(RequestSchema):
    """Optional limits. Each is kept by the core, whatever a provider says; a provider that cannot keep one is
    not asked.
    """

    max_hops = fields.StrictInteger("Most pools on a path of the route", 1, 4, example=2)
    max_legs = fields.StrictInteger("Most pools in the whole route", 1, 64, example=8)
    protocols = fields.ListOf(
        "Only protocols that the route may use: names as routes show them, or ids of providers",
        _NAME,
        MOST_NAMES,
        least=1,
        example=["uniswap-v3", "lifi"],
    )
    exclude_protocols = fields.ListOf(
        "Protocols that the route may not use: names as routes show them, or ids of providers",
        _NAME,
        MOST_NAMES,
        example=["uniswap-v2"],
    )
    pools = fields.ListOf(
        "Only pools that the route may use, all on the first network: {chainId}:{address}, or "
        "{chainId}:{32-byte id}",
        _POOL,
        MOST_NAMES,
        least=1,
        example=["1:0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640"],
    )
    exclude_pools = fields.ListOf(
        "Pools that the route may not use, all on the first network",
        _POOL,
        MOST_NAMES,
        example=["1:0x8ad599c3A0ff1De082011EFDDc58f1908eb6e6D8"],
    )
    max_price_impact_bps = fields.StrictInteger(
        "Highest price impact that is accepted: how far the price of the trade may be below "
        "that of the pools before it, in basis points",
        0,
        10_000,
        example=100,
    )
    gas_price_wei = fields.GasPrice(
        "Price of a unit of gas with which quotes are compared, in wei in decimal digits. "
        "Left out: the network's price"
    )

    @validates_schema(skip_on_field_errors=False)
    def check_lists(self, data: Mapping[str, Any], **kwargs: Any) -> None:
        refused = {}
        for name, member in (("protocols", "excludeProtocols"), ("pools", "excludePools")):
            both = set(data.get(name, ())) & set(data.get(f"exclude_{name}", ()))
            if both:
                first = min(_shown(each) for each in both)
                refused[member] = (Reason.CONFLICT, f"excludes {first}, which `{name}` names")
        origin: Network | None = data.get("from_chain") or data.get("network")
        for name, member in (("pools", "pools"), ("exclude_pools", "excludePools")):
            if origin is None or member in refused:
                continue
            away = [pool for pool in data.get(name, ()) if pool.chain_id != origin.chain_id]
            if away:
                refused[member] = (Reason.CONFLICT, f"names {away[0].id}, which is not on {origin.slug}")
        if refused:
            raise refuse_all(refused)


def _shown(value: Any) -> str:
    return str(getattr(value, "id", value))


def limits_in(body: Mapping[str, Any]) -> RoutingLimits:
    """Returns the limits of a loaded body."""
    return RoutingLimits(
        max_hops=body.get("max_hops"),
        max_legs=body.get("max_legs"),
        protocols=body.get("protocols", ()),
        exclude_protocols=body.get("exclude_protocols", ()),
        pools=tuple(pool.id for pool in body.get("pools", ())),
        exclude_pools=tuple(pool.id for pool in body.get("exclude_pools", ())),
        max_price_impact_bps=body.get("max_price_impact_bps"),
        gas_price_wei=body.get("gas_price_wei"),
    )


def check_protocols(registry: Registry, limits: RoutingLimits) -> None:
    """Raises ``InvalidRequest`` for names of protocols that no enabled provider has, on any network."""
    known: dict[str, None] = {}
    for provider in registry.enabled(Capability.SWAP):
        own = provider.protocols if isinstance(provider, SwapProvider) else ()
        known |= dict.fromkeys((provider.id, *own))
    refused = [
        FieldError(
            member,
            Reason.UNSUPPORTED_PROTOCOL,
            f"names {name!r}, which no enabled provider has.{suggestion(name, known, 'Protocols')}",
        )
        for member, names in (("protocols", limits.protocols), ("excludeProtocols", limits.exclude_protocols))
        for name in names
        if name not in known
    ]
    if refused:
        raise invalid(*refused)
