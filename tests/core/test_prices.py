"""Prices: asked once per block, never waited for long, never made up."""

import asyncio
import math
from dataclasses import replace

import pytest
from quoteway.config.model import QuotesConfig
from quoteway.models import (
    NATIVE,
    Block,
    Fee,
    Gas,
    Leg,
    PoolPosition,
    PoolTerms,
    Price,
    Quote,
    Token,
    VaultPosition,
    VaultTerms,
)
from quoteway.networks import Network
from quoteway.pricing.price_book import MAX_AGE_S, RETRY_S, WAIT_S, PriceBook
from quoteway.pricing.valuation import Valuation, total, value_of
from quoteway.testing.fakes import FakePlugin, ListedPrices, MemoryRpc

WETH = "0x" + "1" * 40
USDC = "0x" + "2" * 40
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"

# Nothing here leaves the process: the loop's clock jumps from timer to timer.
pytestmark = pytest.mark.looptime


class Chain:
    """A chain in memory whose head the test moves."""

    def __init__(self):
        self.number = 1
        self.rpc = MemoryRpc({7}, {"eth_getBlockByNumber": self.head})

    def head(self, params):
        return {"number": hex(self.number), "hash": f"0x{self.number:064x}", "timestamp": "0x65000000"}


@pytest.fixture
def book(make_gateway):
    """``await book(sources)`` gives the price book of a gateway with them, the chain, and the clock."""

    async def make(*sources, **sections):
        chain = Chain()
        network = Network("seven", 7, "Seven", wrapped_native=WETH, head_poll_s=3600.0)
        gateway = await make_gateway(
            {"fake": FakePlugin([chain.rpc, *sources], networks=[network])}, **sections
        )
        now = [1000.0]
        made = PriceBook(gateway.runtime, gateway.registry, lambda: now[0])

        async def mine():
            chain.number += 1
            await gateway.runtime.chains[7].head(fresh=True)

        made.mine, made.now, made.chain = mine, now, gateway.runtime.chains[7]
        return made

    return make


class Slow(ListedPrices):
    delay_s = 0.3

    async def prices(self, chain_id, addresses, block):
        await asyncio.sleep(self.delay_s)
        return await super().prices(chain_id, addresses, block)


def usd(found):
    return {address: price.usd for address, price in found.items()}


async def test_a_token_is_asked_for_once_per_block_and_known_in_between(book):
    source = ListedPrices({7}, {USDC: 1.0})
    prices = await book(source)
    assert usd(await prices.get(7, [USDC, WETH])) == {USDC: 1.0}
    requests = prices.chain.requests
    for _ in range(3):
        assert usd(await prices.get(7, [USDC, WETH])) == {USDC: 1.0}
    assert len(source.asked) == 1
    assert prices.chain.requests == requests
    await prices.mine()
    source.usd[USDC] = 1.01
    # The last block's price is served at once while the new one is asked for.
    assert usd(await prices.get(7, [USDC])) == {USDC: 1.0}
    await asyncio.sleep(0.02)
    assert usd(await prices.get(7, [USDC])) == {USDC: 1.01}
    assert len(source.asked) == 2


async def test_the_native_coin_is_priced_as_its_wrapped_token(book):
    source = ListedPrices({7}, {WETH: 3500.0})
    prices = await book(source)
    assert usd(await prices.get(7, [NATIVE])) == {NATIVE: 3500.0}
    assert [list(asked) for asked in source.asked] == [[WETH]]


async def test_what_is_not_there_in_time_is_null_and_there_the_next_time(book):
    prices = await book(Slow({7}, {USDC: 1.0}))
    loop = asyncio.get_running_loop()
    started = loop.time()
    assert await prices.get(7, [USDC]) == {}
    assert loop.time() - started == pytest.approx(WAIT_S)
    await asyncio.sleep(0.4)
    assert usd(await prices.get(7, [USDC])) == {USDC: 1.0}


async def test_concurrent_callers_share_one_question(book):
    source = Slow({7}, {USDC: 1.0})
    prices = await book(source)
    prices.begin([(7, USDC)])
    found = await asyncio.gather(*(prices.get(7, [USDC], wait_s=2.0) for _ in range(20)))
    assert [usd(one) for one in found] == [{USDC: 1.0}] * 20
    assert len(source.asked) == 1


async def test_all_tokens_of_a_list_are_asked_for_at_once(book):
    tokens = [f"0x{number:040x}" for number in range(1, 61)]

    class Counting(Slow):
        delay_s = 0.05
        running = most = 0

        async def prices(self, *args):
            self.running += 1
            self.most = max(self.running, self.most)
            try:
                return await super().prices(*args)
            finally:
                self.running -= 1

    source = Counting({7}, dict.fromkeys(tokens, 1.0))
    prices = await book(source)
    assert usd(await prices.get(7, tokens, wait_s=5.0)) == dict.fromkeys(tokens, 1.0)
    assert source.most == len(source.asked) > 1, "no part of the list waits for another"


async def test_a_source_that_takes_longer_than_a_quote_may_is_waited_for_in_the_background(book):
    prices = await book(Slow({7}, {USDC: 1.0}), quotes=QuotesConfig(competition_timeout_s=0.1))
    assert usd(await prices.get(7, [USDC], wait_s=5.0)) == {USDC: 1.0}


@pytest.mark.parametrize("lie", [math.nan, math.inf, -1.0, 0.0, None, "1.0", True])
async def test_what_is_no_price_is_not_passed_on(book, lie):
    prices = await book(ListedPrices({7}, {USDC: lie}))
    assert await prices.get(7, [USDC]) == {}


