"""Several price sources: one that lies, hangs or fails alone changes no price and is named."""

import asyncio
import itertools
import logging
import math

import pytest
from quoteway.config.model import PricesConfig
from quoteway.models import Block, Capability, Price
from quoteway.networks import Network
from quoteway.pricing.agreement import agree
from quoteway.pricing.price_book import ASK_TIMEOUT_S, HOLD_S, RETRY_S, WAIT_S, PriceBook
from quoteway.testing.fakes import FakePlugin, ListedPrices, MemoryRpc

USDC, WETH = "0x" + "2" * 40, "0x" + "1" * 40
BLOCK = Block(1, "0x" + "1" * 64, 1)

# Nothing here leaves the process: the loop's clock jumps from timer to timer.
pytestmark = pytest.mark.looptime


class Source(ListedPrices):
    """A source that answers after ``delay_s``."""

    def __init__(self, provider_id, usd, delay_s=0.0):
        super().__init__({7}, usd, provider_id=provider_id)
        self.delay_s = delay_s

    async def prices(self, chain_id, addresses, block):
        await asyncio.sleep(self.delay_s)
        return await super().prices(chain_id, addresses, block)


class Raises(ListedPrices):
    async def prices(self, chain_id, addresses, block):
        raise RuntimeError("a bug")


HANGS = 10**9


@pytest.fixture
def book(make_gateway):
    async def make(*sources, **sections):
        node = MemoryRpc({7})
        plugins = {"fake": FakePlugin([node], networks=[Network("seven", 7, "Seven", head_poll_s=3600.0)])}
        for maker, own in itertools.groupby(sources, key=lambda source: source.id.partition("-")[0]):
            plugins[f"of-{maker}"] = FakePlugin(own)
        gateway = await make_gateway(plugins, **sections)
        made = PriceBook(gateway.runtime, gateway.registry, asyncio.get_running_loop().time)

        async def mine():
            """Makes a block and has every price read there."""
            node.number += 1
            await gateway.runtime.chains[7].head(fresh=True)
            await made.get(7, [USDC])
            await asyncio.sleep(0.02)

        made.gateway, made.mine = gateway, mine
        return made

    return make


async def usd(book, *, wait_s=WAIT_S, tokens=(USDC,)):
    return {address: price.usd for address, price in (await book.get(7, tokens, wait_s=wait_s)).items()}


def prices(**usd):
    return {source: Price(value, source, BLOCK) for source, value in usd.items()}


@pytest.mark.parametrize(
    ("said", "price", "outliers"),
    [
        ({}, None, ""),
        ({"a": 7.0}, 7.0, ""),
        ({"a": 1.0, "b": 1.04}, 1.02, ""),
        ({"a": 1.0, "b": 1.06}, None, "ab"),
        ({"a": 1.0, "b": 1e12}, None, "ab"),
        ({"a": 1.0, "b": 1.02, "c": 1e12}, 1.01, "c"),
        ({"a": 1.0, "b": 1.02, "c": 1e-12}, 1.01, "c"),
        ({"a": 1.0, "b": 1.01, "c": 1.02}, 1.01, ""),
        ({"a": 1.0, "b": 10.0, "c": 100.0}, None, "abc"),
        ({"a": 1.0, "b": 1.0, "c": 9.0, "d": 9.0}, None, "abcd"),
        ({"a": 1.0, "b": 1.0, "c": 1.0, "d": 9.0}, 1.0, "d"),
        ({"a": 1e308, "b": 1e-300, "c": 1.0}, None, "abc"),
    ],
)
def test_a_price_is_the_median_of_a_majority_that_agrees(said, price, outliers):
    agreement = agree(prices(**said), 500)
    assert (agreement.price and agreement.price.usd) == (price and pytest.approx(price))
    assert agreement.outliers == set(outliers)


def test_without_a_majority_the_preferred_source_decides():
    said = prices(a=1.0, b=1e12)
    assert agree(said, 500, "a").price == said["a"]
    assert agree(said, 500, "a").outliers == {"b"}
    assert agree(said, 500, "c").price is None
    majority = prices(a=1.0, b=1.0, c=9.0)
    assert agree(majority, 500, "c").price.usd == 1.0, "it does not outvote two that agree"


def test_the_sources_of_one_plugin_have_one_vote():
    said = prices(a=1.0, b1=9.0, b2=9.0, b3=9.0)
    assert agree(said, 500).price.usd == 9.0
    by_plugin = agree(said, 500, plugins={"a": "a", "b1": "b", "b2": "b", "b3": "b"})
    assert (by_plugin.price, by_plugin.outliers) == (None, set(said)), "one against one"
    said |= prices(c=1.0)
    by_plugin = agree(said, 500, plugins={"b1": "b", "b2": "b", "b3": "b"})
    assert by_plugin.price.usd == 1.0
    assert (by_plugin.agreeing, by_plugin.outliers) == ({"a", "c"}, {"b1", "b2", "b3"})


def test_a_plugin_that_contradicts_itself_has_no_vote():
    plugins = {"b1": "b", "b2": "b"}
    assert agree(prices(a=1.0, b1=1.0, b2=9.0), 500, plugins=plugins).price.usd == 1.0
    assert agree(prices(b1=1.0, b2=9.0), 500, plugins=plugins).price is None
    three = agree(prices(b1=1.0, b2=1.0, b3=9.0), 500, plugins={**plugins, "b3": "b"})
    assert (three.price.usd, three.outliers) == (1.0, {"b3"}), "a majority of its own sources is its vote"


