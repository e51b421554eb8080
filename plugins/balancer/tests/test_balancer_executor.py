"""Flows as the Vault's calldata: what it executes, what it refuses, and that the core reads it."""

from dataclasses import replace

import pytest
from balancer_venue import RECIPIENT, SENDER, STABLE, WEIGHTED, balance, networks, plugins, sections, send
from quoteway import NATIVE, FlowLeg, FlowOrder, InvalidRequest
from quoteway.evm.abi import encode_call, function
from quoteway.evm.calls.balancer_vault import BATCH_SWAP, SWAP
from quoteway_amm.token_pair import TokenPair

UNTIL = 4_000_000_000


@pytest.fixture
async def gateway(venue, make_gateway):
    return await make_gateway(plugins(), networks=networks(venue), plugin_sections=sections(venue))


@pytest.fixture
def executor(gateway):
    (found,) = gateway.runtime.liquidity.executors()
    return found


def leg(venue, name, sold, bought, amount=0):
    pool = venue.pools[name]
    kind = STABLE if "stable" in name else WEIGHTED
    return FlowLeg(kind, pool.id, venue.token(sold), venue.token(bought), 0, amount)


def paid(venue, flow):
    """Returns what paths pay in all: each is an amount and (pool, sold, bought) in a row."""
    total = 0
    for amount, *hops in flow:
        for name, sold, bought in hops:
            pool = venue.pools[name]
            balances = venue.balances(pool)
            i, j = (pool.tokens.index(venue.token(symbol)) for symbol in (sold, bought))
            amount, _ = TokenPair(replace(pool, balances=balances), i, j).exact_in(True, amount)
        total += amount
    return total


def order(venue, legs, sold, bought, amount, minimum=1):
    ends = venue.token(sold), venue.token(bought)
    return FlowOrder(31337, tuple(legs), *ends, amount, minimum, SENDER, RECIPIENT, UNTIL, None)


def sent(venue, step, token_in, token_out, amount):
    """Executes a step as the sender and returns what the recipient received."""
    with venue.devnet.rpc("devnet") as rpc:
        if token_in != NATIVE:
            data = "0x" + encode_call("approve(address,uint256)", [step.to, amount]).hex()
            send(rpc, {"to": token_in, "data": data, "value": "0x0"})
        before = balance(rpc, token_out, RECIPIENT), balance(rpc, token_in, SENDER)
        send(rpc, {"to": step.to, "data": "0x" + step.data.hex(), "value": hex(step.value)})
        assert token_in == NATIVE or before[1] - balance(rpc, token_in, SENDER) == amount
        return balance(rpc, token_out, RECIPIENT) - before[0]


async def test_paths_side_by_side_are_executed_as_stated(venue, gateway, executor):
    one, two = venue.amount("MKR", 3_000), venue.amount("MKR", 5_000)
    legs = [
        leg(venue, "80/20", "MKR", "WETH", two),
        leg(venue, "direct", "MKR", "USDC"),
        leg(venue, "50/50", "WETH", "USDC"),
    ]
    expected = paid(
        venue, [(two, ("80/20", "MKR", "WETH"), ("50/50", "WETH", "USDC")), (one, ("direct", "MKR", "USDC"))]
    )
    step = await executor.encode(order(venue, legs, "MKR", "USDC", one + two, expected))
    assert step.data[:4] == function(BATCH_SWAP).selector
    reading = gateway.runtime.calls.read(step, SENDER)
    ((charge,), (payment,)) = reading.meaning.charges, reading.meaning.payments
    assert (charge.token, charge.maximum) == (venue.token("MKR"), one + two)
    assert (payment.token, payment.recipient, payment.minimum) == (venue.token("USDC"), RECIPIENT, expected)
    received = sent(venue, step, venue.token("MKR"), venue.token("USDC"), one + two)
    assert received == expected


@pytest.mark.parametrize(
    ("sold", "bought", "hops"),
    [
        ("ETH", "USDC", [("50/50", "WETH", "USDC")]),
        ("ETH", "USDT", [("50/50", "WETH", "USDC"), ("three stable", "USDC", "USDT")]),
        ("MKR", "ETH", [("80/20", "MKR", "WETH")]),
        ("MKR", "ETH", [("direct", "MKR", "USDC"), ("50/50", "USDC", "WETH")]),
    ],
)
async def test_the_coin_is_wrapped_and_unwrapped(venue, gateway, executor, sold, bought, hops):
    amount = venue.amount(sold, 4_321)
    expected = paid(venue, [(amount, *hops)])
    legs = [leg(venue, *hop) for hop in hops]
    step = await executor.encode(order(venue, legs, sold, bought, amount, expected))
    assert (step.data[:4] == function(SWAP).selector) == (len(hops) == 1)
    assert step.value == (amount if sold == "ETH" else 0)
    assert gateway.runtime.calls.readable(step, SENDER)
    assert sent(venue, step, venue.token(sold), venue.token(bought), amount) == expected


async def test_what_the_vault_cannot_execute_is_refused(venue, executor):
    through = leg(venue, "80/20", "MKR", "WETH", 10**17)
    onward = leg(venue, "50/50", "WETH", "USDC")
    direct = leg(venue, "direct", "MKR", "USDC")
    wrong = {
        "nothing": [],
        "a pool twice": [through, onward, direct, leg(venue, "direct", "MKR", "USDC", 5)],
        "a path that ends early": [through, direct],
        "a path that begins in between": [direct, onward],
        "paths that join": [
            through,
            leg(venue, "direct", "MKR", "USDC", 10**17),
            leg(venue, "first", "MKR", "WETH"),
            onward,
        ],
        "an amount in between": [through, leg(venue, "50/50", "WETH", "USDC", 7), direct],
        "no rest": [through, onward, leg(venue, "direct", "MKR", "USDC", 5)],
        "more than the input": [leg(venue, "80/20", "MKR", "WETH", 2 * 10**18), onward, direct],
        "another family": [FlowLeg("v2", direct.pool, direct.token_in, direct.token_out, 0, 0)],
    }
    for what, legs in wrong.items():
        with pytest.raises(InvalidRequest):
            print(what, await executor.encode(order(venue, legs, "MKR", "USDC", 10**18)))


async def test_a_vault_that_wraps_another_coin_is_refused(venue, gateway, executor):
    block = await gateway.runtime.chains[31337].head()
    assert await executor.refusal(31337, block) is None
    row = executor._deployments[31337]
    executor._deployments[31337] = replace(row, wrapped_native=venue.token("USDC"))
    assert "wraps the native coin as" in await executor.refusal(31337, block)
