"""Screening plugins over HTTP, on the devnet's real contracts: what they are told, and every way to fail."""

import asyncio
import contextlib
import json
from dataclasses import replace

import pytest
import pytest_asyncio

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from custody import desk_of  # noqa: E402
from direct_client import OTHER, USER  # noqa: E402
from quoteway import Screener, ScreeningVerdict, UpstreamError  # noqa: E402
from quoteway.config.policy import PolicyConfig  # noqa: E402
from quoteway.engine.gateway import Gateway  # noqa: E402
from quoteway.errors import ConfigError  # noqa: E402
from quoteway.evm import permit2  # noqa: E402
from quoteway.guard.policy_file import parse_policy  # noqa: E402
from quoteway.guard.screening import is_verdict  # noqa: E402
from quoteway.host.states import NotEnabled  # noqa: E402
from quoteway.testing.fakes import FakePlugin  # noqa: E402

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANYTHING = '[[rules]]\nname = "anything"\n'
ALLOWED = ScreeningVerdict(allowed=True)


class Asked(Screener):
    """Answers what a test sets, and keeps what it was asked."""

    title = "Asked"

    def __init__(self, context, name):
        self.id, self.requests, self.answer = name, [], ALLOWED

    async def screen(self, request):
        self.requests.append(request)
        return await self.answer() if callable(self.answer) else self.answer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served_desk(devnet):
    plugins = {name: FakePlugin([lambda context, name=name: Asked(context, name)]) for name in ("one", "two")}
    with devnet.restored():
        async with desk_of(devnet, plugins) as desk:
            yield desk


@pytest.fixture
def screeners(served_desk):
    """The screeners by name; they allow everything."""
    found = {
        entry.provider.id: entry.provider.own
        for entry in served_desk.api.gateway.registry.providers
        if entry.provider.id in ("one", "two")
    }
    for screener in found.values():
        screener.answer = ALLOWED
        screener.requests.clear()
    yield found
    served_desk.follow()


@pytest.fixture
def desk(served_desk, screeners):
    return served_desk


def follow(desk, text=ANYTHING, audit=None):
    desk.follow({"name": "replaced"}, audit=audit)
    building = desk.api.gateway.building
    building.custody = replace(building.custody, policy=parse_policy(text.encode(), "test"))


async def undecided(desk, quote):
    answer = await desk.api.post(f"/v2/swaps/{quote['quoteId']}/action")
    await desk.api.check("createSwapAction", answer)
    error = answer.refused(503, "provider_unavailable", "policy_undecided")
    return [(each["rule"], each["subject"]) for each in error["details"]["violations"]]


# --- verdicts -----------------------------------------------------------------------------------------------


async def test_screeners_are_told_what_the_policy_sees(desk, screeners):
    quote = await desk.quote_swap(toAddress=OTHER)
    follow(desk)
    action = await desk.act(quote)
    assert action["policy"]
    (request,) = screeners["one"].requests
    assert screeners["two"].requests == [request]
    router, usdc, weth = action["transactions"][-1]["to"], desk.token("USDC"), desk.token("WETH")
    assert (request.action_id, request.kind, request.network) == (action["actionId"], "swap", "devnet")
    assert request.providers == ("uniswap",)
    assert {*request.tokens} >= {("devnet", usdc), ("devnet", weth)}
    accounts = [(each.network, each.address, each.role) for each in request.accounts]
    assert len(set(accounts)) == len(accounts)
    assert {*accounts} >= {
        ("devnet", USER, "sender"),
        ("devnet", OTHER, "recipient"),
        ("devnet", permit2.ADDRESS, "spender"),
        ("devnet", router, "spender"),
        ("devnet", router, "contract"),
        ("devnet", usdc, "contract"),
    }


