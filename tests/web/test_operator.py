"""What operators see of a running server, who is one, and that no answer has a secret."""

import asyncio
import datetime
import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from drifting_market import Place
from marshmallow import Schema, fields
from quoteway import hookimpl
from quoteway.config.keys import AuthConfig, NamedKey
from quoteway.config.limits import LimitsConfig
from quoteway.config.loading import load_config
from quoteway.config.model import PluginsConfig
from quoteway.config.network import NetworkConfig
from quoteway.config.operator import OperatorConfig
from quoteway.networks import Endpoint
from quoteway.secrets import Secret, SecretField
from quoteway.testing.fakes import FakePlugin
from stream_room import PAIR

OPERATORS, CALLERS, OVER = (f"{name}-key-0123456789abcdef" for name in ("operators", "callers", "over"))
CAPTURE = "capture-key-9876543210fedcba"
PATHS = ("/operator/state", "/operator/requests", "/operator/config")


def digest(key):
    return hashlib.sha256(key.encode()).hexdigest()


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def over():
    return datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=1)


KEYS = (
    NamedKey("ops", sha256=digest(OPERATORS), tier="operator"),
    NamedKey("old-ops", sha256=digest(OVER), tier="operator", expires=over()),
    NamedKey("wallet", sha256=digest(CALLERS)),
)


PATIENT = LimitsConfig(wrong_keys="1000/minute")


@pytest.fixture
def market_place():
    return Place("near", "far")


@pytest.fixture
def serve_place(serve_app, make_config, market_place):
    async def serve(requests=50, **sections):
        config = replace(make_config(), operator=OperatorConfig(requests=requests), **sections)
        return await serve_app(market_place.plugins(), config=config, clock=market_place.clock)

    return serve


async def test_only_operators_see_anything(serve_place, make_config, refused):
    server = replace(make_config().server, capture_key=Secret(CAPTURE))
    api = await serve_place(auth=AuthConfig(keys=KEYS), server=server, limits=PATIENT)
    for path in PATHS:
        for headers in ({}, bearer(CALLERS), bearer("wrong" * 5), {"Authorization": f"Basic {OPERATORS}"}):
            refused(await api.get(path, headers=headers), 401, "unauthorized")
        for key in (OPERATORS, CAPTURE):
            answer = await api.get(path, headers=bearer(key))
            assert answer.status == 200, answer.body
            assert answer.headers["Cache-Control"] == "no-store"
        expired = await api.get(path, headers=bearer(OVER))
        refused(expired, 401, "unauthorized")
        assert "This API key expired at" in expired.body["error"]["message"]
    assert (await api.get("/v2/networks", headers=bearer(OPERATORS))).status == 200
    assert (await api.get("/v2/networks", headers=bearer(CAPTURE))).status == 401, "it opens nothing else"


async def test_wrong_keys_are_counted_and_a_right_one_is_not_locked_out(serve_place):
    api = await serve_place(auth=AuthConfig(keys=KEYS), limits=LimitsConfig(wrong_keys="3/hour"))
    answers = [(await api.get(PATHS[0], headers=bearer("wrong" * 5))).status for _ in range(5)]
    assert answers == [401, 401, 401, 429, 429]
    assert (await api.get(PATHS[0], headers=bearer(OPERATORS))).status == 200


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host", "X-Forwarded-Proto"]
)
async def test_a_proxy_on_this_machine_makes_no_caller_an_operator(serve_place, refused, header):
    api = await serve_place(embedded=True, limits=PATIENT)
    assert (await api.get(PATHS[0])).status == 200, "a program of this machine"
    for value in ("203.0.113.7", "127.0.0.1", "", "for=127.0.0.1"):
        for path in PATHS:
            refused(await api.get(path, headers={header: value}), 401, "unauthorized")


async def test_a_deployment_does_not_trust_its_own_machine(serve_place, refused):
    """A proxy before it may say nothing of whom it asks for."""
    api = await serve_place()
    refused(await api.get(PATHS[0]), 401, "unauthorized")
    answer = await api.get(PATHS[0], headers={"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1"})
    refused(answer, 401, "unauthorized")
    named = await serve_place(
        embedded=True, server=replace(api.gateway.config.server, capture_key=Secret(CAPTURE))
    )
    refused(await named.get(PATHS[0]), 401, "unauthorized")
    assert (await named.get(PATHS[0], headers=bearer(CAPTURE))).status == 200


