"""Wrong answers, failures and delays of the fee service (``fee_answers.json``), over a real socket."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import pytest
import quoteway_across.route_limits
from aiohttp import web
from quoteway import Reason, UpstreamError
from quoteway_devnet.anvil import free_port

CASES = json.loads((Path(__file__).parent / "fee_answers.json").read_text())
COMPETITION_S = 3.0


class FaultyFees:
    """A proxy in front of the relayer: it answers ``case`` to requests for fees and adds ``rows`` to the
    routes."""

    def __init__(self, honest_url):
        self.honest_url = honest_url
        self.case = {}
        self.rows = []
        self.limits_case = {}
        self.limits_asked = Counter()
        self.limits_now = self.limits_at_once = 0
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
        return await self.play(self.case, "suggested-fees", request)

    async def limits(self, request):
        self.limits_asked[request.query_string] += 1
        self.limits_now += 1
        self.limits_at_once = max(self.limits_at_once, self.limits_now)
        try:
            await asyncio.sleep(self.limits_case.get("after_s", 0))
            if released := self.limits_case.get("released"):
                await released.wait()
            return await self.play(self.limits_case, "limits", request)
        finally:
            self.limits_now -= 1

    async def play(self, case, path, request):
        status = case.get("status", 200)
        match case.get("body"):
            case None:
                answer = await self.honest(path, request.query)
                shifts = case.get("shifts", {}).items()
                shifted = {name: str(int(answer[name]) + by) for name, by in shifts}
                return web.json_response(answer | case.get("changes", {}) | shifted)
            case "SILENT":
                await asyncio.sleep(3600)
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
    """A FaultyFees server."""
    liar, app = FaultyFees(relayer.api_url), web.Application()
    app.router.add_get("/api/available-routes", liar.routes)
    app.router.add_get("/api/suggested-fees", liar.fees)
    app.router.add_get("/api/limits", liar.limits)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    liar.port = runner.addresses[0][1]
    yield liar
    await runner.cleanup()


def test_the_cases_are_all_different():
    assert len({case["case"] for case in CASES}) == len(CASES)


@pytest.mark.slow
async def test_every_bad_answer_fails_the_quote_within_its_deadline(
    fresh_devnet, liar, make_harness, monkeypatch
):
    harness = await make_harness(fresh_devnet, liar.port)
    request = harness.request("USDC", 10**9)
    await harness.quote(request)
    for case in CASES:
        liar.case = case
        late = case.get("reason") == "provider_timeout"
        for api in harness.bridge._transfers._apis.values():
            monkeypatch.setattr(api, "_timeout_s", 0.5 if late else 10.0)
        with pytest.raises(UpstreamError) as refusal:
            await harness.quote(request)
        said, attempts = refusal.value, refusal.value.attempts
        reason = case.get("reason", "provider_error")
        assert said.reason == reason, (case, said.message)
        assert attempts[0].reason == reason, case
        assert "evil-marker" not in f"{said.message}{said.revert_reason}{attempts}", case
        # A competition says only that no provider could quote; one provider's own error says why.
        if reason != "no_route":
            with pytest.raises(UpstreamError) as own:
                await harness.bridge.quote(request)
            assert case.get("finding", "") in own.value.message, case
            assert "evil-marker" not in own.value.message, case
    liar.case = {}
    await harness.quote(request)


async def test_unusable_routes_are_skipped(fresh_devnet, liar, make_harness):
    liar.rows = [
        None,
        7,
        {"originChainId": "x"},
        {"originChainId": 31337, "originToken": "So11111111111111111111111111111111111111112"},
        {"originChainId": 1, "originToken": "0x" + "11" * 20, "destinationChainId": 10},
    ]
    harness = await make_harness(fresh_devnet, liar.port)
    # Seven tokens, one of them in three more forms: the coin at either end, or at both.
    assert len(await harness.bridge.routes(31337, 31338)) == 7 + 3


async def test_a_service_that_is_down_is_a_502_at_once(fresh_devnet, make_harness):
    harness = await make_harness(fresh_devnet, free_port())
    with pytest.raises(UpstreamError) as refusal:
        await harness.quote(harness.request())
    assert refusal.value.reason is Reason.PROVIDER_ERROR
    assert await harness.bridge.healthy() is False
    with pytest.raises(UpstreamError):
        await harness.bridge.routes(None, None)


# --- limits -----------------------------------------------------------------------------------------------

NO_LIMITS = [
    {"body": "<html>no JSON</html>"},
    {"body": "NESTED"},
    {"body": "[]"},
    {"body": "null"},
    {"body": "{}"},
    {"body": '{"minDeposit": "1"}'},
    {"body": '{"maxDeposit": "1"}'},
    {"body": "evil-marker", "status": 500},
    {"body": '{"code": "ROUTE_NOT_ENABLED"}', "status": 400},
    {"body": '{"minDeposit": "1", "maxDeposit": "2"}', "status": 203},
    {"body": "", "status": 302},
    {"body": "HANGS_UP"},
    {"body": "HUGE"},
    {"body": "SILENT"},
    {"body": "DRIPS"},
    *(
        {"changes": {member: value}}
        for member in ("minDeposit", "maxDeposit")
        for value in ("-1", -1, 1.5, "1.5", "1e9", "", " 1", "0x10", "01", True, None, [], str(2**256))
    ),
]


def bounds(routes):
    return {(route.min_amount, route.max_amount) for route in routes}


@pytest.fixture
def patient(monkeypatch):
    """Lists wait for the limits of their routes as long as a busy machine needs."""
    monkeypatch.setattr(quoteway_across.route_limits, "PATIENCE_S", 30.0)


@pytest.mark.slow
async def test_no_bad_answer_about_limits_fails_or_delays_the_list(fresh_devnet, liar, make_harness):
    for case in NO_LIMITS:
        liar.limits_case, liar.limits_at_once = case, 0
        harness = await make_harness(fresh_devnet, liar.port)
        await harness.bridge.routes(31337, None)
        routes = await harness.bridge.routes(31337, 31338)
        assert liar.limits_at_once, case
        assert len(routes) == 7 + 3, case
        assert bounds(routes) == {(None, None)}, case
        assert await harness.bridge.healthy() is True, case


@pytest.mark.slow
async def test_one_slow_route_does_not_hide_the_others_limits(fresh_devnet, liar, make_harness, monkeypatch):
    monkeypatch.setattr(quoteway_across.route_limits, "PATIENCE_S", 5.0)
    harness = await make_harness(fresh_devnet, liar.port)
    usdc = harness.token("USDC").address
    play = liar.play

    async def all_but_one(case, path, request):
        if path == "limits" and request.query["inputToken"] == usdc:
            await asyncio.sleep(3600)
        return await play(case, path, request)

    liar.play = all_but_one
    routes = await harness.bridge.routes(31337, 31338)
    assert {route.from_token.symbol for route in routes if route.max_amount is None} == {"USDC"}


async def test_limits_that_come_late_are_in_the_next_list(fresh_devnet, liar, make_harness, monkeypatch):
    answered = liar.limits_case["released"] = asyncio.Event()
    harness = await make_harness(fresh_devnet, liar.port)
    assert bounds(await harness.bridge.routes(31337, 31338)) == {(None, None)}
    answered.set()
    monkeypatch.setattr(quoteway_across.route_limits, "PATIENCE_S", 30.0)
    assert (None, None) not in bounds(await harness.bridge.routes(31337, 31338))
    assert sorted(liar.limits_asked.values()) == [1] * 7


async def test_a_maximum_below_the_minimum_is_zero(fresh_devnet, liar, make_harness, patient):
    liar.limits_case = {"changes": {"minDeposit": "7", "maxDeposit": "6"}}
    harness = await make_harness(fresh_devnet, liar.port)
    assert bounds(await harness.bridge.routes(31337, 31338)) == {(7, 0)}


async def test_limits_are_requested_between_two_named_networks_and_cached(
    fresh_devnet, liar, make_harness, patient, monkeypatch
):
    now_s = 0.0
    monkeypatch.setattr(quoteway_across.route_limits, "time", SimpleNamespace(monotonic=lambda: now_s))
    harness = await make_harness(fresh_devnet, liar.port)
    for ends in ((None, None), (31337, None), (None, 31338), (31337, 31337)):
        assert bounds(await harness.bridge.routes(*ends)) <= {(None, None)}
    assert not liar.limits_asked
    lists = await asyncio.gather(*(harness.bridge.routes(31337, 31338) for _ in range(5)))
    assert all(found == lists[0] for found in lists)
    assert (None, None) not in bounds(lists[0])
    assert sorted(liar.limits_asked.values()) == [1] * 7
    liar.limits_case = {"changes": {"minDeposit": "7"}}
    assert await harness.bridge.routes(31337, 31338) == lists[0]
    now_s += quoteway_across.route_limits.KEPT_S
    assert {low for low, _ in bounds(await harness.bridge.routes(31337, 31338))} == {7}
    assert sorted(liar.limits_asked.values()) == [2] * 7


async def test_requests_for_limits_are_bounded(fresh_devnet, liar, make_harness, patient):
    liar.rows = [
        {
            "originChainId": 31337,
            "originToken": f"0x{number:040x}",
            "destinationChainId": 31338,
            "destinationToken": f"0x{number:040x}",
        }
        for number in range(0x1000, 0x1000 + 60)
    ]
    liar.limits_case = {"after_s": 0.05}
    harness = await make_harness(fresh_devnet, liar.port)
    assert len(await harness.bridge.routes(31337, 31338)) == 7 + 3
    assert len(liar.limits_asked) == quoteway_across.route_limits.MAX_ROUTES
    assert liar.limits_at_once == quoteway_across.route_limits.MAX_REQUESTS
