"""Integrators' fees beside exact outputs through the Universal Router, executed on the devnet."""

import asyncio
from dataclasses import replace

import pytest
from eth_account import Account
from execution import Reverted, SwapHarness
from output_paths import execute as exchange
from output_paths import same_as_quoted
from quoteway import Capability, IntegratorFee, InvalidRequest, SwapRequest
from quoteway.evm.calls.router_commands import dialect
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.optimality import optimality_flaw
from quoteway.models import CertifiedSwap, RoutingLimits
from quoteway.testing.execution import execute
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap.exact_output import exact_output_commands
from quoteway_uniswap.orders import Order
from quoteway_uniswap.plans import hops_of_plan

ACCOUNT = ACCOUNTS[5].address
RECIPIENT = "0x3333333333333333333333333333333333333333"
SHOP = "0x4444444444444444444444444444444444444444"
THIEF = "0x6666666666666666666666666666666666666666"


@pytest.fixture
async def harness(fresh_devnet):
    async with SwapHarness(fresh_devnet) as made:
        yield made


@pytest.fixture
async def splitting(fresh_devnet):
    async with SwapHarness(fresh_devnet, settings={"solver_processes": 1}) as made, made.shared:
        yield made


@pytest.fixture
def order(token):
    def make(sold, bought, amount, bps=25, **changes):
        fee = IntegratorFee(bps, SHOP) if bps else None
        ends = token(sold), token(bought)
        made = SwapRequest(31337, 31337, *ends, 0, ACCOUNT, RECIPIENT, 50, amount_out=amount, fee=fee)
        return replace(made, **changes)

    return make


async def quoted(gateway, request):
    return await gateway.quoting.quote(Capability.SWAP, request)


async def acted(gateway, answer):
    return await gateway.building.action(gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token))


async def executed(devnet, request, action):
    """Sends an action; returns what the sender paid, and the fee's recipient and the recipient got."""
    sold, bought = request.token_in.address, request.token_out.address
    done = await execute(devnet, action, [(SHOP, sold)])
    assert not done.reverted
    return -done.deltas[request.sender, sold], done.deltas[SHOP, sold], done.deltas[request.recipient, bought]


PAIRS = [
    ("ETH", "USDC", 2_000 * 10**6),
    ("WETH", "USDC", 2_000 * 10**6),
    ("USDC", "ETH", 10**18),
    ("USDC", "WETH", 10**18),
    ("DAI", "LINK", 10**19),
    ("WBTC", "ETH", 10**18),
]


@pytest.mark.parametrize(("sold", "bought", "amount"), PAIRS)
async def test_sender_fee_and_recipient_have_what_the_quote_and_the_action_say(
    gateway, fresh_devnet, order, sold, bought, amount
):
    request = order(sold, bought, amount)
    answer = await quoted(gateway, request)
    (given,), (got,), shown = answer.quote.inputs, answer.quote.outputs, answer.quote.fees[-1]
    assert (shown.kind, shown.recipient, shown.bps, shown.included) == ("integrator", SHOP, 25, True)
    assert (shown.token, shown.amount) == (given.token, answer.quote.fee_amount)
    assert shown.amount == (given.amount - shown.amount) * 25 // 10_000 > 0
    assert given.amount_max == (given.amount - shown.amount) * 10_050 // 10_000 + shown.amount
    assert got.amount_min == amount
    before = (await quoted(gateway, order(sold, bought, amount, bps=0))).quote
    assert before.inputs[0].amount == given.amount - shown.amount
    assert answer.quote.price_impact_bps == before.price_impact_bps
    action = await acted(gateway, answer)
    told = {(c.account, c.token): c.delta for c in action.simulation.asset_changes}
    unit = request.token_in.address
    assert (told[ACCOUNT, unit], told[SHOP, unit]) == (-given.amount, shown.amount)
    assert f"is a fee, sent to {SHOP}" in action.steps[-1].intent
    assert action.steps[-1].value == (given.amount_max if sold == "ETH" else 0)
    assert await executed(fresh_devnet, request, action) == (given.amount, shown.amount, got.amount)


