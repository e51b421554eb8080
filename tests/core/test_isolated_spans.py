"""Spans of a plugin in a process of its own: they are parts of the call, and it cannot forge others."""

import asyncio
import time
from dataclasses import replace

import pytest
from aiohttp import web
from isolated_gateway import request, starter, swaps
from quoteway.config.traces import TracesConfig
from quoteway.spans import MOST_ADOPTED, MOST_SPANS, Span, Trace, adopt, end_spans, keep_spans, span

SEARCHES = """
    import quoteway
    from quoteway import hookimpl
    from quoteway.testing.fakes import FixedRateSwap

    class Searches(FixedRateSwap):
        async def quote(self, request):
            with quoteway.span("solver", "own search", "found"):
                with quoteway.span("solver", "inner"):
                    await self._context.chain(4242).request("eth_chainId", shared=False)
            if request.slippage_bps == 2:
                raise ValueError("failed")
            if request.slippage_bps == 3:
                async with self._context.http.get(request.sender) as answer:
                    await answer.read()
            return [1]

    @hookimpl
    def quoteway_swap_providers(context):
        return [Searches(context, provider_id="naughty")]
"""


@pytest.fixture
def start(tmp_path, monkeypatch, make_gateway):
    return starter(tmp_path, monkeypatch, make_gateway)


async def traced(gateway, asked):
    """The spans of a call, each as kind, name, outcome and the place of its parent."""
    trace = Trace()
    mark = keep_spans(trace)
    try:
        with span("call", "swap naughty.quote", "quoted"):
            await swaps(gateway).quote(asked)
    except Exception:
        pass
    finally:
        end_spans(trace, mark)
    for each in trace.spans:
        assert trace.began_s <= each.began_s <= each.ended_s <= time.monotonic()
    return [(each.kind, each.name, each.outcome, each.parent) for each in trace.spans]


async def test_what_an_isolated_plugin_does_is_a_part_of_its_call(start):
    gateway = await start(SEARCHES)
    found = await traced(gateway, request())
    assert found[0] == ("call", "swap naughty.quote", "quoted", None)
    assert [each for each in found[1:] if each[0] != "solver"] == [("upstream", "memory-rpc", "answered", 0)]
    place = next(place for place, each in enumerate(found) if each[1] == "own search")
    assert found[place:] == [("solver", "own search", "found", 0), ("solver", "inner", None, place)]
    # A call that fails has spans as well, and two at once have each their own.
    both = await asyncio.gather(traced(gateway, request(2)), traced(gateway, request()))
    assert [[each[1] for each in one].count("own search") for one in both] == [1, 1]
    assert [one[0][2] for one in both] == ["failed", "quoted"]


async def test_without_a_trace_the_process_keeps_no_spans(start, monkeypatch):
    gateway = await start(SEARCHES)
    heard = []
    monkeypatch.setattr("quoteway.host.isolation.link.adopt", heard.append)
    assert await swaps(gateway).quote(request()) == [1]
    assert heard == []


async def test_an_exchange_of_the_process_is_a_span_where_traces_are_sent(
    start, tmp_path, monkeypatch, make_gateway
):
    async def answer(_):
        return web.Response(text="ok")

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"

    async def sending(plugins, *, config, discover):
        traces = TracesConfig(url="http://127.0.0.1:9/v1/traces")
        return await make_gateway(plugins, config=replace(config, traces=traces), discover=discover)

    try:
        gateway = await starter(tmp_path, monkeypatch, sending)(SEARCHES)
        found = await traced(gateway, replace(request(3), sender=url))
    finally:
        await runner.cleanup()
    assert ("exchange", "GET", "answered", 0) in found
    assert url not in str(found)


# --- what a process tells is not believed -------------------------------------------------------------------


def adopted(rows):
    """The spans that are taken of some rows, in a call that began a second ago."""
    trace = Trace(began_s=time.monotonic() - 2)
    mark = keep_spans(trace)
    try:
        with span("call", "a"):
            trace.spans[0].began_s -= 1
            adopt(rows)
    finally:
        end_spans(trace, mark)
    return trace.spans[1:]


def row(**changes):
    now = time.monotonic()
    members = {"parent": None, "kind": "solver", "name": "a search", "began": now - 0.5, "ended": now - 0.1}
    return tuple((members | {"outcome": None} | changes).values())


def test_a_part_of_a_part_is_placed_in_the_trace_of_the_server():
    first, second = adopted([row(), row(parent=0, ended=None, outcome="found")])
    assert (first.parent, second.parent, second.ended_s, second.outcome) == (0, 1, None, "found")
    assert isinstance(first, Span)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        7,
        "text",
        (),
        (1, 2, 3),
        row(parent=1),
        row(parent=-1),
        row(parent=True),
        row(parent="0"),
        row(kind="Has Blanks"),
        row(kind="k" * 33),
        row(kind=7),
        row(name=""),
        row(name="n" * 101),
        row(name="two\nlines"),
        row(name=b"bytes"),
        row(began=0.0),
        row(began=float("nan")),
        row(began="now"),
        row(ended=2.0**60),
        row(ended=float("inf")),
        row(outcome="a secret of somebody"),
        row(outcome=7),
    ],
)
def test_what_is_no_span_ends_the_list(bad):
    assert len(adopted([row(), bad, row()])) == 1
    assert adopted(bad) == []


def test_a_process_cannot_fill_a_trace():
    assert len(adopted([row()] * 10_000)) == MOST_ADOPTED
    trace = Trace()
    trace.spans.extend(Span(None, "call", "a", 0.0) for _ in range(MOST_SPANS - 1))
    mark = keep_spans(trace)
    trace.began_s -= 10
    adopt([row()] * 5)
    end_spans(trace, mark)
    assert len(trace.spans) == MOST_SPANS
    adopt([row()])  # no request is under way
