"""Routes for an executor of another plugin: splits, the native coin, limits, and builds that are refused."""

import asyncio
from dataclasses import replace

import pytest
import quoteway_devnet.plugin
import quoteway_router
import quoteway_uniswap
from quoteway import (
    Capability,
    Executor,
    InvalidRequest,
    RoutingLimits,
    Step,
    SwapRequest,
    UpstreamError,
)
from quoteway.testing.execution import execute
from quoteway.testing.fakes import FakePlugin
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_router.plans import legs_of_plan
from quoteway_router.swaps import MOST_LEGS, splitting_of
from quoteway_uniswap.flow import SwapHop
from quoteway_uniswap.router import Order, encode_swap

SENDER, RECIPIENT = ACCOUNTS[5].address, "0x3333333333333333333333333333333333333333"
ID = "foreign-routes"


class Foreign(Executor):
    """Sells the native coin through v2 and v3 pools of the Universal Router, as another plugin's executor."""

    id, title = "foreign", "Foreign executor"
    leg_gas = {"v2": 58_000, "v3": 60_000}
    sources = ("uniswap",)
    transaction_gas = 45_000
    most_legs = 25
    splits = takes_coin = True
    networks = frozenset({31337})
    cheat = {}

    def __init__(self, context):
        network = context.networks.by_chain_id(31337)
        (row,) = network.deployments["uniswap"]
        self.router, self.version, self.wrapped = row["router"], row["router_version"], network.wrapped_native

    def contracts(self, chain_id):
        return {self.router: "Universal Router"}

    def spenders(self, chain_id):
        return (self.router,)

    async def encode(self, order):
        order = replace(order, **self.cheat)
        hops = []
        for leg in order.legs:
            fee = 0 if leg.kind == "v2" else leg.fee_pips
            hops.append(SwapHop(leg.kind, leg.token_in, leg.token_out, fee, 0, leg.amount_in))
        ends = order.token_in, order.token_out
        made = Order(*ends, order.amount_in, order.amount_out_min, order.recipient, self.wrapped)
        call = encode_swap(self.version, made, hops, order.deadline)
        return Step(self.router, call.data, call.value, order.chain_id)


@pytest.fixture
def patience(monkeypatch):
    """A busy machine solves slowly, not wrongly."""
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)


@pytest.fixture
def processes():
    return 0


@pytest.fixture
async def gateway(fresh_devnet, make_gateway, patience, processes):
    quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    ports = {"port": fresh_devnet.ports["devnet"], "l2_port": fresh_devnet.ports["devnet-l2"]}
    return await make_gateway(
        {
            "devnet": quoteway_devnet.plugin,
            "rpc": quoteway_rpc,
            "uniswap": quoteway_uniswap,
            "router": quoteway_router,
            "foreign": FakePlugin([Foreign]),
        },
        plugin_sections={
            "devnet": {"enabled": True, "start": False, **ports},
            "uniswap": {"solver_processes": 0},
            "router": {"solver_processes": processes},
        },
    )


@pytest.fixture
def order(token):
    def make(sold, bought, amount, **limits):
        limits.setdefault("protocols", (ID,))
        routing = RoutingLimits(**limits)
        ends = token(sold), token(bought)
        return SwapRequest(31337, 31337, *ends, amount, SENDER, RECIPIENT, 50, routing=routing)

    return make


async def quoted(gateway, request):
    answer = await gateway.quoting.quote(Capability.SWAP, request, acknowledged=["high_price_impact"])
    assert answer.sealed.provider == ID
    return answer


async def paid(gateway, devnet, answer):
    action = await gateway.building.action(gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token))
    done = await execute(devnet, action)
    assert not done.reverted
    (leg,) = answer.quote.outputs
    assert done.deltas[RECIPIENT, leg.token.address] == leg.amount > 0


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1])
async def test_a_split_over_its_pools_pays_what_it_says(gateway, fresh_devnet, order):
    (entry,) = (entry for entry in gateway.registry.plugins if entry.name == "router")
    solvers = splitting_of(entry.context).solvers
    async with asyncio.timeout(60):
        while not solvers._idle:
            await asyncio.sleep(0.05)
    answer = await quoted(gateway, order("ETH", "USDC", 900 * 10**18))
    legs = answer.quote.route_legs
    assert 1 < len(legs) <= MOST_LEGS
    assert {leg.protocol for leg in legs} == {"v2", "v3"}
    assert answer.quote.optimality is not None
    await paid(gateway, fresh_devnet, answer)


