"""Swaps that are split over several pools: they pay more than a path, and execute as quoted."""

import asyncio
import os
import random
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from eth_account import Account
from quoteway import NATIVE, Capability, SwapRequest
from quoteway.models import RoutingLimits
from quoteway.testing.execution import execute
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_uniswap.shared import shared_by

ACCOUNT = ACCOUNTS[5].address
RECIPIENT = "0x3333333333333333333333333333333333333333"


@pytest.fixture
def uniswap_section():
    return {"solver_processes": 1}


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A busy machine solves slowly, not wrongly."""
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)


def splitting(gateway):
    (entry,) = (entry for entry in gateway.registry.plugins if entry.name == "uniswap")
    return shared_by(entry.context).splitting


async def until_warm(gateway):
    async with asyncio.timeout(60):
        while not splitting(gateway).solvers._idle:
            await asyncio.sleep(0.05)


@pytest.fixture
def order(token):
    def make(sold, bought, amount, **limits):
        return SwapRequest(
            31337,
            31337,
            token(sold),
            token(bought),
            amount,
            ACCOUNT,
            RECIPIENT,
            50,
            routing=RoutingLimits(**limits),
        )

    return make


async def swapped(gateway, devnet, request):
    """Quotes and executes; returns the quote. What was received is what was quoted, to the unit."""
    answer = await gateway.quoting.quote(Capability.SWAP, request)
    assert len(answer.sealed.token) <= 4096
    action = await gateway.building.action(gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token))
    executed = await execute(devnet, action)
    assert not executed.reverted
    assert executed.deltas[RECIPIENT, request.token_out.address] == answer.quote.outputs[0].amount > 0
    return answer.quote


async def one_path(gateway, request):
    """What the best single path pays, gas aside."""
    solvers, processes = splitting(gateway).solvers, splitting(gateway).solvers.count
    solvers.count = 0
    answer = await gateway.quoting.quote(Capability.SWAP, request)
    solvers.count = processes
    assert answer.quote.optimality is None
    return answer.quote


async def test_a_large_order_is_split_and_pays_more_than_one_path(gateway, fresh_devnet, order):
    await until_warm(gateway)
    request = order("ETH", "USDC", 500 * 10**18)
    single = await one_path(gateway, request)
    split = await swapped(gateway, fresh_devnet, request)
    assert split.net_output > single.net_output
    assert len(split.route_legs) > len(split.route) > 1
    assert len({leg.pool for leg in split.route_legs}) == len(split.route_legs)
    found = split.optimality
    assert (found.method, found.families) == ("split", ("v2", "v3", "v4"))
    assert found.bound >= split.outputs[0].amount
    assert 0 <= found.gap_bps < 1


async def test_a_small_order_keeps_one_path_and_says_how_good_it_is(gateway, fresh_devnet, order):
    await until_warm(gateway)
    request = order("USDC", "ETH", 20 * 10**6)
    quote = await swapped(gateway, fresh_devnet, request)
    assert len(quote.route) == 1
    assert quote.optimality.method == "single_path"
    assert quote.optimality.bound >= quote.outputs[0].amount


@pytest.mark.parametrize(
    "limits",
    [
        {"max_legs": 2},
        {"protocols": ("uniswap-v3",)},
        {"max_hops": 1},
        {"exclude_protocols": ("uniswap-v4",)},
    ],
    ids=lambda limits: next(iter(limits)),
)
async def test_a_split_keeps_the_limits_on_its_route(gateway, fresh_devnet, order, limits):
    await until_warm(gateway)
    quote = await swapped(gateway, fresh_devnet, order("ETH", "USDC", 300 * 10**18, **limits))
    assert len(quote.route_legs) > 1


async def test_without_its_process_an_order_has_the_best_single_path(
    gateway, fresh_devnet, order, monkeypatch
):
    await until_warm(gateway)
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 0.3)
    (pid,) = solver_processes()
    os.kill(pid, signal.SIGSTOP)
    stopped = await swapped(gateway, fresh_devnet, order("ETH", "USDC", 200 * 10**18))
    os.kill(pid, signal.SIGKILL)
    assert (len(stopped.route), stopped.optimality) == (1, None)
    ended = await swapped(gateway, fresh_devnet, order("ETH", "USDC", 200 * 10**18))
    assert len(ended.route) == 1 or ended.optimality is not None
    await until_warm(gateway)
    monkeypatch.setattr("quoteway_router.splitting.SOLVE_S", 60.0)
    again = await swapped(gateway, fresh_devnet, order("ETH", "USDC", 200 * 10**18))
    assert len(again.route) > 1


@pytest.mark.slow
async def test_random_orders_pay_what_was_quoted_split_or_not(gateway, fresh_devnet, order):
    await until_warm(gateway)
    rng, splits = random.Random(11), 0
    symbols = ["ETH", "WETH", "USDC", "USDT", "DAI", "WBTC", "LINK", "UNI"]
    usd = {"ETH": 3500, "WETH": 3500, "USDC": 1, "USDT": 1, "DAI": 1, "WBTC": 90_000, "LINK": 15, "UNI": 8}
    for _ in range(60):
        sold, bought = rng.sample(symbols, 2)
        worth = 10 ** rng.uniform(2, 5.5)
        unit = 10 ** order(sold, bought, 1).token_in.decimals
        quote = await swapped(gateway, fresh_devnet, order(sold, bought, int(worth / usd[sold] * unit)))
        splits += len(quote.route) > 1
    assert splits > 10


def solver_processes():
    """The process ids of this process's solvers."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in children if b"solver_worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


async def test_a_split_takes_a_signed_permit(gateway, fresh_devnet, order):
    await until_warm(gateway)
    request = replace(order("USDC", "ETH", 900_000 * 10**6), permit2_signature=True)
    answer = await gateway.quoting.quote(Capability.SWAP, request)
    assert len(answer.quote.route) > 1
    action = await gateway.building.action(gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token))
    (asked,) = action.signatures
    signature = Account.sign_typed_data(
        ACCOUNTS[5].private_key, full_message=dict(asked.typed_data)
    ).signature
    steps = list(action.steps)
    data = steps[asked.step].data
    data = data[: asked.offset] + bytes(signature) + data[asked.offset + 65 :]
    steps[asked.step] = replace(steps[asked.step], data=data)
    executed = await execute(fresh_devnet, replace(action, steps=tuple(steps)))
    assert not executed.reverted
    assert executed.deltas[RECIPIENT, NATIVE] == answer.quote.outputs[0].amount > 0
