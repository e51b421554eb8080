"""Swaps through Balancer v3's BatchRouter over HTTP: what is quoted is executed, to the wei.

BALANCER_SWAPS sets the number of random swaps.
"""

import os
import random
from collections import Counter

import pytest
import pytest_asyncio
from balancer_v3_venue import PROVIDER, WEIGHTED, body_of, v3_venue_on
from balancer_venue import RECIPIENT, dollars_between, executed, pools_are_excluded, serve
from quoteway.evm import permit2

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
SWAPS = int(os.environ.get("BALANCER_SWAPS", "60"))
SWAPS_PER_STATE = 50
SYMBOLS = ("ETH", "WETH", "MKR", "UNI", "LINK", "USDC", "DAI", "wstETH")
PAIRS = (
    ("MKR", "WETH"),
    ("UNI", "LINK"),
    ("WETH", "wstETH"),
    ("wstETH", "DAI"),
    ("ETH", "MKR"),
    ("wstETH", "ETH"),
    ("USDC", "ETH"),
)


@pytest.fixture(scope="module")
def venue(devnet):
    with v3_venue_on(devnet) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(venue):
    async with serve(venue) as api:
        yield api


@pytest.mark.parametrize(("sold", "bought"), PAIRS)
async def test_what_is_quoted_is_executed_to_the_wei(api, venue, sold, bought):
    rng = random.Random(f"{sold} {bought}")
    amount = venue.amount(sold, dollars_between(rng, 1, 60_000))
    done = await executed(api, venue, body_of(venue, sold, bought, amount))
    assert done.received == done.quoted > 0
    assert done.spent == amount
    assert done.families == {WEIGHTED}
    assert done.quote["provider"] == PROVIDER


async def test_tokens_are_taken_through_permit2(api, venue):
    amount = venue.amount("LINK", 500)
    done = await executed(api, venue, body_of(venue, "LINK", "UNI", amount))
    kinds = [each["kind"] for each in done.action["steps"]]
    assert kinds == ["approval", "permit2_approval", "swap"]
    assert done.action["transactions"][1]["to"] == permit2.ADDRESS


async def test_random_swaps_are_executed_to_the_wei_and_their_gas_is_told(api, venue):
    rng = random.Random(20_261_124)
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
        done = await executed(api, venue, body_of(venue, sold, bought, amount))
        assert done.received == done.quoted > 0, (sold, bought, amount)
        assert done.spent == amount
        assert abs(done.gas_told / done.gas_used - 1) < 0.15, (done.hops, done.gas_told, done.gas_used)
        routes[len(done.hops)] += 1
    assert set(routes) == {1, 2, 3}


async def test_a_pool_that_is_excluded_is_not_used(api, venue):
    await pools_are_excluded(api, venue, body_of(venue, "MKR", "WETH", venue.amount("MKR", 1_000)))


async def test_another_recipient_has_no_route(api, venue):
    body = body_of(venue, "MKR", "WETH", venue.amount("MKR", 100), toAddress=RECIPIENT)
    answer = await api.post("/v2/swaps/quote", body)
    assert answer.status == 502, answer.body
    assert "No provider has a route" in answer.body["error"]["message"]
    assert "Traceback" not in str(answer.body)


@pytest.mark.parametrize(
    ("sold", "bought", "amount", "reason"),
    [
        ("USDC", "MKR", 2**256 - 1, "insufficient_liquidity"),
        ("USDC", "MKR", 10**30, "insufficient_liquidity"),
        ("WETH", "MKR", 1, "amount_too_low"),
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
    mine = {(row["id"], *row["capabilities"]) for row in rows if row["id"].startswith("balancer-v3")}
    assert mine == {("balancer-v3", "execution", "liquidity"), (PROVIDER, "swap")}
