"""Rows of the list of networks, with how well each is served."""

from __future__ import annotations

from marshmallow import fields

from quoteway.web.wire import text
from quoteway.web.wire.rows import Page
from quoteway.web.wire.view import View, nullable, required

_STATE = "`ready`, `degraded` (a part does not work, and others still answer) or `dead`"
_WHY = "Reasons why it is not ready, such as `head_lags`; empty when it is"


class NativeCurrency(View):
    symbol = required(fields.String, "native_symbol", description="Ticker of the coin, such as `ETH`")
    name = required(fields.String, "native_name", description="Name of the coin")
    decimals = required(text.DecimalsNumber, "native_decimals")


class CapabilityReadiness(View):
    capability = required(fields.String, 0, description="Capability that an installed plugin offers there")
    state = required(fields.String, lambda pair: pair[1].level, description=_STATE)
    why = required([fields.String], lambda pair: pair[1].why, description=_WHY)


class NetworkReadiness(View):
    """How well a network is served by the worker that answers, as `/readyz?verbose` tells it."""

    state = required(fields.String, "condition.level", description=_STATE)
    why = required([fields.String], "condition.why", description=_WHY)
    capabilities = required(
        [CapabilityReadiness],
        lambda state: list(state.capabilities.items()),
        description="Of each capability that an installed plugin offers on the network",
    )


class NetworkRow(View):
    id = required(fields.String, "network.slug", description="Name by which requests name the network")
    network = required(fields.String, "network.slug", description="The same as `id`")
    chain_id = required(text.ChainIdNumber, "network.chain_id")
    caip2 = required(
        fields.String, "network.caip2", description="CAIP-2 id of the network: `eip155:` and the chain id"
    )
    name = required(fields.String, "network.name", description="Title of the network for people")
    native_currency = required(NativeCurrency, "network", description="Native coin, in which gas is paid")
    wrapped_native = nullable(
        text.AddressText,
        "network.wrapped_native",
        description="Contract of the wrapped native coin. Null when not known",
    )
    explorer_url = nullable(
        fields.String,
        "network.explorer_url",
        description="Link to the network's block explorer. Null without one",
    )
    block_time_seconds = required(
        fields.Float, "network.block_time_s", description="Typical seconds from one block to the next"
    )
    testnet = required(fields.Boolean, "network.testnet", description="Whether its coins have no value")
    capabilities = required(
        [fields.String], description="Capabilities that enabled providers serve there, such as `swap`"
    )
    readiness = nullable(
        NetworkReadiness,
        description="What works on the network, at most some seconds old. Null while the service stops",
    )


class NetworkPage(Page):
    data = required([NetworkRow], description="Networks of this deployment")