async def test_a_fee_on_a_few_base_units_is_rounded_down(harness):
    """The pools take so few units that the fee is nothing, or one."""
    fees = set()
    for amount in (1, 100 * 10**9, 130 * 10**9, 300 * 10**9):
        request = harness.request("USDC", "WETH", 0, amount_out=amount, fee=IntegratorFee(25, SHOP))
        quote = await harness.quote(request)
        (given,) = quote.inputs
        assert quote.fee_amount == (given.amount - quote.fee_amount) * 25 // 10_000
        fees.add(quote.fee_amount)
        same_as_quoted(quote, await exchange(harness, request, quote, await harness.build(request, quote)))
    assert {0, 1} <= fees


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["v2", "v3", "v4"])
async def test_each_protocol_with_each_form_of_the_coin(fresh_devnet, kind):
    async with SwapHarness(fresh_devnet) as plain:
        rows = plain.network.deployments["uniswap"]
    row = {key: value for key, value in rows[0].items() if key not in ("v2", "v3", "v4") or key == kind}
    async with SwapHarness(fresh_devnet, deployments={"uniswap": (row,)}) as harness:
        for sold, bought, amount in PAIRS[:4]:
            for bps in (1, 1_000):
                fee = IntegratorFee(bps, SHOP)
                request = harness.request(sold, bought, 0, amount_out=amount + 7, fee=fee)
                quote = await harness.quote(request)
                assert {hop.protocol for hop in quote.route[0].hops} == {f"uniswap-{kind}"}
                build = await harness.build(request, quote)
                same_as_quoted(quote, await exchange(harness, request, quote, build))


@pytest.mark.slow
@pytest.mark.parametrize(("sold", "bought", "amount"), [
    ("ETH", "USDC", 900_000 * 10**6),
    ("WETH", "USDC", 900_000 * 10**6 + 1),
    ("USDC", "ETH", 300 * 10**18),
])  # fmt: skip
async def test_a_split_pays_one_fee_and_proves_its_bound_with_it(
    splitting, sold, bought, amount, monkeypatch
):
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    fee = IntegratorFee(37, SHOP)
    request = splitting.request(sold, bought, 0, amount_out=amount, fee=fee, certificate=True)
    quote = await splitting.quote(request)
    (given,), told = quote.inputs, quote.optimality
    assert len(quote.route) > 1
    assert optimality_flaw(request, quote) is None
    assert 0 < told.bound <= given.amount
    assert told.gap_bps >= (given.amount - told.bound) * 10_000 / given.amount - 1e-9
    swap = CertifiedSwap(
        31337,
        request.token_in.address,
        request.token_out.address,
        given.amount,
        quote.outputs[0].amount,
        quote.block,
        quote.route_legs,
        told,
        fee.bps,
        bought=amount,
    )
    checks = await splitting.provider.verify(swap)
    assert [(each.subject, each.holds) for each in checks] == [
        (subject, True) for subject in ("block", "pools", "states", "bound", "route", "gap")
    ]
    wrong = await splitting.provider.verify(replace(swap, fee_bps=36))
    assert {each.subject for each in wrong if not each.holds} == {"bound", "route"}
    same_as_quoted(quote, await exchange(splitting, request, quote, await splitting.build(request, quote)))


async def sold_by_another(harness, sold, bought, amount, quote):
    """Another account swaps in the pools of a quote."""
    account = ACCOUNTS[6].address
    limits = RoutingLimits(pools=tuple(f"31337:{leg.pool}" for leg in quote.route_legs))
    request = harness.request(
        sold, bought, amount, sender=account, recipient=account, slippage_bps=5_000, routing=limits
    )
    harness.transact(account, await harness.build(request, await harness.quote(request)))


@pytest.mark.parametrize("sold", ["ETH", "WETH"])
async def test_the_fee_stays_when_the_price_moves_and_the_maximum_holds_with_it(harness, sold):
    fee = IntegratorFee(100, SHOP)
    request = harness.request(
        sold, "USDC", 0, amount_out=20_000 * 10**6, fee=fee, slippage_bps=100, recipient=RECIPIENT
    )
    quote = await harness.quote(request)
    (given,), build = quote.inputs, await harness.build(request, quote)
    snapshot = harness.rpc("evm_snapshot")
    for ends, amount, moves in (
        (("ETH", "USDC"), 10**19, 1),
        (("USDC", "ETH"), 20_000 * 10**6, -1),
    ):
        await sold_by_another(harness, *ends, amount, quote)
        done = await exchange(harness, request, quote, build)
        assert (done.took - given.amount) * moves > 0
        assert done.took <= given.amount_max
        assert (done.paid, done.fee, done.left) == (request.amount_out, quote.fee_amount, {})
        snapshot = harness.rewind(snapshot)
    await sold_by_another(harness, "ETH", "USDC", 2_000 * 10**18, quote)
    with pytest.raises(Reverted):
        harness.transact(request.sender, build)


