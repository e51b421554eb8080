"""Integrators' fees through the Universal Router: who gets what, executed on the devnet."""

import asyncio
from dataclasses import replace

import pytest
from eth_account import Account
from flows import execute_random_flows, measure_gas
from quoteway import (
    NATIVE,
    Capability,
    IntegratorFee,
    InvalidRequest,
    Reason,
    SwapRequest,
    Token,
    UpstreamError,
)
from quoteway.evm.token_text import display_name
from quoteway.models import RoutingLimits
from quoteway.testing.execution import execute
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap.shared import shared_by


async def test_some_random_flows_pay_recipient_and_fee_as_quoted(devnet):
    report = await execute_random_flows(12, seed=4, devnet=devnet, fees=True)
    assert not report.reverted
    assert not report.wrong
    assert len(report.flows) == 12


@pytest.mark.slow
async def test_random_flows_pay_recipient_and_fee_as_quoted(devnet):
    report = await execute_random_flows(200, seed=20_261_124, devnet=devnet, most_legs=30, fees=True)
    assert not report.reverted
    assert not report.wrong
    assert len(report.flows) == 200
    assert max(report.legs) >= 10
    assert {hop.pool.kind for flow in report.flows for hop in flow.hops} == {"v2", "v3", "v4"}


@pytest.mark.slow
async def test_the_gas_of_a_flow_with_a_fee_is_that_of_its_receipt(devnet):
    measured = await measure_gas(40, seed=6, devnet=devnet, fees=True)
    errors = sorted(abs(flow.gas_units / flow.gas_used - 1) for flow in measured)
    assert not any(flow.wei or flow.fee_wei or flow.left for flow in measured)
    assert errors[37] < 0.05
    assert errors[-1] < 0.1


# --- through a gateway --------------------------------------------------------------------------------------

ACCOUNT = ACCOUNTS[5].address
RECIPIENT = "0x3333333333333333333333333333333333333333"
SHOP = "0x4444444444444444444444444444444444444444"


@pytest.fixture
def uniswap_section(request):
    return {"solver_processes": getattr(request, "param", 0)}


@pytest.fixture
def token(fresh_devnet):
    manifest = fresh_devnet.chains["devnet"]

    def find(symbol):
        if symbol == "ETH":
            return Token(31337, NATIVE, 18, "ETH")
        row = manifest.token(symbol)
        return Token(31337, row.address, row.decimals, symbol)

    return find


@pytest.fixture
def order(token):
    def make(sold, bought, amount, bps=25, **changes):
        ends = token(sold), token(bought)
        fee = IntegratorFee(bps, SHOP) if bps else None
        made = SwapRequest(31337, 31337, *ends, amount, ACCOUNT, RECIPIENT, 50, fee=fee)
        return replace(made, **changes)

    return make


async def quoted(gateway, request):
    return await gateway.quoting.quote(Capability.SWAP, request)


async def acted(gateway, answer):
    return await gateway.building.action(gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token))


async def executed(devnet, request, action):
    """Sends an action; returns what the recipient and the fee's recipient got."""
    unit = request.token_out.address
    done = await execute(devnet, action, [(SHOP, unit)])
    assert not done.reverted
    return done.deltas[request.recipient, unit], done.deltas[SHOP, unit]


@pytest.mark.parametrize(
    ("sold", "bought", "amount"),
    [
        ("ETH", "USDC", 10**18),
        ("USDC", "ETH", 10**9),
        ("USDC", "WETH", 10**9),
        ("DAI", "LINK", 10**20),
        ("WBTC", "ETH", 10**6),
        ("TAX", "DAI", 10**20),
    ],
)
async def test_recipient_and_fee_get_what_the_quote_and_the_action_say(
    gateway, fresh_devnet, order, sold, bought, amount
):
    request = order(sold, bought, amount)
    answer = await quoted(gateway, request)
    (got,), shown = answer.quote.outputs, answer.quote.fees[-1]
    assert (shown.kind, shown.recipient, shown.bps, shown.included) == ("integrator", SHOP, 25, True)
    assert shown.token == got.token
    assert shown.amount == (got.amount + shown.amount) * 25 // 10_000 > 0
    assert got.amount_min == got.amount * 9_950 // 10_000
    before = (await quoted(gateway, order(sold, bought, amount, bps=0))).quote
    assert before.outputs[0].amount == got.amount + shown.amount
    assert answer.quote.price_impact_bps == before.price_impact_bps
    action = await acted(gateway, answer)
    told = {(c.account, c.token): c.delta for c in action.simulation.asset_changes}
    unit = request.token_out.address
    assert (told[RECIPIENT, unit], told[SHOP, unit]) == (got.amount, shown.amount)
    name = display_name(request.token_out)
    assert f"after a fee of 0.25 % of all {name} bought, sent to {SHOP}" in action.steps[-1].intent
    assert await executed(fresh_devnet, request, action) == (got.amount, shown.amount)


