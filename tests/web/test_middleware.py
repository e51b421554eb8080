"""Ids, keys, limits, CORS, traces, metrics and the log line: what happens to every request."""

import json
import logging
from dataclasses import replace

import pytest
from aiohttp import ClientConnectorError
from quoteway.config.model import AuthConfig, LimitsConfig
from quoteway.secrets import Secret
from quoteway.telemetry.logs import JsonFormatter, Redactor
from quoteway.web.http.limits import Callers

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
CANARY = "canary-key-0123456789abcdef"


@pytest.mark.parametrize("given", ["abc-123", "A" * 128, "0af7651916cd43dd8448eb211c80319c", "a:b/c+d=~"])
async def test_a_sane_request_id_is_kept(api, given):
    answer = await api.get("/v2/nothing", headers={"X-Request-ID": given})
    assert answer.headers["X-Request-ID"] == given
    assert answer.body["error"]["requestId"] == given


@pytest.mark.parametrize("given", ["", "a b", "A" * 129, "<script>", "\u00e9", "-x", 'a"b'])
async def test_any_other_request_id_is_replaced(api, given):
    answer = await api.get("/healthz", headers={"X-Request-ID": given})
    assert answer.headers["X-Request-ID"] != given
    assert len(answer.headers["X-Request-ID"]) == 32


async def test_traceparent_goes_on_with_a_span_of_our_own(api):
    sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    got = (await api.get("/healthz", headers={"traceparent": sent})).headers["traceparent"]
    assert got.split("-")[1] == sent.split("-")[1]
    assert got.split("-")[2] != sent.split("-")[2]
    for broken in ("x", sent.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32), "01" + sent[2:]):
        assert "traceparent" not in (await api.get("/healthz", headers={"traceparent": broken})).headers


async def test_no_version_is_told(api):
    assert (await api.get("/v2/providers")).headers["Server"] == "quoteway"
    assert (await api.get("/nowhere")).headers["Server"] == "quoteway"


# --- limits ------------------------------------------------------------------------------------------------


async def limited(serve_app, make_config, **server):
    config = make_config(**server)
    return await serve_app(config=replace(config, limits=LimitsConfig(quotes="2/hour", catalog="3/hour")))


async def test_limits_are_told_and_kept_by_group(serve_app, make_config, refused):
    api = await limited(serve_app, make_config)
    for left in (2, 1, 0):
        answer = await api.get("/v2/providers")
        assert answer.headers["RateLimit-Policy"] == '"catalog";q=3;w=3600'
        state = answer.headers["RateLimit"]
        assert state.startswith(f'"catalog";r={left};t=')
    answer = await api.get("/v2/providers")
    details = refused(answer, 429, "rate_limit_exceeded")
    assert details["retryable"] is True
    assert 1_190 <= int(answer.headers["Retry-After"]) <= 1_200, "a third of the hour gives one back"
    assert answer.headers["RateLimit"].startswith('"catalog";r=0;')
    answer = await api.post("/v2/swaps/quote", {})
    assert answer.status == 422, "another group has its own bucket"
    assert answer.headers["RateLimit"].startswith('"quotes";r=1;')
    refused(await api.get("/v2/canary"), 429, "rate_limit_exceeded")
    assert (await api.get("/healthz")).status == 200


class Asked:
    """A request as ``Callers`` reads it."""

    def __init__(self, remote, forwarded=()):
        self.remote = remote
        self.headers = self
        self._forwarded = list(forwarded)

    def getall(self, name, default):
        return self._forwarded or default


def test_callers_by_address():
    callers = Callers(["127.0.0.1"])
    assert callers.of(Asked("192.0.2.1")) == "192.0.2.1"
    assert callers.of(Asked("2001:db8::1")) == callers.of(Asked("2001:db8::ffff")) == "2001:db8::/64"
    assert callers.of(Asked("2001:db8:0:1::1")) != "2001:db8::/64"
    assert callers.of(Asked("::ffff:192.0.2.1")) == "192.0.2.1"
    assert callers.of(Asked("127.0.0.1", ["junk"])) == "127.0.0.1"
    assert callers.of(Asked(None)) == "unknown"


# --- keys --------------------------------------------------------------------------------------------------


