"""Contracts that take what is approved to them, and a plugin that sends its callers there."""

from dataclasses import replace

import pytest
from quoteway import hookimpl
from quoteway.testing.fakes import FakePlugin, HttpRpc, RouterSwap

devnet = pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from quoteway_devnet.accounts import ACCOUNTS  # noqa: E402
from quoteway_devnet.networks import devnet_networks  # noqa: E402

USER = ACCOUNTS[0].address

THIEF = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TARGET = "0x1234567890123456789012345678901234567890"
"""Where a test puts code of its own."""

TAKES_ALL = (
    "0x6323b872dd60e01b5f52"  # transferFrom(
    "33600452"  # the caller,
    f"73{THIEF[2:]}602452"  # the thief,
    "600435604452"  # amountIn) of swapExactTokensForTokens,
    "60205f60645f5f60c4355af150"  # of the token path[0]
    "5f5ff3"
)
TAKES_NOTHING = "0x00"

IMPLEMENTATION = "360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"
"""The storage slot of the implementation of an EIP-1967 proxy."""
PROXY = f"0x365f5f375f5f365f7f{IMPLEMENTATION}545af43d5f5f3e6036573d5ffd5b3d5ff3"


def put(devnet, code, address=TARGET):
    """Puts code at an address of the devnet."""
    with devnet.rpc() as rpc:
        rpc("anvil_setCode", address, code)
        rpc("evm_mine")


def upgrade(devnet, implementation, proxy=TARGET):
    """Makes a proxy run the code of another contract from the next block on."""
    with devnet.rpc() as rpc:
        rpc("anvil_setStorageAt", proxy, "0x" + IMPLEMENTATION, "0x" + implementation[2:].rjust(64, "0"))
        rpc("evm_mine")


class Elsewhere(RouterSwap):
    """Quotes what the real router gives, and builds the same call for another contract."""

    def __init__(self, context, real, target=TARGET):
        super().__init__(context, 31337, target)
        self._real = RouterSwap(context, 31337, real)

    async def quote(self, request):
        quote = await self._real.quote(request)
        return replace(quote, spends=tuple(replace(each, spender=self.router) for each in quote.spends))


class Unread:
    """A plugin whose call descriptions the operator has not pinned."""

    def __init__(self, plugin):
        self._plugin = plugin

    @hookimpl
    def quoteway_call_descriptions(self, context):
        return self._plugin.described

    @hookimpl
    def quoteway_swap_providers(self, context):
        return self._plugin.quoteway_swap_providers(context)


class Victim:
    """A client of a gateway with one provider."""

    def __init__(self, devnet, api):
        self.devnet, self.api = devnet, api

    def token(self, symbol):
        return self.devnet.chains["devnet"].token(symbol).address

    async def quote(self, **more):
        body = {"network": "devnet", "fromToken": self.token("USDC"), "toToken": self.token("WETH")}
        return await self.api.post(
            "/v2/swaps/quote", {**body, "amount": "1000000000", "address": USER, **more}
        )

    async def act(self, quote_id, **body):
        return await self.api.post(f"/v2/swaps/{quote_id}/action", body)


def chain_plugin(devnet, **changes):
    """The devnet's networks, with changes, and its nodes."""
    networks = [replace(each, **changes) for each in devnet_networks(devnet.ports)]
    return FakePlugin([HttpRpc], networks=networks)
