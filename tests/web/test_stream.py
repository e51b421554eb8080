"""Live answers: heads and their ids, limits, slow clients and ends, on a chain that a test moves."""

import asyncio
import datetime
import hashlib

import pytest
from quoteway.config.keys import NamedKey
from quoteway.config.model import AuthConfig, LimitsConfig
from quoteway.secrets import Secret
from quoteway.web.http.event_stream import Event
from stream_room import DEADLINE_S

KEY = "4f1c9a07e2d85b36c0a7914ed3f8625b"


async def test_each_new_head_is_told_with_the_headers_of_a_stream(open_room, place):
    room = await open_room()
    client = await room.follow(heads=["seven"])
    headers = client.response.headers
    assert headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert (headers["Cache-Control"], headers["X-Accel-Buffering"]) == ("no-store", "no")
    assert "Content-Encoding" not in headers
    assert headers["X-Request-ID"]
    assert headers["RateLimit"].startswith('"catalog";')
    first = await client.next()
    assert 1_000 <= client.retry_ms <= 3_000
    assert (first.name, first.data["network"], first.data["chainId"]) == ("head", "seven", 7)
    assert first.data["block"]["number"] == 1
    place.rpc.number = 5
    told = await client.next()
    assert told.data["block"] == {
        "number": 5,
        "hash": f"0x{0x55:02x}" + "11" * 31,
        "timestamp": 0x65000000 + 48,
    }


async def test_a_stream_continues_after_its_last_event_without_a_gap(open_room, place):
    room = await open_room()
    client = await room.follow(heads=["seven"])
    other = await room.follow(heads=["seven"])
    first = await client.next()
    await other.next()
    client.close()
    missed = []
    for number in range(2, 8):
        place.rpc.number = number
        missed.append(await other.next())
    again = await room.follow(last_id=first.id, heads=["seven"])
    told = [await again.next() for _ in missed]
    assert told == missed, "each one, with the same ids, though only the newest state counts"
    place.rpc.number = 8
    assert (await again.next()).data["block"]["number"] == 8
    assert (await other.next()).id == again.last_id, "one event for all"
    none = await room.follow(last_id=again.last_id, heads=["seven"])
    place.rpc.number = 9
    assert (await none.next()).data["block"]["number"] == 9, "what it has is not told again"


@pytest.mark.parametrize(
    "last_id",
    ["x", "0", "%00", "a" * 4_000, "-1", "0123456789abcdef-1", "complete-1", "💥".encode().decode("latin-1")],
)
async def test_an_id_of_elsewhere_loses_events_and_gets_the_present_state(open_room, place, last_id):
    room = await open_room()
    keeping = await room.follow(heads=["seven"])
    await keeping.next()
    client = await room.follow(last_id=last_id, heads=["seven"])
    lost, head = await client.next(), await client.next()
    assert (lost.name, lost.data, lost.id) == ("lost", {"reason": "unknown_id"}, None)
    assert (head.name, head.data["block"]["number"]) == ("head", 1)


async def test_an_id_of_the_future_is_unknown(open_room, place):
    room = await open_room()
    client = await room.follow(heads=["seven"])
    process = (await client.next()).id.partition("-")[0]
    again = await room.follow(last_id=f"{process}-{10**14}", heads=["seven"])
    assert (await again.next()).data == {"reason": "unknown_id"}


async def test_what_is_no_longer_kept_is_lost(open_room, place, monkeypatch):
    monkeypatch.setattr("quoteway.web.resources.live_topics.RING_EVENTS", 3)
    room = await open_room()
    client = await room.follow(heads=["seven"])
    first = await client.next()
    for number in range(2, 7):
        place.rpc.number = number
        last = await client.next()
    again = await room.follow(last_id=first.id, heads=["seven"])
    assert (await again.next()).data == {"reason": "too_old"}
    assert await again.next() == last
    more = await room.follow(last_id=last.id, heads=["seven", "eight"])
    assert (await more.next()).data == {"reason": "too_old"}, "nobody followed eight then"
    assert {(await more.next()).data["network"] for _ in range(2)} == {"seven", "eight"}


