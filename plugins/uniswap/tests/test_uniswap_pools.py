"""Pools in a gateway: actions that pass the guard, catalog, ids, positions and series."""

import random
import time

import pytest
from eth_abi import encode
from liquidity import LiquidityHarness, pool_of
from quoteway import NATIVE, Capability, PoolRequest, Reason, UpstreamError
from quoteway.evm import permit2
from quoteway.evm.abi import function
from quoteway.testing.execution import execute
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_router.logs import Logs
from quoteway_uniswap.candidates import pool_id
from quoteway_uniswap.deployments import PoolKey
from quoteway_uniswap.pool_provider import UniswapPools
from quoteway_uniswap.pool_value import principal, whole_pool
from quoteway_uniswap.state import PoolStates
from trading import compare_random_swaps

USER = ACCOUNTS[2].address
ALLOWANCE = function("allowance(address owner, address spender) returns (uint256)")
TOKENS = function(
    "allowance(address owner, address token, address spender) returns (uint160, uint48, uint48)"
)


@pytest.fixture
async def harness(fresh_devnet):
    async with LiquidityHarness(fresh_devnet) as harness:
        yield harness


def ask(pool, action, asset=NATIVE, amount=None, **more):
    made = {"sender": USER, "recipient": USER, "slippage_bps": 50, **more}
    return PoolRequest(f"31337:{pool.id}", 31337, action, asset, amount, **made)


async def act(gateway, devnet, request):
    """Quotes and builds through the gateway, executes, and returns the quote, the action and its changes."""
    answer = await gateway.quoting.quote(Capability.POOL, request)
    sealed = gateway.quote_tokens.open(Capability.POOL, answer.sealed.token)
    action = await gateway.building.action(sealed)
    assert action.simulation.status == "success"
    executed = await execute(devnet, action)
    assert not executed.reverted
    changes = {(c.account, c.token): c.delta for c in action.simulation.asset_changes}
    return answer.quote, action, changes


