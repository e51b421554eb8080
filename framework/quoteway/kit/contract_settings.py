"""The settings of plugins that have contracts on networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from marshmallow import Schema, fields

from quoteway.context import Context
from quoteway.errors import ConfigError
from quoteway.evm.address import parse_address
from quoteway.models import Address


class ContractSettings(Schema):
    """A ``[plugin.<name>]`` section with ``contracts``: addresses by the name of the network."""

    contracts = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        required=True,
        metadata={"description": "The address of the contract on each network, by the network's name."},
    )


def configured_contracts(context: Context) -> Mapping[int, Address]:
    """Returns the addresses of ``ContractSettings`` by chain id. Networks that are not served are left out.

    Raises ``ConfigError`` for what is no address.
    """
    found = _by_chain(context, "contracts", {n: [one] for n, one in context.settings["contracts"].items()})
    return {chain_id: address for chain_id, (address,) in found.items()}


class VaultSettings(Schema):
    """A ``[plugin.<name>]`` section with ``vaults``: lists of addresses by the name of the network."""

    vaults = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        required=True,
        metadata={"description": "The addresses of the vaults on each network, by the network's name."},
    )


def configured_vaults(context: Context) -> Mapping[int, Sequence[Address]]:
    """Returns the addresses of ``VaultSettings`` by chain id, as ``configured_contracts`` does."""
    return _by_chain(context, "vaults", context.settings["vaults"])


def _by_chain(
    context: Context, member: str, texts: Mapping[str, Sequence[str]]
) -> dict[int, tuple[Address, ...]]:
    found: dict[int, tuple[Address, ...]] = {}
    for slug, some in texts.items():
        network = context.networks.find(slug)
        try:
            addresses = tuple(dict.fromkeys(map(parse_address, some)))
        except ValueError as error:
            raise ConfigError(f"{member}.{slug}: {error}") from None
        if network is not None:
            found[network.chain_id] = addresses
    return found