async def test_the_state_has_providers_nodes_networks_and_the_index(serve_place, market_place):
    api = await serve_place(embedded=True)
    await api.post("/v2/swaps/quote", dict(PAIR))
    state = (await api.get("/operator/state")).body
    assert (state["worker"], state["workers"], state["ready"], state["index"]) == (0, 1, True, None)
    assert state["startedAt"] <= state["at"]
    rows = {row["id"]: row for row in state["providers"]}
    assert {"near", "far", "memory-rpc"} <= set(rows)
    near = rows["near"]
    assert (near["enabled"], near["state"], near["reason"], near["level"]) == (True, "enabled", None, None)
    method = next(each for each in near["methods"] if each["method"] == "quote")
    assert (method["breaker"], method["outcomes"]) == ("closed", {"quoted": 1})
    assert method["p95Ms"] >= 0
    assert set(near["score"]) == {"rehearsed", "failed"}
    assert state["networks"]["seven"]["chainId"] == 7


async def test_each_request_has_its_calls_of_providers(serve_place, market_place):
    api = await serve_place(embedded=True)
    market_place.markets["far"].price = 0
    answer = await api.post("/v2/swaps/quote", dict(PAIR), headers={"X-Request-ID": "the-quote"})
    assert answer.status == 200
    await api.post("/v2/swaps/quote", {}, headers={"X-Request-ID": "the-mistake"})
    shown = (await api.get("/operator/requests")).body
    assert (shown["kept"], [each["requestId"] for each in shown["data"]]) == (
        50,
        ["the-mistake", "the-quote"],
    )
    mistake, quote = shown["data"]
    assert (mistake["status"], mistake["code"], mistake["reason"]) == (422, "validation_error", "missing")
    assert mistake["calls"] == []
    assert (quote["method"], quote["route"], quote["status"]) == ("POST", "/v2/swaps/quote", 200)
    assert (quote["provider"], quote["code"], quote["callsLeftOut"]) == ("near", None, 0)
    calls = {each["name"]: each for each in quote["calls"] if each["kind"] == "call"}
    assert calls["swap near.quote"]["outcome"] == "quoted"
    assert calls["swap far.quote"]["outcome"] == "no_route"
    for call in quote["calls"]:
        assert 0 <= call["atMs"] <= quote["durationMs"]
        assert call["durationMs"] is None or call["durationMs"] >= 0
    text = json.dumps(shown).lower()
    assert PAIR["address"].lower() not in text, "no address of a caller"
    assert PAIR["toToken"].lower() not in text


async def test_the_newest_requests_are_kept_and_refused_callers_push_out_nothing(serve_place):
    api = await serve_place(requests=3, auth=AuthConfig(keys=KEYS), limits=LimitsConfig(wrong_keys="5/hour"))
    for number in range(5):
        headers = {**bearer(CALLERS), "X-Request-ID": f"r{number}"}
        await api.post("/v2/swaps/quote", {}, headers=headers)
    for _ in range(20):
        await api.post("/v2/swaps/quote", dict(PAIR), headers=bearer("wrong" * 5))
    shown = (await api.get("/operator/requests", headers=bearer(OPERATORS))).body
    assert [(each["requestId"], each["caller"]) for each in shown["data"]] == [
        (f"r{number}", "key:wallet") for number in (4, 3, 2)
    ]


async def test_without_the_setting_nothing_is_kept(serve_place):
    api = await serve_place(requests=0, auth=AuthConfig(keys=KEYS))
    await api.post("/v2/swaps/quote", dict(PAIR), headers=bearer(CALLERS))
    shown = (await api.get("/operator/requests", headers=bearer(OPERATORS))).body
    assert (shown["kept"], shown["data"]) == (0, [])


def test_the_embedded_default_keeps_requests_and_a_deployment_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_config(environ={}).operator.requests == 200
    assert load_config(environ={"QUOTEWAY_OPERATOR__REQUESTS": "7"}).operator.requests == 7
    (tmp_path / "quoteway.toml").write_text('[quotes]\nkeys = [{id = "k", secret = {env = "SIGNING"}}]\n')
    environ = {"SIGNING": "5a1f0e9c7b3d8264aa90c1fe37d5b8c2"}
    assert load_config(environ=environ).operator.requests == 0


