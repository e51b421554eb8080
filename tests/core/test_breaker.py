"""A provider that hangs or raises again and again is left out for a while, and costs the others nothing."""

import asyncio
import contextlib

import pytest
from quoteway.errors import InvalidRequest, Reason, RpcError, UpstreamError
from quoteway.host.provider_calls import ProviderCalls
from quoteway.providers import SwapProvider

pytestmark = pytest.mark.looptime

SWAP = (1, 1)


class Player(SwapProvider):
    title = "Player"

    def __init__(self, name, answer=100, takes_s=0.01, error=None):
        self.id, self.answer, self.takes_s, self.error = name, answer, takes_s, error
        self.asked = 0

    async def quote(self, request):
        self.asked += 1
        await asyncio.sleep(self.takes_s)
        if self.error is not None:
            raise self.error
        return self.answer

    async def build(self, sealed):
        raise AssertionError("not asked")


HANGS = 10_000.0


class Deaf(Player):
    async def quote(self, request):
        self.asked += 1
        ends_at = asyncio.get_running_loop().time() + 30
        while asyncio.get_running_loop().time() < ends_at:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1)


class Market:
    """Competitions of providers, each won by the one that promises most."""

    def __init__(self, *players, liars=()):
        self.loop = asyncio.get_running_loop()
        self.calls = ProviderCalls(3.0, lambda event: None, self.loop.time)
        self.players, self.liars = players, liars

    async def quote(self, scope=SWAP, **more):
        """Returns how long a competition took, its winner and the outcomes by provider."""
        began = self.loop.time()
        outcomes = await self.calls.ask_all(
            self.players, lambda p: p.quote(None), verb="quote", scope=scope, worth=int, **more
        )
        took_s = self.loop.time() - began
        honest = [o for o in outcomes if o.value is not None and o.provider.id not in self.liars]
        winner = max(honest, key=lambda o: o.value, default=None)
        if winner is not None:
            self.calls.decided(outcomes, winner.provider, verb="quote", scope=scope)
        return took_s, winner and winner.provider.id, {o.provider.id: o for o in outcomes}

    async def quotes(self, count, **more):
        found = []
        for _ in range(count):
            found.append(await self.quote(**more))
            await asyncio.sleep(0.5)
        return found

    def state(self, player):
        return next(m.state for m in self.calls.methods(player) if m.method == "quote")


