"""``[traces]``: the spans of a request are one tree at a collector, and no collector delays a request."""

import asyncio
import contextlib
import json
import sys
import time
import urllib.request
from dataclasses import replace

import pytest
from otlp_collector import WAIT_S, Collector, attributes, check_tree
from quoteway.config.limits import LimitsConfig
from quoteway.config.loading import load_config, redacted
from quoteway.config.model import Config, QuotesConfig, ServerConfig
from quoteway.config.traces import TracesConfig
from quoteway.errors import ConfigError
from quoteway.secrets import Secret
from quoteway.telemetry import traces as exported
from quoteway.telemetry.logs import Redactor
from quoteway.telemetry.traces import Tracer
from quoteway.web.http.middleware import MIDDLEWARE
from quoteway_devnet.anvil import free_port
from test_serving import Served, environment

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
UNSAMPLED = GIVEN[:-1] + "0"
KEY = "collectorsOwnKey4711-Zq8"


@pytest.fixture
def collector():
    with contextlib.closing(Collector()) as found:
        yield found


def config(url, **traces):
    limits = LimitsConfig(quotes="100000/minute", catalog="100000/minute", rpc="100000/minute")
    quotes = QuotesConfig(competition_timeout_s=20.0)
    server = replace(ServerConfig(), port=0)
    given = TracesConfig(url=url, **traces)
    return Config(server=server, limits=limits, quotes=quotes, traces=given, embedded=False)


@pytest.fixture
def serve(serve_app, fake_plugin):
    """Fake providers of every capability on the devnet."""

    async def start(chosen):
        api = await serve_app({"fakes": fake_plugin}, config=chosen)
        api.weth = fake_plugin.weth
        return api

    return start


@pytest.fixture
def traced(collector, serve):
    return lambda **more: serve(config(collector.url, **more))


def wrap(api, **more):
    body = {"network": "devnet", "fromToken": "native", "toToken": api.weth, "amount": "1000000000"}
    return {**body, "address": WALLET, **more}


async def test_the_spans_of_a_quote_and_of_its_action_are_one_tree_each(traced, collector):
    api = await traced(headers={"x-collector": Secret(KEY)}, service="desk")
    quote = await api.post("/v2/swaps/quote", wrap(api))
    assert quote.status == 200, quote.body
    action = await api.post(f"/v2/swaps/{quote.body['quoteId']}/action")
    assert action.status == 201, action.body
    root, spans = await asyncio.to_thread(collector.trace_of, "POST /v2/swaps/quote")
    check_tree(root, spans)
    names = [each.name for each in spans]
    assert any(name.startswith("call swap ") for name in names), names
    assert {"guard quote"} <= set(names)
    assert any(name.startswith("read ") for name in names)
    assert any(name.startswith("upstream ") for name in names)
    told = attributes(root)
    assert (told["http.route"], told["http.response.status_code"]) == ("/v2/swaps/quote", 200)
    assert told["http.request.method"] == "POST"
    by_id = {each.span_id: each for each in spans}
    for each in spans:
        if each.name == "guard quote":
            assert by_id[each.parent_span_id].name.startswith("call swap ")
            assert attributes(each)["quoteway.outcome"] == "passed"
        if each.name.startswith("upstream "):
            assert each.kind == each.SPAN_KIND_CLIENT
    root, spans = await asyncio.to_thread(collector.trace_of, "POST /v2/swaps/{quoteId}/action")
    check_tree(root, spans)
    names = [each.name for each in spans]
    assert {"guard build", "simulation 1 transactions on devnet"} <= set(names), names
    assert any(name.startswith("guard run of ") for name in names)
    (path, headers, _), *_ = collector.requests
    assert (path, headers["x-collector"]) == ("/v1/traces", KEY)
    resource = attributes(collector.resources[0])
    assert (resource["service.name"], resource["quoteway.worker"]) == ("desk", 0)


async def test_nothing_of_the_request_and_no_place_is_in_a_span(traced, collector, devnet):
    api = await traced()
    marker = "aCallersOwnText4711"
    headers = {"X-Request-ID": marker, "traceparent": GIVEN, "User-Agent": marker, "tracestate": marker}
    quote = await api.post("/v2/swaps/quote", wrap(api), headers=headers)
    await api.post(f"/v2/swaps/{quote.body['quoteId']}/action", headers=headers)
    await api.post(f"/v2/swaps/{marker}/action", headers=headers)
    await api.request("PROPFIND", f"/x/{marker}/a", headers=headers)
    await asyncio.to_thread(collector.until, lambda found: len(found.traces()) >= 4)
    sent = b"".join(body for _, _, body in collector.requests)
    for text in (marker, "PROPFIND", WALLET, WALLET.lower(), quote.body["quoteId"], "1000000000"):
        assert text.encode() not in sent
    for url in devnet.urls.values():
        assert url.encode() not in sent
        assert url.rpartition(":")[2].encode() not in sent, "no port of a node"


