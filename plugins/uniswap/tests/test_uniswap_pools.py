"""Pools inside a whole gateway: catalog, ids, positions, series, prices, and actions that pass the guard."""

import asyncio
import random
import time

import pytest
import quoteway_devnet.plugin
import quoteway_uniswap
from eth_abi import encode
from liquidity import LiquidityDesk
from quoteway import NATIVE, Block, Capability, PoolRequest, Reason, UpstreamError
from quoteway.evm import permit2
from quoteway.evm.abi import function
from quoteway_amm import swap_exact_in
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap.candidates import pool_id
from quoteway_uniswap.deployments import PoolKey
from quoteway_uniswap.logs import Logs
from quoteway_uniswap.pool_provider import UniswapPools
from quoteway_uniswap.pool_value import principal, whole_pool
from quoteway_uniswap.prices import ChainPrices, Spot, price_over_time
from quoteway_uniswap.state import PoolStates
from trading import account_for_random_swaps

quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")

USER = ACCOUNTS[2].address
ALLOWANCE = function("allowance(address owner, address spender) returns (uint256)")
TOKENS = function(
    "allowance(address owner, address token, address spender) returns (uint160, uint48, uint48)"
)


@pytest.fixture
async def gateway(fresh_devnet, make_gateway):
    devnet = {
        "enabled": True,
        "start": False,
        "port": fresh_devnet.ports["devnet"],
        "l2_port": fresh_devnet.ports["devnet-l2"],
    }
    plugins = {"devnet": quoteway_devnet.plugin, "rpc": quoteway_rpc, "uniswap": quoteway_uniswap}
    return await make_gateway(plugins, plugin_sections={"devnet": devnet})


@pytest.fixture
async def desk(fresh_devnet):
    async with LiquidityDesk(fresh_devnet) as desk:
        yield desk


def pool_of(devnet, kind, pair, fee=None, slug="devnet"):
    return next(
        pool
        for pool in devnet.chains[slug].pools
        if (pool.protocol, pool.pair, pool.hooks) == (f"uniswap-{kind}", pair, NATIVE)
        and fee in (None, pool.fee)
    )


def ask(pool, action, asset=NATIVE, amount=None, **more):
    made = {"sender": USER, "recipient": USER, "slippage_bps": 50, **more}
    return PoolRequest(f"31337:{pool.id}", 31337, action, asset, amount, **made)


async def act(gateway, devnet, request):
    """Quote and action through the spine, guarded and simulated, then sent as they are."""
    await gateway.runtime.chains[31337].head(fresh=True)
    answer = await gateway.spine.quote(Capability.POOL, request)
    sealed = gateway.spine.open(Capability.POOL, answer.sealed.token)
    action = await gateway.spine.action(sealed)
    assert action.simulation.status == "success"
    with devnet.rpc() as rpc:
        for step in action.steps:
            transaction = {
                "from": action.sender,
                "to": step.to,
                "data": "0x" + step.data.hex(),
                "value": hex(step.value),
                "gas": hex(step.gas_limit),
            }
            identity = rpc("eth_sendTransaction", transaction)
            while (receipt := rpc("eth_getTransactionReceipt", identity)) is None:
                time.sleep(0.002)  # noqa: ASYNC251
            assert receipt["status"] == "0x1", step.intent
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
async def test_every_action_passes_the_guard_and_does_what_it_says(
    gateway, fresh_devnet, kind, pair, native, approvals
):
    pool = pool_of(fresh_devnet, kind, pair)
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


async def test_more_than_the_wallet_has_is_an_issue_and_is_simulated_with_it_named(gateway, fresh_devnet):
    pool = pool_of(fresh_devnet, "v3", "WETH/USDC", 500)
    request = ask(pool, "add", pool.token0, 10**15)
    answer = await gateway.spine.quote(Capability.POOL, request)
    assert {issue.code for issue in answer.issues} >= {"insufficient_balance"}
    action = await gateway.spine.action(answer.sealed)
    assert action.simulation.status == "success"
    assert f"balance:{pool.token0}" in action.simulation.assumptions
    assert {issue.code for issue in action.issues} >= {"insufficient_balance"}


