"""Answers kept in memory: one read at a time, bounded waits, the last good answer after a failure."""

import asyncio
import time

import pytest
from quoteway.errors import Reason, UpstreamError
from quoteway.host.refresh import Kept, Refresher

WAITS = {"newer_wait_s": 0.02, "first_wait_s": 0.2, "old_s": 60.0}


class Source:
    """Answers with how often it was asked, as soon as ``open`` is set."""

    def __init__(self):
        self.asked, self.ended = [], 0
        self.open = asyncio.Event()
        self.open.set()
        self.error = None

    async def read(self, key):
        self.asked.append(key)
        number = len(self.asked)
        try:
            await self.open.wait()
        finally:
            self.ended += 1
        if self.error is not None:
            raise self.error
        return number


@pytest.fixture
async def source():
    return Source()


@pytest.fixture
async def refresher(source):
    made = Refresher(source.read, most_keys=3)
    yield made
    await made.close()


async def test_a_fast_source_is_asked_each_time(source, refresher):
    for number in (1, 2, 3):
        assert (await refresher.get(["a"], **WAITS))["a"].value == number


async def test_concurrent_callers_share_one_read_that_outlives_them(source, refresher):
    source.open.clear()
    callers = [asyncio.create_task(refresher.get(["a"], **WAITS)) for _ in range(10)]
    await asyncio.sleep(0)
    for caller in callers:
        caller.cancel()
    await asyncio.wait(callers)
    source.open.set()
    assert (await refresher.get(["a"], **WAITS))["a"].value == 1
    assert source.asked == ["a"]


async def test_what_is_in_memory_is_served_while_a_newer_one_is_read(source, refresher):
    await refresher.get(["a"], **WAITS)
    source.open.clear()
    started = time.monotonic()
    assert (await refresher.get(["a"], **WAITS))["a"].value == 1
    assert time.monotonic() - started < WAITS["first_wait_s"]
    source.open.set()
    async with asyncio.timeout(5):
        while refresher.known("a").value != 2:
            await asyncio.sleep(0)


async def test_the_first_answer_is_waited_for_once_and_for_all_keys_together(source, refresher):
    source.open.clear()
    started = time.monotonic()
    found = await refresher.get(["a", "b"], **WAITS)
    assert found == {"a": Kept(), "b": Kept()}
    took_s = time.monotonic() - started
    assert took_s >= WAITS["first_wait_s"] - 0.01
    started = time.monotonic()
    await refresher.get(["a", "b"], **WAITS)
    assert time.monotonic() - started < took_s / 2, "the read has had its time"


async def test_an_old_answer_is_served_only_after_the_wait_for_a_newer_one(source):
    now = [0.0]
    refresher = Refresher(source.read, most_keys=3, clock=lambda: now[0])
    await refresher.get(["a"], **WAITS)
    now[0] = 61.0
    source.open.clear()
    asyncio.get_running_loop().call_later(0.1, source.open.set)
    assert (await refresher.get(["a"], **WAITS))["a"].value == 2
    await refresher.close()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (UpstreamError("down", reason=Reason.RPC_ERROR), Reason.RPC_ERROR),
        (UpstreamError("down"), Reason.PROVIDER_ERROR),
        (RuntimeError("a bug"), Reason.PROVIDER_ERROR),
    ],
)
async def test_a_failure_leaves_the_last_good_answer_and_says_why(source, refresher, error, reason):
    good = (await refresher.get(["a"], **WAITS))["a"]
    source.error = error
    assert (await refresher.get(["a"], **WAITS))["a"] == Kept(good.value, good.read_at_s, reason)
    source.error = None
    recovered = (await refresher.get(["a"], **WAITS))["a"]
    assert (recovered.value, recovered.failure) == (3, None)


async def test_memory_is_bounded(source, refresher):
    await refresher.get(["a", "b", "c", "d"], **WAITS)
    assert sum(refresher.known(key).has_value for key in "abcd") == 3


async def test_closing_cancels_what_runs_and_nothing_begins_after(source, refresher):
    source.open.clear()
    refresher.begin("a")
    await asyncio.sleep(0)
    await refresher.close()
    assert (source.asked, source.ended) == (["a"], 1)
    assert (await refresher.get(["a"], **WAITS))["a"] == Kept()
    assert source.asked == ["a"]
