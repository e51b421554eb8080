"""Rate limits that workers share in one Valkey or Redis: together, in one command, whatever its clock is."""

import asyncio
import sys
from dataclasses import replace

import pytest
from quoteway.config.model import LimitsConfig
from quoteway.errors import RateLimited
from quoteway.web.http.buckets import Bound, Buckets, SharedBuckets
from quoteway.web.http.limits import Limiter
from shared_server import server_at

CALL = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
ONE_WORKER = """
import asyncio, sys
from quoteway.config.model import LimitsConfig
from quoteway.web.http.limits import Limiter

async def main():
    limiter = Limiter(LimitsConfig(quotes="100/hour", store=sys.argv[1]))
    asked = (limiter.take_granted("quotes", "caller", 1) for _ in range(80))
    print(sum([granted for granted, _, _ in await asyncio.gather(*asked)]))
    await limiter.close()

asyncio.run(main())
"""


@pytest.fixture
async def store(tmp_path, unused_tcp_port):
    """The URL of a Valkey or Redis server."""
    process = await server_at(unused_tcp_port, tmp_path)
    yield f"redis://127.0.0.1:{unused_tcp_port}/0"
    process.terminate()
    await process.wait()


@pytest.fixture
async def server(store):
    """A client of that server."""
    from valkey.asyncio import Valkey

    async with Valkey.from_url(store.replace("redis", "valkey", 1)) as client:
        yield client


async def commands(server):
    """How often scripts were run by their digest, and sent."""
    counts = {name: each["calls"] for name, each in (await server.info("commandstats")).items()}
    sent = sum(calls for name, calls in counts.items() if name.startswith("cmdstat_script"))
    return counts["cmdstat_evalsha"], sent


@pytest.mark.services
async def test_workers_share_a_bucket_that_each_request_takes_from_in_one_command(store, server):
    """Four processes ask 80 times each at once for a bucket of 100: exactly 100 pass."""
    workers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", ONE_WORKER, store, stdout=asyncio.subprocess.PIPE
        )
        for _ in range(4)
    ]
    async with asyncio.timeout(120):
        printed = [(await each.communicate())[0] for each in workers]
    granted = [int(text) for text in printed]
    assert sum(granted) == 100
    # The first that run at once find that the script is not there yet.
    named, loaded = await commands(server)
    assert (named, loaded > 0) == (4 * 80 + loaded, True)
    limiter = Limiter(LimitsConfig(store=store))
    for _ in range(50):
        await limiter.take("catalog", "caller")
    await limiter.close()
    assert await commands(server) == (named + 50, loaded)


@pytest.mark.services
async def test_the_shared_bucket_gives_what_that_of_a_process_gives(store, server):
    """The same requests, by the clock of the server, which no test can set."""
    shared, own = SharedBuckets(store), Buckets()
    for bound, wanted, partly in (
        (Bound(1_000, 3_600), 400, False),
        (Bound(1_000, 3_600), 601, False),
        (Bound(1_000, 3_600), 599, False),
        (Bound(1_000, 3_600), 2, False),
        (Bound(1_000, 3_600), 2, True),
        (Bound(1_000, 3_600), 1, False),
        (Bound(7, 60), 3, False),
        (Bound(7, 60), 9, True),
        (Bound(9_999_999, 3_600), 9_999_999, False),
    ):
        key = f"test/{bound.amount}"
        found, expected = [
            await shared.spend(key, bound, wanted, partly=partly),
            own.spend(key, bound, wanted, least=1 if partly else None),
        ]
        # At most 3 s pass between the first and the last.
        assert abs(found.granted - expected.granted) <= 3 * bound.amount / bound.window_s - 0.01
        assert found.full_in_s == pytest.approx(expected.full_in_s, abs=3.6)
    assert 0 < await server.pttl("test/7") <= 60_000, "a full bucket is not kept"
    await shared.close()


@pytest.mark.services
async def test_tokens_of_the_shared_bucket_come_back_and_no_more_than_it_holds(store):
    shared, bound = SharedBuckets(store), Bound(20, 1)
    assert (await shared.spend("test", bound, 20)).granted == 20
    async with asyncio.timeout(60):
        while not (found := await shared.spend("test", bound, 1)).granted:
            assert 0.9 < found.full_in_s <= 1.0
    await asyncio.sleep(1.1)
    assert (await shared.spend("test", bound, 21)).granted == 0
    assert (await shared.spend("test", bound, 100, partly=True)).granted == 20
    await shared.close()


