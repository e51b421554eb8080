"""What a context gives plugins beside requests: caches, background work, limits, and the time left."""

import asyncio
import logging

import pytest
from quoteway import Capability, Context, SwapRequest, Token
from quoteway.host.runtime import Runtime
from quoteway.models import NATIVE
from quoteway.networks import Network
from quoteway.rate_limiting import Limiter
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, MemoryRpc

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
SEVEN = [Network("seven", 7, "Seven")]


@pytest.fixture
async def context():
    made = Context("working", {}, logging.getLogger("working"), Runtime(None))
    yield made
    await made.background.close()


async def until(holds):
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.005)


# --- cache --------------------------------------------------------------------------------------------------


async def test_a_value_is_made_once_for_all_who_wait(context):
    cache, made, go = context.cache(60), [], asyncio.Event()

    async def make():
        made.append(1)
        await go.wait()
        return "value"

    waiting = [asyncio.create_task(cache.get("key", make)) for _ in range(5)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    go.set()
    assert await asyncio.gather(*waiting[1:]) == ["value"] * 4
    assert await cache.get("key", make) == "value"
    assert made == [1]
    cache.forget("key")
    assert await cache.get("key", make) == "value"
    assert made == [1, 1]


async def test_an_error_reaches_all_who_wait_and_is_not_kept(context):
    cache, answers = context.cache(60), [ValueError("first"), "second"]

    async def make():
        await asyncio.sleep(0)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    two = await asyncio.gather(*(cache.get("key", make) for _ in range(2)), return_exceptions=True)
    assert [str(each) for each in two] == ["first", "first"]
    assert await cache.get("key", make) == "second"


async def test_a_cache_is_bounded(context):
    cache, made = context.cache(60, most=3), []

    async def make():
        made.append(1)

    for key in [*range(5), 4, 3, 2, 0]:
        await cache.get(key, make)
    assert len(made) == 6, "the oldest two gave way"
    with pytest.raises(ValueError, match="above zero"):
        context.cache(0)


# --- background work ----------------------------------------------------------------------------------------


async def test_work_repeats_after_failures_until_the_plugin_ends(context, caplog):
    runs = []

    async def work():
        runs.append(1)
        if len(runs) < 4:
            raise SystemExit("the plugin wants to leave")

    context.every(0.001, work)
    await asyncio.sleep(0)
    assert not runs, "not before the plugin is started"
    context.background.start()
    await until(lambda: len(runs) >= 6)
    await context.background.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert caplog.text.count("background work failed: SystemExit") == 1, "told once until it works again"
    with pytest.raises(RuntimeError, match="has ended"):
        await context.cache(1).get("key", work)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
async def test_a_time_that_is_none_is_refused(context, seconds):
    with pytest.raises(ValueError, match="above zero"):
        context.every(seconds, lambda: None)


async def test_work_that_swallows_cancellation_does_not_hold_the_end(context, monkeypatch):
    monkeypatch.setattr("quoteway.background.CLOSE_S", 0.05)
    go = asyncio.Event()

    async def stubborn():
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue

    context.every(60, stubborn)
    context.background.start()
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await context.background.close()
    go.set()


@pytest.mark.parametrize("fails", [False, True])
async def test_the_gateway_starts_and_ends_it_with_the_plugin(make_gateway, fails):
    from contextlib import asynccontextmanager

    runs, contexts = [], []

    @asynccontextmanager
    async def lifespan(context):
        contexts.append(context)

        async def work():
            runs.append(1)

        context.every(0.001, work)
        held = context.background.run(asyncio.sleep(3600))
        contexts.append(held)
        if fails:
            raise RuntimeError("no")
        yield

    plugin = FakePlugin([MemoryRpc({7})], networks=SEVEN)
    mine = FakePlugin([FixedRateSwap], calls=[FAKE_CALLS], lifespan=lifespan)
    gateway = await make_gateway({"chain": plugin, "mine": mine})
    if not fails:
        await until(lambda: len(runs) > 2)
        assert not contexts[1].done()
        await gateway.stop()
    assert contexts[1].cancelled(), "nothing is left running"
    assert bool(runs) is not fails


# --- limits and deadlines -----------------------------------------------------------------------------------


async def test_requests_wait_for_their_turn_and_too_many_are_refused():
    from quoteway import UpstreamError

    now = [0.0]
    limiter = Limiter(per_s=1_000, burst=2, most_wait_s=0.0025, clock=lambda: now[0])
    for _ in range(4):  # two at once, then one each millisecond
        await limiter.take()
    with pytest.raises(UpstreamError, match="no more requests"):
        await limiter.take()
    now[0] += 0.001
    await limiter.take()
    now[0] += 3600
    assert [await limiter.take() for _ in range(2)] == [None, None]
    for wrong in ({"per_s": 0}, {"per_s": 1, "burst": 0}):
        with pytest.raises(ValueError, match="a limiter needs"):
            Limiter(**wrong)


async def test_a_call_knows_how_long_it_may_take(make_gateway):
    seen = []

    class Asking(FixedRateSwap):
        async def quote(self, request):
            seen.append(self._context.time_left_s)
            return await super().quote(request)

    plugin = FakePlugin([MemoryRpc({7}), Asking], networks=SEVEN, calls=[FAKE_CALLS])
    gateway = await make_gateway({"asking": plugin})
    request = SwapRequest(7, 7, Token(7, NATIVE, 18), Token(7, "0x" + "1" * 40, 6), 10**18, USER, USER, 50)
    await gateway.quoting.quote(Capability.SWAP, request)
    assert 25 < seen[0] <= 30
    assert Context("mine", {}, logging.getLogger(), Runtime(None)).time_left_s is None
