"""The trace context goes out with calls made for a request, and with no others."""

import aiohttp
from aiohttp import web
from quoteway.telemetry.tracing import continue_trace, outgoing_traces, traceparent

SENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


async def test_calls_carry_the_trace_of_their_request(aiohttp_server):
    async def show(request):
        return web.json_response({"traceparent": request.headers.get("traceparent")})

    app = web.Application()
    app.router.add_get("/", show)
    server = await aiohttp_server(app)
    async with aiohttp.ClientSession(trace_configs=[outgoing_traces()]) as session:

        async def seen():
            async with session.get(server.make_url("/")) as response:
                return (await response.json())["traceparent"]

        assert await seen() is None
        trace = continue_trace(SENT)
        traceparent.set(trace)
        assert await seen() == trace
        assert trace.split("-")[1] == SENT.split("-")[1]
        assert trace.split("-")[2] != SENT.split("-")[2]