@pytest.mark.parametrize("kind", ["v2", "v3"])
async def test_an_action_after_a_small_move_passes_with_what_it_may_leave(gateway, fresh_devnet, kind):
    """Less of one side is taken than was quoted, so an allowance of the rest stays: as the quote allows."""
    pool = pool_of(fresh_devnet, kind, "WETH/USDC", 3000)
    request = ask(pool, "add", pool.token1, 10**18, slippage_bps=100)
    answer = await gateway.spine.quote(Capability.POOL, request)
    async with LiquidityDesk(fresh_devnet) as desk:
        await desk.swap_in(pool, pool.token0, pool.token1, 10**9 * (20 if kind == "v2" else 60))
    await gateway.runtime.chains[31337].head(fresh=True)
    action = await gateway.spine.action(answer.sealed)
    changes = {(c.account, c.token): -c.delta for c in action.simulation.asset_changes}
    taken = {leg.token.address: changes[USER, leg.token.address] for leg in answer.quote.inputs}
    assert any(taken[leg.token.address] < leg.amount for leg in answer.quote.inputs)
    assert all(leg.amount_min <= taken[leg.token.address] <= leg.amount for leg in answer.quote.inputs)
    assert any(change.after for change in action.simulation.allowance_changes)
    async with LiquidityDesk(fresh_devnet) as desk:
        await desk.swap_in(pool, pool.token0, pool.token1, 10**11 * 6)
    await gateway.runtime.chains[31337].head(fresh=True)
    with pytest.raises(UpstreamError) as moved:
        await gateway.spine.action(answer.sealed)
    assert moved.value.reason is Reason.PRICE_MOVED


async def test_the_catalog_lists_every_pool_of_base_tokens_and_values_it(gateway, fresh_devnet):
    provider = gateway.registry.get(Capability.POOL, "uniswap")
    chain = fresh_devnet.chains["devnet"]
    bases = {*chain.base_tokens, NATIVE}
    wanted = {pool.id for pool in chain.pools if {pool.token0, pool.token1} <= bases}
    deadline = time.monotonic() + 300
    while True:
        rows = {row.address: row for row in await provider.pools(31337)}
        if all(row.tvl_usd is not None for row in rows.values()) or time.monotonic() > deadline:
            break
        now = time.time() + 7
        gateway.runtime.clock = lambda now=now: now
        await asyncio.sleep(0.1)
    assert wanted <= rows.keys()
    for pool in chain.pools:
        if pool.id in rows:
            row = rows[pool.id]
            assert row.id == f"31337:{pool.id}"
            assert (row.protocol, row.fee_bps) == (pool.protocol, pool.fee / 100)
            assert row.hooks == (None if pool.hooks == NATIVE else pool.hooks)
            # Uneven ranges take less of one side than the table's depth has of it.
            assert 0.8 * pool.depth_usd <= row.tvl_usd <= pool.depth_usd * 1.0001
            assert (row.volume_24h_usd, row.fees_24h_usd, row.apr) == (0, 0, 0)
    requests = gateway.runtime.chains[31337].requests
    await provider.pools(31337)
    assert gateway.runtime.chains[31337].requests == requests


async def test_a_chain_that_cannot_be_read_costs_the_others_nothing(gateway, fresh_devnet):
    provider = gateway.registry.get(Capability.POOL, "uniswap")

    async def fail(*_, **__):
        raise UpstreamError("no node answers", reason=Reason.RPC_ERROR)

    for name in ("head", "call_many", "request"):
        setattr(gateway.runtime.chains[31338], name, fail)
    assert {row.chain_id for row in await provider.pools(None)} == {31337}
    assert await provider.positions(USER, None) == []
    with pytest.raises(UpstreamError):
        await provider.pools(31338)
    await provider.pools(31337)
    setattr(gateway.runtime.chains[31337], "head", fail)  # noqa: B010
    gateway.runtime.clock = lambda: time.time() + 3600
    assert len(await provider.pools(31337)) > 20  # what was known stays, with its time


async def test_an_id_leads_to_its_pool_wherever_it_is_and_to_no_fake(desk, fresh_devnet):
    for pool in desk.manifest.pools:
        fresh = UniswapPools(desk.context)
        row = await fresh.pool(desk.pool_id(pool))
        assert (row.address, row.kind) == (pool.id, pool.protocol[-2:])
    chain = desk.manifest
    pools = desk.pools
    await pools.pools(31337)  # now the keys of all candidates are known, made or not
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
    # A contract with a pool's code at another address: what it says of itself is true, and it is no pool.
    fake = "0x1111111111111111111111111111111111111115"
    for kind in ("v2", "v3"):
        real = pool_of(fresh_devnet, kind, "WETH/USDC").id
        desk.rpc("anvil_setCode", fake, desk.rpc("eth_getCode", real, "latest"))
        for slot in range(16):
            word = desk.rpc("eth_getStorageAt", real, hex(slot), "latest")
            desk.rpc("anvil_setStorageAt", fake, f"0x{slot:064x}", word)
        assert await pools.pool(f"31337:{fake}") is None


