"""Lists are served from memory: a slow provider or chain is named, never waited for long, never a 502."""

import asyncio
import time

from quoteway.errors import Reason, UpstreamError
from quoteway.host.lists import POLICY
from quoteway.models import Pool, Token
from quoteway.networks import Network
from quoteway.providers import PoolProvider
from quoteway.testing.fakes import FakePlugin, MemoryRpc

WETH = "0x" + "1" * 40


class Pools(PoolProvider):
    """One pool on each of two chains. ``open`` says which chains answer; ``error`` is what reading raises."""

    id, title = "pools", "Pools"
    networks = frozenset({7, 8})

    def __init__(self):
        self.open = {7: asyncio.Event(), 8: asyncio.Event()}
        self.error = None
        self.updated_at = 1_700_000_000
        self.reading = self.most_reading = self.cancelled = self.read = 0

    async def pools(self, chain_id):
        self.reading += 1
        self.most_reading = max(self.reading, self.most_reading)
        try:
            await self.open[chain_id].wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.reading -= 1
        if self.error is not None:
            raise self.error
        self.read += 1
        token = Token(chain_id, WETH, 18, "WETH")
        slug = "seven" if chain_id == 7 else "eight"
        return [
            Pool(f"{chain_id}:{WETH}", slug, chain_id, "p", "k", WETH, (token,), (), "chain", self.updated_at)
        ]

    async def pool(self, pool_id):
        return None


async def serve(serve_app, provider, *more):
    networks = [Network("seven", 7, "Seven"), Network("eight", 8, "Eight")]
    plugin = FakePlugin([MemoryRpc({7, 8}), provider, *more], networks=networks)
    return await serve_app({"toys": plugin})


async def quickest_s(get):
    """The shortest of five requests: a busy machine may hold up some of them."""
    took_s = []
    for limit in range(50, 55):
        started_s = time.monotonic()
        assert (await get(f"/v2/pools?limit={limit}")).status == 200
        took_s.append(time.monotonic() - started_s)
    return min(took_s)


def ids(answer):
    return [row["id"] for row in answer.body["data"]]


async def test_the_first_request_finds_the_list_read_at_start(serve_app):
    provider = Pools()
    provider.open[7].set(), provider.open[8].set()
    api = await serve(serve_app, provider)
    async with asyncio.timeout(30):
        while provider.read < 2:
            await asyncio.sleep(0)
    provider.open[7].clear(), provider.open[8].clear()  # from here on nothing is read any more
    answer = await api.get("/v2/pools")
    assert (answer.status, ids(answer)) == (200, [f"7:{WETH}", f"8:{WETH}"])
    assert answer.body["partial"] == []


async def test_a_slow_provider_is_named_and_its_fast_chain_served(serve_app, contract):
    provider = Pools()
    provider.open[7].set()
    api = await serve(serve_app, provider)
    answer = await api.get("/v2/pools")
    page = contract.check("listPools", answer)
    assert (answer.status, ids(answer)) == (200, [f"7:{WETH}"])
    assert page["partial"] == [{"provider": "pools", "reason": "provider_timeout"}]
    assert answer.headers["Cache-Control"] == "no-store"
    on_the_fast_one = await api.get("/v2/pools?network=seven")
    assert (ids(on_the_fast_one), on_the_fast_one.body["partial"]) == ([f"7:{WETH}"], [])
    provider.open[8].set()
    assert ids(await api.get("/v2/pools")) == [f"7:{WETH}", f"8:{WETH}"]


async def test_being_slow_is_no_failure(serve_app):
    provider = Pools()
    api = await serve(serve_app, provider)
    started = time.monotonic()
    answers = await asyncio.gather(*(api.get(f"/v2/pools?limit={number + 1}") for number in range(20)))
    assert {(answer.status, answer.body["total"]) for answer in answers} == {(200, 0)}
    assert time.monotonic() - started < 10 * POLICY.first_wait_s, "they wait together, not in turn"
    assert provider.most_reading == 2, "one read per chain at a time"
    assert await quickest_s(api.get) < POLICY.first_wait_s / 2, "nobody waits for it a second time"


async def test_a_provider_that_fails_keeps_its_last_answer_and_is_named(serve_app):
    provider = Pools()
    provider.open[7].set(), provider.open[8].set()
    api = await serve(serve_app, provider)
    before = await api.get("/v2/pools?limit=10")
    provider.error = UpstreamError("down", reason=Reason.RPC_ERROR)
    after = await api.get("/v2/pools?limit=11")
    assert after.body["data"] == before.body["data"]
    assert after.body["updatedAt"] == before.body["updatedAt"] == "2023-11-14T22:13:20Z"
    assert after.body["partial"] == [{"provider": "pools", "reason": "rpc_error"}]
    provider.error, provider.updated_at = None, 1_700_000_012
    again = await api.get("/v2/pools?limit=12")
    assert (again.body["updatedAt"], again.body["partial"]) == ("2023-11-14T22:13:32Z", [])


async def test_a_list_in_memory_is_not_held_up_by_its_reading(serve_app):
    provider = Pools()
    provider.open[7].set(), provider.open[8].set()
    api = await serve(serve_app, provider)
    await api.get("/v2/pools?limit=10")
    provider.open[7].clear()
    assert ids(await api.get("/v2/pools?limit=11")) == [f"7:{WETH}", f"8:{WETH}"]
    assert await quickest_s(api.get) < POLICY.newer_wait_s + POLICY.first_wait_s / 2


async def test_stopping_cancels_what_is_read(serve_app):
    provider = Pools()
    api = await serve(serve_app, provider)
    await api.gateway.stop()
    assert (provider.reading, provider.cancelled) == (0, 2)
