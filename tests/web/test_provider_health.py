"""``/v2/providers`` and ``/metrics`` tell the same of the calls of each provider, and ``/readyz`` agrees."""

import asyncio
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from quoteway.config.model import AuthConfig
from quoteway.errors import InvalidRequest, UpstreamError
from quoteway.host.states import NotEnabled
from quoteway.models import Token
from quoteway.networks import Network
from quoteway.secrets import Secret
from quoteway.server.doctor import examine
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, ListedTokens, MemoryRpc
from quoteway.web.http.health import keep_state
from quoteway.web.http.metrics import Metrics

TOKEN = Token(7, "0x" + "1" * 40, 6, "USD", "A dollar")
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
QUOTE = {
    "network": "seven",
    "fromToken": "native",
    "toToken": TOKEN.address,
    "amount": "1000000",
    "address": WALLET,
}
SERIES = re.compile(r"^(\w+)\{(.*)\} (\S+)$", re.MULTILINE)


class Bad(FixedRateSwap):
    """Fails while it has an ``error``."""

    error = None

    async def quote(self, request):
        if self.error is not None:
            raise self.error
        return await super().quote(request)


@pytest.fixture
async def beside(serve_app, monkeypatch):
    """An app with an honest provider, and ``bad`` beside it, in plugins of their own, after one quote of
    both. A breaker that opens stays open.
    """
    monkeypatch.setattr("quoteway.host.call_records.FIRST_PAUSE_S", 3600.0)
    made = []

    def bad(context):
        made.append(Bad(context, provider_id="bad", numerator=2))
        return made[0]

    honest = FakePlugin(
        [MemoryRpc({7}, tokens=[TOKEN]), FixedRateSwap, ListedTokens([TOKEN])],
        networks=[Network("seven", 7, "Seven")],
        calls=[FAKE_CALLS],
    )
    api = await serve_app({"honest": honest, "broken": FakePlugin([bad])})
    api.bad = made[0]
    assert (await quote(api))["provider"] == "bad"
    return api


async def rows_of(api):
    answer = await api.get("/v2/providers")
    assert answer.headers["Cache-Control"] == "public, no-cache"
    assert "hunter2" not in answer.raw.decode()
    return {row["id"]: row for row in answer.body["data"]}


async def series_of(api, name):
    """The values of a metric, by labels in the order of their names."""
    text = (await api.get("/metrics")).raw.decode()
    return {
        tuple(re.findall(r'"([^"]*)"', labels)): float(value)
        for metric, labels, value in SERIES.findall(text)
        if metric == name
    }


async def check_agreement(api):
    """Compares all calls and breakers of both. Returns the methods by provider and method."""
    rows = await rows_of(api)
    methods = {
        (method["capability"], row_id, method["method"]): method
        for row_id, row in rows.items()
        for method in row["methods"]
    }
    told = {}
    outcomes = await series_of(api, "quoteway_provider_outcomes_total")
    for (capability, method, outcome, provider, reason), value in outcomes.items():
        told.setdefault((capability, provider, method), {})[reason or outcome] = value
    breakers = await series_of(api, "quoteway_provider_breaker")
    for key, method in methods.items():
        capability, provider, name = key
        counted = told.pop(key)
        if capability == "swap":
            assert method["outcomes"] == counted, key
        else:  # called in the background too: the metrics are newer
            assert all(count <= counted[name] for name, count in method["outcomes"].items()), key
        state = {0: "closed", 1: "half_open", 2: "open"}[breakers.pop((capability, name, provider))]
        assert method["breaker"] == state, key
    assert not told
    return methods


async def quote(api):
    answer = await api.post("/v2/swaps/quote", QUOTE)
    assert answer.status == 200, answer.body
    return answer.body


async def test_a_fault_shows_in_the_row_and_in_the_metrics_as_the_same(beside, contract):
    before = datetime.now(UTC)
    beside.bad.error = KeyError("hunter2")
    for _ in range(4):
        assert (await quote(beside))["provider"] == "fixed-rate"
    contract.check("listProviders", await beside.get("/v2/providers"))
    methods = await check_agreement(beside)
    bad, good = methods["swap", "bad", "quote"], methods["swap", "fixed-rate", "quote"]
    assert (bad["breaker"], bad["reason"]) == ("open", "provider_error")
    assert bad["outcomes"] == {"quoted": 1, "provider_error": 3, "provider_paused": 1}
    assert (good["breaker"], good["reason"], good["outcomes"]) == ("closed", None, {"quoted": 5})
    assert 0 < good["p50Ms"] <= good["p95Ms"]
    node = methods["rpc", "memory-rpc", "forward"]
    assert node["outcomes"]["quoted"] > 0, "JSON-RPC calls count too"
    assert node["p50Ms"] is not None
    rows = await rows_of(beside)
    error = rows["bad"]["lastError"]
    assert (error["capability"], error["method"], error["reason"]) == ("swap", "quote", "provider_error")
    assert 0 <= (datetime.fromisoformat(error["at"]) - before.replace(microsecond=0)).total_seconds() < 600
    assert rows["fixed-rate"]["lastError"] is None
    assert (rows["bad"]["enabled"], rows["bad"]["state"]) == (True, "enabled"), "a breaker disables nothing"
    counts = await series_of(beside, "quoteway_provider_seconds_count")
    assert counts["swap", "quote", "fixed-rate"] == 5
    assert counts["swap", "quote", "bad"] == 1