async def test_a_v4_pool_of_an_unusual_fee_is_found_by_the_log_of_its_making(desk):
    usdc, dai = (desk.manifest.token(symbol).address for symbol in ("USDC", "DAI"))
    token0, token1 = sorted((usdc, dai), key=str.lower)
    key = (token0, token1, 777, 7, NATIVE)
    types = ["(address,address,uint24,int24,address)", "uint160"]
    initialize = function("initializePool((address,address,uint24,int24,address) key, uint160 price)")
    data = initialize.selector + encode(types, [key, 2**96])
    manager = desk.manifest.contracts["PositionManager"]
    # The manager swallows a failure, so an estimate would find too little gas enough.
    made = {"from": desk.sender, "to": manager, "data": "0x" + data.hex(), "gas": hex(500_000)}
    desk.rpc("eth_sendTransaction", made)
    desk.rpc("evm_mine")
    await desk.fresh()
    identity = pool_id(PoolKey(*key))
    row = await desk.pools.pool(f"31337:{identity}")
    assert (row.fee_bps, [token.address for token in row.tokens]) == (7.77, [token0, token1])


async def test_logs_come_whole_through_a_node_that_answers_for_few_blocks(desk):
    manager = desk.manifest.contracts["PoolManager"]
    head = await desk.chain.head()
    whole = await Logs(desk.chain).search(manager, [], 0, head.number)
    assert len(whole.logs) > 20
    request = desk.chain.request

    async def stingy(method, params=(), **more):
        if method == "eth_getLogs":
            span = int(params[0]["toBlock"], 16) - int(params[0]["fromBlock"], 16) + 1
            if span > 3:
                raise UpstreamError("block range too wide")
        return await request(method, params, **more)

    desk.chain.request = stingy
    logs = Logs(desk.chain)
    assert (await logs.search(manager, [], 0, head.number)) == whole
    part = await logs.search(manager, [], 0, head.number, most_requests=4)
    assert part.first > 0
    assert part.logs == tuple(log for log in whole.logs if log.block >= part.first)


@pytest.mark.parametrize("kind", ["v2", "v3", "v4"])
async def test_positions_are_worth_what_taking_them_out_pays(desk, fresh_devnet, kind):
    """After random trading: principal and fees of every position against the withdrawal that is executed."""
    chance = random.Random(kind)
    pool = pool_of(fresh_devnet, kind, "ETH/USDC" if kind == "v4" else "WETH/USDC", 3000)
    spacing = pool.tick_spacing
    unit = 10**9
    usdc = desk.manifest.token("USDC").address
    owner = {"sender": USER, "recipient": USER}
    for _ in range(12 if kind != "v2" else 1):
        ticks = {}
        if kind != "v2":
            quote = await desk.terms(desk.of(pool, "add", usdc, unit, **owner))
            middle = quote.details["poolState"]["tick"] // spacing * spacing
            width = chance.choice([1, 2, 5, 40, 400]) * spacing
            ticks = {"tick_lower": middle - width, "tick_upper": middle + width}
        amount = unit * chance.randint(1, 50)
        _, moved = await desk.operate(desk.of(pool, "add", usdc, amount, **owner, **ticks))
        assert moved.exact
        await desk.trade(chance, pool, 2)
    await desk.fresh()
    found = await desk.pools.positions(USER, desk.pool_id(pool))
    assert len(found) == (12 if kind != "v2" else 1)
    assert len(await desk.pools.positions(USER, None)) == len(found)
    if kind != "v2":
        assert any(leg.amount for position in found for leg in position.uncollected_fees)
    snapshot = desk.rpc("evm_snapshot")
    for position in found:
        more = {} if kind == "v2" else {"position_id": position.position_id}
        quote, moved = await desk.operate(desk.of(pool, "remove", usdc, None, **owner, **more))
        assert moved.exact
        paid = {leg.token.address: leg.amount for leg in quote.outputs}
        for side, leg in enumerate(position.amounts):
            fees = position.uncollected_fees[side].amount if position.uncollected_fees else 0
            assert paid.get(leg.token.address, 0) == leg.amount + fees
        desk.rpc("evm_revert", snapshot)
        snapshot = desk.rpc("evm_snapshot")
        await desk.fresh()


async def test_volume_and_fees_equal_an_independent_account(devnet):
    account = await account_for_random_swaps(200, 5, devnet)
    assert account.wrong == []
    assert account.inexact == 0
    assert len(account.compared) == 6  # three versions, fee switch on and off