async def test_a_callers_trace_is_continued_only_where_it_is_trusted(traced, collector):
    api = await traced()
    answer = await api.get("/v2/networks", headers={"traceparent": GIVEN})
    own = answer.headers["traceparent"]
    assert own[3:35] != GIVEN[3:35]
    root, _ = await asyncio.to_thread(collector.trace_of, "GET /v2/networks")
    assert root.trace_id.hex() == own[3:35]
    assert root.span_id.hex() == own[36:52]


async def test_a_trusted_caller_decides(traced, collector):
    api = await traced(trust_caller=True, sample_ratio=0.0)
    plain = await api.get("/v2/networks")
    assert plain.headers["traceparent"].endswith("-00"), "none are sampled"
    off = await api.get("/v2/networks", headers={"traceparent": UNSAMPLED})
    assert off.headers["traceparent"].endswith("-00")
    broken = await api.get("/v2/networks", headers={"traceparent": GIVEN.upper()})
    assert broken.headers["traceparent"][3:35] != GIVEN[3:35]
    answer = await api.get("/v2/networks", headers={"traceparent": GIVEN})
    assert answer.headers["traceparent"][3:35] == GIVEN[3:35]
    spans = await asyncio.to_thread(collector.until, lambda found: found.traces().get(GIVEN[3:35]))
    (root,) = (each for each in spans if each.name == "GET /v2/networks")
    assert root.parent_span_id.hex() == GIVEN[36:52]
    assert set(collector.traces()) == {GIVEN[3:35]}, "others were not sampled"


async def test_a_failed_request_is_marked_and_probes_are_left_out(traced, collector, fake_plugin):
    fake_plugin.kinds = ("tokens",)
    api = await traced()
    for path in ("/healthz", "/readyz", "/metrics", "/"):
        await api.get(path)
    failed = await api.post("/v2/swaps/quote", wrap(api))
    assert failed.status == 503
    root, _ = await asyncio.to_thread(collector.trace_of, "POST /v2/swaps/quote")
    told = attributes(root)
    assert (told["http.response.status_code"], told["error.type"]) == (503, "503")
    assert told["quoteway.reason"] == failed.body["error"]["details"]["reason"]
    assert root.status.code == root.status.STATUS_CODE_ERROR
    wrong = await api.post("/v2/vaults/quote", {})
    assert wrong.status < 500
    names = {each.name for each in collector.spans}
    assert not any(word in name for name in names for word in ("healthz", "readyz", "metrics"))


async def test_calls_of_the_json_rpc_proxy_have_spans_on_both_paths(traced, collector):
    api = await traced()
    block = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": [WALLET, "latest"]}
    for more in ({}, {"headers": {"Expect": "100-continue"}}):
        answer = await api.post("/v2/rpc/31337", block, **more)
        assert "result" in answer.body, answer.body
    route = "POST /v2/rpc/{chainId}"
    await asyncio.to_thread(
        collector.until, lambda found: sum(each.name == route for each in found.spans) >= 2
    )
    for spans in collector.traces().values():
        (root,) = (each for each in spans if not each.parent_span_id)
        if root.name == route:
            check_tree(root, spans)
    upstreams = [each for each in collector.spans if each.name.startswith("upstream ")]
    assert any(each.parent_span_id for each in upstreams)


async def test_a_recorded_request_and_its_exported_spans_are_the_same(collector, serve):
    """``quoteway trace`` and the collector read one record."""
    chosen = config(collector.url)
    server = replace(chosen.server, capture=5, capture_key=Secret("Zk3vT9xQ2mB7nL5cR8wY4pH6"))
    api = await serve(replace(chosen, server=server))
    await api.post("/v2/swaps/quote", wrap(api), headers={"X-Request-ID": "both"})
    recording = api.gateway.recorder.find("both")
    _, spans = await asyncio.to_thread(collector.trace_of, "POST /v2/swaps/quote")
    recorded = [f"{each.kind} {each.name}" for each in recording.trace.spans]
    assert sorted(recorded) == sorted(each.name for each in spans if each.parent_span_id)


