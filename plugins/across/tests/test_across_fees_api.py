"""What the fee service may answer: each lie, failure and delay of ``fee_answers.json`` over a real socket."""

import asyncio
import json
import time
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from quoteway import Reason, UpstreamError
from quoteway_devnet.anvil import free_port

pytestmark = pytest.mark.xdist_group("devnet")

CASES = json.loads((Path(__file__).parent / "fee_answers.json").read_text())
COMPETITION_S = 3.0


class Liar:
    """A server between the gateway and the honest relayer: it plays ``case`` for fees, ``rows`` beside its
    routes."""

    def __init__(self, honest_url):
        self.honest_url = honest_url
        self.case = {}
        self.rows = []
        self.port = 0

    async def honest(self, path, query):
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.honest_url}/{path}", params=query) as response,
        ):
            return await response.json()

    async def routes(self, request):
        return web.json_response(self.rows + await self.honest("available-routes", {}))

    async def fees(self, request):
        case, status = self.case, self.case.get("status", 200)
        match case.get("body"):
            case None:
                answer = await self.honest("suggested-fees", request.query)
                shifts = case.get("shifts", {}).items()
                shifted = {name: str(int(answer[name]) + by) for name, by in shifts}
                return web.json_response(answer | case.get("changes", {}) | shifted)
            case "SILENT":
                await asyncio.sleep(30)
            case "HANGS_UP":
                request.transport.abort()
            case "HUGE" | "DRIPS" as body:
                response = web.StreamResponse()
                await response.prepare(request)
                for _ in range(1000):
                    await response.write(b" " * (1 << 20) if body == "HUGE" else b" ")
                    await asyncio.sleep(0.0 if body == "HUGE" else 0.1)
                return response
            case "NESTED":
                return web.Response(text="[" * 100_000)
            case body:
                return web.Response(status=status, text=body, headers={"Location": "/elsewhere"})
        return web.Response()


@pytest.fixture
async def liar(relayer):
    """A Liar, serving."""
    liar, app = Liar(relayer.api_url), web.Application()
    app.router.add_get("/api/available-routes", liar.routes)
    app.router.add_get("/api/suggested-fees", liar.fees)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    liar.port = runner.addresses[0][1]
    yield liar
    await runner.cleanup()


def test_the_cases_are_all_different():
    assert len({case["case"] for case in CASES}) == len(CASES)


async def test_every_bad_answer_costs_the_quote_within_its_deadline(fresh_devnet, liar, make_desk):
    desk = await make_desk(fresh_devnet, liar.port)
    request = desk.request("USDC", 10**9)
    await desk.quote(request)
    for case in CASES:
        liar.case = case
        began = time.monotonic()
        with pytest.raises(UpstreamError) as refusal:
            await desk.quote(request)
        assert time.monotonic() - began < COMPETITION_S + 0.5, case
        said, attempts = refusal.value, refusal.value.attempts
        reason = case.get("reason", "provider_error")
        assert said.reason == reason, (case, said.message)
        assert attempts[0].reason == reason, case
        assert "evil-marker" not in f"{said.message}{said.extra}{attempts}", case
        # What a client of one provider reads; a competition says only that none could quote.
        if reason != "no_route":
            with pytest.raises(UpstreamError) as own:
                await desk.bridge.quote(request)
            assert case.get("finding", "") in own.value.message, case
            assert "evil-marker" not in own.value.message, case
    liar.case = {}
    await desk.quote(request)


async def test_odd_routes_are_passed_over(fresh_devnet, liar, make_desk):
    liar.rows = [
        None,
        7,
        {"originChainId": "x"},
        {"originChainId": 31337, "originToken": "So11111111111111111111111111111111111111112"},
        {"originChainId": 1, "originToken": "0x" + "11" * 20, "destinationChainId": 10},
    ]
    desk = await make_desk(fresh_devnet, liar.port)
    # Seven tokens, one of them in three more forms: the coin at either end, or at both.
    assert len(await desk.bridge.routes(31337, 31338)) == 7 + 3


async def test_a_service_that_is_down_is_a_502_at_once(fresh_devnet, make_desk):
    desk = await make_desk(fresh_devnet, free_port())
    began = time.monotonic()
    with pytest.raises(UpstreamError) as refusal:
        await desk.quote(desk.request())
    assert refusal.value.reason is Reason.PROVIDER_ERROR
    assert time.monotonic() - began < 1.0
    assert await desk.bridge.healthy() is False
    with pytest.raises(UpstreamError):
        await desk.bridge.routes(None, None)