async def test_a_topic_of_nobody_ends_and_reads_nothing(open_room, place, monkeypatch):
    monkeypatch.setattr("quoteway.web.resources.live_topics.LINGER_S", 0.1)
    room = await open_room()
    client = await room.follow(heads=["seven"])
    told = await client.next()
    assert await room.metric('quoteway_stream_topics{topic="heads"}') == 1
    assert await room.metric("quoteway_streams") == 1
    client.close()

    async def ended():
        return not await room.metric('quoteway_stream_topics{topic="heads"}')

    await room.until(ended)
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("stream:")]
    assert await room.metric("quoteway_streams") == 0
    assert await room.metric('quoteway_streams_closed_total{cause="client"}') == 1
    again = await room.follow(last_id=told.id, heads=["seven"])
    assert (await again.next()).data == {"reason": "too_old"}


async def test_a_hundred_readers_cost_what_one_does(open_room, place):
    room = await open_room({"streams_per_caller": 100})
    (one,) = clients = [await room.follow(heads=["seven"])]
    await one.next()

    async def reads_of_two_heads():
        calls = len(place.rpc.calls)
        for _ in range(2):
            place.rpc.number += 1
            for client in clients:
                await client.next()
        return len(place.rpc.calls) - calls

    await reads_of_two_heads()
    clients += await asyncio.gather(*(room.follow(heads=["seven", "7"]) for _ in range(99)))
    for client in clients[1:]:
        await client.next()
    before, began = len(place.rpc.calls), asyncio.get_running_loop().time()
    await reads_of_two_heads()
    polls = (asyncio.get_running_loop().time() - began) / 0.05
    assert len(place.rpc.calls) - before <= polls + 2, "the polls of the head that the server makes anyway"


@pytest.mark.parametrize(
    ("topics", "status", "code", "reason", "words"),
    [
        ({}, 422, "validation_error", "missing", "at least one of heads"),
        ({"heads": ""}, 422, "validation_error", "missing", ""),
        ({"heads": ","}, 422, "validation_error", "unsupported_network", "heads"),
        ({"heads": "sevem"}, 422, "validation_error", "unsupported_network", "seven"),
        ({"heads": "seven,nine"}, 422, "validation_error", "unsupported_network", ""),
        ({"head": "seven"}, 422, "validation_error", "unknown_member", "heads"),
        ({"heads": "x" * 200}, 422, "validation_error", "invalid_format", ""),
        ({"quotes": "nothing"}, 404, "not_found", "quote_invalid", "request a new one"),
        ({"quotes": "a.b.c"}, 404, "not_found", "quote_invalid", ""),
        ({"quotes": "x" * 4_097}, 422, "validation_error", "out_of_range", ""),
        ({"quotes": "\0"}, 422, "validation_error", "invalid_format", ""),
    ],
)
async def test_wrong_topics_are_refused(open_room, refused, topics, status, code, reason, words):
    room = await open_room()
    answer = await room.refused(**topics)
    refused(answer, status, code, reason)
    assert words in answer.body["error"]["message"]


async def test_a_member_that_is_given_twice_is_refused(open_room, refused):
    room = await open_room()
    refused(await room.api.get("/v2/stream?heads=seven&heads=eight"), 422, "validation_error", "conflict")


async def test_head_and_other_methods_are_answered_at_once(open_room):
    room = await open_room()
    answer = await room.api.request("HEAD", "/v2/stream?heads=seven")
    assert (answer.status, answer.raw) == (200, b"")
    assert (await room.api.post("/v2/stream?heads=seven")).status == 405
    assert await room.metric("quoteway_streams") == 0


async def test_the_numbers_of_streams_and_topics_are_limited(open_room, refused):
    room = await open_room({"streams_per_caller": 2, "topics": 1})
    answer = await room.refused(heads="seven,eight")
    refused(answer, 422, "validation_error", "out_of_range")
    assert "names 2 topics: name at most 1" in answer.body["error"]["message"]
    one, two = [await room.follow(heads=["seven"]) for _ in range(2)]
    await one.next()
    await two.next()
    answer = await room.refused(heads="seven")
    refused(answer, 429, "rate_limit_exceeded")
    assert answer.headers["Retry-After"] == "10"
    one.close()

    async def has_room():
        return (await room.metric('quoteway_streams_closed_total{cause="client"}')) == 1

    await room.until(has_room)
    assert (await room.follow(heads=["seven"])).status == 200
    assert await room.metric('quoteway_streams_refused_total{cause="caller"}') == 1


