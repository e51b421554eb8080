"""Puts addresses in place of the names in a request, before its handler sees it.

A request is loaded twice when it has names: as it came, so that nothing is looked up for one that is refused
anyway, and with the addresses, so that all checks are made of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from quoteway.engine.gateway import Gateway
from quoteway.errors import FieldError, Reason
from quoteway.evm import ens
from quoteway.evm.asset_ids import ETHER, parse_asset_id
from quoteway.host.token_names import token_named
from quoteway.models import NATIVE, Address
from quoteway.networks import Network
from quoteway.web.http.fields import Member, Name
from quoteway.web.http.freshness import at_least
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
    found = await _meanings(gateway, asked, {**path, **loaded})
    addresses: dict[Name, Address] = {}
    refused: list[FieldError] = []
    for name, (key, where) in asked.items():
        meant = found[name]
        if isinstance(meant, FieldError):
            refused.append(replace(meant, path=key, message=where + meant.message))
        else:
            addresses[name] = meant
    if refused:
        raise invalid(*refused[:MOST_REFUSED])
    named = {key: member.with_addresses(given[key], addresses) for key, member in members.items()}
    return schema.accept({**given, **named})


async def _meanings(
    gateway: Gateway, names: Iterable[Name], members: Mapping[str, Any]
) -> dict[Name, Address | FieldError]:
    """Returns the address that each name stands for, or why it stands for none."""
    found: dict[Name, Address | FieldError] = {}
    accounts: dict[int, list[Name]] = {}
    for name in names:
        chain_id = _chain_id_of(name.places, members)
        if chain_id is None and name.kind == "account":
            chain_id = _only_chain_with_names(gateway)
        network = None if chain_id is None else gateway.runtime.networks.by_chain_id(chain_id)
        if chain_id is None:
            text = "is a name: name its network too, in `network`, or give the address"
            found[name] = FieldError("", Reason.CONFLICT, text)
        elif network is None:
            found[name] = name.text  # the handler says that this network is not served
        elif name.kind == "token":
            found[name] = await _token(gateway, network, name.text)
        elif network.ens_registry is None:
            text = f"is a name, and accounts have no names on {network.slug}: give the address"
            found[name] = FieldError("", Reason.UNSUPPORTED_NETWORK, text)
        else:
            accounts.setdefault(chain_id, []).append(name)
    first = _chain_id_of(("from_chain", "network"), members)
    for chain_id, group in accounts.items():
        # A caller who has just changed a name says so as of anything else that it has seen.
        async with at_least(gateway, chain_id, members if chain_id == first else {}):
            owners = await ens.resolve(gateway.runtime.chain(chain_id), [name.text for name in group])
        found |= {name: owners[name.text] for name in group}
    return found


async def _token(gateway: Gateway, network: Network, text: str) -> Address | FieldError:
    """Returns the address of the token that a name or id means on a network, or why it means none."""
    asset = parse_asset_id(text)
    if asset is None:
        return await token_named(gateway.tokens, network, text)
    if asset.chain_id != network.chain_id:
        return FieldError("", Reason.CONFLICT, f"names a token of another network than {network.slug}")
    if asset.address == NATIVE and network.native_symbol != ETHER:
        text = f"names Ether, which is not the coin of {network.slug}: `native` names it"
        return FieldError("", Reason.UNSUPPORTED_TOKEN, text)
    return asset.address


def _chain_id_of(places: Iterable[str], members: Mapping[str, Any]) -> int | None:
    """Returns the chain of the pool or vault in the path, else of the first of ``places`` that is given; None
    when there is none.
    """
    place = next((found for each in ("resource", *places) if (found := members.get(each))), None)
    return None if place is None else place.chain_id


def _only_chain_with_names(gateway: Gateway) -> int | None:
    """Returns the chain of the one network with names of accounts; None where there is none, or several."""
    chain_ids = [each.chain_id for each in gateway.runtime.networks if each.ens_registry is not None]
    return chain_ids[0] if len(chain_ids) == 1 else None