@pytest.mark.parametrize(
    ("kind", "pair", "native", "approvals"),
    [
        ("v2", "WETH/USDC", False, ["approval", "approval"]),
        ("v2", "WETH/USDC", True, ["approval"]),
        ("v3", "WETH/USDC", False, ["approval", "approval"]),
        ("v3", "WETH/USDC", True, ["approval"]),
        ("v4", "ETH/USDC", True, ["approval", "permit2_approval"]),
        ("v4", "USDC/USDT", False, ["approval", "approval", "permit2_approval", "permit2_approval"]),
    ],
)
async def test_every_action_passes_the_guard_and_moves_the_quoted_amounts(
    gateway, fresh_devnet, kind, pair, native, approvals
):
    pool = pool_of(fresh_devnet.chains["devnet"], kind, pair)
    asset = pool.token1
    amount = 10**18 if asset == fresh_devnet.chains["devnet"].contracts["WETH9"] else 10**9
    more = {"use_native": native and kind != "v4"}
    quote, action, changes = await act(gateway, fresh_devnet, ask(pool, "add", asset, amount, **more))
    assert [step.kind for step in action.steps] == [*approvals, "add"]
    for leg in quote.inputs:
        assert changes[USER, leg.token.address] == -leg.amount
    for leg in quote.outputs:
        assert changes[USER, leg.token.address] == leg.amount > 0
    if kind != "v2":
        provider = gateway.registry.get(Capability.POOL, "uniswap")
        await gateway.runtime.chains[31337].head(fresh=True)
        (position,) = await provider.positions(USER, f"31337:{pool.id}")
        more["position_id"] = position.position_id
        await act(gateway, fresh_devnet, ask(pool, "add", asset, amount // 2, **more))
    _, action, _ = await act(gateway, fresh_devnet, ask(pool, "remove", asset, amount // 3, **more))
    assert [step.kind for step in action.steps] == (["approval", "remove"] if kind == "v2" else ["remove"])
    quote, action, changes = await act(gateway, fresh_devnet, ask(pool, "remove", asset, None, **more))
    for leg in (*quote.inputs, *quote.outputs):
        sign = 1 if leg in quote.outputs else -1
        assert changes[USER, leg.token.address] == sign * leg.amount
    with fresh_devnet.rpc() as rpc:
        for token in {pool.token0, pool.token1, pool.id if kind == "v2" else pool.token1} - {NATIVE}:
            for step in action.steps:
                data = "0x" + ALLOWANCE.encode([USER, step.to]).hex()
                assert int(rpc("eth_call", {"to": token, "data": data}, "latest"), 16) == 0
        data = "0x" + permit2.ALLOWANCE.encode([USER, pool.token1, action.steps[-1].to]).hex()
        assert int(rpc("eth_call", {"to": permit2.ADDRESS, "data": data}, "latest")[:66], 16) == 0


async def test_an_insufficient_balance_is_an_issue_and_an_assumption_of_the_simulation(gateway, fresh_devnet):
    pool = pool_of(fresh_devnet.chains["devnet"], "v3", "WETH/USDC", 500)
    request = ask(pool, "add", pool.token0, 10**15)
    answer = await gateway.quoting.quote(Capability.POOL, request)
    assert {issue.code for issue in answer.issues} >= {"insufficient_balance"}
    action = await gateway.building.action(answer.sealed)
    assert action.simulation.status == "success"
    assert f"balance:{pool.token0}" in action.simulation.assumptions
    assert {issue.code for issue in action.issues} >= {"insufficient_balance"}


@pytest.mark.parametrize("kind", ["v2", "v3"])
async def test_an_action_after_a_small_price_change_passes(gateway, fresh_devnet, kind):
    """Less of one token is taken than quoted, and the rest of the allowance remains, as the quote allows."""
    pool = pool_of(fresh_devnet.chains["devnet"], kind, "WETH/USDC", 3000)
    request = ask(pool, "add", pool.token1, 10**18, slippage_bps=100)
    answer = await gateway.quoting.quote(Capability.POOL, request)
    async with LiquidityHarness(fresh_devnet) as harness:
        await harness.swap_in(pool, pool.token0, pool.token1, 10**9 * (20 if kind == "v2" else 60))
    action = await gateway.building.action(answer.sealed)
    changes = {(c.account, c.token): -c.delta for c in action.simulation.asset_changes}
    taken = {leg.token.address: changes[USER, leg.token.address] for leg in answer.quote.inputs}
    assert any(taken[leg.token.address] < leg.amount for leg in answer.quote.inputs)
    assert all(leg.amount_min <= taken[leg.token.address] <= leg.amount for leg in answer.quote.inputs)
    assert any(change.after for change in action.simulation.allowance_changes)
    async with LiquidityHarness(fresh_devnet) as harness:
        await harness.swap_in(pool, pool.token0, pool.token1, 10**11 * 6)
    with pytest.raises(UpstreamError) as moved:
        await gateway.building.action(answer.sealed)
    assert moved.value.reason is Reason.PRICE_MOVED


async def test_a_chain_that_cannot_be_read_does_not_affect_the_others(gateway, fresh_devnet):
    provider = gateway.registry.get(Capability.POOL, "uniswap")

    async def fail(*_, **__):
        raise UpstreamError("no node answers", reason=Reason.RPC_ERROR)

    for name in ("head", "call_many", "request"):
        setattr(gateway.runtime.chains[31338], name, fail)
    assert {row.chain_id for row in await provider.pools(None)} == {31337}
    found = await provider.positions(USER, None)
    assert (list(found), found.reason) == ([], "rpc_error")
    with pytest.raises(UpstreamError):
        await provider.pools(31338)
    await provider.pools(31337)
    setattr(gateway.runtime.chains[31337], "head", fail)  # noqa: B010
    gateway.runtime.clock = lambda: time.time() + 3600
    assert len(await provider.pools(31337)) > 20  # known rows stay, with the time of their values


async def test_an_id_gives_its_pool_and_never_a_fake(harness, fresh_devnet):
    for pool in harness.manifest.pools:
        fresh = UniswapPools(harness.context)
        row = await fresh.pool(harness.pool_id(pool))
        assert (row.address, row.kind) == (pool.id, pool.protocol[-2:])
    chain = harness.manifest
    pools = harness.pools
    await pools.pools(31337)  # now the keys of all candidates are known, existing or not
    unmade = pool_id(PoolKey(NATIVE, chain.token("USDC").address, 10000, 200))
    for other in (
        f"31338:{chain.pools[0].id}",
        f"1:{chain.pools[0].id}",
        f"31337:{chain.token('USDC').address}",
        f"31337:{ACCOUNTS[0].address}",
        "31337:0x" + "ab" * 32,
        "31337:0x" + "ab" * 20,
        f"31337:{unmade}",
        "nonsense",
    ):
        assert await pools.pool(other) is None
    # A contract with a pool's code and storage at another address is not a pool.
    fake = "0x1111111111111111111111111111111111111115"
    for kind in ("v2", "v3"):
        real = pool_of(fresh_devnet.chains["devnet"], kind, "WETH/USDC").id
        harness.rpc("anvil_setCode", fake, harness.rpc("eth_getCode", real, "latest"))
        for slot in range(16):
            word = harness.rpc("eth_getStorageAt", real, hex(slot), "latest")
            harness.rpc("anvil_setStorageAt", fake, f"0x{slot:064x}", word)
        assert await pools.pool(f"31337:{fake}") is None


async def test_a_v4_pool_with_an_unusual_fee_is_found_by_its_initialize_event(harness):
    usdc, dai = (harness.manifest.token(symbol).address for symbol in ("USDC", "DAI"))
    token0, token1 = sorted((usdc, dai), key=str.lower)
    key = (token0, token1, 777, 7, NATIVE)
    types = ["(address,address,uint24,int24,address)", "uint160"]
    initialize = function("initializePool((address,address,uint24,int24,address) key, uint160 price)")
    data = initialize.selector + encode(types, [key, 2**96])
    manager = harness.manifest.contracts["PositionManager"]
    # The manager ignores failures, so a gas estimate would be too low.
    made = {"from": harness.sender, "to": manager, "data": "0x" + data.hex(), "gas": hex(500_000)}
    harness.rpc("eth_sendTransaction", made)
    harness.rpc("evm_mine")
    await harness.fresh()
    identity = pool_id(PoolKey(*key))
    row = await harness.pools.pool(f"31337:{identity}")
    assert (row.fee_bps, [token.address for token in row.tokens]) == (7.77, [token0, token1])


async def test_logs_are_complete_from_a_node_that_allows_few_blocks(harness):
    manager = harness.manifest.contracts["PoolManager"]
    # Of the chain as it begins: tests before this one may have made hundreds of blocks.
    last = min((await harness.chain.head()).number, 60)
    whole = await Logs(harness.chain).search(manager, [], 0, last)
    assert len(whole.logs) > 20
    request = harness.chain.request

    async def at_most_three_blocks(method, params=(), **more):
        if method == "eth_getLogs":
            span = int(params[0]["toBlock"], 16) - int(params[0]["fromBlock"], 16) + 1
            if span > 3:
                raise UpstreamError("block range too wide")
        return await request(method, params, **more)

    harness.chain.request = at_most_three_blocks
    logs = Logs(harness.chain)
    assert (await logs.search(manager, [], 0, last)) == whole
    part = await logs.search(manager, [], 0, last, max_requests=4)
    assert part.first > 0
    assert part.logs == tuple(log for log in whole.logs if log.block >= part.first)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["v2", "v3", "v4"])
async def test_positions_show_what_a_withdrawal_pays(harness, fresh_devnet, kind):
    """Compares principal and fees after random swaps with an executed withdrawal."""
    chance = random.Random(kind)
    pool = pool_of(fresh_devnet.chains["devnet"], kind, "ETH/USDC" if kind == "v4" else "WETH/USDC", 3000)
    spacing = pool.tick_spacing
    unit = 10**9
    usdc = harness.manifest.token("USDC").address
    owner = {"sender": USER, "recipient": USER}
    for _ in range(12 if kind != "v2" else 1):
        ticks = {}
        if kind != "v2":
            quote = await harness.terms(harness.of(pool, "add", usdc, unit, **owner))
            middle = quote.terms.pool_state.tick // spacing * spacing
            width = chance.choice([1, 2, 5, 40, 400]) * spacing
            ticks = {"tick_lower": middle - width, "tick_upper": middle + width}
        amount = unit * chance.randint(1, 50)
        _, moved = await harness.operate(harness.of(pool, "add", usdc, amount, **owner, **ticks))
        assert moved.exact
        await harness.trade(chance, pool, 2)
    await harness.fresh()
    found = await harness.pools.positions(USER, harness.pool_id(pool))
    assert len(found) == (12 if kind != "v2" else 1)
    assert len(await harness.pools.positions(USER, None)) == len(found)
    if kind != "v2":
        assert any(leg.amount for position in found for leg in position.uncollected_fees)
    snapshot = harness.rpc("evm_snapshot")
    for position in found:
        more = {} if kind == "v2" else {"position_id": position.position_id}
        quote, moved = await harness.operate(harness.of(pool, "remove", usdc, None, **owner, **more))
        assert moved.exact
        paid = {leg.token.address: leg.amount for leg in quote.outputs}
        for side, leg in enumerate(position.amounts):
            fees = position.uncollected_fees[side].amount if position.uncollected_fees else 0
            assert paid.get(leg.token.address, 0) == leg.amount + fees
        snapshot = harness.rewind(snapshot)
        await harness.fresh()


@pytest.mark.slow
async def test_volume_and_fees_equal_an_independent_computation(devnet):
    comparison = await compare_random_swaps(200, 5, devnet)
    assert comparison.wrong == []
    assert comparison.inexact == 0
    assert len(comparison.compared) == 6  # three versions, fee switch on and off


async def test_principal_equals_the_balance_of_an_untraded_pool(harness, fresh_devnet):
    """The balance exceeds the principal only by the rounding of each mint."""
    states = PoolStates(harness.chain)
    block = await harness.chain.head()
    for pool in fresh_devnet.chains["devnet"].pools:
        if pool.protocol != "uniswap-v3":
            continue
        known = await harness.pools._find(harness.pool_id(pool))
        amounts = principal(await whole_pool(states, block, known.ref))
        for token, amount in zip((pool.token0, pool.token1), amounts, strict=True):
            (held,) = harness.balances([(pool.id, token)])
            assert 0 <= held - amount <= 30


async def test_series_have_values_components_and_a_method(gateway, fresh_devnet):
    provider = gateway.registry.get(Capability.POOL, "uniswap")
    pool = pool_of(fresh_devnet.chains["devnet"], "v3", "WETH/USDC", 500)
    identity = f"31337:{pool.id}"
    async with LiquidityHarness(fresh_devnet) as harness:
        for _ in range(5):
            await harness.swap_in(pool, pool.token0, pool.token1, 10**10)
    head = await gateway.runtime.chains[31337].head(fresh=True)
    # The local chain begins 30 days back.
    start, end = head.timestamp - 45 * 86_400, head.timestamp + 1
    found = {
        metric: await provider.series(identity, metric, start, end, "1d")
        for metric in ("tvl", "volume", "fees", "apr")
    }
    assert found["volume"].current == pytest.approx(50_000)
    assert found["fees"].current == pytest.approx(25)
    assert found["volume"].components == {"volume0": 50_000.0, "volume1": 0.0}
    assert found["fees"].components["lp0"] == pytest.approx(25)
    assert found["fees"].components["protocol0"] == 0
    assert found["tvl"].current == pytest.approx(35_097_799, rel=1e-3)
    apr = found["apr"]
    assert apr.current == pytest.approx(25 * 365 / found["tvl"].current)
    assert apr.components["lpFeesUsd"] == pytest.approx(25)
    assert apr.components["principalUsd"] == pytest.approx(found["tvl"].current)
    for series in found.values():
        assert (series.start, series.end, series.block.hash) == (start, end, head.hash)
        assert series.gaps
        assert "null" in series.method
        # How many blocks' state anvil still keeps depends on what ran before; the others have a window.
        known_days = 30 if series.metric == "tvl" else 2
        before = head.timestamp - known_days * 86_400
        assert {value for moment, value in series.points if moment < before} == {None}
    past = [value for moment, value in found["tvl"].points if value is not None]
    assert past
    assert past == pytest.approx([35_097_799] * len(past), rel=1e-3)
    assert await provider.series("31337:" + ACCOUNTS[0].address, "tvl", start, end, "1d") is None
    assert await provider.series(identity, "mood", start, end, "1d") is None
