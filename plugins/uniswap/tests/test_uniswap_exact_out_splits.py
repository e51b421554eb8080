"""Exact outputs through several paths at once: executed to the wei, cheaper than one path, and proven."""

import random
from dataclasses import replace

import pytest
from eth_account import Account
from execution import Reverted, SwapHarness
from output_paths import OutputMaker, execute, measure_gas, same_as_quoted
from quoteway import NATIVE
from quoteway.evm.calls.router_commands import MSG_SENDER, dialect
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.optimality import optimality_flaw
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap.exact_output import exact_output_commands, shares
from quoteway_uniswap.flow import SwapHop
from quoteway_uniswap.orders import Order
from quoteway_uniswap.plans import hops_of_plan
from test_uniswap_exact_out import encoded, exact_out
from test_uniswap_splits import patience  # noqa: F401 - a fixture

STRANGER = "0x1111111111111111111111111111111111111111"


@pytest.fixture
async def harness(fresh_devnet):
    async with SwapHarness(fresh_devnet, settings={"solver_processes": 1}) as made, made.shared:
        yield made


async def alone(harness, request):
    """The same request without solvers: the best single path."""
    harness.shared.splitting.solvers.count = 0
    try:
        return await harness.quote(request)
    finally:
        harness.shared.splitting.solvers.count = 1


async def run(count, seed, devnet, slug="devnet", *, fees=False):
    """Executes random parallel paths; returns how many had several paths, and the kinds of all."""
    chance, several, kinds = random.Random(seed), 0, set()
    async with SwapHarness(devnet, slug) as harness:
        maker = OutputMaker(harness, chance, fees=fees)
        snapshot = harness.rpc("evm_snapshot")
        for index in range(count):
            if index % 30 == 29:
                snapshot = harness.rewind(snapshot)
            request, quote, hops = await maker.output()
            (got,) = quote.outputs
            assert got.amount_min == request.amount_out <= got.amount
            done = await execute(harness, request, quote, await harness.build(request, quote))
            same_as_quoted(quote, done)
            several += len(quote.route) > 1
            kinds |= {hop.pool.kind for hop in hops}
        harness.rpc("evm_revert", snapshot)
    return several, kinds


@pytest.mark.parametrize("fees", [False, True])
async def test_some_random_paths_take_and_pay_what_was_quoted(fresh_devnet, fees):
    several, _ = await run(12, 4, fresh_devnet, fees=fees)
    assert several > 4


@pytest.mark.slow
@pytest.mark.parametrize("fees", [False, True])
async def test_random_paths_take_and_pay_what_was_quoted(fresh_devnet, fees):
    several, kinds = await run(150, 20_261_124, fresh_devnet, fees=fees)
    assert several > 80
    assert kinds == {"v2", "v3", "v4"}


ORDERS = [
    ("ETH", "USDC", 900_000 * 10**6),
    ("USDC", "ETH", 300 * 10**18),
    ("WETH", "USDC", 900_000 * 10**6 + 1),
    ("USDC", "WETH", 300 * 10**18 + 1),
    ("USDT", "DAI", 400_000 * 10**18),
]


@pytest.mark.slow
@pytest.mark.parametrize(("sold", "bought", "amount"), ORDERS)
async def test_a_large_output_is_split_and_takes_less_than_one_path(harness, sold, bought, amount):
    request = exact_out(harness, sold, bought, amount, recipient=STRANGER, certificate=True)
    split = await harness.quote(request)
    single = await alone(harness, request)
    assert split.total_input < single.total_input
    assert len(split.route) > len(single.route) == 1
    assert len({leg.pool for leg in split.route_legs}) == len(split.route_legs)
    told = split.optimality
    assert optimality_flaw(request, split) is None
    assert (told.method, told.bound <= split.inputs[0].amount) == ("split", True)
    assert 0 <= told.gap_bps < 20
    assert told.certificate is not None
    same_as_quoted(split, await execute(harness, request, split, await harness.build(request, split)))


