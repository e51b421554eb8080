"""Flows as the BatchRouter's calldata: what it executes, what it refuses, and that the core reads it."""

from dataclasses import replace

import pytest
from balancer_v3_venue import WEIGHTED, reverted, v3_venue_on
from balancer_venue import RECIPIENT, SENDER, balance, networks, plugins, sections, send
from quoteway import NATIVE, FlowLeg, FlowOrder, InvalidRequest
from quoteway.evm import permit2
from quoteway.evm.abi import encode_call, function
from quoteway.evm.calls.balancer_batch_router import SWAP_EXACT_IN
from quoteway_amm.token_pair import TokenPair

pytestmark = pytest.mark.slow
UNTIL = 4_000_000_000


@pytest.fixture(scope="module")
def venue(devnet):
    with v3_venue_on(devnet) as made:
        yield made


@pytest.fixture
async def gateway(venue, make_gateway):
    return await make_gateway(plugins(), networks=networks(venue), plugin_sections=sections(venue))


@pytest.fixture
def executor(gateway):
    found = [each for each in gateway.runtime.liquidity.executors() if each.id == "balancer-v3"]
    assert len(found) == 1
    return found[0]


def leg(venue, name, sold, bought, amount=0):
    return FlowLeg(WEIGHTED, venue.pools[name].id, venue.token(sold), venue.token(bought), 0, amount)


def given(venue, amount, *hops):
    """Returns what a path pays: (pool, sold, bought) in a row."""
    for name, sold, bought in hops:
        pool = venue.now(venue.pools[name])
        i, j = (pool.tokens.index(venue.token(symbol)) for symbol in (sold, bought))
        amount, _ = TokenPair(pool, i, j).exact_in(True, amount)
    return amount


async def order(venue, gateway, legs, sold, bought, amount, minimum=1):
    ends = venue.token(sold), venue.token(bought)
    block = await gateway.runtime.chains[31337].head(fresh=True)
    return FlowOrder(31337, tuple(legs), *ends, amount, minimum, SENDER, SENDER, UNTIL, block)


def paths_in(step):
    return function(SWAP_EXACT_IN).decode(step.data)[0]


def sent(venue, step, token_in, token_out, amount):
    """Executes a step as the sender and returns what it received."""
    with venue.devnet.rpc("devnet") as rpc:
        if token_in != NATIVE:
            grants = (
                (token_in, encode_call("approve(address,uint256)", [permit2.ADDRESS, amount])),
                (permit2.ADDRESS, permit2.APPROVE.encode([token_in, step.to, amount, UNTIL])),
            )
            for to, data in grants:
                send(rpc, {"to": to, "data": "0x" + data.hex(), "value": "0x0"})
        before = balance(rpc, token_out, SENDER)
        receipt = send(rpc, {"to": step.to, "data": "0x" + step.data.hex(), "value": hex(step.value)})
        fee = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
        return balance(rpc, token_out, SENDER) - before + (fee if token_out == NATIVE else 0)


async def test_each_path_of_a_split_has_its_part_of_the_minimum(venue, gateway, executor):
    one, two = venue.amount("MKR", 3_000), venue.amount("MKR", 5_000)
    through = ("80/20", "MKR", "WETH"), ("50/50", "WETH", "USDC")
    direct = ("direct", "MKR", "USDC")
    legs = [leg(venue, *through[0], two), leg(venue, *direct), leg(venue, *through[1])]
    outputs = given(venue, two, *through), given(venue, one, direct)
    for minimum in (sum(outputs), sum(outputs) - 1, sum(outputs) * 995 // 1000, 2, 1):
        made = await order(venue, gateway, legs, "MKR", "USDC", one + two, minimum)
        step = await executor.encode(made)
        least = [path[3] for path in paths_in(step)]
        assert sum(least) == minimum
        assert all(each <= output for each, output in zip(least, outputs, strict=True))
    made = await order(venue, gateway, legs, "MKR", "USDC", one + two, sum(outputs))
    step = await executor.encode(made)
    reading = gateway.runtime.calls.read(step, SENDER)
    ((charge,), (payment,)) = reading.meaning.charges, reading.meaning.payments
    assert (charge.token, charge.maximum) == (venue.token("MKR"), one + two)
    assert (payment.token, payment.recipient, payment.minimum) == (
        venue.token("USDC"), SENDER, sum(outputs),
    )  # fmt: skip
    with reverted(venue):
        assert sent(venue, step, venue.token("MKR"), venue.token("USDC"), one + two) == sum(outputs)


@pytest.mark.parametrize(
    ("sold", "bought", "hops"),
    [
        ("ETH", "USDC", [("50/50", "WETH", "USDC")]),
        ("ETH", "MKR", [("50/50", "WETH", "USDC"), ("direct", "USDC", "MKR")]),
        ("MKR", "ETH", [("80/20", "MKR", "WETH")]),
        ("MKR", "ETH", [("direct", "MKR", "USDC"), ("50/50", "USDC", "WETH")]),
    ],
)
async def test_the_coin_is_wrapped_and_unwrapped(venue, gateway, executor, sold, bought, hops):
    amount = venue.amount(sold, 4_321)
    expected = given(venue, amount, *hops)
    legs = [leg(venue, *hop) for hop in hops]
    step = await executor.encode(await order(venue, gateway, legs, sold, bought, amount, expected))
    assert step.value == (amount if sold == "ETH" else 0)
    assert gateway.runtime.calls.readable(step, SENDER)
    with reverted(venue):
        assert sent(venue, step, venue.token(sold), venue.token(bought), amount) == expected


async def test_what_the_router_cannot_execute_is_refused(venue, gateway, executor):
    through = leg(venue, "80/20", "MKR", "WETH", 10**17)
    onward, direct = leg(venue, "50/50", "WETH", "USDC"), leg(venue, "direct", "MKR", "USDC")
    wrong = {
        "nothing": [],
        "a pool twice": [through, onward, direct, leg(venue, "direct", "MKR", "USDC", 5)],
        "a path that ends early": [through, direct],
        "paths that join": [through, leg(venue, "dai", "MKR", "WETH", 10**17), direct, onward],
        "no rest": [through, onward, leg(venue, "direct", "MKR", "USDC", 5)],
        "another family": [FlowLeg("v2", direct.pool, direct.token_in, direct.token_out, 0, 0)],
        "a pool that is not there": [through, onward, replace(direct, pool=RECIPIENT)],
        "more than a pool takes": [replace(through, amount_in=10**24), onward, direct],
    }
    for what, legs in wrong.items():
        amount = 2 * 10**24 if what.startswith("more") else 10**18
        made = await order(venue, gateway, legs, "MKR", "USDC", amount)
        with pytest.raises(InvalidRequest):
            print(what, await executor.encode(made))
    made = await order(venue, gateway, [direct], "MKR", "USDC", 10**18)
    with pytest.raises(InvalidRequest, match="pays the sender alone"):
        await executor.encode(replace(made, recipient=RECIPIENT))


async def test_a_router_of_something_else_is_refused(venue, gateway, executor):
    block = await gateway.runtime.chains[31337].head(fresh=True)
    assert await executor.refusal(31337, block) is None
    rows = executor._deployments
    row, other = rows[31337], venue.token("USDC")
    for member, name in (("vault", "getVault"), ("wrapped_native", "getWeth")):
        rows[31337] = replace(row, **{member: other})
        assert f"{name} of {row.batch_router}" in await executor.refusal(31337, block)
    rows[31337] = replace(row, batch_router=other)
    assert "getVault" in await executor.refusal(31337, block)
