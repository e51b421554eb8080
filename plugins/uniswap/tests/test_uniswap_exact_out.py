"""Exact outputs on the devnet: what they take, pay and return, to the wei."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from eth_account import Account
from exactness import SWAPS_PER_STATE, random_request
from execution import Reverted, SwapHarness
from output_paths import execute, same_as_quoted
from quoteway import InvalidRequest, UpstreamError
from quoteway.errors import Reason
from quoteway.evm.abi import function
from quoteway.evm.calls.router_commands import EXECUTE, MSG_SENDER, Program, dialect
from quoteway.guard.findings import UnsafeAnswer
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap.exact_output import exact_output_commands
from quoteway_uniswap.orders import Order
from quoteway_uniswap.plans import hops_of_plan

STRANGER = "0x1111111111111111111111111111111111111111"


@pytest.fixture
async def harness(fresh_devnet):
    async with SwapHarness(fresh_devnet) as made:
        yield made


def exact_out(harness, sold, bought, amount_out, **changes):
    return harness.request(sold, bought, 0, amount_out=amount_out, **changes)


def only(harness, kind):
    """Returns the deployments with the pools of one protocol."""
    rows = harness.network.deployments["uniswap"]
    kept = {name: value for name, value in rows[0].items() if name not in ("v2", "v3", "v4") or name == kind}
    return {"uniswap": (kept,)}


KINDS = ("v2", "v3", "v4")
AMOUNTS = {"WETH": 10**18, "ETH": 10**18, "USDC": 1_500 * 10**6, "USDT": 1_500 * 10**6}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
async def test_each_protocol_with_each_form_of_the_coin(fresh_devnet, kind):
    async with SwapHarness(fresh_devnet) as plain:
        deployments = only(plain, kind)
    async with SwapHarness(fresh_devnet, deployments=deployments) as harness:
        pairs = [("WETH", "USDC"), ("ETH", "USDC"), ("USDC", "WETH"), ("USDC", "ETH"), ("USDT", "USDC")]
        for sold, bought in pairs:
            for recipient in (harness.sender, STRANGER):
                request = exact_out(harness, sold, bought, AMOUNTS[bought] + 7, recipient=recipient)
                quote = await harness.quote(request)
                assert {hop.protocol for hop in quote.route[0].hops} == {f"uniswap-{kind}"}
                build = await harness.build(request, quote)
                (given,), (step,) = quote.inputs, build.steps
                assert step.value == (given.amount_max if sold == "ETH" else 0)
                same_as_quoted(quote, await execute(harness, request, quote, build))


@pytest.mark.slow
async def test_random_exact_outputs_take_and_pay_what_was_quoted(fresh_devnet):
    chance, kinds, refused = random.Random(20_261_123), Counter(), Counter()
    for slug, count in (("devnet", 110), ("devnet-l2", 30)):
        async with SwapHarness(fresh_devnet, slug) as harness:
            snapshot, executed = harness.rpc("evm_snapshot"), 0
            while executed < count:
                if executed % SWAPS_PER_STATE == SWAPS_PER_STATE - 1:
                    snapshot = harness.rewind(snapshot)
                drawn = random_request(harness, chance)
                # About as large as what the drawn input buys.
                try:
                    likely = await harness.quote(drawn)
                except UpstreamError:
                    continue
                if likely is None:
                    continue
                amount = max(likely.outputs[0].amount, 1)
                request = replace(drawn, amount_in=0, amount_out=amount)
                try:
                    quote = await harness.quote(request)
                except (UpstreamError, InvalidRequest) as error:
                    refused[error.reason] += 1
                    continue
                (given,), (got,) = quote.inputs, quote.outputs
                assert got.amount_min == amount <= got.amount
                assert given.amount <= given.amount_max
                executed += 1
                kinds[quote.route[0].hops[0].protocol, len(quote.route[0].hops)] += 1
                build = await harness.build(request, quote)
                same_as_quoted(quote, await execute(harness, request, quote, build))
            harness.rpc("evm_revert", snapshot)
    assert {protocol for protocol, _ in kinds} >= {"uniswap-v2", "uniswap-v3", "uniswap-v4"}, (kinds, refused)
    assert max(hops for _, hops in kinds) > 1


@pytest.mark.parametrize(("sold", "bought"), [("ETH", "WETH"), ("WETH", "ETH")])
async def test_wrapping_is_one_to_one(harness, sold, bought):
    request = exact_out(harness, sold, bought, 123_456_789, recipient=STRANGER)
    quote = await harness.quote(request)
    (given,), (got,) = quote.inputs, quote.outputs
    assert given.amount == given.amount_max == got.amount == got.amount_min == 123_456_789
    same_as_quoted(quote, await execute(harness, request, quote, await harness.build(request, quote)))


@pytest.mark.parametrize(
    ("sold", "bought", "amount"),
    [
        ("USDC", "ETH", 1),
        ("ETH", "USDC", 1),
        ("USDC", "USDT", 1),
        ("PEPE", "EURC", 10**6),
        ("WBTC", "ETH", 1),
    ],
)
async def test_very_small_outputs(harness, sold, bought, amount):
    request = exact_out(harness, sold, bought, amount)
    quote = await harness.quote(request)
    (given,), (got,) = quote.inputs, quote.outputs
    assert given.amount > 0
    assert got.amount >= got.amount_min == amount
    same_as_quoted(quote, await execute(harness, request, quote, await harness.build(request, quote)))


async def test_outputs_that_no_pool_has_are_refused(harness):
    for sold, bought, amount in (("USDC", "ETH", 10**25), ("ETH", "USDC", 10**40), ("USDC", "DAI", 2**159)):
        with pytest.raises(UpstreamError) as refusal:
            await harness.quote(exact_out(harness, sold, bought, amount))
        assert refusal.value.reason is Reason.INSUFFICIENT_LIQUIDITY
    for amount in (2**160, 2**256 - 1):
        with pytest.raises(InvalidRequest) as refused:
            await harness.quote(exact_out(harness, "USDC", "ETH", amount))
        assert refused.value.reason is Reason.AMOUNT_TOO_HIGH


@pytest.mark.parametrize(("sold", "bought"), [("TAX", "USDC"), ("USDC", "TAX"), ("ETH", "TAX")])
async def test_a_token_that_taxes_transfers_is_refused(harness, sold, bought):
    with pytest.raises(InvalidRequest, match="use side exactIn") as refusal:
        await harness.quote(exact_out(harness, sold, bought, 10**6))
    assert refusal.value.reason is Reason.UNSUPPORTED_TOKEN


async def test_the_maximum_is_the_input_with_the_slippage(harness):
    for slippage_bps in (0, 1, 50, 5_000):
        quote = await harness.quote(exact_out(harness, "USDC", "WETH", 10**18 + 1, slippage_bps=slippage_bps))
        (given,) = quote.inputs
        assert given.amount_max == given.amount * (10_000 + slippage_bps) // 10_000
        assert [spend.amount for spend in quote.spends] == [given.amount_max]
        assert quote.total_input > given.amount_max
        assert quote.net_output is None


async def test_limits_on_the_route_are_kept(harness):
    free = await harness.quote(exact_out(harness, "PEPE", "EURC", 10**8))
    assert len(free.route[0].hops) > 1
    request = exact_out(harness, "USDC", "WETH", 10**18)
    for kind in KINDS:
        limits = replace(request.routing, protocols=(f"uniswap-{kind}",))
        quote = await harness.quote(replace(request, routing=limits))
        assert {hop.protocol for hop in quote.route[0].hops} == {f"uniswap-{kind}"}


# --- a price that moves -----------------------------------------------------------------------------------


async def moved(harness, amount, pool):
    """Another account sells so much of the coin in a pool."""
    account = ACCOUNTS[5].address
    request = harness.request("ETH", "USDC", amount, sender=account, recipient=account, slippage_bps=5_000)
    request = replace(request, routing=replace(request.routing, pools=(pool,)))
    quote = await harness.quote(request)
    harness.transact(account, await harness.build(request, quote))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sold", ["ETH", "WETH"])
async def test_it_takes_more_up_to_its_maximum_and_reverts_beyond(harness, kind, sold):
    request = exact_out(harness, sold, "USDC", 10_000 * 10**6, slippage_bps=100, recipient=STRANGER)
    limits = replace(request.routing, protocols=(f"uniswap-{kind}",), max_hops=1)
    quote = await harness.quote(replace(request, routing=limits))
    pool = f"{request.chain_id}:{quote.route[0].hops[0].pool}"
    request = replace(request, routing=replace(request.routing, pools=(pool,)))
    build = await harness.build(request, quote)
    (given,), (got,) = quote.inputs, quote.outputs
    await moved(harness, 2 * 10**18, pool)
    later = (await harness.quote(request)).inputs[0].amount
    assert given.amount < later <= given.amount_max
    snapshot = harness.rpc("evm_snapshot")
    done = await execute(harness, request, quote, build)
    assert (done.took, done.left) == (later, {})
    assert request.amount_out <= done.paid <= got.amount + 10**3
    harness.rewind(snapshot)
    await moved(harness, 3_000 * 10**18, pool)
    assert (await harness.quote(request)).inputs[0].amount > given.amount_max
    with pytest.raises(Reverted):
        harness.transact(request.sender, build)


async def test_a_signed_permit_is_for_the_maximum(harness):
    account = ACCOUNTS[3]
    request = exact_out(harness, "DAI", "LINK", 10**18, permit2_signature=True)
    request = replace(request, sender=account.address, recipient=account.address)
    quote = await harness.quote(request)
    build = await harness.build(request, quote)
    (signature,), (step,), (given,) = build.signatures, build.steps, quote.inputs
    assert int(signature.typed_data["message"]["details"]["amount"]) == given.amount_max
    signed = Account.sign_typed_data(account.private_key, full_message=dict(signature.typed_data)).signature
    start, end = signature.offset, signature.offset + signature.length
    data = step.data[:start] + bytes(signed) + step.data[end:]
    same_as_quoted(quote, await execute(harness, request, quote, build, data))


# --- what the guard refuses -------------------------------------------------------------------------------


def encoded(commands, deadline):
    """Returns calldata of commands with arguments; those of a V4_SWAP are its actions."""
    words = dialect("2.1")
    program = Program(words.command)
    for name, *args in commands:
        if name == "V4_SWAP":
            actions = Program(words.action)
            for action, *values in args:
                actions.add(action, *values)
            args = [actions.bytes, actions.inputs]
        program.add(name, *args)
    return function(EXECUTE).encode((program.bytes, program.inputs, deadline))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("sold", "bought"), [("ETH", "USDC"), ("USDC", "ETH"), ("USDC", "WETH"), ("WETH", "USDC")]
)
async def test_the_guard_refuses_other_amounts_and_accounts(harness, kind, sold, bought):
    request = exact_out(harness, sold, bought, AMOUNTS[bought], recipient=STRANGER)
    request = replace(request, routing=replace(request.routing, protocols=(f"uniswap-{kind}",)))
    quote = await harness.quote(request)
    build, sealed = await harness.build(request, quote), harness.seal(request, quote)
    (given,), (got,), (step,) = quote.inputs, quote.outputs, build.steps
    hops, wrapped = hops_of_plan(quote.plan), harness.network.wrapped_native
    ends = request.token_in.address, request.token_out.address
    honest = Order(*ends, given.amount_max, got.amount_min, STRANGER, wrapped, exact_out=True)
    thief = ACCOUNTS[7].address

    def commands(**changes):
        return exact_output_commands(dialect("2.1"), replace(honest, **changes), hops)

    def refused(changed, finding, **more):
        cheat = replace(build, steps=(replace(step, data=encoded(changed, build.deadline), **more),))
        with pytest.raises(UnsafeAnswer, match=finding):
            harness.check(harness.provider, sealed, cheat)

    made = commands()
    assert encoded(made, build.deadline) == step.data
    refused(commands(amount_in=given.amount_max + 1), "more", value=step.value + (sold == "ETH"))
    refused(commands(amount_out_min=got.amount_min - 1), "less than quoted")
    refused(commands(recipient=thief), "another account")
    assert (MSG_SENDER in made[-1]) or sold != "ETH"
    if MSG_SENDER in made[-1]:
        for account in (thief, STRANGER):
            elsewhere = [account if each == MSG_SENDER else each for each in made[-1]]
            refused([*made[:-1], tuple(elsewhere)], "another account")
        refused(made[:-1], "leave")
    at = next(index for index, each in enumerate(made) if "SWAP" in each[0])
    swap = made[at]
    if kind == "v4":
        _, exchange, settle, take = swap
        others = [
            ((exchange, settle, (*take[:3], 0)), "does not take"),
            ((exchange, settle, (*take[:3], got.amount_min - 1)), "does not take"),
            ((exchange, (*settle[:2], given.amount, settle[3]), take), "does not settle"),
            ((exchange, settle), "one SETTLE and one TAKE"),
            ((exchange, exchange, settle, take), "does not take"),
        ]
        for actions, finding in others:
            refused([*made[:at], ("V4_SWAP", *actions), *made[at + 1 :]], finding)
    if kind == "v2":
        # A pair pays by what arrived in it: without the SWEEP nothing enforces the output.
        straight = (swap[0], STRANGER, *swap[2:])
        refused([*made[:at], straight, *made[at + 2 :]], "less than quoted|does not pay|unspent")


async def test_the_guard_refuses_a_larger_value_or_allowance(harness):
    request = exact_out(harness, "ETH", "USDC", 10**9)
    quote = await harness.quote(request)
    build, sealed = await harness.build(request, quote), harness.seal(request, quote)
    dearer = replace(build, steps=(replace(build.steps[0], value=build.steps[0].value + 1),))
    with pytest.raises(UnsafeAnswer, match="more of the native coin"):
        harness.check(harness.provider, sealed, dearer)
    request = exact_out(harness, "USDC", "ETH", 10**18)
    quote = await harness.quote(request)
    build, sealed = await harness.build(request, quote), harness.seal(request, quote)
    (spend,) = build.spends
    dearer = replace(build, spends=(replace(spend, amount=spend.amount + 1),))
    with pytest.raises(UnsafeAnswer, match="spends more"):
        harness.check(harness.provider, sealed, dearer)
