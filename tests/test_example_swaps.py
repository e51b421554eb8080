"""The example of ``ContractSwaps``: an exchange like Solidly, quoted and executed to the wei."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from quoteway import Capability, UpstreamError
from quoteway.config.model import CallsConfig
from quoteway.evm.abi import encode_call
from quoteway.evm.calls.registry import digest_of
from quoteway.testing.conformance import SwapConformance
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway_devnet.exchange import OwnExchange
from quoteway_devnet.networks import devnet_networks
from quoteway_devnet.transactions import constructor_arguments

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))


class Exchange(OwnExchange):
    def __init__(self, devnet):
        super().__init__(devnet)
        weth = self.manifest.token("WETH").address
        places = constructor_arguments("(address,address)", [self.deploy("SolidlyMaths"), weth])
        self.address = self.deploy("SolidlyExchange", places)

    def add(self, first, second, dollars, stable, fee=30):
        tokens, amounts = self.sides(first, second, dollars)
        for token, amount in zip(tokens, amounts, strict=True):
            self.approve(token, self.address, amount)
        values = [*tokens, stable, *amounts, fee]
        self.send(self.address, encode_call("add(address,address,bool,uint256,uint256,uint256)", values))


@pytest.fixture
def exchange(fresh_devnet):
    made = Exchange(fresh_devnet)
    made.add("USDC", "DAI", 400_000, stable=False)
    made.add("USDC", "DAI", 400_000, stable=True, fee=5)
    made.add("USDC", "WETH", 900_000, stable=False)
    return made


@pytest.fixture
def make(exchange, make_gateway):
    async def gateway(plugin=None, pinned=None, **settings):
        import solidly_swaps

        description = _description(exchange, solidly_swaps.SolidlySwaps)
        digests = (digest_of([description]),) if pinned is None else pinned
        chains = FakePlugin([HttpRpc], networks=devnet_networks(exchange.devnet.ports))
        return await make_gateway(
            {"chains": chains, "solidly-swaps": plugin or solidly_swaps},
            calls=CallsConfig(digests),
            plugin_sections={"solidly-swaps": {"contracts": {"devnet": exchange.address}, **settings}},
        )

    return gateway


def _description(exchange, kind):
    return kind(None, {31337: exchange.address}).describe()


async def test_the_better_of_two_pools_is_quoted_and_executed_to_the_wei(make, exchange):
    gateway = await make()
    for sold, bought, amount in (
        ("USDC", "DAI", 20_000 * 10**6),
        ("DAI", "USDC", 1_234_567_890_123_456_789_012),
        ("USDC", "WETH", 1_000_001),
    ):
        request = exchange.request(sold, bought, amount)
        answer = await exchange.executed(gateway, request, "solidly-swaps")
        assert answer.sealed.plan == {"stable": bought != "WETH"}
        # A second one, on the state that the first one left.
        await exchange.executed(gateway, request, "solidly-swaps")


async def test_what_it_cannot_swap_has_no_route(make, exchange):
    gateway = await make()
    for request in (
        exchange.request("ETH", "DAI", 10**18),
        exchange.request("USDC", "ETH", 10**6),
        exchange.request("UNI", "DAI", 10**18),
        exchange.request("WETH", "USDC", 1),
    ):
        with pytest.raises(UpstreamError) as refusal:
            await gateway.quoting.quote(Capability.SWAP, request, acknowledged=[])
        assert refusal.value.reason in ("no_route", "insufficient_liquidity"), request


async def test_a_description_that_nobody_pinned_or_that_is_changed_leaves_it_out(make, exchange, monkeypatch):
    gateway = await make(pinned=())
    assert _reason(gateway) == "unpinned_descriptions"
    import solidly_swaps

    kind = solidly_swaps.SolidlySwaps
    pinned = (digest_of([_description(exchange, kind)]),)
    monkeypatch.setattr(kind, "swapping", replace(kind.swapping, pays=()))
    assert _reason(await make(pinned=pinned)) == "unpinned_descriptions"


@pytest.mark.parametrize("address", ["0x1234", "", "0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266"])
async def test_a_setting_that_is_no_address_is_named(make, address):
    gateway = await make(contracts={"devnet": address})
    (entry,) = [plugin for plugin in gateway.registry.plugins if plugin.name == "solidly-swaps"]
    assert entry.reason == "config_invalid"
    assert "contracts.devnet" in entry.detail


@pytest.mark.parametrize(
    ("example", "most"), [("solidly_swaps", 60), ("coin_list", 30), ("yearn_vaults", 30)]
)
def test_an_example_is_short(example, most):
    folder = Path(__file__).parent.parent / "docs" / "examples"
    lines = (folder / f"{example}.py").read_text().splitlines()
    assert 0 < sum(bool(line.split("#")[0].strip()) for line in lines) <= most


def _reason(gateway):
    (entry,) = [plugin for plugin in gateway.registry.plugins if plugin.name == "solidly-swaps"]
    return entry.reason


async def test_a_lowered_minimum_is_refused(make, exchange, monkeypatch):
    import solidly_swaps

    honest = solidly_swaps.SolidlySwaps.swap_args

    def cheating(self, order):
        return honest(self, replace(order, minimum=order.minimum - 1))

    monkeypatch.setattr(solidly_swaps.SolidlySwaps, "swap_args", cheating)
    gateway = await make()
    with pytest.raises(UpstreamError) as refusal:
        await gateway.quoting.quote(Capability.SWAP, exchange.request("USDC", "DAI", 10**9), acknowledged=[])
    assert refusal.value.reason == "unsafe_answer"


class TestSolidlySwaps(SwapConformance):
    provider_id = "solidly-swaps"

    @pytest.fixture
    async def gateway(self, make):
        return await make()

    @pytest.fixture
    def cases(self, exchange):
        return [exchange.request("USDC", "DAI", 10**9), exchange.request("WETH", "USDC", 10**16)]

    @pytest.fixture
    def unknown(self, exchange):
        return exchange.request("UNI", "DAI", 10**18)