async def test_what_one_source_alone_knows_is_its_price_and_a_broken_one_costs_nobody(book):
    class Broken(ListedPrices):
        async def prices(self, chain_id, addresses, block):
            raise RuntimeError("a bug")

    class Garbage(ListedPrices):
        async def prices(self, chain_id, addresses, block):
            return [1, 2, 3]

    prices = await book(
        Broken({7}, {}, provider_id="a"),
        Garbage({7}, {}, provider_id="b"),
        ListedPrices({7}, {USDC: 0.99}, provider_id="c"),
        ListedPrices({7}, {WETH: 7.0}, provider_id="d"),
    )
    assert usd(await prices.get(7, [USDC, WETH])) == {USDC: 0.99, WETH: 7.0}


async def test_an_old_price_outlives_a_failure_but_not_its_age_and_not_a_denial(book):
    source = ListedPrices({7}, {USDC: 1.0, WETH: 2.0})
    prices = await book(source)
    await prices.get(7, [USDC, WETH])
    honest = source.prices

    async def fails(*args):
        raise RuntimeError("a bug")

    source.prices = fails
    await prices.mine()
    await prices.get(7, [USDC])
    await asyncio.sleep(0.02)
    assert usd(await prices.get(7, [USDC])) == {USDC: 1.0}
    prices.now[0] += MAX_AGE_S + 1
    assert await prices.get(7, [USDC]) == {}
    # A source that answers without the token says that there is no price any more.
    prices.now[0] -= MAX_AGE_S + 1
    source.prices = honest
    del source.usd[WETH]
    await prices.mine()
    await prices.get(7, [WETH])
    await asyncio.sleep(0.02)
    assert await prices.get(7, [WETH]) == {}


async def test_a_price_stays_while_its_block_is_the_newest(book):
    source = ListedPrices({7}, {USDC: 1.0})
    prices = await book(source)
    for _ in range(5):
        assert usd(await prices.get(7, [USDC])) == {USDC: 1.0}
        prices.now[0] += 0.8 * MAX_AGE_S
    prices.now[0] += 2 * MAX_AGE_S
    assert usd(await prices.get(7, [USDC], wait_s=1.0)) == {USDC: 1.0}
    assert len(source.asked) == 1, "it cannot have changed"


async def test_a_source_that_failed_is_asked_again_before_the_next_block(book):
    source = ListedPrices({7}, {USDC: 1.0})
    honest, calls = source.prices, []

    async def fails(*args):
        calls.append(args)
        raise RuntimeError("a bug")

    source.prices = fails
    prices = await book(source)
    for _ in range(3):
        assert await prices.get(7, [USDC]) == {}
    assert len(calls) == 1
    source.prices = honest
    prices.now[0] += RETRY_S + 0.1
    await prices.get(7, [USDC])
    await asyncio.sleep(0.02)
    assert usd(await prices.get(7, [USDC])) == {USDC: 1.0}


async def test_without_a_source_nobody_is_asked_anything(book):
    prices = await book()
    requests = prices.chain.requests
    assert await prices.get(7, [USDC]) == {}
    prices.begin([(7, USDC)])
    assert prices.chain.requests == requests


def test_values_are_filled_where_a_price_is_known_and_nowhere_else():
    block = Block(1, "0x" + "1" * 64, 1)
    eth, usdc, own = Token(7, NATIVE, 18), Token(7, USDC, 6), Token(7, WETH, 18, price_usd=2.0)
    valuation = Valuation({(7, NATIVE): Price(2500.0, "s", block), (7, USDC): Price(0.5, "s", block)})
    quote = valuation.quote(
        Quote(
            (Leg(usdc, 3_000_000, USER),),
            (Leg(own, 5 * 10**17, USER), Leg(Token(8, USDC, 6), 1, USER), Leg(usdc, 1, USER, amount_usd=9.0)),
            block,
            {},
            fees=(Fee("lp", usdc, 10, True),),
            gas=Gas(1, 1, cost_wei=10**15),
            terms=PoolTerms(None, 1, dependent=Leg(usdc, 2, USER)),
        ),
        eth,
    )
    assert (quote.inputs[0].amount_usd, quote.inputs[0].token.price_usd) == (1.5, 0.5)
    assert quote.outputs[0].amount_usd == 1.0  # the provider's own price stands
    assert quote.outputs[1].amount_usd is quote.outputs[1].token.price_usd is None  # another chain's token
    assert quote.outputs[2].amount_usd == 9.0
    assert quote.fees[0].amount_usd == 5e-06
    assert quote.gas.cost_usd == 2.5
    assert quote.terms.dependent.amount_usd == 1e-06
    vault = valuation.terms(VaultTerms("7:0x", usdc, own, limit=5))
    assert (vault.asset.price_usd, vault.share.price_usd, vault.limit) == (0.5, 2.0, 5)
    legs = (Leg(usdc, 10**6, USER), Leg(eth, 10**18, USER))
    fees, unknown = (Leg(usdc, 2, USER),), (Leg(Token(7, USER, 18), 1, USER),)
    position = PoolPosition("p", "7:0x", USER, "nft", 1, legs, fees, block)
    assert valuation.position(position).value_usd == 0.5 + 2500.0 + 1e-06
    assert valuation.position(replace(position, uncollected_fees=unknown)).value_usd is None
    assert valuation.position(VaultPosition("7:0x", USER, 1, legs, block)).value_usd == 0.5 + 2500.0
    assert valuation.position(VaultPosition("7:0x", USER, 1, (), block)).value_usd is None


def test_sums_and_extremes():
    assert total([]) is total([1.0, None]) is None
    assert total([0.1] * 10) == 1.0
    assert value_of(2**256 - 1, 0, 1e300) is None
    assert value_of(2**256 - 1, 77, 2.0) == pytest.approx(2.3158417847463238)