@pytest.mark.services
async def test_a_clock_of_the_server_that_was_set_back_keeps_nobody_out_for_longer_than_a_window(
    store, server
):
    """What a bucket has then is a moment that is far away by the new clock."""
    shared, bound = SharedBuckets(store), Bound(60, 60)
    seconds, _ = await server.time()
    await server.set("test", (seconds + 86_400) * 1_000_000)
    found = await shared.spend("test", bound, 1)
    assert (found.granted, round(found.full_in_s)) == (0, 60)
    await server.set("test", (seconds - 86_400) * 1_000_000)
    assert (await shared.spend("test", bound, 60)).granted == 60
    await shared.close()


@pytest.mark.services
async def test_the_script_is_sent_again_to_a_server_that_lost_it(store, server):
    shared = SharedBuckets(store)
    for left in (9, 8):
        found = await shared.spend("test", Bound(10, 3_600), 1)
        assert found.left == left
        await server.script_flush()
    await shared.close()


@pytest.mark.services
async def test_replicas_share_a_store(serve_app, make_config, store, refused):
    """Two apps on one server count a caller together, also over the light path."""
    config = replace(make_config(), limits=LimitsConfig(catalog="3/hour", rpc="2/hour", store=store))
    one, other = await serve_app(config=config), await serve_app(config=config)
    left = [(await api.get("/v2/providers")).headers["RateLimit"][:13] for api in (one, other, one)]
    assert left == ['"catalog";r=2', '"catalog";r=1', '"catalog";r=0']
    answer = await other.get("/v2/providers")
    refused(answer, 429, "rate_limit_exceeded")
    assert 1_190 <= int(answer.headers["Retry-After"]) <= 1_200
    for api, state in ((one, '"rpc";r=1;'), (other, '"rpc";r=0;'), (one, '"rpc";r=0;')):
        answer = await api.post("/v2/rpc/31337", CALL)
        assert answer.headers["RateLimit"].startswith(state)
    refused(answer, 429, "rate_limit_exceeded")


@pytest.mark.services
async def test_a_store_that_comes_back_is_asked_again(store, server, monkeypatch, caplog):
    monkeypatch.setattr("quoteway.store_rest.FIRST_REST_S", 0.05)
    limiter = Limiter(LimitsConfig(catalog="2/hour", store=store))
    assert (await limiter.take("catalog", "caller")).startswith('"catalog";r=1;')
    await server.set("quoteway/bucket/catalog/caller", "no number")
    assert (await limiter.take("catalog", "caller")).startswith('"catalog";r=1;'), "a bucket of its own"
    assert "each process counts its share of the limits: ResponseError" in caplog.text
    await server.delete("quoteway/bucket/catalog/caller")
    async with asyncio.timeout(60):
        while limiter.rest.rests:
            await asyncio.sleep(0.02)
    assert (await limiter.take("catalog", "caller")).startswith('"catalog";r=1;')
    await limiter.close()


class Away(SharedBuckets):
    """A store that answered before, when so many processes counted there."""

    def __init__(self, replicas):
        self.replicas = replicas

    async def spend(self, *args, **options):
        raise OSError("canary")


async def test_without_its_store_each_process_grants_its_share():
    """Four that cannot count together grant no more than the limit, and none of them nothing."""
    rate = "100/hour"
    limiters = [Limiter(LimitsConfig(quotes=rate, rpc="3/hour"), storage=Away(4)) for _ in range(4)]
    granted = [(await each.take_granted("quotes", "caller", 100))[0] for each in limiters]
    assert granted == [25] * 4
    assert [(await each.take_granted("rpc", "caller", 9))[0] for each in limiters] == [1] * 4
    with pytest.raises(RateLimited) as refusal:
        await limiters[0].take("quotes", "caller")
    assert 1 <= int(refusal.value.headers["Retry-After"]) <= 3_600 / 25
    assert (await limiters[0].take_granted("quotes", "another", 100))[0] == 25
    assert limiters[0].decisions["quotes", "refused"] == 76 + 75


