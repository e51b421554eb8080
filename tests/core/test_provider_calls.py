"""One deadline for all, outcomes with names, the best by its minimum."""

import asyncio
import contextlib

import pytest
from quoteway.engine.ranking import attempts_of, best
from quoteway.errors import InvalidRequest, NotFound, Reason, UpstreamError
from quoteway.host.provider_calls import ProviderCalls
from quoteway.models import NATIVE, Block, SwapRequest, Token
from quoteway.providers import SwapProvider
from quoteway.testing.fakes import swap_quote

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
REQUEST = SwapRequest(
    1, 1, Token(1, NATIVE, 18, "ETH"), Token(1, "0x" + "1" * 40, 6, "USD"), 10**18, USER, USER, 100
)
BLOCK = Block(1, "0x" + "11" * 32, 1)
CANARY = "canary-7f3a"

# The loop's clock jumps from timer to timer: deadlines are exact however busy the machine is.
pytestmark = pytest.mark.looptime


def quote(amount, **more):
    return swap_quote(REQUEST, amount, BLOCK, **more)


class NoException(BaseException):
    pass


class Player(SwapProvider):
    title = "Player"

    def __init__(self, name, behaviour):
        self.id = name
        self._behaviour = behaviour
        self.finished = False

    async def quote(self, request):
        try:
            return await self._behaviour()
        finally:
            self.finished = True

    async def build(self, sealed):
        raise NotImplementedError


def answers(value):
    async def behave():
        return value

    return behave


def raises(error):
    async def behave():
        raise error

    return behave


async def sleeps():
    await asyncio.sleep(30)


async def swallows():
    """Takes no notice of cancellation and answers, late, with the best quote of all."""
    ends_at = asyncio.get_running_loop().time() + 0.6
    while asyncio.get_running_loop().time() < ends_at:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)
    return quote(10**30)


async def swallows_and_raises():
    await swallows()
    raise RuntimeError(CANARY)


async def cancels_itself():
    raise asyncio.CancelledError


def door(timeout_s, observe=lambda event: None, cls=ProviderCalls):
    return cls(timeout_s, observe, asyncio.get_event_loop().time)


def compete(players, timeout_s=0.3, observe=None):
    competition = door(timeout_s, observe or (lambda event: None))
    return competition.ask_all(players, lambda p: p.quote(REQUEST), verb="quote")


async def test_every_outcome_has_its_name_and_the_deadline_holds(no_unretrieved):
    players = [
        Player("good", answers(quote(100))),
        Player("none", answers(None)),
        Player("poor", raises(UpstreamError("too little", reason=Reason.INSUFFICIENT_LIQUIDITY))),
        Player("down", raises(UpstreamError(CANARY))),
        Player("bug", raises(KeyError(CANARY))),
        Player("exit", raises(SystemExit(CANARY))),
        Player("key", raises(KeyboardInterrupt(CANARY))),
        Player("base", raises(NoException(CANARY))),
        Player("self", cancels_itself),
        Player("slow", sleeps),
        Player("deaf", swallows),
        Player("late", swallows_and_raises),
    ]
    loop = asyncio.get_running_loop()
    started = loop.time()
    outcomes = await compete(players)
    assert loop.time() - started == pytest.approx(0.3)
    assert [(o.provider.id, o.kind, o.reason) for o in outcomes] == [
        ("good", "quoted", None),
        ("none", "no_route", Reason.NO_ROUTE),
        ("poor", "no_route", Reason.INSUFFICIENT_LIQUIDITY),
        ("down", "failed", Reason.PROVIDER_ERROR),
        ("bug", "failed", Reason.PROVIDER_ERROR),
        ("exit", "failed", Reason.PROVIDER_ERROR),
        ("key", "failed", Reason.PROVIDER_ERROR),
        ("base", "failed", Reason.PROVIDER_ERROR),
        ("self", "failed", Reason.PROVIDER_ERROR),
        ("slow", "timeout", Reason.PROVIDER_TIMEOUT),
        ("deaf", "timeout", Reason.PROVIDER_TIMEOUT),
        ("late", "timeout", Reason.PROVIDER_TIMEOUT),
    ]
    attempts = attempts_of(outcomes)
    assert CANARY not in repr(attempts)
    assert [a.amount_out for a in attempts] == [100] + [None] * 11
    assert best(outcomes).provider.id == "good"
    # What comes after the deadline changes nothing and complains of nothing.
    await asyncio.sleep(0.7)
    assert all(player.finished for player in players)
    assert [o.kind for o in outcomes].count("quoted") == 1


async def test_a_cancelled_competition_cancels_its_providers():
    players = [Player("one", sleeps), Player("two", sleeps)]
    task = asyncio.create_task(compete(players, timeout_s=20))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.05)
    assert all(player.finished for player in players)