def test_a_joint_price_names_its_sources_and_promises_no_more_than_they_do():
    older = Block(0, "0x" + "0" * 64, 0)
    said = {
        "a": Price(1.0, "a", BLOCK, 0.9, 500.0),
        "b": Price(1.01, "b", older, None, 10_000.0),
        "c": Price(1e12, "c", BLOCK, 1.0, 1e30),
    }
    joint = agree(said, 500).price
    assert (joint.source, joint.block, joint.confidence, joint.depth_usd) == ("a, b", older, 0.9, 500.0)


LIES = [1e12, 1e-12, math.nan, math.inf, -1.0, 0.0, "1.0", None]


@pytest.mark.parametrize("lie", LIES)
async def test_a_lie_of_one_of_three_changes_nothing(book, lie):
    honest = [Source("b", {USDC: 1.0}), Source("c", {USDC: 1.0})]
    assert await usd(await book(Source("a", {USDC: lie}), *honest)) == {USDC: 1.0}


@pytest.mark.parametrize("liar", [Source("a", {USDC: 1.0}, HANGS), Raises({7}, {}, provider_id="a")])
async def test_one_of_three_that_hangs_or_fails_delays_nothing(book, liar):
    prices = await book(liar, Source("b", {USDC: 1.0}), Source("c", {USDC: 1.0}))
    started = asyncio.get_running_loop().time()
    assert await usd(prices, wait_s=5.0) == {USDC: 1.0}
    assert asyncio.get_running_loop().time() - started < WAIT_S


async def test_the_fastest_source_does_not_decide_alone_while_others_are_asked(book):
    prices = await book(
        Source("a", {USDC: 1e12}), Source("b", {USDC: 1.0}, 0.3), Source("c", {USDC: 1.0}, 0.4)
    )
    assert await usd(prices) == {}, "the liar was the only one in time"
    assert await usd(prices, wait_s=5.0) == {USDC: 1.0}


async def test_two_fast_sources_of_one_plugin_do_not_decide_alone_either(book):
    prices = await book(
        Source("a-1", {USDC: 1e12}),
        Source("a-2", {USDC: 1e12}),
        Source("b", {USDC: 1.0}, 0.3),
        Source("c", {USDC: 1.0}, 0.4),
    )
    assert await usd(prices) == {}, "the liar was the only one in time"
    assert await usd(prices, wait_s=5.0) == {USDC: 1.0}


async def test_a_source_that_hangs_holds_back_the_only_other_one_for_a_moment_once(book):
    prices = await book(Source("a", {USDC: 1.0}, HANGS), Source("b", {USDC: 2.0, WETH: 3.0}))
    loop = asyncio.get_running_loop()
    started = loop.time()
    assert await usd(prices, wait_s=5.0) == {USDC: 2.0}
    assert loop.time() - started == pytest.approx(HOLD_S)
    started = loop.time()
    assert await usd(prices, wait_s=5.0, tokens=(WETH,)) == {WETH: 3.0}, "another token, at once"
    assert loop.time() - started < WAIT_S


async def test_a_source_that_hung_counts_again_when_it_answers(book):
    slow = Source("a", {USDC: 1.0}, HANGS)
    prices = await book(slow, Source("b", {USDC: 1.02}))
    assert await usd(prices, wait_s=5.0) == {USDC: 1.02}
    slow.delay_s = 0.0
    await asyncio.sleep(ASK_TIMEOUT_S + RETRY_S)
    await prices.mine()
    assert await usd(prices) == {USDC: pytest.approx(1.01)}


async def test_two_that_disagree_give_no_price_unless_one_is_preferred(book):
    said = Source("a", {USDC: 1.0}), Source("b", {USDC: 1.2})
    assert await usd(await book(*said)) == {}
    assert await usd(await book(*said, prices=PricesConfig(band_bps=2_500))) == {USDC: 1.1}
    assert await usd(await book(*said, prices=PricesConfig(preferred="b"))) == {USDC: 1.2}


async def test_an_outlier_is_logged_and_counted_once_while_it_lasts(book, caplog):
    liar = Source("a", {USDC: 1e12, WETH: 3.0})
    prices = await book(liar, Source("b", {USDC: 1.0, WETH: 3.0}), Source("c", {USDC: 1.0, WETH: 3.0}))
    events = []
    prices.gateway.registry.plugins.listeners.append(events.append)

    def counted():
        return [event["provider"] for event in events if event["outcome"] == "outlier"]

    with caplog.at_level(logging.WARNING, "quoteway.pricing"):
        for _ in range(3):
            assert await usd(prices, tokens=(USDC, WETH)) == {USDC: 1.0, WETH: 3.0}
        (line,) = [r.getMessage() for r in caplog.records if r.name == "quoteway.pricing.price_book"]
    assert "'a' says 1000000000000.0" in line
    assert USDC in line
    assert "The price is 1.0" in line
    assert counted() == ["a"]
    assert prices.outliers() == {"a": 1}
    # It corrects itself, and lies again: that is another time.
    for said, known in ((1.0, 0), (1e12, 1)):
        liar.usd[USDC] = said
        await prices.mine()
        await usd(prices)
        assert prices.outliers()["a"] == known
    assert counted() == ["a", "a"]


async def test_a_source_is_asked_for_a_block_once_whatever_the_others_do(book):
    sources = Source("a", {USDC: 1.0}), Source("b", {USDC: 1.0}), Source("c", {USDC: 1.0}, HANGS)
    prices = await book(*sources)
    for _ in range(5):
        assert await usd(prices) == {USDC: 1.0}
    assert [len(source.asked) for source in sources] == [1, 1, 0]
    assert len(prices.gateway.registry.enabled(Capability.PRICES, 7)) == 3
