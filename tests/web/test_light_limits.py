"""Limits and keys hold alike for requests that are answered before aiohttp makes anything of them."""

import asyncio
import re
from dataclasses import replace

from light_room import Node, Room, both, call, post
from quoteway.config.model import AuthConfig, LimitsConfig
from quoteway.secrets import Secret
from quoteway.web.http.buckets import Buckets, SharedBuckets
from quoteway.web.http.limits import Limiter
from quoteway.web.http.middleware import MIDDLEWARE

BATCH = post(b"[%b]" % call())


async def test_limits_hold_over_both_paths(serve_app, monkeypatch, make_config):
    config = replace(make_config(), limits=LimitsConfig(rpc="4/hour"))
    room = Room(await serve_app({"node": Node()}, config=config), Node(), monkeypatch)
    wire = room.connect()
    await wire.rest(3)
    for request in (post(call()), BATCH, post(call()), BATCH, post(call())):
        await wire.feed(request)
    assert re.findall(rb'RateLimit: "rpc";r=(\d)', bytes(wire.out)) == [b"3", b"2", b"1", b"0", b"0"]
    assert re.findall(rb"HTTP/1.1 (\d+)", bytes(wire.out)) == [b"200"] * 4 + [b"429"]
    assert len(room.taken) == 3
    wire.close()
    expected = await room.exchange([post(call())], light=False)
    assert await room.exchange([post(call())], light=True) == expected


class Asked(SharedBuckets):
    """Buckets that have to be waited for."""

    def __init__(self):
        self._buckets = Buckets()

    async def spend(self, *args, **options):
        await asyncio.sleep(0)
        return self._buckets.spend(*args, **options)

    async def close(self):
        """There are no connections."""


async def test_a_store_of_limits_that_has_to_be_asked(serve_app, monkeypatch, make_config):
    room = Room(await serve_app({"node": Node()}, config=make_config()), Node(), monkeypatch)
    limits = LimitsConfig(rpc="6/hour")
    room.api.app[MIDDLEWARE].limiter = Limiter(limits, storage=Asked())
    out, _ = await room.exchange([post(call()), post(call("eth_gasPrice"))], light=True)
    assert re.findall(rb"HTTP/1.1 (\d+)", out) == [b"200", b"200"]
    room.taken.clear()
    assert len(await both(room, post(call()))) == 2
    out, _ = await room.exchange([post(call())], light=True)
    assert out.startswith(b"HTTP/1.1 429 ")
    assert out == (await room.exchange([post(call())], light=False))[0]


async def test_no_limits(serve_app, monkeypatch, make_config):
    config = replace(make_config(), limits=LimitsConfig(enabled=False))
    room = Room(await serve_app({"node": Node()}, config=config), Node(), monkeypatch)
    for method in ("eth_chainId", "eth_gasPrice"):
        await both(room, post(call(method)))
        room.taken.clear()


async def test_callers_behind_a_trusted_proxy_are_told_apart(serve_app, monkeypatch, make_config):
    config = replace(make_config(trusted_proxies=("192.0.2.1/32",)), limits=LimitsConfig(rpc="2/hour"))
    room = Room(await serve_app({"node": Node()}, config=config), Node(), monkeypatch)
    one, other = (post(call(), b"X-Forwarded-For: 198.51.100.%d" % n) for n in (1, 2))
    wire = room.connect()
    await wire.rest(3)
    for request in (one, one, one, other, post(call())):
        await wire.feed(request)
    assert re.findall(rb"HTTP/1.1 (\d+)", bytes(wire.out)) == [b"200", b"200", b"429", b"200", b"200"]
    assert len(room.taken) == 5
    wire.close()


async def test_keys_are_asked_for_on_both_paths(serve_app, monkeypatch, make_config):
    keys = AuthConfig(keys=(Secret("k" * 32), Secret("l" * 32)))
    limits = LimitsConfig(rpc="100000/minute", wrong_keys="100000/minute")
    config = replace(make_config(), auth=keys, limits=limits)
    room = Room(await serve_app({"node": Node()}, config=config), Node(), monkeypatch)
    assert await both(room, post(call(), b"Authorization: Bearer " + b"l" * 32)) == [call()] * 2
    room.taken.clear()
    for field in (b"X: y", b"Authorization: Bearer x", b"Authorization: Basic " + b"k" * 32):
        assert await both(room, post(call(), field)) == []
    out, _ = await room.exchange([post(call())], light=True)
    assert out.startswith(b"HTTP/1.1 401 ")
