"""Background work, caches and deadlines of a plugin in a process of its own."""

import asyncio

import pytest
from isolated_gateway import PATIENCE_S, request, starter, swaps
from quoteway.deadlines import ends_at_s


@pytest.fixture
def start(tmp_path, monkeypatch, make_gateway):
    return starter(tmp_path, monkeypatch, make_gateway)


BESIDE = """
    from quoteway import hookimpl
    from quoteway.testing.fakes import FixedRateSwap

    class Beside(FixedRateSwap):
        async def quote(self, request):
            async def made(): return self._context.time_left_s
            return [self._context.state["runs"], await made(), await self._cache.get("key", made)]

    @hookimpl
    def quoteway_swap_providers(context):
        context.state["runs"] = 0

        async def work():
            context.state["runs"] += 1

        context.every(0.001, work)
        provider = Beside(context, provider_id="naughty")
        provider._cache = context.cache(60)
        return [provider]
"""


async def test_work_caches_and_the_time_left_are_in_the_plugins_process(start):
    gateway = await start(BESIDE)
    ends_at_s.set(asyncio.get_running_loop().time() + 9)
    async with asyncio.timeout(PATIENCE_S):
        while (answer := await swaps(gateway).quote(request()))[0] < 3:
            await asyncio.sleep(0.01)
    _, left_s, cached = answer
    assert 0 < left_s <= 9
    assert cached is None, "what a cache makes is for all callers: it has no deadline of one"