async def test_the_number_of_all_streams_is_limited(open_room, refused):
    room = await open_room({"streams": 1})
    await (await room.follow(heads=["seven"])).next()
    refused(await room.refused(heads="seven"), 503, "provider_unavailable")
    assert await room.metric('quoteway_streams_refused_total{cause="full"}') == 1


async def test_none_when_there_may_be_none(open_room, refused):
    room = await open_room({"streams": 0})
    refused(await room.refused(heads="seven"), 503, "provider_unavailable")


# --- slow clients, heartbeats and ends ----------------------------------------------------------------------


async def test_comments_keep_a_quiet_stream_open(open_room):
    room = await open_room({"heartbeat_s": 0.05})
    client = await room.follow(heads=["seven"])
    await client.next()
    async with asyncio.timeout(DEADLINE_S):
        while client.comments < 3:
            assert (await client.response.content.readline()) in (b":\n", b"\n")
            client.comments += 1


async def test_after_its_lifetime_a_stream_ends_and_goes_on_where_it_ended(open_room, place):
    room = await open_room({"lifetime_s": 0.3})
    client = await room.follow(heads=["seven"])
    head, end = await client.rest()
    assert (end.name, end.data, end.id) == ("end", {"reason": "lifetime", "reconnect": True}, None)
    assert client.response.headers["Connection"] == "close"
    again = await room.follow(last_id=head.id, heads=["seven"])
    assert [told.name for told in await again.rest()] == ["end"], "nothing new"
    assert await room.metric('quoteway_streams_closed_total{cause="lifetime"}') == 2


async def test_the_last_states_are_followed_by_the_end_and_204(open_room, place):
    """``EventSource`` connects again after the end of any stream, unless the answer is 204."""
    room = await open_room()
    quote = (await room.quoted())["quoteId"]
    place.now += 200
    client = await room.follow(quotes=[quote])
    expired, end = await client.rest()
    assert (expired.name, expired.data["change"]) == ("quote", "expired")
    assert (end.data, end.id) == ({"reason": "complete", "reconnect": False}, "complete")
    again = await room.follow(last_id=client.last_id, quotes=[quote])
    assert (again.status, await again.response.read()) == (204, b"")


