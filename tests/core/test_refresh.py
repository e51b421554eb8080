"""Answers kept in memory: one read at a time, bounded waits, the last good answer after a failure."""

import asyncio

import pytest
from quoteway.errors import Reason, UpstreamError
from quoteway.host.refresh import Kept, Refresher, RefreshPolicy

POLICY = RefreshPolicy(newer_wait_s=0.02, first_wait_s=0.2, old_s=60.0)

# The loop's clock jumps from timer to timer: waits are exact however busy the machine is.
pytestmark = pytest.mark.looptime


def loop_s():
    return asyncio.get_running_loop().time()


class Source:
    """Answers with how often it was asked, as soon as ``open`` is set."""

    def __init__(self):
        self.asked, self.ended = [], 0
        self.open = asyncio.Event()
        self.open.set()
        self.error = None

    async def read(self, keys):
        self.asked += keys
        number = len(self.asked)
        try:
            await self.open.wait()
        finally:
            self.ended += 1
        if self.error is not None:
            raise self.error
        return dict.fromkeys(keys, number)


@pytest.fixture
async def source():
    return Source()


@pytest.fixture
async def refresher(source):
    made = Refresher(source.read, POLICY, most_keys=3, clock=loop_s)
    yield made
    await made.close()


async def test_a_fast_source_is_asked_each_time(source, refresher):
    for number in (1, 2, 3):
        assert (await refresher.get(["a"]))["a"].value == number


async def test_concurrent_callers_share_one_read_that_outlives_them(source, refresher):
    source.open.clear()
    callers = [asyncio.create_task(refresher.get(["a"])) for _ in range(10)]
    await asyncio.sleep(0)
    for caller in callers:
        caller.cancel()
    await asyncio.wait(callers)
    source.open.set()
    assert (await refresher.get(["a"]))["a"].value == 1
    assert source.asked == ["a"]


async def test_what_is_in_memory_is_served_while_a_newer_one_is_read(source, refresher):
    await refresher.get(["a"])
    source.open.clear()
    started_s = loop_s()
    assert (await refresher.get(["a"]))["a"].value == 1
    assert loop_s() - started_s == pytest.approx(POLICY.newer_wait_s)
    source.open.set()
    async with asyncio.timeout(5):
        while refresher.known("a").value != 2:
            await asyncio.sleep(0)


async def test_the_first_answer_is_waited_for_once_and_for_all_keys_together(source, refresher):
    source.open.clear()
    started_s = loop_s()
    found = await refresher.get(["a", "b"])
    assert found == {"a": Kept(), "b": Kept()}
    assert loop_s() - started_s == pytest.approx(POLICY.first_wait_s)
    started_s = loop_s()
    await refresher.get(["a", "b"])
    assert loop_s() == started_s, "the read has had its time"


async def test_a_read_that_hangs_is_not_waited_for_with_each_new_read_of_another_key():
    async def read(keys):
        if "hangs" in keys:
            await asyncio.Event().wait()
        return dict.fromkeys(keys, "read")

    refresher = Refresher(read, POLICY, most_keys=3, clock=loop_s)
    await refresher.get(["hangs", "fast"])
    await asyncio.sleep(1.0)
    began_s = loop_s()
    kept = await refresher.get(["hangs", "fast"])
    assert loop_s() == began_s
    assert (kept["hangs"].value, kept["fast"].value) == (None, "read")
    await refresher.close()


async def test_a_newer_answer_is_not_waited_for_where_the_last_one_took_longer(source, refresher):
    source.open.clear()
    asyncio.get_running_loop().call_later(0.1, source.open.set)
    assert (await refresher.get(["a"]))["a"].value == 1
    source.open.clear()
    began_s = loop_s()
    assert (await refresher.get(["a"]))["a"].value == 1
    assert loop_s() == began_s
    source.open.set()
    await asyncio.wait(refresher.running(["a"]))
    assert (await refresher.get(["a"]))["a"].value == 3, "it is fast again"


async def test_an_old_answer_is_served_only_after_the_wait_for_a_newer_one(source):
    now = [0.0]
    refresher = Refresher(source.read, POLICY, most_keys=3, clock=lambda: now[0])
    await refresher.get(["a"])
    now[0] = 61.0
    source.open.clear()
    asyncio.get_running_loop().call_later(0.1, source.open.set)
    assert (await refresher.get(["a"]))["a"].value == 2
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
    good = (await refresher.get(["a"]))["a"]
    source.error = error
    failed = (await refresher.get(["a"]))["a"]
    assert (failed.value, failed.read_at_s, failed.failure) == (good.value, good.read_at_s, reason)
    source.error = None
    recovered = (await refresher.get(["a"]))["a"]
    assert (recovered.value, recovered.failure) == (3, None)


async def test_memory_is_bounded(source, refresher):
    await refresher.get(["a", "b", "c", "d"])
    assert sum(refresher.known(key).value is not None for key in "abcd") == 3


async def test_closing_cancels_what_runs_and_nothing_begins_after(source, refresher):
    source.open.clear()
    refresher.begin("a")
    await asyncio.sleep(0)
    await refresher.close()
    assert (source.asked, source.ended) == (["a"], 1)
    assert (await refresher.get(["a"]))["a"] == Kept()
    assert source.asked == ["a"]


async def test_one_read_of_several_keys_answers_those_that_it_has_an_answer_for():
    reads = []

    async def read(keys):
        reads.append(keys)
        return {key: key.upper() for key in keys if key != "c"}

    refresher = Refresher(read, POLICY, most_keys=3)
    refresher.begin("a", "b", "c")
    refresher.begin("a", "c")
    await asyncio.wait(refresher.running(["a"]))
    assert reads == [["a", "b", "c"]]
    assert [refresher.known(key).value for key in "abc"] == ["A", "B", None]
    assert refresher.known("c").failure is Reason.PROVIDER_ERROR
    await refresher.close()


async def test_nothing_is_read_again_before_its_time(source):
    now = [0.0]
    policy = RefreshPolicy(fresh_s=60.0, retry_s=10.0, newer_wait_s=0.2, first_wait_s=0.2)
    refresher = Refresher(source.read, policy, most_keys=3, clock=lambda: now[0])

    async def value_at(seconds):
        now[0] = seconds
        return (await refresher.get(["a"]))["a"].value

    assert [await value_at(seconds) for seconds in (0, 59, 60)] == [1, 1, 2]
    source.error = UpstreamError("down")
    assert [await value_at(seconds) for seconds in (120, 129)] == [2, 2]
    assert len(source.asked) == 3
    source.error = None
    assert await value_at(130) == 4
    await refresher.close()