async def test_a_list_that_is_sent_again_is_no_request_with_calls(serve_place):
    api = await serve_place(embedded=True)
    for _ in range(10):
        assert (await api.get("/v2/networks")).status == 200
    shown = (await api.get("/operator/requests")).body["data"]
    assert len(shown) < 10
    assert {each["route"] for each in shown} == {"/v2/networks"}


async def test_many_operators_at_once_are_answered_from_one_look(serve_place, market_place):
    api = await serve_place(embedded=True)
    asked, healthy = [], market_place.markets["near"].healthy

    async def counted():
        asked.append(1)
        await asyncio.sleep(0.05)
        return await healthy()

    market_place.markets["near"].healthy = counted
    answers = await asyncio.gather(*(api.get("/operator/state") for _ in range(60)))
    assert {answer.status for answer in answers} == {200}
    assert len(asked) < 30


@pytest.mark.parametrize("worker", ["x", "-1", "1", "99999", "0x0", "\u0661"])
async def test_a_worker_that_is_none_is_refused(serve_place, refused, worker):
    api = await serve_place(embedded=True)
    refused(await api.get("/operator/state", params={"worker": worker}), 422, "validation_error")
    assert (await api.get("/operator/state", params={"worker": "0"})).status == 200


async def test_the_operators_paths_are_no_part_of_the_api(serve_place, contract):
    api = await serve_place(embedded=True)
    assert not any("operator" in path for path in contract.document["paths"])
    assert (await api.get("/operator/secrets")).status == 404


class KeyedSettings(Schema):
    api_key = SecretField()
    token = fields.String()
    url = fields.String()


class Keyed(FakePlugin):
    """A plugin with a key, and with members whose values nobody but it knows to be secret."""

    @hookimpl
    def quoteway_settings(self):
        return KeyedSettings


async def test_no_secret_is_in_what_operators_see(serve_app, make_config, monkeypatch, caplog):
    quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    sys.path.insert(0, str(Path(__file__).parents[2] / "plugins" / "rpc" / "tests"))
    from fake_node import FakeNode, error

    canaries = [f"canary-{n}-5f3a9c0123456789abcd" for n in range(9)]
    user, password, path, query, header, reference, store, section, signing = canaries
    monkeypatch.setenv("CANARY_REFERENCE", reference)
    text = f"key {header} at http://{user}:{password}@node/v3/{path}?key={query}"
    async with FakeNode(error(-32603, text)) as node:
        url = f"http://{user}:{password}@127.0.0.1:{node.port}/v3/{path}?key={query}"
        base = make_config()
        config = replace(
            base,
            operator=OperatorConfig(requests=50),
            networks={"ethereum": NetworkConfig(rpc=(Endpoint(url, {"X-Key": header}, name="paid"),))},
            auth=AuthConfig(keys=(*KEYS, Secret(reference))),
            server=replace(base.server, capture_key=Secret(store)),
            plugin_sections={
                "other": {"api_key": Secret(section), "token": signing, "url": f"https://x.example/{path}"}
            },
            plugins=PluginsConfig(),
        )
        api = await serve_app({"rpc": quoteway_rpc, "other": Keyed()}, config=config)
        for name in ("eth_gasPrice", "eth_blockNumber"):
            call = {"jsonrpc": "2.0", "id": 1, "method": name, "params": []}
            await api.post("/v2/rpc/1", call, headers=bearer(OPERATORS))
        await api.post(f"/v2/swaps/quote?key={query}", {"apiKey": header}, headers=bearer(reference))
        await api.get(f"/v2/tokens?query={reference}", headers=bearer(reference))
        for where in PATHS:
            answer = await api.get(where, headers=bearer(OPERATORS))
            assert answer.status == 200
            said = answer.raw.decode()
            assert [each for each in canaries if each in said] == [], where
            assert "/v3/" not in said
            assert OPERATORS not in said
        state = (await api.get(PATHS[0], headers=bearer(OPERATORS))).body
        assert state["upstreams"], [(row["id"], row["reason"]) for row in state["providers"]]
        (upstream,) = state["upstreams"]
        assert (upstream["label"], upstream["network"], upstream["provider"]) == ("paid", "ethereum", "rpc")
        assert upstream["state"] != "closed"
        assert sum(upstream["outcomes"].values()) > 0
        shown = (await api.get(PATHS[2], headers=bearer(OPERATORS))).body["config"]
        assert shown["networks"]["ethereum"]["rpc"] == [f"http://127.0.0.1:{node.port}/*** (paid)"]
        assert shown["auth"]["keys"][-1] == "***"
