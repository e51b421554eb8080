"""Liquidity operations executed on the devnet: amounts are as quoted, to the unit."""

import random

import pytest
from execution import Reverted
from liquidity import LiquidityHarness, pool_of
from quoteway import NATIVE, Capability, InvalidRequest, Reason
from quoteway.evm.erc20 import TRANSFER
from quoteway_amm import V2Pool, swap_exact_in
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.transactions import DEPLOYER
from quoteway_uniswap.state import PoolStates
from random_operations import FRESH_RECIPIENT, execute_random_operations
from trading import set_protocol_fees

KINDS = ["v2", "v3", "v4"]


@pytest.fixture
async def harness(fresh_devnet):
    async with LiquidityHarness(fresh_devnet) as harness:
        yield harness


def eth_pool(harness, kind):
    return pool_of(harness.manifest, kind, "ETH/USDC" if kind == "v4" else "WETH/USDC", 3000)


def exact(done):
    quote, moved = done
    assert moved.exact, moved
    return quote


@pytest.mark.slow
@pytest.mark.parametrize("native", [False, True], ids=["tokens", "native"])
@pytest.mark.parametrize("kind", KINDS)
async def test_the_life_of_a_position_is_exact(harness, kind, native):
    """Adds twice, earns fees, removes a part, collects and removes the rest."""
    pool = eth_pool(harness, kind) if native else pool_of(harness.manifest, kind, "USDC/USDT")
    coin = NATIVE if native else pool.token0
    unit = 10**18 if native else 10**10
    more = {"use_native": native and kind != "v4"}
    quote = exact(await harness.operate(harness.of(pool, "add", coin, 3 * unit, **more)))
    assert quote.inputs[0].amount or quote.inputs[1].amount
    if kind != "v2":
        (position,) = await positions(harness, pool)
        assert quote.outputs[0].amount == quote.outputs[0].amount_min == 1
        more["position_id"] = position.position_id
    exact(await harness.operate(harness.of(pool, "add", coin, unit, **more)))
    await harness.trade(random.Random(1), pool, 4)
    part = exact(await harness.operate(harness.of(pool, "remove", coin, unit // 2, **more)))
    got = next(leg for leg in part.outputs if leg.token.address == coin)
    assert unit // 2 <= got.amount
    if kind != "v2":
        await harness.trade(random.Random(2), pool, 4)
        collected = exact(await harness.operate(harness.of(pool, "collect", **more)))
        assert collected.outputs
        with pytest.raises(InvalidRequest, match="nothing to collect"):
            await harness.terms(harness.of(pool, "collect", **more))
    rest = exact(await harness.operate(harness.of(pool, "remove", coin, None, **more)))
    assert (1 if kind != "v2" else rest.inputs[0].amount) == rest.inputs[0].amount
    assert [p for p in await positions(harness, pool) if kind != "v2"] == []


async def positions(harness, pool):
    await harness.fresh()
    return list(await harness.pools.positions(harness.sender, harness.pool_id(pool)))


def units(harness, asset):
    """Returns a few thousand dollars in base units."""
    return 10**18 if asset in (NATIVE, harness.network.wrapped_native) else 3 * 10**9


@pytest.mark.parametrize("kind", KINDS)
async def test_the_amount_of_either_token_may_be_given(harness, kind):
    pool = eth_pool(harness, kind)
    for asset in (pool.token0, pool.token1):
        amount = units(harness, asset)
        quote = exact(await harness.operate(harness.of(pool, "add", asset, amount)))
        given = next(leg for leg in quote.inputs if leg.token.address == asset)
        other = next(leg for leg in quote.inputs if leg.token.address != asset)
        assert amount * 0.999999 < given.amount <= amount
        assert quote.terms.dependent.amount == other.amount
        assert quote.terms.pool_state.kind == kind
        assert quote.terms.liquidity_delta > 0
        assert 0 < quote.terms.share_of_pool < 0.01


@pytest.mark.parametrize("kind", KINDS)
async def test_shares_tokens_and_proceeds_go_to_another_recipient(harness, kind):
    pool = eth_pool(harness, kind)
    away = {"recipient": FRESH_RECIPIENT}
    quote = exact(
        await harness.operate(harness.of(pool, "add", pool.token1, units(harness, pool.token1), **away))
    )
    assert {leg.account for leg in quote.outputs} == {FRESH_RECIPIENT}
    quote = exact(await harness.operate(harness.of(pool, "add", pool.token1, units(harness, pool.token1))))
    own = await positions(harness, pool)
    position = {} if kind == "v2" else {"position_id": own[-1].position_id}
    quote = exact(await harness.operate(harness.of(pool, "remove", pool.token0, None, **position, **away)))
    assert {leg.account for leg in quote.outputs} == {FRESH_RECIPIENT}


@pytest.mark.parametrize("kind", ["v3", "v4"])
async def test_the_range_is_the_full_one_unless_requested(harness, kind):
    pool = eth_pool(harness, kind)
    spacing = 60
    quote = await harness.terms(harness.of(pool, "add", pool.token1, units(harness, pool.token1)))
    assert quote.terms.tick_range == (-887220, 887220)
    tick = quote.terms.pool_state.tick // spacing * spacing
    above = {"tick_lower": tick + spacing, "tick_upper": tick + 5 * spacing}
    quote = exact(
        await harness.operate(harness.of(pool, "add", pool.token0, units(harness, pool.token0), **above))
    )
    assert [leg.token.address for leg in quote.inputs] == [pool.token0]
    assert quote.terms.share_of_pool is None
    with pytest.raises(InvalidRequest, match="takes only") as refusal:
        await harness.terms(harness.of(pool, "add", pool.token1, units(harness, pool.token1), **above))
    assert refusal.value.reason is Reason.CONFLICT


@pytest.mark.parametrize(
    ("ticks", "names"),
    [
        ((-100, 120), ["tickLower must be a multiple of 60", "nearest is -120"]),
        ((-120, 125), ["tickUpper must be a multiple of 60", "nearest is 120"]),
        ((60, -60), ["tickUpper must be above tickLower", "60 and 120"]),
        ((60, 60), ["60 and 120"]),
        ((-887272, 887272), ["nearest is -887220", "nearest is 887220"]),
    ],
)
@pytest.mark.parametrize("kind", ["v3", "v4"])
async def test_invalid_ticks_are_refused_with_the_nearest_valid_ones(harness, kind, ticks, names):
    pool = eth_pool(harness, kind)
    request = harness.of(
        pool, "add", pool.token1, units(harness, pool.token1), tick_lower=ticks[0], tick_upper=ticks[1]
    )
    with pytest.raises(InvalidRequest) as refusal:
        await harness.terms(request)
    for name in names:
        assert name in refusal.value.message
    assert {error.path for error in refusal.value.fields} <= {"tickLower", "tickUpper"}


@pytest.mark.parametrize("kind", KINDS)
async def test_impossible_requests_are_refused_with_a_reason(harness, kind):
    pool = eth_pool(harness, kind)
    stranger = harness.manifest.token("LINK").address
    cases = [
        (harness.of(pool, "add", stranger, 1), Reason.UNSUPPORTED_TOKEN),
        (harness.of(pool, "add", pool.token1, None), Reason.INVALID_FORMAT),
        (
            harness.of(pool_of(harness.manifest, kind, "USDC/USDT"), "add", NATIVE, 1),
            Reason.UNSUPPORTED_TOKEN,
        ),
        (
            harness.of(pool, "add", pool.token1, units(harness, pool.token1), recipient=NATIVE),
            Reason.INVALID_FORMAT,
        ),
        (
            harness.of(pool, "add", pool.token1, units(harness, pool.token1), recipient=pool.token1),
            Reason.INVALID_FORMAT,
        ),
    ]
    if kind == "v2":
        cases += [
            (harness.of(pool, "collect"), Reason.UNSUPPORTED_ACTION),
            (
                harness.of(pool, "add", pool.token1, units(harness, pool.token1), tick_lower=0),
                Reason.CONFLICT,
            ),
            (harness.of(pool, "remove", pool.token1, 10**30), Reason.AMOUNT_TOO_HIGH),
            (
                harness.of(pool, "remove", pool.token1, None, sender=ACCOUNTS[3].address),
                Reason.AMOUNT_TOO_HIGH,
            ),
        ]
    else:
        exact(await harness.operate(harness.of(pool, "add", pool.token1, units(harness, pool.token1))))
        mine = (await positions(harness, pool))[-1].position_id
        other = pool_of(harness.manifest, kind, "USDC/USDT")
        nobody = {"sender": ACCOUNTS[3].address, "recipient": ACCOUNTS[3].address}
        cases += [
            (harness.of(pool, "remove", pool.token1, 10**30, position_id=mine), Reason.AMOUNT_TOO_HIGH),
            (harness.of(pool, "remove", pool.token1, None, position_id=mine, **nobody), Reason.CONFLICT),
            (harness.of(pool, "collect", position_id=mine, **nobody), Reason.CONFLICT),
            (harness.of(pool, "collect", position_id=mine), Reason.AMOUNT_TOO_LOW),
            (harness.of(other, "collect", position_id=mine), Reason.CONFLICT),
            (harness.of(pool, "collect", position_id="999999"), Reason.CONFLICT),
            (harness.of(pool, "collect", position_id="1:2"), Reason.INVALID_FORMAT),
            (harness.of(pool, "collect", **nobody), Reason.MISSING),
            (
                harness.of(
                    pool, "add", pool.token1, units(harness, pool.token1), position_id=mine, tick_lower=0
                ),
                Reason.CONFLICT,
            ),
        ]
    for request, reason in cases:
        with pytest.raises(InvalidRequest) as refusal:
            await harness.terms(request)
        assert refusal.value.reason is reason, (request, refusal.value.message)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_add_after_a_price_change_respects_its_minimums(harness, kind):
    """Within the slippage at least the minimum is taken; beyond it the transaction reverts."""
    pool = eth_pool(harness, kind)
    request = harness.of(pool, "add", pool.token1, units(harness, pool.token1), slippage_bps=100)
    quote = await harness.terms(request)
    build = await harness.pools.build(harness.seal(request, quote, Capability.POOL))
    snapshot = harness.rpc("evm_snapshot")
    await move_price(harness, pool, 0.003)
    moved = harness.run(request, quote, build)
    for leg in quote.inputs:
        taken = leg.amount - moved.differences[harness.sender, leg.token.address]
        assert leg.amount_min <= taken <= (leg.amount_max or leg.amount)
    assert any(moved.differences.values())
    assert not moved.left
    harness.rewind(snapshot)
    await harness.fresh()
    await move_price(harness, pool, 0.05)
    with pytest.raises(Reverted):
        harness.run(request, quote, build)


async def move_price(harness, pool, by):
    """Sells token1 until the price of token0 has risen by about this fraction."""
    known = await harness.pools._find(harness.pool_id(pool))
    await harness.fresh()
    (state,) = await PoolStates(harness.chain).load(await harness.chain.head(), [known.ref])
    if isinstance(state, V2Pool):
        amount = int(state.reserve1 * by / 2)
    else:
        limit = int(state.sqrt_price_x96 * (1 + by / 2))
        amount = swap_exact_in(state, False, 2**127, limit).amount_in
    await harness.swap_in(pool, pool.token1, pool.token0, amount)


async def test_position_id_may_be_left_out_for_the_only_position(harness):
    pool = eth_pool(harness, "v4")
    own = {"sender": ACCOUNTS[4].address, "recipient": ACCOUNTS[4].address}
    exact(await harness.operate(harness.of(pool, "add", pool.token1, units(harness, pool.token1), **own)))
    quote = exact(await harness.operate(harness.of(pool, "remove", pool.token1, None, **own)))
    assert quote.plan["all"]


def give_shares(harness, pool, shares):
    """Transfers shares from the account that created the devnet's pools."""
    data = TRANSFER.encode([harness.sender, shares])
    harness.rpc("anvil_impersonateAccount", DEPLOYER)
    harness.rpc("eth_sendTransaction", {"from": DEPLOYER, "to": pool.id, "data": "0x" + data.hex()})
    harness.rpc("evm_mine")


async def test_the_next_burn_and_mint_include_donated_tokens(harness):
    pool = pool_of(harness.manifest, "v2", "USDC/USDT")
    mint = "0x40c10f19" + pool.id[2:].rjust(64, "0") + f"{123_456_789:064x}"
    harness.rpc("eth_sendTransaction", {"from": harness.sender, "to": pool.token0, "data": mint})
    harness.rpc("evm_mine")
    give_shares(harness, pool, 10**10)
    exact(await harness.operate(harness.of(pool, "remove", pool.id, 10**10)))
    harness.rpc("eth_sendTransaction", {"from": harness.sender, "to": pool.token1, "data": mint})
    harness.rpc("evm_mine")
    exact(await harness.operate(harness.of(pool, "add", pool.token0, units(harness, pool.token0))))


async def test_v2_protocol_shares_are_minted_first(harness):
    pool = eth_pool(harness, "v2")
    set_protocol_fees(harness, random.Random(1), True)
    exact(await harness.operate(harness.of(pool, "add", pool.token1, units(harness, pool.token1))))
    for seed in range(3):
        await harness.trade(random.Random(seed), pool, 4)
        exact(await harness.operate(harness.of(pool, "add", pool.token1, units(harness, pool.token1))))
        await harness.trade(random.Random(seed + 9), pool, 4)
        exact(
            await harness.operate(harness.of(pool, "remove", pool.token1, units(harness, pool.token1) // 3))
        )


async def test_a_taxed_token_can_be_removed_but_not_added(harness):
    pool = pool_of(harness.manifest, "v2", "USDC/TAX")
    with pytest.raises(InvalidRequest, match="keeps part of every transfer"):
        await harness.terms(harness.of(pool, "add", pool.token0, 10**6))
    give_shares(harness, pool, 10**12)
    exact(await harness.operate(harness.of(pool, "remove", pool.id, 10**12)))


@pytest.mark.parametrize("seed", [3, pytest.param(4, marks=pytest.mark.slow)])
async def test_random_operations_move_exactly_what_was_quoted(devnet, seed):
    report = await execute_random_operations(100, seed, devnet)
    assert report.count == 100
    assert report.reverted == []
    assert report.wrong == []
    assert len({name.split(" ")[0] for name in report.done}) == 3
    assert report.positions
