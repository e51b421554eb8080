"""An observer that blocks costs no request anything, and loses only events of its own."""

import asyncio
import threading
import time

import pytest
from quoteway import hookimpl
from quoteway.models import NATIVE, Capability, SwapRequest, Token
from quoteway.networks import Network
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, MemoryRpc

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
TOKEN = Token(7, "0x" + "1" * 40, 6)
REQUEST = SwapRequest(7, 7, Token(7, NATIVE, 18), TOKEN, 10**18, USER, USER, 50)


class Honest:
    def __init__(self):
        self.events, self.threads = [], set()

    @hookimpl
    def quoteway_observe(self, event):
        self.events.append(event)
        self.threads.add(threading.current_thread().name)


class Blocks:
    def __init__(self):
        self.started, self.released = threading.Event(), threading.Event()

    @hookimpl
    def quoteway_observe(self, event):
        event.clear()
        self.started.set()
        assert self.released.wait(60)


@pytest.fixture
def blocks():
    blocks = Blocks()
    yield blocks
    blocks.released.set()


async def eventually(condition):
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_quote_never_waits_for_an_observer(make_gateway, blocks):
    honest = Honest()
    plugin = FakePlugin(
        [MemoryRpc({7}), FixedRateSwap], networks=[Network("seven", 7, "Seven")], calls=[FAKE_CALLS]
    )
    gateway = await make_gateway({"fake": plugin, "blocks": blocks, "honest": honest})
    for _ in range(5):
        answer = await gateway.quoting.quote(Capability.SWAP, REQUEST)
        assert answer.sealed.provider == "fixed-rate"
    assert blocks.started.wait(30)
    assert not blocks.released.is_set(), "all quotes were answered while it blocked"
    await eventually(lambda: len(honest.events) == 10)
    assert {event["method"] for event in honest.events} == {"quote", "build"}, "each has its own copy"
    assert honest.threads == {"plugin:honest.observe"}


async def test_a_full_queue_drops_events_and_counts_them(make_gateway, blocks, monkeypatch, caplog):
    monkeypatch.setattr("quoteway.host.observers.MOST_WAITING", 5)
    honest = Honest()
    gateway = await make_gateway({"blocks": blocks, "honest": honest})
    plugins = gateway.registry.plugins
    slow = next(each for each in plugins.observers if each.entry.name == "blocks")
    plugins.observe({"method": "quote", "n": 0})
    assert blocks.started.wait(30)
    for n in range(1, 21):
        plugins.observe({"method": "quote", "n": n})
        await eventually(lambda n=n: len(honest.events) == n + 1)
    assert slow.dropped == 15
    assert caplog.text.count("loses events") == 1
    began = time.monotonic()
    slow.close()
    assert time.monotonic() - began < 10


async def test_what_an_observer_raises_is_logged_once_in_a_while(make_gateway, caplog):
    """It is called several times a quote: a traceback for each slowed every quote by a quarter."""
    seen = []

    class Raises:
        @hookimpl
        def quoteway_observe(self, event):
            seen.append(event)
            raise RuntimeError("again")

    gateway = await make_gateway({"raises": Raises()})
    for n in range(20):
        gateway.registry.plugins.observe({"method": "quote", "n": n})
    await eventually(lambda: len(seen) == 20)
    assert caplog.text.count("the observer of plugin 'raises' raised") == 1