async def test_principal_is_what_all_positions_together_would_be_paid(desk, fresh_devnet):
    """A v3 pool that nobody traded in holds its principal, but for what each mint rounded up."""
    states = PoolStates(desk.chain)
    block = await desk.chain.head()
    for pool in fresh_devnet.chains["devnet"].pools:
        if pool.protocol != "uniswap-v3":
            continue
        known = await desk.pools._find(desk.pool_id(pool))
        amounts = principal(await whole_pool(states, block, known.ref))
        for token, amount in zip((pool.token0, pool.token1), amounts, strict=True):
            (held,) = desk._balances([(pool.id, token)])
            assert 0 <= held - amount <= 30


async def test_series_say_what_they_stand_on(gateway, fresh_devnet):
    provider = gateway.registry.get(Capability.POOL, "uniswap")
    pool = pool_of(fresh_devnet, "v3", "WETH/USDC", 500)
    identity = f"31337:{pool.id}"
    async with LiquidityDesk(fresh_devnet) as desk:
        for _ in range(5):
            await desk.swap_in(pool, pool.token0, pool.token1, 10**10)
    head = await gateway.runtime.chains[31337].head(fresh=True)
    start, end = head.timestamp - 7 * 86_400, head.timestamp + 1
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
        assert {value for moment, value in series.points if moment < head.timestamp - 2 * 86_400} == {None}
    assert await provider.series("31337:" + ACCOUNTS[0].address, "tvl", start, end, "1d") is None
    assert await provider.series(identity, "mood", start, end, "1d") is None


async def test_prices_are_those_of_the_devnet_and_no_block_of_manipulation_moves_them(desk, fresh_devnet):
    chain = fresh_devnet.chains["devnet"]
    desk.rpc("anvil_mine", hex(90))
    await desk.fresh()
    rows = desk.pools._deployments[31337]
    tokens = [token.address for token in chain.tokens]

    async def read():
        await desk.fresh()
        return await ChainPrices(desk.context, desk.chain, rows).at(tokens, await desk.chain.head())

    before = await read()
    for token in chain.tokens:
        assert before[token.address].usd == pytest.approx(float(token.price_usd), rel=1e-6), token.symbol
        assert 0 < before[token.address].confidence <= 1
    victims = [
        p for p in chain.pools if p.pair in ("LDO/WETH", "WETH/USDC", "ETH/USDC") and p.hooks == NATIVE
    ]
    for pool in victims:
        known = await desk.pools._find(desk.pool_id(pool))
        (state,) = await PoolStates(desk.chain).load(await desk.chain.head(), [known.ref])
        reserve = getattr(state, "reserve0", None)
        amount = (
            reserve
            if reserve
            else swap_exact_in(state, True, 2**127, state.sqrt_price_x96 * 3 // 4).amount_in
        )
        await desk.swap_in(pool, pool.token0, pool.token1, amount)
    spot = await ChainPrices(desk.context, desk.chain, rows).spot(
        chain.token("LDO").address, await desk.chain.head()
    )
    after = await read()
    for token in chain.tokens:
        now = after.get(token.address)
        assert now is None or now.usd == pytest.approx(float(token.price_usd), rel=0.005), token.symbol
    assert spot is None or spot.usd != pytest.approx(1.1, rel=0.05)
    assert after[chain.token("WETH").address].confidence < before[chain.token("WETH").address].confidence


def test_a_price_needs_more_blocks_than_one_can_buy():
    block = Block(100, "0x" + "ab" * 32, 0)
    true, moved = Spot(2.0, 10**6, 3, 0.0), Spot(5.0, 10**6, 3, 0.0)
    assert price_over_time(true, [true] * 5, block).usd == 2
    assert price_over_time(moved, [moved, true, true, true, true], block).usd == 2
    assert price_over_time(moved, [true, true], block) is None  # who is right?
    assert price_over_time(moved, [None] * 5, block) is None  # made just now
    assert price_over_time(None, [true] * 5, block) is None
    alone = price_over_time(true, [], block)  # a node without history: a price, and little trust in it
    assert alone.usd == 2
    assert alone.confidence < 0.6 < price_over_time(true, [true] * 5, block).confidence


async def test_what_no_pool_trades_has_no_price(desk):
    prices = ChainPrices(desk.context, desk.chain, desk.pools._deployments[31337])
    assert await prices.at([ACCOUNTS[5].address], await desk.chain.head()) == {}
