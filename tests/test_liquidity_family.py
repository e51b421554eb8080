"""A third party's family in one folder: its pools are quoted, compete with ours, and execute to the wei."""

import random
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from fee_apart_exchange import FOLDER, Exchange, gateway_of
from quoteway import Capability, RoutingLimits, UpstreamError
from quoteway.testing.conformance import LiquidityConformance

OWN = RoutingLimits(protocols=("fee-apart-routes",))


@pytest.fixture
def exchange(fresh_devnet):
    made = Exchange(fresh_devnet)
    made.add("USDC", "MKR", 20_000_000)
    made.add("USDC", "DAI", 400_000)
    made.add("WETH", "UNI", 20_000_000)
    return made


@pytest.fixture
def make(exchange, make_gateway):
    return partial(gateway_of, exchange, make_gateway)


async def test_its_pools_compete_with_ours_and_are_routed_together(make, exchange):
    gateway = await make()
    # Three pools either way, but ours have higher fees on both ends.
    answer = await exchange.executed(gateway, exchange.request("UNI", "MKR", 200 * 10**18))
    assert answer.sealed.provider == "fee-apart-routes"
    (path,) = answer.quote.route
    assert [hop.protocol for hop in path.hops] == ["fee-apart", "v2", "fee-apart"]
    assert {hop.provider for hop in path.hops} == {"fee-apart-routes"}
    attempts = {attempt.provider: attempt for attempt in answer.attempts}
    assert set(attempts) >= {"uniswap", "fee-apart-routes"}
    # An amount that the small pools cannot carry goes to ours.
    large = await exchange.executed(gateway, exchange.request("USDC", "DAI", 500_000 * 10**6))
    assert large.sealed.provider == "uniswap"


@pytest.mark.parametrize(
    ("sold", "bought", "dollars", "families"),
    [
        ("USDC", "MKR", 5e-6, {"fee-apart"}),
        ("USDC", "MKR", 500, {"fee-apart"}),
        ("MKR", "USDC", 30_000, {"fee-apart"}),
        ("UNI", "WETH", 20, {"fee-apart"}),
        ("UNI", "MKR", 7_000, {"fee-apart", "v2"}),
        ("DAI", "LINK", 3_333, {"v2"}),
        ("PEPE", "DAI", 999, {"v2"}),
    ],
)
async def test_what_it_quotes_is_executed_to_the_wei(make, exchange, sold, bought, dollars, families):
    gateway, row = await make(), exchange.manifest.token(sold)
    chance = random.Random(f"{sold}{bought}{dollars}")
    amount = max(int(dollars / float(row.price_usd) * 10**row.decimals * chance.uniform(0.9, 1.1)), 1)
    request = exchange.request(sold, bought, amount, routing=OWN)
    answer = await exchange.executed(gateway, request, "fee-apart-routes")
    assert families <= {hop.protocol for path in answer.quote.route for hop in path.hops}
    # A second one, on the state that the first one left.
    await exchange.executed(gateway, request, "fee-apart-routes")


async def test_the_native_coin_is_left_to_others(make, exchange):
    gateway = await make()
    with pytest.raises(UpstreamError):
        await gateway.quoting.quote(
            Capability.SWAP, exchange.request("ETH", "MKR", 10**18, routing=OWN), acknowledged=[]
        )
    answer = await gateway.quoting.quote(Capability.SWAP, exchange.request("ETH", "DAI", 10**18))
    assert answer.sealed.provider == "uniswap"


async def test_a_fork_with_another_fee_than_its_row_is_not_used(make, exchange, caplog):
    gateway = await make(fee=300)
    answer = await gateway.quoting.quote(Capability.SWAP, exchange.request("USDC", "DAI", 10**9))
    assert answer.sealed.provider == "uniswap"
    assert f"{exchange.address} charges a fee of 500 pips, not 300" in caplog.text


async def test_pools_that_lie_cost_the_quotes_of_their_executor_alone(make, exchange, monkeypatch):
    from fee_apart.source import FeeApartPools

    honest = FeeApartPools.pools

    async def lying(self, *asked):
        pools = await honest(self, *asked)
        return [replace(each, reserve0=2 * each.reserve0, reserve1=3 * each.reserve1) for each in pools]

    monkeypatch.setattr(FeeApartPools, "pools", lying)
    gateway = await make()
    answer = await exchange.executed(gateway, exchange.request("UNI", "MKR", 200 * 10**18))
    assert answer.sealed.provider == "uniswap"
    with pytest.raises(UpstreamError) as refusal:
        await gateway.quoting.quote(
            Capability.SWAP, exchange.request("UNI", "MKR", 200 * 10**18, routing=OWN), acknowledged=[]
        )
    assert refusal.value.reason in ("quote_mismatch", "reverted")


async def test_descriptions_that_nobody_pinned_leave_the_plugin_out(exchange, make_gateway):
    import fee_apart

    row = {"network": "devnet", "address": exchange.address}
    sections = {"fee-apart": {"exchanges": [row]}}
    from quoteway import Network
    from quoteway.testing.fakes import FakePlugin, MemoryRpc

    chain = FakePlugin([MemoryRpc({31337})], networks=[Network("devnet", 31337, "Devnet")])
    gateway = await make_gateway({"chain": chain, "fee-apart": fee_apart}, plugin_sections=sections)
    (entry,) = [plugin for plugin in gateway.registry.plugins if plugin.name == "fee-apart"]
    assert entry.reason == "unpinned_descriptions"


def test_the_family_is_one_folder_of_under_300_lines():
    lines = [line for file in FOLDER.glob("*.py") for line in file.read_text().splitlines()]
    assert 0 < len(lines) < 300
    for other in (Path(__file__).parent.parent / "plugins").rglob("src/**/*.py"):
        assert "fee_apart" not in other.read_text()


class TestPools(LiquidityConformance):
    provider_id = "fee-apart"

    @pytest.fixture
    async def gateway(self, make):
        return await make()

    @pytest.fixture
    def pairs(self, exchange):
        tokens = {symbol: exchange.token(symbol).address for symbol in ("USDC", "MKR", "DAI")}
        return [(31337, tokens["USDC"], tokens[symbol]) for symbol in ("MKR", "DAI")]