@pytest.mark.slow
@pytest.mark.parametrize("fees", [False, True])
async def test_the_gas_of_an_exact_output_is_that_of_its_receipt(fresh_devnet, fees):
    measured = await measure_gas(30, 5, fresh_devnet, fees=fees)
    errors = sorted(abs(each.gas_units / each.gas_used - 1) for each in measured)
    assert errors[27] < 0.06
    assert errors[-1] < 0.08


# --- a price that moves -----------------------------------------------------------------------------------


def direct_pools(quote):
    """The pools of the paths of one pool, the one with the smallest share first."""
    paths = sorted((path for path in quote.route if len(path.hops) == 1), key=lambda path: path.bps)
    return [path.hops[0].pool for path in paths]


async def sold_by_another(harness, amount, pool):
    """Another account sells so much of the coin in a pool."""
    account = ACCOUNTS[5].address
    request = harness.request("ETH", "USDC", amount, sender=account, recipient=account, slippage_bps=5_000)
    request = replace(request, routing=replace(request.routing, pools=(f"{request.chain_id}:{pool}",)))
    harness.transact(account, await harness.build(request, await harness.quote(request)))


@pytest.mark.slow
@pytest.mark.parametrize("sold", ["ETH", "WETH"])
async def test_a_split_takes_more_up_to_its_maximum_and_reverts_beyond(harness, sold):
    request = exact_out(harness, sold, "USDC", 900_000 * 10**6, slippage_bps=100, recipient=STRANGER)
    quote = await harness.quote(request)
    assert len(quote.route) > 1
    build, (given,) = await harness.build(request, quote), quote.inputs
    pools = direct_pools(quote)
    snapshot = harness.rpc("evm_snapshot")
    await sold_by_another(harness, 10**18, pools[0])
    done = await execute(harness, request, quote, build)
    assert given.amount < done.took <= given.amount_max
    assert (done.paid, done.left) == (request.amount_out, {})
    harness.rewind(snapshot)
    await sold_by_another(harness, 3_000 * 10**18, pools[-1])
    with pytest.raises(Reverted):
        harness.transact(request.sender, build)


@pytest.mark.slow
async def test_any_path_may_take_what_the_others_leave_of_the_coin(harness):
    """A move of one pool by more than the slippage of its own part: the coin is there for all parts."""
    request = exact_out(harness, "ETH", "USDC", 900_000 * 10**6, slippage_bps=50, recipient=STRANGER)
    quote = await harness.quote(request)
    build, (given,) = await harness.build(request, quote), quote.inputs
    smallest = direct_pools(quote)[0]
    before = sum(leg.amount_in for leg in quote.route_legs if leg.pool == smallest)
    room = given.amount_max - given.amount
    assert before * 50 // 10_000 < room // 2
    await sold_by_another(harness, before * 4, smallest)
    done = await execute(harness, request, quote, build)
    assert done.took - given.amount > before * 50 // 10_000
    assert (done.paid, done.left) == (request.amount_out, {})