async def test_fifty_providers_are_asked_at_once():
    async def takes_a_while():
        await asyncio.sleep(0.1)
        return quote(100)

    players = [Player(f"p{n}", takes_a_while) for n in range(48)]
    players += [Player("deaf", swallows), Player("best", answers(quote(10_100)))]
    loop = asyncio.get_running_loop()
    started = loop.time()
    outcomes = await compete(players, timeout_s=0.3)
    assert loop.time() - started == pytest.approx(0.3)
    assert [o.provider for o in outcomes] == players
    assert best(outcomes).provider.id == "best"
    assert sum(o.kind == "quoted" for o in outcomes) == 49


async def test_the_highest_minimum_wins_and_ties_go_to_the_first_asked():
    wide = quote(200)
    players = [
        Player("first", answers(quote(150))),
        Player("second", answers(wide)),
        Player("third", answers(wide)),
    ]
    assert best(await compete(players)).provider.id == "second"
    assert best(await compete(players[::-1])).provider.id == "third"


async def test_gas_counts():
    """A better price that costs more gas than it gains loses."""
    players = [
        Player("plain", answers(quote(1_000, net_output=980))),
        Player("dear", answers(quote(1_010, net_output=975))),
        Player("unprofitable", answers(quote(2_000, net_output=-5))),
    ]
    assert best(await compete(players)).provider.id == "plain"


@pytest.mark.parametrize(
    ("behaviours", "error", "reason", "retryable"),
    [
        ([answers(None), answers(None)], UpstreamError, Reason.NO_ROUTE, False),
        (
            [answers(None), raises(UpstreamError("dry", reason=Reason.INSUFFICIENT_LIQUIDITY))],
            UpstreamError,
            Reason.INSUFFICIENT_LIQUIDITY,
            False,
        ),
        ([answers(None), raises(KeyError(CANARY))], UpstreamError, Reason.PROVIDER_ERROR, True),
        ([answers(None), sleeps], UpstreamError, Reason.PROVIDER_TIMEOUT, True),
        ([raises(UpstreamError(CANARY))], UpstreamError, Reason.PROVIDER_ERROR, True),
        (
            [raises(InvalidRequest("no", reason=Reason.OUT_OF_RANGE))] * 2,
            InvalidRequest,
            Reason.OUT_OF_RANGE,
            None,
        ),
        (
            [answers(None), raises(InvalidRequest("no", reason=Reason.UNSUPPORTED_ACTION))],
            InvalidRequest,
            Reason.UNSUPPORTED_ACTION,
            None,
        ),
        ([answers(None), raises(NotFound("no such pool"))], NotFound, None, None),
        (
            [raises(InvalidRequest("no", reason=Reason.OUT_OF_RANGE)), raises(KeyError(CANARY))],
            UpstreamError,
            None,
            True,
        ),
    ],
)
async def test_when_nobody_quotes_the_error_tells_the_caller_most(behaviours, error, reason, retryable):
    players = [Player(f"p{n}", behaviour) for n, behaviour in enumerate(behaviours)]
    with pytest.raises(error) as refusal:
        best(await compete(players, timeout_s=0.1))
    assert reason in (None, refusal.value.reason)
    assert refusal.value.retryable is retryable
    assert CANARY not in refusal.value.message
    assert CANARY not in repr(refusal.value.attempts)
    if error is UpstreamError:
        assert len(refusal.value.attempts) == len(players)


async def test_observers_are_told_of_every_call():
    events = []
    await compete([Player("good", answers(quote(1))), Player("slow", sleeps)], 0.1, events.append)
    assert [(e["provider"], e["capability"], e["method"], e["outcome"]) for e in events] == [
        ("good", "swap", "quote", "quoted"),
        ("slow", "swap", "quote", "timeout"),
    ]
    assert events[0]["duration_s"] >= 0
    assert events[1]["duration_s"] == 0.1


async def test_nobody_to_ask_is_no_outcome():
    assert await compete([]) == []


async def test_who_never_lets_go_is_asked_no_more_until_it_has(caplog):
    class Impatient(ProviderCalls):
        MAX_RUNNING_ON = 3

    asked, events = [], []

    async def deaf(player):
        asked.append(player)
        return await swallows()

    competition = door(0.02, events.append, Impatient)
    player, other = Player("deaf", swallows), Player("deaf too", swallows)
    for _ in range(5):
        (outcome,) = await competition.ask_all([player], deaf, verb="quote")
        assert (outcome.kind, outcome.reason) == ("timeout", Reason.PROVIDER_TIMEOUT)
    assert len(asked) == 3
    assert [event["outcome"] for event in events] == ["timeout"] * 5
    assert "never end" in caplog.text
    outcomes = await competition.ask_all([player, other], deaf, verb="quote")
    assert [outcome.kind for outcome in outcomes] == ["open", "timeout"]
    assert asked[3:] == [other], "it costs itself alone"
    await asyncio.sleep(0.7)
    await competition.ask_all([player], deaf, verb="quote")
    assert asked[4:] == [player]
    await asyncio.sleep(0.7)
