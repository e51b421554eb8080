"""Every call of a provider is counted once, alike in its record and by the observers, whatever it does."""

import asyncio
import contextlib

import pytest
from quoteway.errors import Reason, UpstreamError
from quoteway.host.provider_calls import ProviderCalls
from quoteway.providers import SwapProvider

pytestmark = pytest.mark.looptime


class Player(SwapProvider):
    title = "Player"

    def __init__(self, name, takes_s=0.01, error=None):
        self.id, self.takes_s, self.error = name, takes_s, error

    async def quote(self, request):
        await asyncio.sleep(self.takes_s)
        if self.error is not None:
            raise self.error
        return 1 if self.takes_s else None

    async def build(self, sealed):
        raise AssertionError("not asked")


class Door(ProviderCalls):
    def __init__(self, timeout_s=3.0):
        self.events = []
        super().__init__(timeout_s, self.events.append, asyncio.get_running_loop().time)

    async def quote(self, *players, scope=(1, 1), **more):
        return await self.ask_all(players, lambda p: p.quote(None), verb="quote", scope=scope, **more)

    async def compete(self, *players):
        """A competition that is decided for the first player."""
        outcomes = await self.quote(*players, worth=int)
        self.decided(outcomes, players[0], verb="quote", scope=(1, 1))
        return outcomes

    def calls(self, player):
        (method,) = self.methods(player)
        told = [
            event["reason"] or event["outcome"] for event in self.events if event["provider"] == player.id
        ]
        assert sum(method.outcomes.values()) == len(told)
        assert {name: told.count(name) for name in told} == method.outcomes, "both say the same"
        return method


async def test_the_times_of_all_networks_count_alike():
    """A network whose answers are slow must not push out those of another one."""
    door, player = Door(), Player("player")
    for chain_id, takes_s in ((1, 0.1), (2, 0.2), (3, 0.3)):
        player.takes_s = takes_s
        for _ in range(64):
            await door.quote(player, scope=(chain_id, chain_id))
    method = door.calls(player)
    assert [method.p50_s, method.p95_s] == pytest.approx([0.2, 0.3])


async def test_who_is_left_behind_is_counted_by_its_answer():
    door, good, slow = Door(), Player("good"), Player("slow", 1.0)
    for _ in range(20):
        await door.compete(good, slow)
    outcomes = await door.compete(good, slow)
    assert [outcome.kind for outcome in outcomes] == ["quoted", "timeout"]
    assert door.calls(slow).outcomes["quoted"] < 21
    await asyncio.sleep(2)
    method = door.calls(slow)
    assert (method.outcomes, method.last_error) == ({"quoted": 21}, None)
    assert method.p50_s == pytest.approx(1.0)


async def test_who_is_left_behind_and_cancels_itself_has_failed(caplog):
    door, good, slow = Door(), Player("good"), Player("slow", 1.0)
    for _ in range(20):
        await door.compete(good, slow)
    await asyncio.sleep(2)
    slow.error = asyncio.CancelledError()
    await door.compete(good, slow)
    await asyncio.sleep(2)
    method = door.calls(slow)
    assert (method.outcomes["provider_error"], method.last_error) == (1, "provider_error")
    assert "Exception in callback" not in caplog.text


class OwnBase(BaseException):
    pass


@pytest.mark.parametrize(
    "error",
    [
        UpstreamError("x", reason="canary"),
        UpstreamError("x", reason=["canary"]),
        UpstreamError(["canary"]),
        OwnBase("canary"),
        GeneratorExit("canary"),
    ],
    ids=[
        "a reason of its own",
        "a list for a reason",
        "a list for a text",
        "a BaseException",
        "GeneratorExit",
    ],
)
async def test_no_exception_of_a_provider_reaches_the_others(error):
    door, good, bad = Door(), Player("good"), Player("bad", error=error)
    outcomes = await door.quote(good, bad)
    assert [(o.kind, o.reason) for o in outcomes] == [
        ("quoted", None),
        ("failed", Reason.PROVIDER_ERROR),
    ]
    assert door.calls(bad).outcomes == {"provider_error": 1}


async def test_the_last_error_is_the_newest_of_all_networks():
    door, good, player = Door(), Player("good"), Player("player")
    for chain_id, reason in ((1, Reason.UNSAFE_ANSWER), (2, Reason.RPC_ERROR), (3, Reason.NO_ROUTE)):
        player.error = UpstreamError("x", reason=reason)
        await door.quote(good, player, scope=(chain_id, chain_id))
        await asyncio.sleep(10)
    method = door.calls(player)
    assert method.last_error == "rpc_error", "no route is no error"
    assert method.failed_s_ago == pytest.approx(20.01)
    door.report(player, "run", "quote_mismatch", 0.1, Reason.QUOTE_MISMATCH)
    door.report(player, "run", "reverted", 0.1, Reason.REVERTED)
    run = door.methods(player)[-1]
    assert run.outcomes == {"quote_mismatch": 1, "reverted": 1}
    assert {type(name) for name in run.outcomes} == {str}, "as JSON can write it"
    assert (run.method, run.last_error) == ("run", "quote_mismatch"), "a pool may be the cause of a revert"


async def test_callers_that_leave_do_not_hide_calls_that_never_end(monkeypatch):
    monkeypatch.setattr(ProviderCalls, "MAX_RUNNING_ON", 3)
    door, player, asked = Door(), Player("player"), 0

    async def deaf(asked_player):
        nonlocal asked
        asked += 1
        ends_at = asyncio.get_running_loop().time() + 60
        while (left_s := ends_at - asyncio.get_running_loop().time()) > 0:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(left_s)

    for _ in range(5):
        caller = asyncio.create_task(door.ask_all([player], deaf, verb="quote"))
        await asyncio.sleep(0.1)
        caller.cancel()
        await asyncio.wait([caller])
    assert asked == 3
    await asyncio.sleep(60)
    await door.quote(player)


async def test_a_provider_that_was_asked_alone_has_won_nothing():
    """A caller who names a slow provider must not make everybody wait for it."""
    door, good, slow = Door(), Player("good"), Player("slow", 1.0)
    for _ in range(20):
        await door.compete(good, slow)
    await asyncio.sleep(2)
    for _ in range(20):
        await door.compete(slow)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await door.compete(good, slow)
    assert loop.time() - began < 0.2