async def test_any_refusal_refuses_with_its_code(desk, screeners, tmp_path):
    quote, audit = await desk.quote_swap(), tmp_path / "decisions.jsonl"
    follow(desk, audit=audit)
    screeners["two"].answer = ScreeningVerdict(allowed=False, code="listed-address")
    assert await desk.refused(quote) == {"screening": ["two"]}
    (line,) = map(json.loads, audit.read_text().splitlines())
    (told,) = line["violations"]
    assert told["message"] == "screener two refuses it: listed-address"
    # A refusal is one, whether the others answer or not.
    screeners["one"].answer = None
    assert await desk.refused(quote) == {"screening": ["two"]}


async def test_only_what_the_rules_allow_is_screened(desk, screeners):
    quote = await desk.quote_swap()
    follow(desk, ANYTHING + "kinds = []\n")
    assert await desk.refused(quote) == {"kinds": ["swap"]}
    desk.follow()
    assert (await desk.act(quote))["policy"] is None
    assert screeners["one"].requests == []


# --- what is no verdict -------------------------------------------------------------------------------------


async def raising():
    raise RuntimeError("canary")


async def failing():
    raise UpstreamError("the list cannot be read")


@pytest.mark.parametrize(
    "answer",
    [
        *(None, True, "yes", {"allowed": True}, [], raising, failing),
        ScreeningVerdict(allowed=1),
        ScreeningVerdict(allowed=True, code="fine"),
        ScreeningVerdict(allowed=False),
        ScreeningVerdict(allowed=False, code=""),
        ScreeningVerdict(allowed=False, code="a" * 65),
        ScreeningVerdict(allowed=False, code="<b>canary</b>"),
        ScreeningVerdict(allowed=False, code="two\nlines"),
        ScreeningVerdict(allowed=False, code=7),
    ],
    ids=lambda answer: getattr(answer, "__name__", repr(answer)),
)
async def test_what_is_no_verdict_refuses(desk, screeners, answer):
    quote = await desk.quote_swap()
    follow(desk)
    screeners["one"].answer = answer
    assert await undecided(desk, quote) == [("screening", "one")]


async def test_a_screener_that_hangs_refuses_in_time(desk, screeners, monkeypatch):
    quote = await desk.quote_swap()
    follow(desk)
    monkeypatch.setattr(desk.api.gateway.registry.calls, "_timeout_s", 0.2)
    screeners["two"].answer = asyncio.Event().wait
    async with asyncio.timeout(30):
        assert await undecided(desk, quote) == [("screening", "two")]


async def test_a_class_that_only_looks_like_a_verdict_is_none():
    class Sub(ScreeningVerdict):
        pass

    assert is_verdict(ALLOWED)
    assert not is_verdict(Sub(allowed=True))


# --- plugins that are not there -----------------------------------------------------------------------------


@contextlib.contextmanager
def disabled(desk, *names):
    registry = desk.api.gateway.registry
    entries = [entry for entry in registry.providers if entry.provider.id in names]
    for entry in entries:
        entry.reason = NotEnabled.DISABLED
    registry.changed()
    yield
    for entry in entries:
        entry.reason = None
    registry.changed()


async def test_a_plugin_that_the_policy_names_must_be_there(desk, screeners):
    quote = await desk.quote_swap()
    named, required = '[screening]\nplugins = ["one"]\n', "[screening]\nrequired = true\n"
    for text in (named, required):
        follow(desk, text + ANYTHING)
        assert (await desk.act(quote))["policy"]
    with disabled(desk, "one"):
        assert (await desk.act(quote))["policy"]
        follow(desk, named + ANYTHING)
        assert await undecided(desk, quote) == [("screening", "one")]
        with disabled(desk, "two"):
            follow(desk, required + ANYTHING)
            assert await undecided(desk, quote) == [("screening", None)]
            follow(desk)
            assert (await desk.act(quote))["policy"]


async def test_a_plugin_that_nobody_installed_stops_the_start(make_config, tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text('[screening]\nplugins = ["screner"]\n' + ANYTHING)
    config = replace(make_config(), policy=PolicyConfig(file=str(file)))
    gateway = Gateway(config, plugins={"screener": FakePlugin([])}, discover=False)
    with pytest.raises(ConfigError, match=r"screening\.plugins: plugin 'screner' is unknown.*'screener'"):
        gateway.load()
