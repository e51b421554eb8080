"""The setting of a plugin that has one contract on each network."""

from __future__ import annotations

from collections.abc import Mapping

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
    found: dict[int, Address] = {}
    for slug, text in context.settings["contracts"].items():
        network = context.networks.find(slug)
        try:
            address = parse_address(text)
        except ValueError as error:
            raise ConfigError(f"contracts.{slug}: {error}") from None
        if network is not None:
            found[network.chain_id] = address
    return found