async def test_no_text_of_a_plugin_becomes_a_reason_or_a_label(beside):
    """Neither that of an exception nor a reason that it made up."""
    for error in (UpstreamError("hunter2"), UpstreamError("x", reason="hunter2"), KeyError("hunter2")):
        beside.bad.error = error
        assert (await quote(beside))["provider"] == "fixed-rate"
    methods = await check_agreement(beside)
    assert methods["swap", "bad", "quote"]["outcomes"] == {"quoted": 1, "provider_error": 3}
    assert "hunter2" not in (await beside.get("/metrics")).raw.decode()


async def test_what_a_caller_asks_wrongly_is_no_error_of_the_provider(beside):
    beside.bad.error = InvalidRequest("The amount is odd.")
    await quote(beside)
    assert (await check_agreement(beside))["swap", "bad", "quote"]["outcomes"] == {
        "quoted": 1,
        "validation_error": 1,
    }
    assert (await rows_of(beside))["bad"]["lastError"] is None


async def test_who_claims_the_id_of_another_has_none_of_its_calls(serve_app, make_config):
    honest = FakePlugin(
        [MemoryRpc({7}, tokens=[TOKEN]), FixedRateSwap, ListedTokens([TOKEN])],
        networks=[Network("seven", 7, "Seven")],
        calls=[FAKE_CALLS],
    )
    config = make_config()
    config = replace(config, plugins=replace(config.plugins, load=("honest", "squatter")))
    api = await serve_app({"honest": honest, "squatter": FakePlugin([FixedRateSwap])}, config)
    await quote(api)
    rows = {(r["id"], r["plugin"]): r for r in (await api.get("/v2/providers")).body["data"]}
    squatter, owner = rows["fixed-rate", "squatter"], rows["fixed-rate", "honest"]
    assert (squatter["enabled"], squatter["reason"]) == (False, "squatter")
    assert (squatter["methods"], squatter["lastError"], squatter["score"]) == ([], None, None)
    assert [m["method"] for m in owner["methods"] if m["capability"] == "swap"] == [
        "build",
        "healthy",
        "quote",
    ]
    enabled = await series_of(api, "quoteway_provider_enabled")
    assert enabled["swap", "honest", "fixed-rate"] == 1
    assert enabled["swap", "squatter", "fixed-rate"] == 0


async def test_a_plugin_that_is_not_needed_does_not_make_the_service_unready(beside):
    """One whose process has ended is named."""
    entry = next(e for e in beside.gateway.registry.plugins if e.name == "broken")
    for reason, body in (
        (NotEnabled.STARTUP_FAILED, {"status": "ready"}),
        (NotEnabled.PROCESS_ENDED, {"status": "ready", "notRunning": ["broken"]}),
    ):
        entry.reason = reason
        beside.gateway.registry.changed()
        answer = await beside.get("/readyz")
        assert (answer.status, answer.body) == (200, body)
        assert (await series_of(beside, "quoteway_plugin_enabled"))["broken",] == 0
        assert "quoteway_ready 1.0" in (await beside.get("/metrics")).raw.decode()


async def test_a_network_whose_upstream_is_not_enabled_makes_it_unready(beside, refused):
    entry = next(e for e in beside.gateway.registry.plugins if e.name == "honest")
    entry.reason = NotEnabled.PROCESS_ENDED
    beside.gateway.registry.changed()
    details = refused(await beside.get("/readyz"), 503, "provider_unavailable")
    assert details["notReady"] == ["no RPC upstream of seven is enabled (memory-rpc: process_ended)"]
    assert "quoteway_ready 0.0" in (await beside.get("/metrics")).raw.decode()
    assert (await rows_of(beside))["memory-rpc"]["reason"] == "process_ended"