async def test_a_client_that_never_reads_is_disconnected_and_costs_bounded_memory(open_room, place):
    """Its quotes change as fast as they can. What waits for it is the newest event of each topic."""
    room = await open_room(
        {"queue_bytes": 4_096, "write_timeout_s": 1.0, "quote_interval_s": 0.05, "streams_per_caller": 2}
    )
    quote = (await room.quoted())["quoteId"]
    _reader, writer = await asyncio.open_connection("127.0.0.1", room.api.port, limit=2)
    writer.transport.pause_reading()
    writer.write(f"GET /v2/stream?quotes={quote}&heads=seven HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    (stream,) = await until_some(lambda: room.streams._open)
    (caller,) = room.streams._callers
    filler = asyncio.create_task(fill(room, stream, place))
    try:

        async def gone():
            return await room.metric('quoteway_streams_closed_total{cause="slow"}') == 1

        await room.until(gone)
    finally:
        filler.cancel()
        writer.close()
    assert not room.streams._open
    assert caller not in room.streams._callers
    assert not room.streams._followed


async def until_some(look):
    async with asyncio.timeout(DEADLINE_S):
        while not (found := tuple(look())):
            await asyncio.sleep(0.01)
    return found


async def fill(room, stream, place):
    """Publishes states of its topics faster than the kernel's buffers can take."""
    big = Event.of("head", {"padding": "x" * 50_000})
    while True:
        for topic in stream._joined:
            stream.told(topic.key, big)
        assert len(stream.queue._newest) <= 2
        await asyncio.sleep(0)


async def test_many_connects_and_disconnects_leave_nothing(open_room, place, monkeypatch):
    monkeypatch.setattr("quoteway.web.resources.live_topics.LINGER_S", 0.05)
    room = await open_room({"streams_per_caller": 1_000, "quotes_per_caller": 1_000})
    quote = (await room.quoted())["quoteId"]
    await come_and_go(room, quote, 50)
    await room.until(lambda: at_rest(room))
    before = len(asyncio.all_tasks())
    await come_and_go(room, quote, 1_000)
    # The server may meet a connection after its client has gone.
    await room.until(lambda: at_rest(room, most_tasks=before + 2))
    assert await room.metric("quoteway_streams") == 0
    assert not room.streams.topics.count("heads")
    assert not room.streams.topics.count("quotes")


async def come_and_go(room, quote, times):
    request = f"GET /v2/stream?heads=seven,eight&quotes={quote} HTTP/1.1\r\nHost: x\r\n\r\n".encode()

    async def one(at):
        reader, writer = await asyncio.open_connection("127.0.0.1", room.api.port)
        writer.write(request)
        if at % 3:  # some go before any answer
            await reader.readuntil(b"retry: ")
        writer.transport.abort()

    for start in range(0, times, 50):
        await asyncio.gather(*map(one, range(start, min(start + 50, times))))


async def at_rest(room, most_tasks=1_000):
    streams = room.streams
    is_empty = not (streams._open or streams._callers or streams._followed or streams.topics._topics)
    return is_empty and len(asyncio.all_tasks()) <= most_tasks


async def test_draining_ends_streams_at_once_and_new_ones_too(open_room, place):
    room = await open_room()
    clients = [await room.follow(heads=["seven"]) for _ in range(3)]
    for client in clients:
        await client.next()
    room.streams.drain()
    for client in clients:
        (end,) = await client.rest()
        assert (end.name, end.data, end.id) == ("end", {"reason": "draining", "reconnect": True}, None)
    (end,) = await (await room.follow(heads=["seven"])).rest()
    assert end.data["reason"] == "draining", "which an EventSource takes as a reason to connect again"


# --- keys, origins and rate limits --------------------------------------------------------------------------


async def test_a_key_is_needed_as_everywhere_and_never_in_the_url(open_room, refused):
    room = await open_room(auth=AuthConfig(keys=(Secret(KEY),)))
    refused(await room.refused(heads="seven"), 401, "unauthorized")
    refused(await room.api.get(f"/v2/stream?heads=seven&key={KEY}"), 401, "unauthorized")
    client = await room.follow(headers={"Authorization": f"Bearer {KEY}"}, heads=["seven"])
    assert (await client.next()).name == "head"


async def test_a_stream_ends_when_its_key_expires(open_room, refused):
    ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=3)
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    room = await open_room(auth=AuthConfig(keys=(NamedKey("bot", sha256=digest, expires=ends),)))
    headers = {"Authorization": f"Bearer {KEY}"}
    client = await room.follow(headers=headers, heads=["seven"])
    *_, end = await client.rest()
    assert end.data == {"reason": "lifetime", "reconnect": True}
    assert datetime.datetime.now(datetime.UTC) >= ends
    answer = await room.api.get("/v2/stream?heads=seven", headers=headers)
    refused(answer, 401, "unauthorized")


async def test_each_topic_counts_as_a_request_and_pages_of_allowed_origins_may_read(
    open_room, make_config, refused
):
    origin = {"Origin": "https://wallet.example"}
    server = make_config(cors_origins=("https://wallet.example",)).server
    room = await open_room(limits=LimitsConfig(catalog="5/minute"), server=server)
    client = await room.follow(headers=origin, heads=["seven", "eight"])
    assert client.response.headers["RateLimit"].startswith('"catalog";r=3;')
    assert client.response.headers["Access-Control-Allow-Origin"] == "https://wallet.example"
    await room.follow(heads=["seven", "eight"])
    answer = await room.refused(heads="seven,eight")
    refused(answer, 429, "rate_limit_exceeded")
    preflight = await room.api.request(
        "OPTIONS", "/v2/stream", headers={**origin, "Access-Control-Request-Method": "GET"}
    )
    assert "Last-Event-ID" in preflight.headers["Access-Control-Allow-Headers"]
