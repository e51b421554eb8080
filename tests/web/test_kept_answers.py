"""Answers that are made once for all who ask meanwhile, and sent again while many others are made."""

import asyncio
import gzip
import time
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from cachetools import LRUCache
from quoteway.errors import NotFound
from quoteway.web.http import cache
from quoteway.web.http.cache import CACHE, CROWD, MOST_MADE, CatalogCache, made_once

OLD_S = 60.0
LONG = b"[1, 2, 3]" * 2_000


class Room:
    """Makes answers of paths: the texts of ``answers``, one after the other, while the ``gate`` is open."""

    def __init__(self):
        self.cache = CatalogCache()
        self.gate = asyncio.Event()
        self.gate.set()

    async def ask(self, path, *answers, old_s=OLD_S, is_kept=True, accepted="identity"):
        remaining = list(answers)

        async def make():
            await self.gate.wait()
            answer = remaining.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer, is_kept

        headers = {"Accept-Encoding": accepted}
        request = SimpleNamespace(app={CACHE: self.cache}, raw_path=path, if_none_match=None, headers=headers)
        registry = SimpleNamespace(revision=1)
        call = SimpleNamespace(request=request, gateway=SimpleNamespace(registry=registry), operation=None)
        return await made_once(call, make, old_s)

    @asynccontextmanager
    async def crowd(self, count):
        """So many answers of other paths are being made during the block."""
        self.gate.clear()
        others = [asyncio.create_task(self.ask(f"/other{number}", b"other")) for number in range(count)]
        await asyncio.sleep(0)
        try:
            yield
        finally:
            self.gate.set()
            await asyncio.gather(*others)

    def kept(self, path="/a"):
        return self.cache.get(path, 1, time.monotonic())


@pytest.fixture
async def room():
    made = Room()
    yield made
    await made.cache.close()


async def test_a_caller_alone_gets_the_newest(room):
    for body in (b"one", b"two"):
        answer = await room.ask("/a", body)
        assert (answer.body, answer.headers["Cache-Control"]) == (body, "public, no-cache")
    assert room.kept() is None, "it is made anew for the next caller"


async def test_all_who_ask_meanwhile_share_one(room):
    room.gate.clear()
    callers = [asyncio.create_task(room.ask("/a", b"one")) for _ in range(5)]
    await asyncio.sleep(0)
    assert len(room.cache.making) == 1
    room.gate.set()
    assert {answer.body for answer in await asyncio.gather(*callers)} == {b"one"}


async def test_in_a_crowd_the_kept_one_is_sent_and_renewed(room):
    await room.ask("/a", b"one")
    async with room.crowd(CROWD):
        assert (await room.ask("/a", b"two")).body == b"one"
    async with room.crowd(CROWD):
        assert (await room.ask("/a", b"three")).body == b"two"


async def test_who_waits_is_answered_when_the_crowd_comes(room):
    await room.ask("/a", b"one")
    room.gate.clear()
    caller = asyncio.create_task(room.ask("/a", b"two"))
    await asyncio.sleep(0.01)
    assert not caller.done()
    async with room.crowd(CROWD):
        async with asyncio.timeout(5):
            assert (await caller).body == b"one"


async def test_while_many_are_made_no_further_one_is_begun(room):
    await room.ask("/a", b"one")
    async with room.crowd(MOST_MADE - 1):
        assert room.kept() is None
    async with room.crowd(MOST_MADE):
        assert room.kept().body == b"one"
    assert room.kept() is None


async def test_one_that_is_too_old_is_not_sent(room):
    await room.ask("/a", b"one", old_s=0.01)
    await asyncio.sleep(0.02)
    async with room.crowd(MOST_MADE):
        assert room.kept() is None
        caller = asyncio.create_task(room.ask("/a", b"two"))
        await asyncio.sleep(0.01)
        assert not caller.done()
    assert (await caller).body == b"two"


async def test_those_that_are_too_old_take_no_memory(room):
    for number in range(20):
        await room.ask(f"/once/{number}", LONG, old_s=0.01)
    await asyncio.sleep(0.02)
    await room.ask("/a", b"one")
    assert [key[1] for key in room.cache.entries] == ["/a"]
    assert room.cache.entries.currsize < len(LONG)


async def test_what_may_not_be_kept_is_not(room):
    answer = await room.ask("/a", b"one", is_kept=False)
    assert (answer.body, answer.headers["Cache-Control"]) == (b"one", "no-store")
    async with room.crowd(MOST_MADE):
        assert room.kept() is None


async def test_an_error_reaches_who_waits_and_is_not_kept(room):
    with pytest.raises(NotFound):
        await room.ask("/a", NotFound("not there"))
    assert (await room.ask("/a", b"one")).body == b"one"
    async with room.crowd(CROWD):
        assert (await room.ask("/a", NotFound("gone"))).body == b"one"
    with pytest.raises(NotFound):
        await room.ask("/a", NotFound("gone"))


async def test_it_is_made_also_when_the_caller_leaves(room):
    room.gate.clear()
    caller = asyncio.create_task(room.ask("/a", b"one"))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    async with room.crowd(MOST_MADE):
        pass
    async with room.crowd(MOST_MADE):
        assert room.kept().body == b"one"


async def test_the_end_of_the_service_ends_what_is_made(room):
    room.gate.clear()
    caller = asyncio.create_task(room.ask("/a", b"one"))
    await asyncio.sleep(0)
    await room.cache.close()
    assert not room.cache.making
    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_each_coding_of_a_kept_one_is_made_once_with_a_tag_of_its_own(room, monkeypatch):
    packed = []
    monkeypatch.setattr(cache, "compressed", lambda body, coding: packed.append(coding) or coding.encode())
    await room.ask("/a", LONG)
    async with room.crowd(CROWD):
        answers = [
            await room.ask("/a", LONG, accepted=coding)
            for coding in ("gzip", "deflate", "identity", "gzip", "deflate", "identity")
        ]
    assert [answer.body for answer in answers] == 2 * [b"gzip", b"deflate", LONG]
    assert packed == ["gzip", "deflate"]
    assert len({answer.headers["ETag"] for answer in answers}) == 3


async def test_all_who_wait_share_the_compressed_bytes_also_of_one_that_is_not_kept(room):
    room.gate.clear()
    callers = [asyncio.create_task(room.ask("/a", LONG, is_kept=False, accepted="gzip")) for _ in range(5)]
    await asyncio.sleep(0)
    room.gate.set()
    bodies = [answer.body for answer in await asyncio.gather(*callers)]
    assert gzip.decompress(bodies[0]) == LONG
    assert len({id(body) for body in bodies}) == 1


async def test_compressed_bytes_count_in_the_memory_of_kept_ones(room, monkeypatch):
    monkeypatch.setattr(cache, "compressed", lambda body, coding: body)
    room.cache.entries = LRUCache(4 * len(LONG), getsizeof=lambda rendered: rendered.size)
    for path in "ab":
        await room.ask(path, LONG)
    held = room.cache.entries.currsize
    async with room.crowd(CROWD):
        await room.ask("b", LONG, accepted="gzip")
        assert room.cache.entries.currsize == held + len(LONG)
        await room.ask("b", LONG, accepted="deflate")
        assert [key[1] for key in room.cache.entries] == ["b"], "the other one had to go"
