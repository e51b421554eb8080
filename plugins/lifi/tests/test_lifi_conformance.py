"""The conformance suite of transfers, over a fake LI.FI on the devnet. The suite fails when the core skips a
check."""

import contextlib
from dataclasses import replace

import pytest
import quoteway_lifi
from devnet_lifi import DevnetLifi
from fake_lifi import FakeLifi
from lifi_cases import TIMEOUT_S
from quoteway import Capability, Endpoint, InvalidRequest, Network, Reason, SwapRequest
from quoteway.testing.conformance import BridgeConformance
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway_devnet.accounts import ACCOUNTS

USER = ACCOUNTS[4].address
FRIEND = "0x3333333333333333333333333333333333333333"


@contextlib.asynccontextmanager
async def lifi_of(devnet, make_gateway):
    """Starts a gateway over both chains whose LI.FI sends transfers through their SpokePools."""
    honest = DevnetLifi(devnet).answer

    def answer(path, query, count):
        if path == "/v1/quote":
            return honest(path, query, count)
        return {"body": {"status": "NOT_FOUND", "connections": []}}

    async with FakeLifi(answer) as fake:
        networks, rows = [], []
        for slug, chain in devnet.chains.items():
            facts = {"head_poll_s": 0.2, "wrapped_native": chain.contracts["WETH9"]}
            facts["contracts"] = chain.kinds
            networks.append(
                Network(slug, chain.chain_id, slug, endpoints=(Endpoint(devnet.urls[slug]),), **facts)
            )
            rows.append({"network": slug, "address": chain.contracts["SpokePool"]})
        section = {"enabled": True, "base_url": fake.url, "deployments": rows, "timeout_s": TIMEOUT_S}
        plugins = {"fake": FakePlugin([HttpRpc], networks=networks), "lifi": quoteway_lifi}
        yield await make_gateway(plugins, plugin_sections={"lifi": section})


def transfer(devnet, symbol, amount, origin="devnet", target="devnet-l2"):
    sold, got = devnet.token(symbol, origin), devnet.token(symbol, target)
    return SwapRequest(sold.chain_id, got.chain_id, sold, got, amount, USER, FRIEND, 50)


class TestLifiTransfers(BridgeConformance):
    provider_id = "lifi"

    @pytest.fixture
    async def gateway(self, fresh_devnet, make_gateway):
        async with lifi_of(fresh_devnet, make_gateway) as gateway:
            yield gateway

    @pytest.fixture
    def cases(self, devnet):
        both = ("devnet", "devnet-l2"), ("devnet-l2", "devnet")
        amounts = {"USDC": 10**9, "WETH": 10**15, "ETH": 10**16}
        return [transfer(devnet, *row, *ends) for ends in both for row in amounts.items()]

    @pytest.fixture
    def no_route(self, devnet):
        return transfer(devnet, "USDC", 1)


class TestLifiSwapsAcrossChains(TestLifiTransfers):
    capability = Capability.SWAP


async def test_another_refund_address_is_refused(fresh_devnet, make_gateway):
    case = transfer(fresh_devnet, "USDC", 10**9)
    async with lifi_of(fresh_devnet, make_gateway) as gateway:
        for capability in (Capability.BRIDGE, Capability.SWAP):
            with pytest.raises(InvalidRequest) as refusal:
                await gateway.quoting.quote(capability, replace(case, refund_to=FRIEND))
            (field,) = refusal.value.fields
            assert (field.path, field.reason) == ("refundAddress", Reason.CONFLICT)
            await gateway.quoting.quote(capability, replace(case, refund_to=USER))


@pytest.mark.parametrize(
    "skipped",
    [
        "calldata.check_spends",
        "calldata._check_legs",
        "calldata.check_calls",
        "calls._check_payments",
        "calls._check_refund",
    ],
)
async def test_the_suite_fails_when_the_core_skips_a_check(skipped, fresh_devnet, make_gateway, monkeypatch):
    case = transfer(fresh_devnet, "USDC", 10**9)
    async with lifi_of(fresh_devnet, make_gateway) as gateway:
        provider = gateway.registry.get(Capability.BRIDGE, "lifi")
        monkeypatch.setattr(f"quoteway.guard.{skipped}", lambda *_, **__: None)
        with pytest.raises(pytest.fail.Exception, match="the guard let pass"):
            await TestLifiTransfers().test_every_lie_of_a_build_is_refused_by_the_core(
                gateway, provider, [case]
            )
