"""``/readyz?verbose``: the state of each network and capability. ``[server] ready_when``: what must work."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest
from marshmallow import ValidationError
from prometheus_client import CollectorRegistry
from quoteway.config.fields import load_section
from quoteway.config.model import Config, ProviderConfig, ServerConfig
from quoteway.engine.gateway import Gateway
from quoteway.errors import UpstreamError
from quoteway.host import head_ages, reachability
from quoteway.host.network_states import Condition, Level, NetworkState, Why
from quoteway.host.runtime import Runtime
from quoteway.host.states import NotEnabled
from quoteway.models import Capability, UpstreamHealth
from quoteway.networks import Network
from quoteway.testing.fakes import FakePlugin, FixedRateSwap, ListedTokens, MemoryRpc
from quoteway.web.http import cache
from quoteway.web.http.network_metrics import NetworkMetrics

SEVEN, EIGHT = Network("seven", 7, "Seven"), Network("eight", 8, "Eight")
READY = {"state": "ready", "why": []}


class Node(MemoryRpc):
    """A node that can be switched off and stand still, and says what it is told of its health."""

    def __init__(self, chain_id, **more):
        super().__init__({chain_id}, provider_id=f"node-{chain_id}", **more)
        self.is_down, self.block_time, self.health = False, None, []

    async def forward(self, network, method, params, *, timeout_s):
        if self.is_down:
            raise UpstreamError("https://user:hunter2@node.example does not answer")
        answer = await super().forward(network, method, params, timeout_s=timeout_s)
        if method == "eth_getBlockByNumber":
            answer["timestamp"] = hex(self.block_time or int(time.time()))
        return answer

    async def upstreams(self):
        return self.health

    def says(self, **facts):
        (chain_id,) = self.networks
        self.health = [UpstreamHealth(chain_id, "one", 0, **{"state": "closed", **facts})]


def swaps_on_seven(context):
    return FixedRateSwap(context, networks={7})


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setattr(reachability, "EVERY_S", 0.05)
    monkeypatch.setattr(head_ages, "EVERY_S", 0.05)
    return Node(7), Node(8)


@pytest.fixture
def serve(serve_app, make_config, two):
    async def start(**server):
        plugin = FakePlugin([*two, swaps_on_seven], networks=[SEVEN, EIGHT])
        return await serve_app({"toy": plugin}, config=make_config(**server))

    return start


async def states_of(api):
    answer = await api.get("/readyz?verbose")
    assert "hunter2" not in answer.raw.decode()
    return answer.status, answer.body["networks"]


async def told_to_callers(api):
    """The same states, as ``GET /v2/networks`` has them, newer than what was kept."""
    answer = await api.get("/v2/networks")
    assert answer.status == 200
    assert "hunter2" not in answer.raw.decode()
    found = {}
    for row in answer.body["data"]:
        told = dict(row["readiness"])
        rows = told.pop("capabilities")
        found[row["id"]] = told | {"capabilities": {each.pop("capability"): each for each in rows}}
    return found


async def test_callers_are_told_the_same_states(serve, two, contract, monkeypatch):
    monkeypatch.setattr(cache, "MAX_AGE_S", 0)
    api = await serve()
    _, networks = await until(api, lambda status, found: found["seven"]["state"] == "ready")
    contract.check("listNetworks", await api.get("/v2/networks"))
    assert await told_to_callers(api) == networks
    two[0].is_down = True
    _, networks = await until(api, lambda status, found: found["seven"]["state"] == "dead")
    told = await told_to_callers(api)
    assert told["seven"] == networks["seven"]
    assert told["seven"]["why"] == ["no_node_answers"]
    assert told["seven"]["capabilities"]["swap"]["state"] == "dead"
    assert told["eight"]["state"] == "ready"


async def test_a_silent_node_delays_the_list_of_networks_once(serve, two, monkeypatch):
    """The check of a node that never answers goes on in the background."""
    monkeypatch.setattr(reachability, "EVERY_S", 60.0)
    api = await serve()
    silence = asyncio.Event()
    original = two[0].forward

    async def forward(*args, **more):
        await silence.wait()
        return await original(*args, **more)

    monkeypatch.setattr(two[0], "forward", forward)
    async with asyncio.timeout(60):
        answer = await api.get("/v2/networks")
    assert answer.status == 200
    assert {row["id"] for row in answer.body["data"]} == {"seven", "eight"}
    assert all(row["readiness"] is not None for row in answer.body["data"])
    silence.set()


async def until(api, expected):
    """Waits until ``expected(status, networks)`` holds, and returns both."""
    async with asyncio.timeout(20):
        while not expected(*(found := await states_of(api))):
            await asyncio.sleep(0.02)
    return found


async def test_each_capability_of_each_network_has_a_state(serve):
    api = await serve()
    answer = await api.get("/readyz?verbose")
    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.body == {
        "status": "ready",
        "networks": {
            "seven": {**READY, "capabilities": {"swap": READY, "rpc": READY}},
            "eight": {**READY, "capabilities": {"rpc": READY}},
        },
    }
    assert (await api.get("/readyz")).body == {"status": "ready"}


async def test_a_chain_that_stands_still_is_degraded_until_it_moves(serve, two):
    api = await serve()
    two[0].block_time = int(time.time()) - 121  # ten block times of 12 s, and one second
    stale = {"state": "degraded", "why": ["head_stale"]}
    _, found = await until(api, lambda status, networks: networks["seven"]["state"] != "ready")
    assert found["seven"] == {**stale, "capabilities": {"swap": READY, "rpc": stale}}
    assert found["eight"]["state"] == "ready"
    two[0].block_time = int(time.time()) - 60
    await until(api, lambda status, networks: networks["seven"]["state"] == "ready")


@pytest.mark.parametrize(("limit_s", "age_s", "stale"), [(None, 61, True), (0, 10**6, False), (5, 6, True)])
def test_how_old_a_head_may_be(limit_s, age_s, stale):
    network = Network("fast", 9, "Fast", block_time_s=1.0, head_stale_s=limit_s)
    # The time that has passed since it was read does not count.
    ages, now = head_ages.HeadAges(Runtime(Config(), clock=lambda: 2e9 + 14)), 2 * 10**9
    assert ages.is_stale(network, head_ages.SeenHead(now - age_s, now)) is stale
    assert not ages.is_stale(network, head_ages.SeenHead(now - 5, now))
    ahead = head_ages.SeenHead(now + 3_600, now)
    assert not ages.is_stale(network, ahead), "the clock of a devnet may be ahead"


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"lag": 2}, []),
        ({"lag": 3}, ["head_lags"]),  # 36 s of blocks
        ({"state": "open", "reason": "timeout"}, ["node_out"]),
        ({"state": "cordoned", "reason": "hunter2", "lag": 100}, []),
        ({"state": "suspect"}, []),
    ],
)
async def test_a_node_that_lags_or_is_out_degrades_its_network(serve, two, facts, why):
    api = await serve()
    two[0].says(**facts)
    status, found = await states_of(api)
    assert status == 200
    assert found["seven"]["capabilities"]["rpc"] == {"state": "degraded" if why else "ready", "why": why}
    assert found["seven"]["capabilities"]["swap"] == READY


async def test_nodes_that_go_back_to_an_older_block_lag(serve, two):
    api = await serve()
    chain = api.gateway.runtime.chain(7)
    two[0].number = 5
    await chain.head(fresh=True)
    two[0].number = 3
    with pytest.raises(UpstreamError):
        async with asyncio.timeout(20):
            await chain.head(fresh=True)
    _, found = await states_of(api)
    assert found["seven"]["capabilities"]["rpc"]["why"] == ["head_lags"]


async def test_a_network_without_nodes_is_dead_and_comes_back(serve, two):
    api = await serve()
    two[0].is_down = True
    dead = {"state": "dead", "why": ["no_node_answers"]}
    status, found = await until(api, lambda status, networks: networks["seven"]["state"] == "dead")
    assert (status, found["seven"]) == (200, {**dead, "capabilities": {"swap": dead, "rpc": dead}})
    assert (await api.get("/readyz")).body == {"status": "ready", "notAnswering": ["seven"]}
    two[0].is_down = False
    await until(api, lambda status, networks: networks["seven"]["state"] == "ready")


async def test_all_networks_may_be_required(serve, two, refused):
    api = await serve(ready_when="all")
    assert (await api.get("/readyz")).body == {"status": "ready"}
    two[0].is_down = True
    _, found = await until(api, lambda status, networks: status == 503)
    assert (found["seven"]["state"], found["eight"]["state"]) == ("dead", "ready")
    answer = await api.get("/readyz")
    details = refused(answer, 503, "provider_unavailable")
    assert details["notReady"] == ["network seven is dead: no_node_answers"]
    assert answer.headers["Retry-After"] == "1"
    assert "networks" not in answer.body
    assert "quoteway_ready 0.0" in (await api.get("/metrics")).raw.decode()
    two[0].is_down = False
    await until(api, lambda status, networks: status == 200)


@pytest.mark.parametrize(
    ("wanted", "reasons"),
    [
        (("eight", "eight:rpc"), []),
        (("7",), ["network 7 is dead: no_node_answers"]),
        (("eight", "seven:swap"), ["swap on seven is dead: no_node_answers"]),
        (("eight:swap",), ["swap on eight is dead: provider_not_enabled"]),
    ],
)
async def test_only_what_is_listed_counts(serve, two, wanted, reasons):
    api = await serve(ready_when=wanted)
    two[0].is_down = True
    status, _ = await until(api, lambda status, networks: networks["seven"]["state"] == "dead")
    answer = await api.get("/readyz")
    assert answer.status == status == (503 if reasons else 200)
    assert not reasons or answer.body["error"]["details"]["notReady"] == reasons


async def test_a_listed_network_decides_though_another_one_has_no_upstream(serve, two):
    api = await serve(ready_when=("eight",))
    entry = next(e for e in api.gateway.registry.providers if e.provider.id == "node-7")
    entry.reason = NotEnabled.STARTUP_FAILED
    api.gateway.registry.changed()
    status, found = await states_of(api)
    dead = {"state": "dead", "why": ["provider_not_enabled"]}
    assert (status, found["seven"]["state"], found["seven"]["capabilities"]["rpc"]) == (200, "dead", dead)


async def test_a_network_that_nobody_knows_is_refused_at_the_start(make_config, caplog, two):
    gateway = Gateway(
        make_config(ready_when=("sevn",)),
        plugins={"toy": FakePlugin([two[0]], networks=[SEVEN])},
        discover=False,
    )
    async with gateway.running():
        assert not gateway.ready
    assert "[server] ready_when: network 'sevn' is unknown; known: seven" in caplog.text


@pytest.mark.parametrize(
    ("given", "loaded"),
    [
        ("any", "any"),
        ("all", "all"),
        ("base,ethereum:swap", ("base", "ethereum:swap")),
        (["base"], ("base",)),
    ],
)
def test_the_setting_takes_words_and_lists(given, loaded):
    assert load_section(ServerConfig, {"ready_when": given}).ready_when == loaded


@pytest.mark.parametrize(
    "given", ["", [], 7, None, ["Base"], ["base:swaps"], ["base:"], ["base swap"], [["base"]]]
)
def test_the_setting_refuses_what_is_neither(given):
    with pytest.raises(ValidationError) as refused:
        load_section(ServerConfig, {"ready_when": given})
    assert list(refused.value.messages) == ["ready_when"]


async def test_a_list_that_was_never_read_is_named(serve_app, two):
    class Slow(ListedTokens):
        networks = frozenset({7})

        async def tokens(self, chain_id):
            await forever.wait()
            return []

    forever = asyncio.Event()
    slow = Slow([])
    slow.networks = frozenset({7})
    api = await serve_app({"toy": FakePlugin([two[0], slow], networks=[SEVEN])})
    _, found = await states_of(api)
    assert found["seven"]["capabilities"]["tokens"] == {"state": "degraded", "why": ["list_unread"]}
    forever.set()
    await until(api, lambda status, networks: networks["seven"]["state"] == "ready")


async def test_what_the_operator_disabled_is_not_expected(serve_app, make_config, two):
    config = replace(make_config(), providers={"fixed-rate": ProviderConfig(enabled=False)})
    api = await serve_app({"toy": FakePlugin([two[0], FixedRateSwap], networks=[SEVEN])}, config=config)
    assert (await states_of(api))[1] == {"seven": {**READY, "capabilities": {"rpc": READY}}}


async def test_the_states_cost_no_more_calls_however_often_they_are_asked_for(serve_app):
    node = Node(7)
    api = await serve_app({"toy": FakePlugin([node, FixedRateSwap], networks=[SEVEN])})
    before = len(node.calls)
    for _ in range(4):
        await asyncio.gather(*(api.get("/readyz?verbose") for _ in range(25)))
    methods = sorted({method for method, _ in node.calls[before:]} - {"eth_getCode"})
    asked = [method for method, _ in node.calls[before:]]
    assert methods == ["eth_chainId", "eth_getBlockByNumber"]
    assert asked.count("eth_getBlockByNumber") <= 3, "one read, and the head that is followed since the start"


def test_every_reason_and_level_is_documented():
    page = (Path(__file__).parents[2] / "docs/reference/readiness.md").read_text()
    for each in (*Level, *Why):
        assert f"| `{each.value}` | " in page


def test_a_capability_that_nothing_offers_any_more_is_not_told_as_dead():
    own = CollectorRegistry()
    metrics, dead = NetworkMetrics(own), Condition(Level.DEAD, (Why.PROCESS_ENDED,))
    labels = {"network": "seven", "capability": "bridge"}
    for capabilities, level, reason in (({Capability.BRIDGE: dead}, 2, 1), ({}, 0, 0)):
        metrics.show([NetworkState(SEVEN, Condition(), capabilities)])
        assert own.get_sample_value("quoteway_capability_state", labels) == level
        named = labels | {"reason": "process_ended"}
        assert own.get_sample_value("quoteway_capability_not_ready", named) == reason
