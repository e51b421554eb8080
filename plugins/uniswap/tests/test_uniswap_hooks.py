"""Pools of v4 whose hooks the operator allows: exact to the wei, or refused by the simulation."""

import pytest
from hooked import (
    FEE_HOOK,
    dynamic_pool,
    hook_of_swaps,
    limited,
    set_fee,
    set_fee_of_swaps,
    swaps_counted,
    through,
)
from pool_traffic import TrafficHarness
from quoteway import Capability, ConfigError, Reason, UpstreamError
from quoteway.testing.execution import execute
from quoteway_uniswap.deployments import allowed_hooks
from quoteway_uniswap.plans import hops_of_plan

ALLOWED = {"allowed_hooks": {"devnet": [FEE_HOOK]}}


@pytest.fixture
async def harness(fresh_devnet):
    hooks = [FEE_HOOK, hook_of_swaps(fresh_devnet).hooks]
    async with TrafficHarness(fresh_devnet, settings={"allowed_hooks": {"devnet": hooks}}) as harness:
        yield harness


async def exact(harness, request, pool):
    """Executes a quote through a pool and compares to the wei; returns the execution."""
    await harness.fresh()
    await harness.discover(request)
    quote = await harness.quote(request)
    assert pool in through(quote)
    assert "hooked_pool_skipped" not in {warning.code for warning in quote.warnings}
    build = await harness.build(request, quote)
    done = harness.execute(request, quote, build)
    assert done.received == done.quoted
    assert not done.left
    return quote


@pytest.mark.parametrize(
    ("sold", "bought", "amount"),
    [("ETH", "USDC", 10**18), ("WETH", "USDC", 10**19), ("USDC", "ETH", 10**9), ("USDC", "WETH", 10**8)],
)
async def test_a_pool_with_allowed_hooks_is_used_to_the_wei(harness, fresh_devnet, sold, bought, amount):
    pool = hook_of_swaps(fresh_devnet)
    quote = await exact(harness, limited(harness, sold, bought, amount, pool.id), pool.id)
    (leg,) = [hop for hop in hops_of_plan(quote.plan) if hop.kind == "v4"]
    assert (leg.hooks, leg.fee) == (pool.hooks, pool.fee)


async def test_an_exact_output_through_hooks_takes_what_is_quoted(harness, fresh_devnet):
    pool = hook_of_swaps(fresh_devnet)
    request = harness.request("USDC", "ETH", 10**10, amount_out=10**18)
    await exact(harness, request, pool.id)


@pytest.mark.slow
@pytest.mark.parametrize("fee", [0, 77, 3000])
async def test_a_dynamic_fee_is_that_of_the_block(harness, fee):
    row = await dynamic_pool(harness, ("ETH/USDC", 500), fee, 3 * 10**21)
    for counted, (sold, bought, amount) in enumerate(
        [("ETH", "USDC", 10**18), ("USDC", "WETH", 10**9), ("WETH", "USDC", 10**18)], start=1
    ):
        quote = await exact(harness, limited(harness, sold, bought, amount, row.id), row.id)
        assert quote.fees[0].bps == fee / 100
        assert swaps_counted(harness) == (counted, counted)
        fee += 100
        set_fee(harness, row, fee)  # no event of the pool tells it


@pytest.mark.slow
async def test_a_path_through_two_v4_pools_passes_the_hooks_of_each(harness):
    row = await dynamic_pool(harness, ("ETH/USDC", 500), 50, 3 * 10**21)
    other = next(pool for pool in harness.manifest.pools if (pool.pair, pool.fee) == ("USDC/USDT", 100))
    ids = [pool.id for pool in harness.manifest.pools if pool.pair == other.pair]
    for sold, bought, amount in (("ETH", "USDT", 10**18), ("USDT", "ETH", 10**9)):
        await exact(harness, limited(harness, sold, bought, amount, row.id, *ids), row.id)


@pytest.fixture
def uniswap_section():
    return {"solver_processes": 0, **ALLOWED}


@pytest.mark.slow
async def test_a_fee_that_the_hook_keeps_to_itself_is_refused_by_the_simulation(fresh_devnet, gateway):
    """No state tells a fee that the hook overrides in each swap."""
    async with TrafficHarness(fresh_devnet, settings=ALLOWED) as harness:
        row = await dynamic_pool(harness, ("ETH/USDC", 500), 50, 3 * 10**21)
        request = limited(harness, "ETH", "USDC", 10**18, row.id)
        provider = gateway.registry.get(Capability.SWAP, "uniswap")
        await gateway.runtime.chain(31337).head(fresh=True)
        (deployment,) = deployments = provider._deployments[31337]
        created = provider._shared.chain(31337, deployments).created
        created.of(deployment, request.token_in.address, request.token_out.address)
        await created.finished()
        set_fee_of_swaps(harness, 51)
        with pytest.raises(UpstreamError) as refusal:
            await gateway.quoting.quote(Capability.SWAP, request)
        assert refusal.value.reason is Reason.QUOTE_MISMATCH
        set_fee_of_swaps(harness, 0)
        answer = await gateway.quoting.quote(Capability.SWAP, request)
        action = await gateway.building.action(
            gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)
        )
    executed = await execute(fresh_devnet, action)
    (got,) = answer.quote.outputs
    assert executed.deltas[got.account, got.token.address] == got.amount


async def test_hooks_that_are_not_allowed_stay_unused(fresh_devnet):
    async with TrafficHarness(fresh_devnet, settings=ALLOWED) as harness:
        quote = await harness.quote(harness.request("ETH", "USDC", 10**18))
        assert hook_of_swaps(fresh_devnet).id not in through(quote)
        assert "hooked_pool_skipped" in {warning.code for warning in quote.warnings}
        request = limited(harness, "ETH", "USDC", 10**18, hook_of_swaps(fresh_devnet).id)
        with pytest.raises(UpstreamError):
            await harness.quote(request)


@pytest.mark.parametrize("bits", ["04", "08", "0c", "cc", "ff"])
def test_hooks_that_may_change_amounts_cannot_be_allowed(bits):
    with pytest.raises(ValueError, match="no quote of it is exact"):
        allowed_hooks(["0x" + "11" * 19 + bits])


@pytest.mark.parametrize(
    "setting",
    [{"nowhere": [FEE_HOOK]}, {"devnet": ["0x12"]}, {"devnet": ["0x" + "11" * 19 + "08"]}, {"devnet": [""]}],
)
async def test_a_wrong_list_of_hooks_is_named(fresh_devnet, setting):
    with pytest.raises(ConfigError, match="allowed_hooks"):
        async with TrafficHarness(fresh_devnet, settings={"allowed_hooks": setting}):
            pass