async def test_a_token_that_taxes_transfers_pays_no_fee(gateway, order):
    with pytest.raises(InvalidRequest, match="feeBps cannot be charged on a token that taxes") as refusal:
        await quoted(gateway, order("DAI", "TAX", 10**20))
    assert refusal.value.reason is Reason.UNSUPPORTED_TOKEN


@pytest.mark.parametrize(("sold", "bought"), [("ETH", "WETH"), ("WETH", "ETH")])
async def test_wrapping_pays_no_fee(gateway, order, sold, bought):
    with pytest.raises(InvalidRequest, match="wrapped and unwrapped one to one"):
        await quoted(gateway, order(sold, bought, 10**18))


async def test_a_fee_to_a_contract_that_takes_no_coin_is_told_before_anybody_signs(gateway, order, token):
    request = order("USDC", "ETH", 10**9, fee=IntegratorFee(25, token("LINK").address))
    with pytest.raises(UpstreamError) as refusal:
        await quoted(gateway, request)
    assert refusal.value.reason is Reason.REVERTED
    answer = await quoted(gateway, replace(request, token_out=token("WETH")))
    assert "recipient_is_contract" in {notice.code for notice in answer.sealed.warnings}


@pytest.mark.parametrize("amount", [1, 399, 400, 401])
async def test_a_fee_on_a_few_base_units_is_rounded_down(gateway, fresh_devnet, order, amount):
    request = order("DAI", "WETH", amount * 4_000)
    answer = await quoted(gateway, request)
    got, fee = await executed(fresh_devnet, request, await acted(gateway, answer))
    assert (got, fee) == (answer.quote.outputs[0].amount, answer.quote.fee_amount)
    assert fee == (got + fee) * 25 // 10_000


async def test_the_fee_follows_the_price_and_the_minimum_holds_after_it(gateway, fresh_devnet, order):
    """Another swap moves the price between quote and action: the share stays, and so does the minimum."""
    request = order("USDC", "ETH", 10**9, slippage_bps=300)
    answer = await quoted(gateway, request)
    pools = tuple(f"31337:{leg.pool}" for leg in answer.quote.route_legs)
    limits = RoutingLimits(pools=pools)
    other = await quoted(gateway, order("USDC", "ETH", 10**10, bps=0, routing=limits))
    await execute(fresh_devnet, await acted(gateway, other))
    got, fee = await executed(fresh_devnet, request, await acted(gateway, answer))
    assert answer.quote.outputs[0].amount_min <= got < answer.quote.outputs[0].amount
    assert fee == (got + fee) * 25 // 10_000 < answer.quote.fee_amount


async def test_a_signed_permit_and_a_chosen_slippage_keep_the_fee(gateway, fresh_devnet, order):
    request = order("USDC", "ETH", 10**9, permit2_signature=True)
    answer = await gateway.quoting.quote(Capability.SWAP, request, chooses_slippage=True)
    (got,), fee = answer.quote.outputs, answer.quote.fee_amount
    assert fee == (got.amount + fee) * 25 // 10_000
    action = await acted(gateway, answer)
    (asked,) = action.signatures
    key = ACCOUNTS[5].private_key
    signature = bytes(Account.sign_typed_data(key, full_message=dict(asked.typed_data)).signature)
    steps = list(action.steps)
    data = steps[asked.step].data
    signed = data[: asked.offset] + signature + data[asked.offset + 65 :]
    steps[asked.step] = replace(steps[asked.step], data=signed)
    done = await executed(fresh_devnet, request, replace(action, steps=tuple(steps)))
    assert done == (got.amount, fee)


@pytest.mark.slow
@pytest.mark.parametrize("uniswap_section", [1], indirect=True)
async def test_a_split_pays_the_fee_of_all_its_parts(gateway, fresh_devnet, order, monkeypatch):
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    (entry,) = (entry for entry in gateway.registry.plugins if entry.name == "uniswap")
    async with asyncio.timeout(60):
        while not shared_by(entry.context).splitting.solvers._idle:
            await asyncio.sleep(0.05)
    for sold, bought, amount, bps in (
        ("ETH", "USDC", 500 * 10**18, 100),
        ("USDC", "ETH", 900_000 * 10**6, 1),
        ("WBTC", "DAI", 10 * 10**8, 37),
    ):
        request = order(sold, bought, amount, bps)
        answer = await quoted(gateway, request)
        quote = answer.quote
        (got,), fee, near = quote.outputs, quote.fee_amount, quote.optimality
        assert len(quote.route) > 1
        assert near.bound >= got.amount
        assert near.gap_bps >= (near.bound - got.amount) * 10_000 / near.bound
        assert await executed(fresh_devnet, request, await acted(gateway, answer)) == (got.amount, fee)
        assert fee == (got.amount + fee) * bps // 10_000