@pytest.mark.parametrize(("bought", "amount"), [("USDC", 1), ("LINK", 10**18), ("PEPE", 3 * 10**18)])
async def test_the_native_coin_is_sold_as_quoted(gateway, fresh_devnet, order, bought, amount):
    if amount == 1:
        with pytest.raises(UpstreamError) as refusal:
            await quoted(gateway, order("ETH", bought, amount))
        assert refusal.value.reason == "amount_too_low"
        return
    await paid(gateway, fresh_devnet, await quoted(gateway, order("ETH", bought, amount)))


async def test_a_high_price_impact_is_an_issue(gateway, order):
    answer = await quoted(gateway, order("ETH", "LINK", 900 * 10**18))
    assert "high_price_impact" in {issue.code for issue in answer.quote.issues}
    assert answer.quote.price_impact_bps > 500


async def test_limits_on_the_route_are_kept(gateway, fresh_devnet, order):
    free = await quoted(gateway, order("ETH", "USDC", 10**18))
    pools = tuple(f"31337:{hop.pool}" for path in free.quote.route for hop in path.hops)
    other = await quoted(gateway, order("ETH", "USDC", 10**18, exclude_pools=pools, max_hops=2))
    assert {hop.pool for path in other.quote.route for hop in path.hops}.isdisjoint(
        pool.partition(":")[2] for pool in pools
    )
    await paid(gateway, fresh_devnet, other)
    only = await quoted(gateway, order("ETH", "USDC", 10**18, exclude_protocols=("v3", "uniswap-v3")))
    assert {hop.protocol for path in only.quote.route for hop in path.hops} == {"v2"}
    with pytest.raises(UpstreamError):
        await quoted(gateway, order("ETH", "USDC", 10**18, exclude_protocols=("v2", "v3")))


async def test_tokens_that_tax_their_transfers_are_left_to_others(gateway, order):
    with pytest.raises(UpstreamError) as refusal:
        await quoted(gateway, order("ETH", "TAX", 10**18))
    assert refusal.value.reason == "no_route"
    answer = await gateway.quoting.quote(Capability.SWAP, order("ETH", "TAX", 10**18, protocols=()))
    assert answer.sealed.provider == "uniswap"


@pytest.mark.parametrize(
    "cheat", [{"recipient": SENDER}, {"amount_out_min": 1}, {"amount_in": 10**17}, {"deadline": 2**40}]
)
async def test_calldata_that_is_not_the_quoted_swap_never_leaves(gateway, order, monkeypatch, cheat):
    monkeypatch.setattr(Foreign, "cheat", cheat)
    with pytest.raises(UpstreamError):
        await quoted(gateway, order("ETH", "LINK", 10**18))
    answer = await gateway.quoting.quote(Capability.SWAP, order("ETH", "LINK", 10**18, protocols=()))
    assert answer.sealed.provider == "uniswap"


async def test_an_executor_that_is_disabled_serves_nothing(gateway, order):
    (provider,) = (p for p in gateway.registry.enabled(Capability.SWAP) if p.id == ID)
    assert provider.networks == {31337}
    (entry,) = (entry for entry in gateway.registry.plugins if entry.name == "foreign")
    entry.refuse("startup_failed", "it is gone")
    gateway.registry.changed()
    assert provider.networks == frozenset()


@pytest.mark.parametrize(
    "plan",
    [{}, {"tokens": 7}, {"tokens": ["0x"], "families": [], "legs": []}]
    + [{"tokens": [RECIPIENT], "families": ["v2"], "legs": [leg]} for leg in ([0], [1, "p", 0, 0, 0, 0])],
)
def test_a_plan_that_is_none_is_refused(plan):
    with pytest.raises(InvalidRequest, match="request a new quote"):
        legs_of_plan(plan)