@pytest.mark.parametrize("collector_is", ["away", "silent", "refusing"])
async def test_no_collector_delays_a_request_or_the_end(serve, collector, monkeypatch, collector_is, caplog):
    monkeypatch.setattr(exported, "SEND_EVERY_S", 0.05)
    url = collector.url
    if collector_is == "away":
        url = f"http://127.0.0.1:{free_port()}/v1/traces"
    elif collector_is == "silent":
        collector.hold.clear()
    else:
        collector.status = 400
    api = await serve(config(url, queue=64, timeout_s=0.5, headers={"x-key": Secret(KEY)}))
    await api.post("/v2/swaps/quote", wrap(api))
    tracer = api.app[MIDDLEWARE].tracer
    ends_at = time.monotonic() + WAIT_S
    while not tracer.failed:  # the collector has failed while requests go on
        quote = await api.post("/v2/swaps/quote", wrap(api))
        assert quote.status == 200, quote.body
        assert time.monotonic() < ends_at
    assert tracer.exported == 0
    assert len(tracer._processor._batch_processor._queue) <= 64
    metrics = (await api.get("/metrics")).raw.decode()
    assert 'quoteway_trace_spans_total{result="failed"}' in metrics
    told = [record for record in caplog.records if record.name.startswith(("quoteway.telemetry", "opentele"))]
    assert len(told) == 1, "once in a minute"
    assert KEY not in caplog.text
    began = time.monotonic()
    await tracer.close()
    assert time.monotonic() - began < exported.CLOSE_S + 5


async def test_without_a_collector_nothing_is_kept(serve):
    api = await serve(config(None))
    assert api.app[MIDDLEWARE].tracer is None
    answer = await api.get("/v2/networks", headers={"traceparent": GIVEN})
    assert answer.headers["traceparent"][3:35] == GIVEN[3:35]
    assert "traceparent" not in (await api.get("/v2/networks")).headers


def test_the_settings_are_checked_and_hide_their_secrets(tmp_path):
    path = tmp_path / "quoteway.toml"
    head = '[quotes]\nkeys = [{id = "a", secret = {env = "KEY"}}]\n[traces]\n'
    path.write_text(head + 'url = "https://c.example/v1/traces"\nheaders = {x-team = {env = "TEAM"}}\n')
    given = {"KEY": environment()["KEY"], "TEAM": KEY}
    loaded = load_config(path, given)
    assert loaded.traces.headers["x-team"].reveal() == KEY
    assert KEY not in json.dumps(redacted(loaded))
    assert Redactor(loaded)(f"sent {KEY}") == "sent ***"
    for line, part in {
        'url = "https://user:pw@c.example/"': "traces.url",
        'url = "ftp://c.example/"': "traces.url",
        "sample_ratio = 1.5": "traces.sample_ratio",
        'headers = {x-team = "plain"}': "by reference",
        'headers = {"x team" = {env = "TEAM"}}': "no name of a header",
        "queue = 1": "traces.queue",
    }.items():
        path.write_text(head + line + "\n")
        with pytest.raises(ConfigError, match=part):
            load_config(path, given)


def test_without_the_packages_the_remedy_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(ConfigError, match=r"install quoteway\[otel\]"):
        Tracer.of(config("http://127.0.0.1:4318/v1/traces"), "0")


SERVER = """
[server]
host = "127.0.0.1"
[quotes]
keys = [{{id = "a", secret = {{env = "KEY"}}}}]
[plugins]
load = ["rpc", "uniswap", "tokenlist", "devnet"]
[plugin.devnet]
enabled = true
start = false
port = {ports[devnet]}
l2_port = {ports[devnet-l2]}
[traces]
url = "{url}"
"""


def ask(url, body=None, method=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
        return json.load(answer)


@pytest.mark.slow
def test_workers_of_a_deployment_send_trees_with_the_solver(devnet, collector, tmp_path):
    """Two processes over the devnet's Uniswap: a large order is divided by the solver."""
    (tmp_path / "quoteway.toml").write_text(SERVER.format(ports=devnet.ports, url=collector.url))
    served = Served(tmp_path, "--workers", "2")
    try:
        url = served.url(workers=2)
        served.lines("Quoteway is serving")
        chain = devnet.chains["devnet"]
        body = {"network": "devnet", "address": WALLET, "amount": str(5 * 10**12)}
        body |= {"fromToken": chain.token("USDC").address, "toToken": chain.token("WETH").address}

        def seen(found):
            quote = ask(f"{url}/v2/swaps/quote", body)
            ask(f"{url}/v2/swaps/{quote['quoteId']}/action", method="POST")
            workers = {attributes(each)["quoteway.worker"] for each in found.resources}
            return workers == {0, 1} and any(each.name.startswith("solver ") for each in found.spans)

        collector.until(seen)
    finally:
        served.process.terminate()
        assert served.process.wait(WAIT_S) == 0
    # What waited was sent at the end, so every trace is whole.
    roots = 0
    for spans in collector.traces().values():
        (root,) = (each for each in spans if not each.parent_span_id)
        check_tree(root, spans)
        roots += 1
    assert roots >= 4
    (solver, *_) = (each for each in collector.spans if each.name.startswith("solver "))
    assert solver.name == f"solver chain {chain.chain_id}"
