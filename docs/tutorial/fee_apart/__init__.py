"""A family of pools of a third party: its pools, and the contract that executes swaps through them."""

import quoteway
from marshmallow import Schema, fields
from quoteway import ConfigError
from quoteway.evm.address import parse_address


class Exchange(Schema):
    """A row of ``[[plugin.fee-apart.exchanges]]``: the contract on a network."""

    network = fields.String(required=True)
    address = fields.String(required=True)
    fee = fields.Integer(load_default=500, strict=True)
    base_tokens = fields.List(fields.String(), load_default=list)


class Settings(Schema):
    exchanges = fields.List(fields.Nested(Exchange), load_default=list)


def exchanges_of(context):
    """Returns the rows by chain id."""
    found = {}
    for row in context.settings["exchanges"]:
        network = context.networks.find(row["network"])
        try:
            tokens = [parse_address(token) for token in row["base_tokens"]]
            place = {"address": parse_address(row["address"]), "base_tokens": tokens}
        except ValueError as error:
            raise ConfigError(f"plugin.fee-apart.exchanges: {error}") from None
        if network is not None:
            found[network.chain_id] = {**row, **place}
    return found


@quoteway.hookimpl
def quoteway_settings():
    return Settings


@quoteway.hookimpl
def quoteway_liquidity_sources(context):
    from fee_apart.source import FeeApartPools

    return [FeeApartPools(context, exchanges_of(context))]


@quoteway.hookimpl
def quoteway_executors(context):
    from fee_apart.executor import FeeApartExchange

    return [FeeApartExchange(context, exchanges_of(context))]


@quoteway.hookimpl
def quoteway_call_descriptions(context):
    from fee_apart.executor import descriptions

    return descriptions(exchanges_of(context))
