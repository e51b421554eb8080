"""Puts addresses in place of the names in a request, before its handler sees it.

A request is loaded twice when it has names: as it came, so that nothing is looked up for one that is refused
anyway, and with the addresses, so that all checks are made of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quoteway.engine.gateway import Gateway
from quoteway.errors import FieldError, Reason
from quoteway.evm.asset_ids import ETHER, parse_asset_id
from quoteway.host.token_names import token_named
from quoteway.models import NATIVE, Address
from quoteway.web.http.fields import Member, Name
from quoteway.web.http.schema import MOST_REFUSED, RequestSchema, invalid


async def with_addresses(
    gateway: Gateway,
    schema: RequestSchema,
    given: Mapping[str, Any],
    loaded: Mapping[str, Any],
    path: Mapping[str, Any],
) -> Mapping[str, Any]:
    """Returns what ``schema`` loads of ``given`` with addresses in place of names.

    ``loaded`` is what it loads of ``given`` as it is, ``path`` the loaded path. Raises ``InvalidRequest`` for
    each name that means no address, and ``UpstreamError`` when that could not be read.
    """
    members: dict[str, Member[Any]] = {}
    asked: dict[Name, tuple[str, str]] = {}
    for key, member in schema.members.items():
        if isinstance(member, Member) and given.get(key, "") != "":
            for where, name in member.names(given[key]):
                asked.setdefault(name, (key, where))
                members[key] = member
    if not asked:
        return loaded
    found: dict[Name, Address] = {}
    refused: list[FieldError] = []
    for name, (key, where) in asked.items():
        meant = await _address_of(gateway, name, {**path, **loaded})
        if isinstance(meant, FieldError):
            refused.append(replace(meant, path=key, message=where + meant.message))
        else:
            found[name] = meant
    if refused:
        raise invalid(*refused[:MOST_REFUSED])
    addresses = {key: member.with_addresses(given[key], found) for key, member in members.items()}
    return schema.accept({**given, **addresses})


async def _address_of(gateway: Gateway, name: Name, members: Mapping[str, Any]) -> Address | FieldError:
    """Returns the address that a name stands for, or why it stands for none."""
    chain_id = _chain_id_of(name, members)
    if chain_id is None:
        text = "is a name: name its network too, in `network`, or give the address"
        return FieldError("", Reason.CONFLICT, text)
    network = gateway.runtime.networks.by_chain_id(chain_id)
    if network is None:
        return name.text  # the handler says that this network is not served
    asset = parse_asset_id(name.text)
    if asset is None:
        return await token_named(gateway.tokens, network, name.text)
    if asset.chain_id != chain_id:
        return FieldError("", Reason.CONFLICT, f"names a token of another network than {network.slug}")
    if asset.address == NATIVE and network.native_symbol != ETHER:
        text = f"names Ether, which is not the coin of {network.slug}: `native` names it"
        return FieldError("", Reason.UNSUPPORTED_TOKEN, text)
    return asset.address


def _chain_id_of(name: Name, members: Mapping[str, Any]) -> int | None:
    """Returns the chain on which a name counts: that of the pool or vault in the path, else of the network in
    its ``places``. None when the request names none.
    """
    place = next((found for each in ("resource", *name.places) if (found := members.get(each))), None)
    return None if place is None else place.chain_id