@pytest.mark.parametrize("sold", ["ETH", "USDC"])
async def test_the_guard_refuses_a_build_whose_fee_goes_elsewhere_or_is_larger(harness, sold, monkeypatch):
    bought = "USDC" if sold == "ETH" else "ETH"
    amount = 2_000 * 10**6 if sold == "ETH" else 10**18
    request = harness.request(sold, bought, 0, amount_out=amount, fee=IntegratorFee(25, SHOP))
    quote = await harness.quote(request)
    honest = exact_output_commands

    def changed(change):
        def commands(words, order, hops):
            return change(order, honest(words, order, hops))

        monkeypatch.setattr("quoteway_uniswap.router.exact_output_commands", commands)

    def fee_to(account, more=0):
        return lambda order, made: [(*made[0][:2], account, made[0][3] + more), *made[1:]]

    for change, finding in (
        (fee_to(THIEF), f"pays the fee to {THIEF}"),
        (fee_to(SHOP, 1), "takes a fee of|takes more of|more than the router holds"),
        (fee_to(SHOP, -1), "takes a fee of|may leave"),
        (lambda order, made: [made[0], *made], "pays 2 fees|takes more of|more than the router holds"),
        (lambda order, made: made[1:], "pays 0 fees|may leave"),
    ):
        changed(change)
        with pytest.raises(UnsafeAnswer, match=finding):
            await harness.build(request, quote)
    changed(lambda order, made: made)
    same_as_quoted(quote, await exchange(harness, request, quote, await harness.build(request, quote)))


async def test_an_order_transfers_its_fee_first_and_exactly(harness):
    request = harness.request("USDC", "ETH", 0, amount_out=10**18, fee=IntegratorFee(25, SHOP))
    quote = await harness.quote(request)
    (given,), wrapped = quote.inputs, harness.network.wrapped_native
    ends = request.token_in.address, request.token_out.address
    order = Order(
        *ends,
        given.amount_max - quote.fee_amount,
        10**18,
        ACCOUNT,
        wrapped,
        request.fee,
        True,
        quote.fee_amount,
    )
    first, *_ = exact_output_commands(dialect("2.1"), order, hops_of_plan(quote.plan))
    assert first == ("PERMIT2_TRANSFER_FROM", ends[0], SHOP, quote.fee_amount)


async def test_a_signed_permit_and_a_chosen_slippage_keep_the_fee(gateway, fresh_devnet, order):
    request = order("USDC", "ETH", 10**18, permit2_signature=True)
    answer = await gateway.quoting.quote(Capability.SWAP, request, chooses_slippage=True)
    (given,), (got,), fee = answer.quote.inputs, answer.quote.outputs, answer.quote.fee_amount
    action = await acted(gateway, answer)
    (asked,) = action.signatures
    assert int(asked.typed_data["message"]["details"]["amount"]) == given.amount_max
    key = ACCOUNTS[5].private_key
    signature = bytes(Account.sign_typed_data(key, full_message=dict(asked.typed_data)).signature)
    steps = list(action.steps)
    data = steps[asked.step].data
    signed = data[: asked.offset] + signature + data[asked.offset + 65 :]
    steps[asked.step] = replace(steps[asked.step], data=signed)
    done = await executed(fresh_devnet, request, replace(action, steps=tuple(steps)))
    assert done == (given.amount, fee, got.amount)


@pytest.mark.parametrize(("sold", "bought"), [("ETH", "WETH"), ("TAX", "DAI"), ("DAI", "TAX")])
async def test_wrapping_and_tokens_that_tax_transfers_are_refused(gateway, order, sold, bought):
    with pytest.raises(InvalidRequest):
        await quoted(gateway, order(sold, bought, 10**18))


async def test_quotes_at_once_are_independent(gateway, order):
    asked = [order("USDC", "ETH", 10**17, bps=bps) for bps in (0, 10, 100)]
    free, some, more = [
        answer.quote.inputs[0].amount for answer in await asyncio.gather(*(quoted(gateway, a) for a in asked))
    ]
    assert (some, more) == (free + free * 10 // 10_000, free + free * 100 // 10_000)
