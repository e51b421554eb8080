"""The example of ``quoteway_bridge_providers``: deposits that a relayer fills on the other chain."""

import asyncio
import sys
from pathlib import Path

import pytest
from quoteway import Capability, SwapRequest
from quoteway.evm.erc20 import BALANCE_OF
from quoteway.testing.conformance import BridgeConformance
from quoteway.testing.execution import execute
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.networks import devnet_networks

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))

SENDER = ACCOUNTS[3].address
RECIPIENT = "0x3333333333333333333333333333333333333333"


@pytest.fixture
def make(devnet, make_gateway):
    async def gateway(**changes):
        import own_relayer

        chains = devnet.chains
        section = {
            "contracts": {slug: chain.contracts["SpokePool"] for slug, chain in chains.items()},
            "tokens": [
                {slug: chain.token(symbol).address for slug, chain in chains.items()}
                for symbol in ("USDC", "USDT")
            ],
        }
        plugins = {
            "chains": FakePlugin([HttpRpc], networks=devnet_networks(devnet.ports)),
            "own-relayer": own_relayer,
        }
        return await make_gateway(plugins, plugin_sections={"own-relayer": section | changes})

    return gateway


@pytest.fixture
async def gateway(make):
    return await make()


def request_of(devnet, sold, bought, amount=10**9, origin="devnet", target="devnet-l2"):
    ends = devnet.chains[origin].chain_id, devnet.chains[target].chain_id
    tokens = devnet.token(sold, origin), devnet.token(bought, target)
    return SwapRequest(*ends, *tokens, amount, SENDER, RECIPIENT, slippage_bps=50)


class TestOwnRelayer(BridgeConformance):
    provider_id = "own-relayer"

    @pytest.fixture
    def gateway(self, gateway):
        return gateway

    @pytest.fixture
    def cases(self, devnet):
        return [
            request_of(devnet, "USDC", "USDC"),
            request_of(devnet, "USDT", "USDT", 123_456_789, origin="devnet-l2", target="devnet"),
        ]

    @pytest.fixture
    def no_route(self, devnet):
        return request_of(devnet, "USDC", "USDT")


async def test_what_was_quoted_arrives_on_the_other_chain(gateway, fresh_devnet, relayer):
    request = request_of(fresh_devnet, "USDC", "USDC")
    answer = await gateway.quoting.quote(Capability.BRIDGE, request)
    (got,) = answer.quote.outputs
    assert got.amount == got.amount_min == 10**9 - 10**9 * 5 // 10_000
    await execute(fresh_devnet, await gateway.building.action(answer.sealed))
    balance = BALANCE_OF.encode([RECIPIENT])
    async with asyncio.timeout(60):
        chain = gateway.runtime.chain(request.to_chain_id)
        while not (paid := int.from_bytes(await chain.call(got.token.address, balance))):
            await chain.head(fresh=True)
    assert paid == got.amount


async def test_an_amount_that_the_fee_takes_whole_and_the_same_network_have_no_route(make, devnet):
    gateway = await make(fee_bps=1_000)
    provider = gateway.registry.get(Capability.BRIDGE, "own-relayer")
    assert await provider.quote(request_of(devnet, "USDC", "USDC", amount=1)) is None
    assert await provider.quote(request_of(devnet, "USDC", "USDC", target="devnet")) is None
    assert (await provider.quote(request_of(devnet, "USDC", "USDC", amount=2))).outputs[0].amount == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tokens": [{"devnet": "0x1234"}]}, "plugin.own-relayer.tokens"),
        ({"tokens": [{"devnett": "0x" + "11" * 20}]}, "network 'devnett' is unknown"),
        ({"contracts": {"devnet": "here"}}, "contracts.devnet"),
        ({"fee_bps": 10_001}, "fee_bps"),
        ({"fee_bps": "5"}, "fee_bps"),
    ],
)
async def test_wrong_settings_cost_the_plugin_and_are_named(make, change, told):
    gateway = await make(**change)
    (entry,) = (each for each in gateway.registry.plugins if each.name == "own-relayer")
    assert (entry.reason, told in entry.detail) == ("config_invalid", True), entry.detail