def usual(rows):
    return sorted(took_s for took_s, _, _ in rows)[len(rows) // 2]


@pytest.mark.parametrize(
    "bad",
    [
        Player("bad", takes_s=HANGS),
        Deaf("bad"),
        Player("bad", error=KeyError("x")),
        Player("bad", takes_s=2.9, answer=99),
    ],
    ids=["hangs", "swallows cancellation", "raises", "slow and never best"],
)
async def test_a_bad_provider_costs_the_others_nothing(bad):
    alone = usual(await Market(Player("good")).quotes(20))
    market = Market(Player("good"), bad)
    bad.asked = 0
    await market.quotes(12)
    rows = await market.quotes(40)
    assert usual(rows) <= 1.2 * alone
    assert {winner for _, winner, _ in rows} == {"good"}
    if bad.answer != 99:
        assert market.state(bad) != "closed"
        assert [o["bad"].kind for _, _, o in rows].count("open") > len(rows) / 2
        assert rows[-1][2]["bad"].reason in (Reason.PROVIDER_PAUSED, *TRIED)


TRIED = (Reason.PROVIDER_TIMEOUT, Reason.PROVIDER_ERROR)


async def test_a_probe_closes_the_breaker_of_a_provider_that_has_recovered():
    bad = Player("bad", takes_s=HANGS)
    market = Market(Player("good"), bad)
    await market.quotes(3)
    assert market.state(bad) == "open"
    asked = bad.asked
    await market.quotes(1)
    assert bad.asked == asked, "not asked while open"
    bad.takes_s, bad.answer = 0.02, 200
    await asyncio.sleep(1)
    assert market.state(bad) == "half_open"
    _, winner, _ = await market.quote()
    assert winner == "bad"
    assert market.state(bad) == "closed"


async def test_a_half_open_breaker_admits_one_probe_and_each_that_fails_doubles_the_pause():
    bad = Player("bad", takes_s=HANGS)
    market = Market(Player("good"), bad)
    await market.quotes(3)
    await asyncio.sleep(1.1)
    asked = bad.asked
    await asyncio.gather(*(market.quote() for _ in range(5)))
    assert bad.asked == asked + 1
    await asyncio.sleep(1.5)
    assert market.state(bad) == "open"
    await asyncio.sleep(0.6)
    assert market.state(bad) == "half_open"


@pytest.mark.parametrize(
    "error",
    [
        UpstreamError("none", reason=Reason.NO_ROUTE),
        UpstreamError("little", reason=Reason.AMOUNT_TOO_LOW),
        UpstreamError("reverts", reason=Reason.REVERTED),
        UpstreamError("other", reason=Reason.UNSAFE_ANSWER),
        UpstreamError("behind", reason=Reason.BEHIND),
        InvalidRequest("no", reason=Reason.OUT_OF_RANGE),
        RpcError(-32000, "down"),
    ],
    ids=lambda error: f"{error.reason}",
)
async def test_what_a_caller_or_a_node_causes_opens_nothing(error):
    player = Player("player", error=error)
    market = Market(Player("good"), player)
    await market.quotes(10)
    assert market.state(player) == "closed"
    assert player.asked == 10


async def test_nobody_is_at_fault_when_nobody_answers():
    """The request or a node may be the cause, and there is nobody whom the breaker protects."""
    one, two = Player("one", takes_s=HANGS), Player("two", takes_s=HANGS)
    market = Market(one, two)
    rows = await market.quotes(6)
    assert {o["one"].kind for _, _, o in rows} == {"timeout"}
    assert market.state(one) == market.state(two) == "closed"


async def test_a_provider_that_fails_on_one_network_is_asked_on_the_others():
    bad = Player("bad", takes_s=HANGS)
    market = Market(Player("good"), bad)
    await market.quotes(3)
    bad.takes_s = 0.01
    assert (await market.quote())[2]["bad"].kind == "open"
    assert (await market.quote(scope=(10, 10)))[2]["bad"].kind == "quoted"


async def test_who_is_asked_alone_is_asked_whatever_its_breaker_says():
    """The holder of a quote has no other provider to go to."""
    bad = Player("bad", error=KeyError("x"))
    market = Market(bad)
    await market.quotes(5)
    assert bad.asked == 5
    assert market.state(bad) == "open"
    _, _, outcomes = await market.quote(spared=True)
    assert (outcomes["bad"].kind, outcomes["bad"].reason) == ("open", Reason.PROVIDER_PAUSED)
    assert outcomes["bad"].failure().retryable


async def test_a_slow_provider_that_has_the_best_quotes_is_waited_for():
    slow = Player("slow", takes_s=2.5, answer=101)
    market = Market(Player("good"), slow)
    rows = await market.quotes(60)
    assert {winner for _, winner, _ in rows} == {"slow"}


async def test_a_slow_provider_that_becomes_the_best_is_waited_for_again():
    slow = Player("slow", takes_s=1.0, answer=99)
    market = Market(Player("good"), slow)
    rows = await market.quotes(30)
    assert usual(rows[10:]) < 0.1
    slow.answer = 101
    await market.quotes(12)
    assert {winner for _, winner, _ in await market.quotes(10)} == {"slow"}


async def test_who_has_won_nothing_is_waited_for_only_as_long_as_the_winner_takes():
    """Forty milliseconds are fast, and yet four times a quote that is always better."""
    rival = Player("rival", takes_s=0.04, answer=99)
    market = Market(Player("good"), rival)
    rows = await market.quotes(30)
    assert usual(rows[10:]) < 0.04
    rival.answer = 101
    await market.quotes(2)
    rows = await market.quotes(10)
    assert {winner for _, winner, _ in rows} == {"rival"}, "one win, and it is waited for"


async def test_a_fast_liar_does_not_end_the_wait_for_the_others():
    """Its quotes never survive their simulation: they are no reason to leave anybody behind."""
    good, liar = Player("good", takes_s=1.0), Player("liar", answer=10**30)
    market = Market(good, liar, liars={"liar"})
    rows = await market.quotes(40)
    assert {winner for _, winner, _ in rows} == {"good"}


async def test_the_times_and_outcomes_of_each_method_are_known():
    bad, good = Player("bad", error=KeyError("x")), Player("good", takes_s=0.2)
    market = Market(good, bad)
    await market.quotes(3)
    (of_good,), (of_bad,) = market.calls.methods(good), market.calls.methods(bad)
    assert (of_good.method, of_good.state, of_good.last_fault) == ("quote", "closed", None)
    assert of_good.outcomes == {"quoted": 3}
    assert [of_good.p50_s, of_good.p95_s] == pytest.approx([0.2, 0.2])
    assert (of_bad.state, of_bad.last_fault) == ("open", "provider_error")
    assert of_bad.outcomes == {"provider_error": 3}
    assert of_bad.p95_s is None


async def test_calls_of_one_method_are_bounded_and_a_queue_is_nobodys_fault(monkeypatch):
    monkeypatch.setattr("quoteway.host.call_records.MOST_AT_ONCE", 4)
    at_once = most = 0

    async def busy(player):
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(1)
        at_once -= 1
        return 1

    player, calls = Player("player"), ProviderCalls(3.5, lambda event: None, asyncio.get_running_loop().time)
    asked = [calls.ask_all([player], busy, verb="quote") for _ in range(20)]
    kinds = [outcome.kind for (outcome,) in await asyncio.gather(*asked)]
    assert most == 4
    assert kinds.count("quoted") == 12
    (method,) = calls.methods(player)
    assert (method.state, method.outcomes) == ("closed", {"quoted": 12, "provider_timeout": 8})