@pytest.mark.parametrize("replicas", [2, 3, 7, 13, 20, 60, 200])
@pytest.mark.parametrize("cost", [1, 5, 60])
async def test_a_share_refuses_no_call_that_the_whole_limit_allows(replicas, cost, monkeypatch):
    """A call counts as five; the share of one process is less. In the long run it grants its share all the
    same, and never more than one such call beyond it."""
    now = [1_000.0]
    monkeypatch.setattr("quoteway.web.http.buckets.time.monotonic", lambda: now[0])
    limiter = Limiter(LimitsConfig(rpc="60/minute"), storage=Away(replicas))

    async def call():
        """As the JSON-RPC proxy counts one: an HTTP request, then what it counts as beyond."""
        try:
            await limiter.take("rpc", "caller")
            if cost > 1:
                await limiter.take("rpc", "caller", cost - 1, taken=1)
        except RateLimited as error:
            return int(error.headers["Retry-After"])
        return 0

    assert await call() == 0, "of a full share"
    began, calls, share = now[0], 1, 60 / replicas
    while now[0] < began + 100 * 60 * max(cost / share, 1):
        tries = 0
        while retry_s := await call():
            now[0] += retry_s
            tries += 1
        assert tries <= 2, "what it counts as beyond one is told second"
        calls += 1
        most = share * (1 + (now[0] - began) / 60) + cost
        assert calls * cost <= most + 0.01
    assert calls * cost >= 0.5 * share * (now[0] - began) / 60, "the share is granted"


async def test_the_first_call_of_a_batch_passes_a_share():
    """A batch gets its share, and one call at least."""
    limiter = Limiter(LimitsConfig(rpc="60/hour"), storage=Away(20))
    await limiter.take("rpc", "caller")
    granted, _, error = await limiter.take_granted("rpc", "caller", 24, taken=1, least=4)
    assert granted == 4
    assert error is not None
    assert (await limiter.take_granted("rpc", "another", 24))[0] == 3
    assert (await limiter.take_granted("rpc", "caller", 24, taken=1, least=4))[0] == 0


async def test_a_share_refuses_what_the_whole_limit_refuses():
    limiter = Limiter(LimitsConfig(quotes="10/hour"), storage=Away(4))
    with pytest.raises(RateLimited, match="Ask for less at once"):
        await limiter.take("quotes", "caller", 11)
    await limiter.take("quotes", "caller", 10)
    with pytest.raises(RateLimited) as refusal:
        await limiter.take("quotes", "caller", 1)
    # The ten come back at 2.5 an hour, and one more.
    assert 3_600 * 3 <= int(refusal.value.headers["Retry-After"]) <= 3_600 * 3.5


@pytest.mark.services
async def test_processes_know_how_many_count_in_the_store(store, server, monkeypatch):
    monkeypatch.setattr(SharedBuckets, "PRESENT_EVERY_S", 0.0)
    mine, theirs = [SharedBuckets(store) for _ in range(3)], SharedBuckets(store, "theirs")
    async with asyncio.timeout(60):
        while [each.replicas for each in (*mine, theirs)] != [3, 3, 3, 1]:
            for each in (*mine, theirs):
                await each.spend("test", Bound(10**6, 60), 1)
            await asyncio.sleep(0.05)
    # One that was not heard of for a minute does not count.
    seconds, _ = await server.time()
    await server.zadd("quoteway/counting", {mine[0]._id: seconds - SharedBuckets.SEEN_S - 1})
    async with asyncio.timeout(60):
        while [each.replicas for each in mine[1:]] != [2, 2]:
            for each in mine[1:]:
                await each.spend("test", Bound(10**6, 60), 1)
            await asyncio.sleep(0.05)
    for each in (*mine, theirs):
        await each.close()


async def test_a_store_that_fails_lets_requests_pass_within_the_limit(caplog):
    class Broken(SharedBuckets):
        def __init__(self):
            """Has no client."""

        async def spend(self, *args, **options):
            raise OSError("canary")

    limiter = Limiter(LimitsConfig(), storage=Broken())
    assert await limiter.take("rpc", "x") == '"rpc";r=599;t=1'
    assert "OSError" in caplog.text
    assert "canary" not in caplog.text


async def test_a_store_that_hangs_holds_no_request_for_long_and_the_next_not_at_all():
    connections = []

    async def silent(reader, writer):
        connections.append(writer)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        limiter = Limiter(LimitsConfig(catalog="1/minute", store=f"redis://127.0.0.1:{port}/0"))
        async with asyncio.timeout(60):
            await limiter.take("catalog", "caller")
        asked = len(connections)
        assert asked
        with pytest.raises(RateLimited):
            await limiter.take("catalog", "caller")
        assert (await limiter.take("catalog", "another")).startswith('"catalog";r=0;')
        assert len(connections) == asked, "the store is left alone for a while"
        await limiter.close()