async def test_an_open_breaker_degrades_its_capability_until_an_answer(beside):
    async def swap():
        seven = (await beside.get("/readyz?verbose")).body["networks"]["seven"]
        return seven["capabilities"]["swap"]

    assert await swap() == {"state": "ready", "why": []}
    beside.bad.error = KeyError("hunter2")
    for _ in range(3):
        await quote(beside)
    assert await swap() == {"state": "degraded", "why": ["breaker_open"]}


async def test_the_doctor_asks_a_running_server(beside, tmp_path, monkeypatch, caplog):
    caplog.set_level("CRITICAL", "quoteway")  # as the doctor does, and set back afterwards
    monkeypatch.setenv("QUOTEWAY_PLUGINS__LOAD", "[]")
    monkeypatch.chdir(tmp_path)

    async def told(url):
        findings = await examine(None, url)
        return {(each.mark, each.subject, each.text) for each in findings if "worst" not in each.text}

    assert ("ok", "running server", "ready") in await told(beside.url)
    beside.bad.error = KeyError("hunter2")
    for _ in range(3):
        await quote(beside)
    text = "the breaker of swap quote is open: provider_error"
    assert ("warn", "provider bad", text) in await told(beside.url)
    assert ("warn", "network seven", "swap is degraded: breaker_open") in await told(beside.url)
    entry = next(e for e in beside.gateway.registry.plugins if e.name == "honest")
    entry.reason = NotEnabled.PROCESS_ENDED
    beside.gateway.registry.changed()
    after = await told(beside.url + "/")
    text = "not enabled: process_ended (plugin honest of in-process)"
    assert ("warn", "provider memory-rpc", text) in after
    assert [text for mark, subject, text in after if (mark, subject) == ("fail", "running server")] == [
        "Not ready: no RPC upstream of seven is enabled (memory-rpc: process_ended)."
    ]
    assert "hunter2" not in str(after)
    (refused,) = [each for each in await told("http://127.0.0.1:9") if each[1] == "running server"]
    assert refused[0] == "fail"
    (silent,) = [each for each in await told(None) if each[1] == "running server"]
    assert silent[2].startswith("not asked")


async def test_the_doctor_sends_a_key_of_its_configuration(
    serve_app, make_config, tmp_path, monkeypatch, caplog
):
    caplog.set_level("CRITICAL", "quoteway")
    key = "4f1c9a07e2d85b36c0a7914ed3f8625b"
    config = replace(make_config(), auth=AuthConfig(keys=(Secret(key),)))
    api = await serve_app({}, config=config)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quoteway.toml").write_text(
        '[plugins]\nload = []\n[auth]\nkeys = [{ env = "CLIENT_KEY" }]\n'
        '[quotes]\nkeys = [{ id = "k", secret = { env = "TEST_KEY" } }]\n'
    )
    monkeypatch.setenv("TEST_KEY", "c0a7914ed3f8625b4f1c9a07e2d85b36")
    for given, marks in ((key, {"ok"}), (key[::-1], {"ok", "fail"})):
        monkeypatch.setenv("CLIENT_KEY", given)
        found = [each for each in await examine(None, api.url) if each.subject == "running server"]
        assert {each.mark for each in found} == marks, found
        assert given not in str(found)


async def test_a_worker_that_is_not_asked_writes_its_state_too(beside, monkeypatch):
    monkeypatch.setattr("quoteway.web.http.health.STATE_EVERY_S", 0.01)
    metrics = Metrics()
    task = asyncio.create_task(keep_state(beside.gateway, metrics))

    async def until(line):
        async with asyncio.timeout(30):
            while line not in metrics.render().decode():
                await asyncio.sleep(0.01)

    line = 'quoteway_provider_breaker{capability="swap",method="quote",provider="bad"}'
    await until(f"{line} 0.0")
    await until("quoteway_ready 1.0")
    beside.bad.error = KeyError("hunter2")
    for _ in range(3):
        await quote(beside)
    await until(f"{line} 2.0")
    task.cancel()


async def test_metrics_and_readiness_agree_while_no_node_answers(serve_app, refused, monkeypatch):
    monkeypatch.setattr("quoteway.host.reachability.EVERY_S", 0.05)
    node = MemoryRpc({7})
    node.answers["eth_chainId"] = "0x8"
    api = await serve_app({"toy": FakePlugin([node], networks=[Network("seven", 7, "Seven")])})
    async with asyncio.timeout(30):
        while (await api.get("/readyz")).status == 200:
            await asyncio.sleep(0.02)
    assert "quoteway_ready 0.0" in (await api.get("/metrics")).raw.decode()
