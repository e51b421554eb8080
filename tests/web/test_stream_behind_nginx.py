"""Streams through the shipped nginx.conf: passed on at once, over replicas, and read by a browser."""

import asyncio
import contextlib
import shutil
import socket
import subprocess
from dataclasses import replace

import pytest
import shipped_nginx
from aiohttp import web
from drifting_market import Place
from quoteway.config.model import QuotesConfig, SigningKey, StreamConfig
from quoteway.secrets import Secret
from stream_room import DEADLINE_S, StreamRoom

pytestmark = pytest.mark.services

RING = QuotesConfig(
    competition_timeout_s=20.0,
    keys=(SigningKey("k1", Secret("4f1c9a07e2d85b36c0a7914ed3f8625b8be0d3f7a61c5429")),),
)
BROWSER_S = 240


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@contextlib.asynccontextmanager
async def nginx_before(folder, *ports):
    """The shipped configuration before these replicas; gives its port."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(*shipped_nginx.command(folder, port, ports[0], ports[-1]))
    try:
        async with asyncio.timeout(DEADLINE_S):
            while True:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                await asyncio.sleep(0.05)
        yield port
    finally:
        process.terminate()
        await process.wait()


@pytest.fixture
async def replicas(serve_app, make_config, tmp_path):
    """``await open(cors=origin, **stream)`` gives clients of nginx, the place, and both replicas."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(cors=(), **stream):
            place = Place(head_poll_s=0.05)
            config = make_config(cors_origins=cors, trusted_proxies=("127.0.0.1/32",))
            config = replace(config, quotes=RING, stream=StreamConfig(**stream))
            served = [await serve_app(place.plugins(), config=config, clock=place.clock) for _ in range(2)]
            port = await stack.enter_async_context(nginx_before(tmp_path, *(api.port for api in served)))
            behind = replace(served[0], url=f"http://127.0.0.1:{port}", port=port)
            return StreamRoom(behind, stack), place, served

        yield start


async def test_events_and_comments_pass_nginx_one_by_one(replicas):
    room, place, _ = await replicas(heartbeat_s=0.2)
    client = await room.follow(heads=["seven"])
    headers = client.response.headers
    assert headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert "X-Accel-Buffering" not in headers, "it is for nginx"
    assert (await client.next()).data["block"]["number"] == 1
    for number in range(2, 12):  # each is far less than a buffer of nginx
        place.rpc.number = number
        assert (await client.next()).data["block"]["number"] == number
    async with asyncio.timeout(DEADLINE_S):
        while client.comments < 3:
            assert (await client.response.content.readline()) in (b":\n", b"\n")
            client.comments += 1


async def test_a_client_that_comes_back_may_reach_the_other_replica_and_misses_no_state(replicas):
    room, place, _ = await replicas()
    quote = (await room.quoted())["quoteId"]
    seen = set()
    last_id = None
    for _ in range(8):
        client = await room.follow(last_id=last_id, heads=["seven"], quotes=[quote])
        assert client.status == 200
        if last_id is None:
            told = [await client.next(), await client.next()]
            assert {each.name for each in told} == {"head", "quote"}
        else:
            place.rpc.number += 1
            head = await client.next("head")
            while head.data["block"]["number"] < place.rpc.number:
                head = await client.next("head")
        last_id = client.last_id
        seen.add(last_id.partition("-")[0])
        client.close()
    assert len(seen) == 2, "both replicas, each with ids of its own"


async def test_a_replica_that_drains_sends_its_streams_to_the_other(replicas):
    from quoteway.web.resources.stream import STREAMS

    room, _, served = await replicas()
    clients = [await room.follow(heads=["seven"]) for _ in range(6)]
    for client in clients:
        await client.next()
    served[0].app[STREAMS].drain()
    ended = [
        client
        for client in clients
        if client.last_id.startswith(served[0].app[STREAMS].topics.numbers.process)
    ]
    assert ended
    for client in ended:
        assert (await client.next("end")).data == {"reason": "draining", "reconnect": True}


PAGE = """
<!doctype html><meta charset="utf-8"><body><script>
const said = [];
const say = (text) => { said.push(text); fetch("/said", {method: "POST", body: text}); };
const events = new EventSource("%s");
for (const name of ["head", "quote", "lost", "end"])
  events.addEventListener(name, (event) => {
    const data = JSON.parse(event.data);
    const state = data.block?.number ?? data.change ?? data.reason;
    say(name + " " + state + " " + (event.lastEventId ? "id" : "none"));
  });
events.addEventListener("open", () => say("open"));
events.addEventListener("error", () => say("error " + events.readyState));
</script></body>
"""


@pytest.fixture
async def page(tmp_path):
    """A page of another origin with an ``EventSource``; ``await visit(url)`` opens it in Chromium."""
    chromium = shutil.which("chromium")
    assert chromium is not None, "install chromium"
    said, place, processes = asyncio.Queue(), {}, []

    async def show(request):
        return web.Response(text=PAGE % place["url"], content_type="text/html")

    async def hear(request):
        said.put_nowait(await request.text())
        return web.Response()

    app = web.Application()
    app.add_routes([web.get("/", show), web.post("/said", hear)])
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    origin = f"http://127.0.0.1:{runner.addresses[0][1]}"

    async def visit(url):
        place["url"] = url
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        processes.append(
            await asyncio.create_subprocess_exec(
                chromium,
                *options,
                f"--user-data-dir={tmp_path / 'browser'}",
                "--remote-debugging-port=0",
                origin,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    async def until(*wanted):
        """Everything that the page says until it has said these, in their order."""
        found, left = [], list(wanted)
        async with asyncio.timeout(BROWSER_S):
            while left:
                found.append(await said.get())
                if found[-1] == left[0]:
                    left.pop(0)
        return found

    yield origin, visit, until
    for process in processes:
        process.kill()
        await process.wait()
    await runner.cleanup()


async def test_an_event_source_reads_and_comes_back_after_its_last_event(replicas, page):
    """In Chromium, through nginx: the stream is cut by its lifetime, and goes on after ``Last-Event-ID``."""
    origin, visit, until = page
    room, place, _ = await replicas(cors=(origin,), lifetime_s=3.0, retry_s=0.2)
    await visit(f"{room.api.url}/v2/stream?heads=seven")
    await until("open", "head 1 id")
    place.rpc.number = 2
    await until("head 2 id", "end lifetime id", "error 0", "open")
    place.rpc.number = 3
    found = await until("head 3 id")
    assert not any(each.startswith("head 1") for each in found), "older states are not told again"


async def test_an_event_source_stops_when_every_topic_has_ended(replicas, page):
    origin, visit, until = page
    room, place, _ = await replicas(cors=(origin,), retry_s=0.2)
    quote = (await room.quoted())["quoteId"]
    place.now += 200
    await visit(f"{room.api.url}/v2/stream?quotes={quote}")
    # It connects again with the id `complete`, is answered 204, and is closed (readyState 2).
    await until("open", "quote expired id", "end complete id", "error 0", "error 2")