async def test_keys(serve_app, make_config, refused):
    keys = (Secret(CANARY), Secret("second-key"))
    api = await serve_app(config=replace(make_config(), auth=AuthConfig(keys=keys)))
    for headers in (
        {},
        {"Authorization": "Bearer no"},
        {"Authorization": CANARY},
        {"Authorization": f"Basic {CANARY}"},
    ):
        answer = await api.get("/v2/providers", headers=headers)
        refused(answer, 401, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    refused(await api.get("/v2/nothing"), 401, "unauthorized")
    for key in (CANARY, "second-key"):
        answer = await api.get("/v2/networks", headers={"Authorization": f"bearer {key}"})
        assert answer.status == 200
        assert answer.headers["Cache-Control"] == "private, max-age=5", "no proxy hands it to others"
    assert (await api.get("/healthz")).status == 200


async def test_wrong_keys_are_not_limited_where_limits_are_off(serve_app, make_config):
    config = replace(
        make_config(), auth=AuthConfig(keys=(Secret(CANARY),)), limits=LimitsConfig(enabled=False)
    )
    api = await serve_app(config=config)
    answers = [await api.get("/v2/providers", headers={"Authorization": "Bearer no"}) for _ in range(15)]
    assert {answer.status for answer in answers} == {401}


async def test_a_kept_answer_is_asked_for_like_any_other(serve_app, make_config, refused):
    """It is found before its route is looked for: nothing that every request goes through may be left out."""
    keys, ours = (Secret(CANARY),), "https://app.example.org"
    config = replace(make_config(cors_origins=(ours,)), auth=AuthConfig(keys=keys))
    api = await serve_app(config=replace(config, limits=LimitsConfig(catalog="5/hour")))
    signed = {"Authorization": f"Bearer {CANARY}"}
    first = await api.get("/v2/networks", headers=signed)
    assert first.status == 200
    refused(await api.get("/v2/networks"), 401, "unauthorized")
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    told = {"X-Request-ID": "mine", "traceparent": trace, "Origin": ours}
    kept = await api.get("/v2/networks", headers=signed | told)
    assert kept.raw == first.raw
    assert kept.headers["X-Request-ID"] == "mine"
    assert kept.headers["traceparent"].startswith(trace[:36])
    assert kept.headers["Access-Control-Allow-Origin"] == ours
    assert kept.headers["RateLimit"].startswith('"catalog";r=3;')
    assert kept.headers.keys() - first.headers.keys() == {
        *("traceparent", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers")
    }
    head = await api.request("HEAD", "/v2/networks", headers=signed)
    assert (head.status, head.raw, head.headers["ETag"]) == (200, b"", first.headers["ETag"])
    refused(await api.post("/v2/networks", headers=signed), 405, "invalid_request", "method_not_allowed")
    assert (await api.get("/v2/networks", headers=signed)).status == 200
    refused(await api.get("/v2/networks", headers=signed), 429, "rate_limit_exceeded")
    metrics = (await api.get("/metrics")).raw.decode()
    line = 'quoteway_http_requests_total{method="GET",route="/v2/networks",status="200"} 3.0'
    assert line in metrics


# --- CORS --------------------------------------------------------------------------------------------------


async def test_cors(serve_app, make_config):
    ours = "https://app.example.org"
    api = await serve_app(config=make_config(cors_origins=(ours,)))
    preflight = {"Origin": ours, "Access-Control-Request-Method": "POST"}
    answer = await api.request("OPTIONS", "/v2/swaps/quote", headers=preflight)
    assert answer.status == 204
    assert answer.headers["Access-Control-Allow-Origin"] == ours
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert "Content-Type" in answer.headers["Access-Control-Allow-Headers"]
    for path in ("/v2/providers", "/v2/nothing"):
        answer = await api.get(path, headers={"Origin": ours})
        assert answer.headers["Access-Control-Allow-Origin"] == ours
        assert "X-Request-ID" in answer.headers["Access-Control-Expose-Headers"]
        assert "Origin" in answer.headers.getall("Vary")
        assert (
            "Access-Control-Allow-Origin"
            not in (await api.get(path, headers={"Origin": "https://evil"})).headers
        )
    assert "Access-Control-Allow-Credentials" not in answer.headers


async def test_cors_is_off_by_default(api):
    answer = await api.get("/v2/providers", headers={"Origin": "https://app.example.org"})
    assert "Access-Control-Allow-Origin" not in answer.headers


# --- metrics and logs --------------------------------------------------------------------------------------


async def test_metrics_are_bounded(api):
    for number in range(20):
        await api.get(f"/v2/tokens/canary{number}")
        await api.get(f"/canary/{number}")
        await api.request("PROPFIND", f"/v2/canary{number}")
    text = (await api.get("/metrics")).raw.decode()
    assert "canary" not in text
    assert 'quoteway_http_requests_total{method="GET",route="/v2/tokens/{id}",status="503"} 20.0' in text
    assert 'quoteway_http_requests_total{method="GET",route="unmatched",status="404"} 20.0' in text
    assert 'method="OTHER",route="unmatched"' in text
    assert "quoteway_ready 0.0" in text, "no node answers"


async def test_metrics_count_provider_outcomes(fakes):
    body = {
        "network": "devnet",
        "fromToken": "native",
        "toToken": fakes.weth,
        "amount": "1",
        "address": fakes.weth,
    }
    await fakes.post("/v2/swaps/quote", body)
    text = (await fakes.get("/metrics")).raw.decode()
    labels = 'capability="swap",method="quote",outcome="quoted",provider="fake-swaps",reason=""'
    assert f"quoteway_provider_outcomes_total{{{labels}}} 1.0" in text


async def test_metrics_may_have_a_port_of_their_own(serve_app, make_config, refused, unused_tcp_port):
    api = await serve_app(config=make_config(metrics_port=unused_tcp_port))
    refused(await api.get("/metrics"), 404, "not_found")
    async with api.session.get(f"http://127.0.0.1:{unused_tcp_port}/metrics") as response:
        assert "quoteway_ready" in await response.text()


async def test_the_port_of_metrics_may_have_an_address_of_its_own(serve_app, make_config, unused_tcp_port):
    api = await serve_app(config=make_config(metrics_port=unused_tcp_port, metrics_host="127.0.0.2"))
    async with api.session.get(f"http://127.0.0.2:{unused_tcp_port}/metrics") as response:
        assert "quoteway_ready" in await response.text()
    with pytest.raises(ClientConnectorError):
        await api.session.get(f"http://127.0.0.1:{unused_tcp_port}/metrics")


async def test_the_log_has_the_route_and_never_the_path(api, caplog):
    caplog.set_level(logging.INFO, "quoteway")
    await api.get(f"/v2/swaps/quote/{CANARY}.{CANARY}.{CANARY}?x={CANARY}", headers={"X-Request-ID": "known"})
    (record,) = (record for record in caplog.records if record.name == "quoteway.web")
    assert (record.route, record.status, record.request_id) == ("/v2/swaps/quote/{quoteId}", 404, "known")
    assert CANARY not in caplog.text


async def test_the_log_names_the_provider_of_a_quote_and_of_its_action(
    serve_app, fake_plugin, make_config, caplog
):
    api = await serve_app({"fakes": fake_plugin}, config=make_config(access_log="all"))
    caplog.set_level(logging.INFO, "quoteway.web")
    tokens = {"network": "devnet", "fromToken": "native", "toToken": fake_plugin.weth}
    quoted = await api.post("/v2/swaps/quote", {**tokens, "amount": "1", "address": USER})
    assert quoted.status == 200
    await api.post(f"/v2/swaps/{quoted.body['quoteId']}/action", {})
    await api.get("/v2/networks")
    records = [record for record in caplog.records if record.name == "quoteway.web"]
    assert [getattr(record, "provider", None) for record in records] == ["fake-swaps", "fake-swaps", None]


def log_line(config, message, *args, **kwargs):
    record = logging.makeLogRecord({"msg": message, "args": args, "levelname": "INFO", "name": "x", **kwargs})
    return JsonFormatter(Redactor(config)).format(record)


def test_of_a_very_long_text_only_what_is_shown_is_redacted(make_config):
    """Redacting a megabyte would block the event loop. Where the text is cut, no half of a secret is left."""
    key = "4f1c9a07e2d85b36c0a7914ed3f8625b"
    config = replace(make_config(), plugin_sections={"x": {"key": Secret(key)}})
    redacted = []

    class Counting(Redactor):
        def __call__(self, text):
            redacted.append(len(text))
            return super().__call__(text)

    for before in (16_384 - 16, 8_192 - 16, 3):
        text = "x" * before + key + "y" * 1_000_000 + key + "z" * before
        record = logging.makeLogRecord({"msg": text, "levelname": "INFO", "name": "x"})
        line = JsonFormatter(Counting(config)).format(record)
        assert len(line) < 20_000
        assert not any(key[at : at + 6] in line for at in range(len(key) - 6))
        assert f"{len(text) - 16_384} characters left out" in line
    assert max(redacted) < 40_000


def test_log_lines_hold_no_secret_and_no_control_bytes(tmp_path):
    from quoteway.config.loading import load_config

    file = tmp_path / "quoteway.toml"
    file.write_text(
        '[quotes]\nkeys = [{id = "a", secret = {env = "K"}}]\n'
        '[networks.ethereum]\nrpc = ["https://rpc.example/v3/0123456789abcdef0123", '
        '{url = "https://b.example", headers = {Authorization = {env = "H"}}}]\n'
        '[plugin.x]\napi = {env = "P"}\n'
    )
    key = "4f1c9a07e2d85b36c0a7914ed3f8625b"
    config = load_config(file, {"K": key, "H": "Bearer hhhhhhhh", "P": "pppppppp"})
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
    hidden = [key, "Bearer hhhhhhhh", "pppppppp", "0123456789abcdef0123", token, "user:pw@"]
    text = " ".join(hidden).replace("user:pw@", "http://user:pw@h/")
    line = log_line(config, "got %s\r\n\x1b[31mfake", text, extra_member=text)
    for secret in hidden:
        assert secret not in line
    assert "\x1b" not in line
    assert "\n" not in line
    parsed = json.loads(line)
    assert "\r" not in parsed["event"]
    assert parsed["level"] == "info"
    try:
        raise ValueError(text)
    except ValueError:
        import sys

        line = log_line(config, "failed", exc_info=sys.exc_info())
    assert all(secret not in line for secret in hidden)
    assert "ValueError" in json.loads(line)["exception"]