async def test_a_split_takes_a_signed_permit_for_its_maximum(harness):
    account = ACCOUNTS[3]
    request = exact_out(harness, "DAI", "USDC", 600_000 * 10**6, permit2_signature=True)
    request = replace(request, sender=account.address, recipient=account.address)
    quote = await harness.quote(request)
    assert len(quote.route) > 1
    build = await harness.build(request, quote)
    (signature,), (step,), (given,) = build.signatures, build.steps, quote.inputs
    assert int(signature.typed_data["message"]["details"]["amount"]) == given.amount_max
    signed = Account.sign_typed_data(account.private_key, full_message=dict(signature.typed_data)).signature
    start, end = signature.offset, signature.offset + signature.length
    data = step.data[:start] + bytes(signed) + step.data[end:]
    same_as_quoted(quote, await execute(harness, request, quote, build, data))


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("sold", "bought", "amount"), ORDERS[:3])
async def test_the_guard_refuses_a_split_with_other_amounts_and_accounts(harness, sold, bought, amount):
    request = exact_out(harness, sold, bought, amount, recipient=STRANGER)
    quote = await harness.quote(request)
    build, sealed = await harness.build(request, quote), harness.seal(request, quote)
    (given,), (got,), (step,) = quote.inputs, quote.outputs, build.steps
    hops, ends = hops_of_plan(quote.plan), (request.token_in.address, request.token_out.address)
    honest = Order(
        *ends, given.amount_max, got.amount_min, STRANGER, harness.network.wrapped_native, exact_out=True
    )
    made, thief, refused = exact_output_commands(dialect("2.1"), honest, hops), ACCOUNTS[7].address, 0
    assert encoded(made, build.deadline) == step.data

    def replaced(value, old, new):
        if isinstance(value, tuple | list):
            return type(value)(replaced(each, old, new) for each in value)
        return new if type(value) is type(old) and value == old else value

    def is_refused(changed, *, reverts=False):
        """By the guard, or where the minimum in the calldata stays, by the router."""
        cheat = replace(build, steps=(replace(step, data=encoded(changed, build.deadline)),))
        try:
            harness.check(harness.provider, sealed, cheat)
        except UnsafeAnswer:
            return 1
        assert reverts
        snapshot = harness.rpc("evm_snapshot")
        with pytest.raises(Reverted):
            harness.transact(request.sender, cheat)
        harness.rewind(snapshot)
        return 1

    for at, command in enumerate(made):
        refused += is_refused([*made[:at], *made[at + 1 :]], reverts=True)
        for account in (STRANGER, MSG_SENDER):
            changed = replaced(command, account, thief)
            if changed != command:
                refused += is_refused([*made[:at], changed, *made[at + 1 :]])
    parts = [hop.amount_out for hop in hops if hop.amount_out]
    for part in parts:
        less = [replaced(command, part, part - 1) for command in made]
        refused += is_refused(less, reverts=True)
    assert refused > len(made)


def test_a_maximum_is_shared_to_the_unit_and_each_share_is_enough():
    chance = random.Random(8)
    for _ in range(300):
        weights = [chance.randrange(1, 10 ** chance.randint(1, 25)) for _ in range(chance.randint(1, 9))]
        whole = sum(weights) + chance.choice((0, 1, chance.randrange(sum(weights) + 1)))
        found = shares(whole, weights)
        assert sum(found) == whole
        assert all(share >= weight for share, weight in zip(found, weights, strict=True))


ENDS = ("0x0000000000000000000000000000000000000011", "0x0000000000000000000000000000000000000022")
THIRD = "0x0000000000000000000000000000000000000033"
HALF_WAY = SwapHop("v3", ENDS[0], THIRD, 500, 10, 5)
V2, V3 = SwapHop("v2", *ENDS, 0, 0, 5, 7), SwapHop("v3", *ENDS, 500, 10, 5, 7)


@pytest.mark.parametrize(
    ("hops", "finding"),
    [
        ((), "needs a path"),
        ((V2, V2), "one pool"),
        ((V2, replace(V3, amount_out=6)), "do not buy 14"),
        ((V2, replace(V3, amount_in=0)), "do not buy 14"),
        ((V2, replace(V3, amount_in=100)), "do not buy 14"),
        ((V2, SwapHop("v3", ENDS[0], THIRD, 500, 10, 5, 7)), "do not lead"),
        (
            (V2, SwapHop("v3", ENDS[0], THIRD, 500, 10, 5), SwapHop("v2", THIRD, ENDS[1], 0, 0, 0, 7)),
            "one protocol",
        ),
        ((V2, SwapHop("v3", ENDS[0], THIRD, 500, 10, 5), replace(V3, token_in=STRANGER)), "no path"),
    ],
)
def test_hops_that_are_no_paths_are_refused(hops, finding):
    order = Order(*ENDS, 20, 14, STRANGER, NATIVE, exact_out=True)
    with pytest.raises(ValueError, match=finding):
        exact_output_commands(dialect("2.0"), order, hops)
