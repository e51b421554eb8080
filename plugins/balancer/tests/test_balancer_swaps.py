"""Swaps through the Vault over HTTP: what is quoted is executed, to the wei.

BALANCER_SWAPS sets the number of random swaps.
"""

import os
import random
from collections import Counter

import pytest
import pytest_asyncio
from balancer_venue import (
    PROVIDER,
    RECIPIENT,
    STABLE,
    WEIGHTED,
    body_of,
    dollars_between,
    executed,
    pools_are_excluded,
    serve,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")
SWAPS = int(os.environ.get("BALANCER_SWAPS", "60"))
SWAPS_PER_STATE = 50
SYMBOLS = ("ETH", "WETH", "MKR", "UNI", "LINK", "USDC", "USDT", "DAI", "wstETH")
PAIRS = (
    ("MKR", "WETH", {WEIGHTED}),
    ("UNI", "LINK", {WEIGHTED}),
    ("USDT", "USDC", {STABLE}),
    ("WETH", "wstETH", {STABLE}),
    ("DAI", "WETH", {WEIGHTED}),
    ("wstETH", "USDT", {STABLE, WEIGHTED}),
    ("ETH", "MKR", {WEIGHTED}),
    ("wstETH", "ETH", {STABLE}),
    ("USDT", "ETH", {STABLE, WEIGHTED}),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(venue):
    async with serve(venue) as api:
        yield api


def _id(each):
    return each if isinstance(each, str) else "+".join(sorted(each))


@pytest.mark.parametrize(("sold", "bought", "families"), PAIRS, ids=_id)
async def test_what_is_quoted_is_executed_to_the_wei(api, venue, sold, bought, families):
    rng = random.Random(f"{sold} {bought}")
    amount = venue.amount(sold, dollars_between(rng, 1, 60_000))
    done = await executed(api, venue, body_of(venue, sold, bought, amount, toAddress=RECIPIENT))
    assert done.received == done.quoted > 0
    assert done.spent == amount
    assert done.families == families
    assert done.quote["provider"] == PROVIDER


async def test_it_competes_with_the_others_and_the_best_quote_is_executed(api, venue):
    winners = set()
    for sold, bought in (("WETH", "wstETH"), ("ETH", "USDC"), ("WBTC", "WETH")):
        amount = venue.amount(sold, 5_000)
        body = body_of(venue, sold, bought, amount)
        del body["protocols"]
        done = await executed(api, venue, body)
        assert done.received == done.quoted > 0
        attempts = {each["provider"]: each for each in done.quote["attempts"]}
        assert set(attempts) == {"uniswap", PROVIDER}
        offers = {name: int(each["amountOut"] or 0) for name, each in attempts.items()}
        assert done.quoted == offers[done.quote["provider"]]
        winners.add(done.quote["provider"])
        assert (offers[PROVIDER] > 0) == (sold != "WBTC")
    assert winners == {"uniswap", PROVIDER}


@pytest.mark.slow
async def test_random_swaps_are_executed_to_the_wei_and_their_gas_is_told(api, venue):
    rng = random.Random(20_261_123)
    routes, rpc, first = Counter(), venue.transactions.rpc, None
    for count in range(SWAPS):
        if count % SWAPS_PER_STATE == 0:
            # Back to the first state, in a block that no gateway has seen.
            assert first is None or rpc("evm_revert", first)
            first = rpc("evm_snapshot")
            rpc("anvil_mine", hex(3 * (count + SWAPS_PER_STATE)))
        sold, bought = rng.sample(SYMBOLS, 2)
        if {sold, bought} == {"ETH", "WETH"}:
            continue
        amount = venue.amount(sold, dollars_between(rng, 0.1, 150_000))
        recipient = {"toAddress": RECIPIENT} if bought == "ETH" or rng.random() < 0.5 else {}
        done = await executed(api, venue, body_of(venue, sold, bought, amount, **recipient))
        assert done.received == done.quoted > 0, (sold, bought, amount)
        assert done.spent == amount
        assert abs(done.gas_told / done.gas_used - 1) < 0.15, (done.hops, done.gas_told, done.gas_used)
        routes[len(done.hops)] += 1
    assert set(routes) == {1, 2, 3}


async def test_a_pool_that_is_excluded_is_not_used(api, venue):
    await pools_are_excluded(api, venue, body_of(venue, "MKR", "WETH", venue.amount("MKR", 1_000)))


@pytest.mark.parametrize(
    ("sold", "bought", "amount", "reason"),
    [
        ("USDC", "MKR", 2**256 - 1, "insufficient_liquidity"),
        ("USDC", "MKR", 10**30, "insufficient_liquidity"),
        ("LINK", "USDC", 1, "amount_too_low"),
        ("PEPE", "CRV", 10**18, None),
    ],
)
async def test_what_the_pools_cannot_do_is_an_answer(api, venue, sold, bought, amount, reason):
    answer = await api.post("/v2/swaps/quote", body_of(venue, sold, bought, amount))
    assert answer.status in (404, 422, 502), answer.body
    assert reason is None or answer.body["error"]["details"]["reason"] == reason
    assert "Traceback" not in str(answer.body)


async def test_the_providers_are_listed(api):
    rows = (await api.get("/v2/providers")).body["data"]
    mine = {(row["id"], *row["capabilities"]) for row in rows if "balancer" in row["id"]}
    assert mine == {("balancer", "execution", "liquidity"), (PROVIDER, "swap")}
