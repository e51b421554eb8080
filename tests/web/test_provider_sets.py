"""API keys that are limited to some providers: what they get, what is refused, and what is not even asked."""

import asyncio
import contextlib
import datetime
import hashlib
from dataclasses import replace

import pytest
from drifting_market import Place
from quoteway.config.keys import AuthConfig, NamedKey
from quoteway.config.limits import LimitsConfig, TierConfig
from quoteway.config.loading import load_config
from quoteway.config.model import StreamConfig
from quoteway.errors import ConfigError
from stream_room import PAIR, StreamRoom

ALL, FIRST, SECOND, NONE = (f"{name}-key-0123456789abcdef" for name in ("all", "first", "second", "none"))


def digest(key):
    return hashlib.sha256(key.encode()).hexdigest()


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


KEYS = (
    NamedKey("all", sha256=digest(ALL)),
    NamedKey("first", sha256=digest(FIRST), providers=("first",)),
    NamedKey("second", sha256=digest(SECOND), tier="partner", providers=("first", "second")),
    NamedKey("none", sha256=digest(NONE), providers=("nobody",)),
)
LIMITS = LimitsConfig(
    quotes="100000/minute",
    catalog="100000/minute",
    tiers={"partner": TierConfig(providers=("second", "third"))},
)


@pytest.fixture
async def markets():
    return Place("first", "second", "third", head_poll_s=0.05)


@pytest.fixture
async def api(serve_app, make_config, markets):
    stream = StreamConfig(quote_interval_s=0.05)
    config = replace(make_config(), auth=AuthConfig(keys=KEYS), limits=LIMITS, stream=stream)
    return await serve_app(markets.plugins(), config=config, clock=markets.clock)


async def quote_with(api, key, **more):
    return await api.post("/v2/swaps/quote", {**PAIR, **more}, headers=bearer(key))


def asked(markets):
    return {name for name, market in markets.markets.items() if market.asked}


async def test_only_the_providers_of_a_key_are_asked(api, markets):
    for name, price in (("first", 1), ("second", 2), ("third", 3)):
        markets.markets[name].price = price * 10**9
    for key, provider, others in (
        (FIRST, "first", {"first"}),
        (SECOND, "second", {"second"}),  # what its own list and that of its tier have in common
        (ALL, "third", {"first", "second", "third"}),
    ):
        for market in markets.markets.values():
            market.asked.clear()
        answer = await quote_with(api, key)
        assert answer.status == 200, answer.body
        assert answer.body["provider"] == provider
        assert {each["provider"] for each in answer.body["attempts"]} <= others
        assert asked(markets) == others


async def test_what_a_key_may_not_use_is_refused_and_not_attempted(api, markets, refused, contract):
    before = {name: len(market.asked) for name, market in markets.markets.items()}
    for key, more, said in (
        (NONE, {}, "any provider that serves this request"),
        (FIRST, {"provider": "second"}, "provider second"),
    ):
        answer = await quote_with(api, key, **more)
        refused(answer, 403, "validation_error", "provider_not_allowed")
        contract.check("createSwapQuote", answer)
        assert f"This API key may not use {said}." in answer.body["error"]["message"]
        assert answer.body["error"]["details"]["retryable"] is False
    pair = {name: PAIR[name] for name in ("network", "fromToken", "toToken", "amount")}
    answer = await api.get("/v2/swaps/price", params=pair, headers=bearer(NONE))
    refused(answer, 403, "validation_error", "provider_not_allowed")
    batch = await api.post("/v2/swaps/quotes", {"quotes": [dict(PAIR)]}, headers=bearer(NONE))
    assert batch.body["results"][0]["error"]["details"]["reason"] == "provider_not_allowed"
    assert {name: len(market.asked) for name, market in markets.markets.items()} == before


async def test_the_quote_of_another_key_gives_no_action(api, refused, contract):
    quoted = (await quote_with(api, ALL, provider="third")).body
    path = f"/v2/swaps/{quoted['quoteId']}/action"
    answer = await api.post(path, headers=bearer(FIRST))
    refused(answer, 403, "validation_error", "provider_not_allowed")
    contract.check("createSwapAction", answer)
    assert "Provider third is none of those" in answer.body["error"]["message"]
    own = await api.post(path, headers=bearer(ALL))
    assert own.status != 403, own.body


async def test_a_refresh_asks_the_providers_of_the_key_that_refreshes(api, markets):
    until = markets.now + 3_600
    quoted = (await quote_with(api, ALL, provider="first", refreshableUntil=until)).body
    path = f"/v2/swaps/{quoted['quoteId']}/refresh"
    assert (await api.post(path, {}, headers=bearer(FIRST))).status == 200
    assert (await api.post(path, {}, headers=bearer(NONE))).status == 403


async def test_the_keys_of_one_connection_do_not_mix(api):
    """One task serves all requests of a connection: the limit of a key must end with its request."""
    connection = api.session
    for _ in range(5):
        for key, status in ((FIRST, 200), (NONE, 403), (ALL, 200), (NONE, 403), (SECOND, 200)):
            async with connection.post(f"{api.url}/v2/swaps/quote", json=PAIR, headers=bearer(key)) as answer:
                assert answer.status == status
                if status == 200:
                    body = await answer.json()
                    others = {"first": {"second", "third"}, "second": {"first", "third"}}
                    name = {FIRST: "first", SECOND: "second"}.get(key)
                    assert body["provider"] not in others.get(name, set())


async def test_many_requests_of_different_keys_at_once(api, markets):
    for name, price in (("first", 1), ("second", 2), ("third", 3)):
        markets.markets[name].price = price * 10**9
    expected = [(FIRST, "first"), (SECOND, "second"), (ALL, "third")] * 20
    answers = await asyncio.gather(*(quote_with(api, key) for key, _ in expected))
    assert [answer.body["provider"] for answer in answers] == [provider for _, provider in expected]


async def test_the_list_of_providers_has_those_that_the_key_may_use(api, contract):
    async def ids(key):
        answer = await api.get("/v2/providers", headers=bearer(key))
        return {row["id"] for row in contract.check("listProviders", answer)["data"]}, answer.headers["ETag"]

    first, etag = await ids(FIRST)
    every, _ = await ids(ALL)
    assert {"first", "second", "third"} <= every
    assert first & {"first", "second", "third"} == {"first"}
    assert (await ids(NONE))[0] & {"first", "second", "third"} == set()
    assert "memory-rpc" in first, "what all answers are read from is told as before"
    again = await api.get("/v2/providers", headers={**bearer(FIRST), "Accept-Encoding": "identity"})
    assert again.status == 200
    assert etag.split("-")[0].strip('"')[:8] in again.headers["ETag"] or again.body["data"]


async def test_a_followed_quote_is_compared_with_the_providers_of_the_key(api, markets):
    """Followers share what is read for them, but those of a limited key get nothing of the others'."""
    async with contextlib.AsyncExitStack() as stack:
        room = StreamRoom(api, stack)
        quoted = (await quote_with(api, ALL, provider="first")).body
        limited = await room.follow(quotes=[quoted["quoteId"]], headers=bearer(FIRST))
        free = await room.follow(quotes=[quoted["quoteId"]], headers=bearer(ALL))
        assert (await limited.next("quote")).data["change"] == "unchanged"
        assert (await free.next("quote")).data["change"] == "unchanged"
        markets.markets["third"].price = 2 * 10**9
        markets.rpc.number += 1
        told = await free.next("quote")
        assert (told.data["change"], told.data["quote"]["provider"]) == ("improved", "third")
        markets.markets["first"].price = 10**9 * 101 // 100
        markets.rpc.number += 1
        told = await limited.next("quote")
        assert (told.data["change"], told.data["quote"]["provider"]) == ("improved", "first")


async def test_an_allowed_provider_gives_an_action(serve_app, make_config, fake_plugin):
    keys = (
        NamedKey("swaps", sha256=digest(FIRST), providers=("fake-swaps",)),
        NamedKey("bridges", sha256=digest(SECOND), providers=("fake-bridge",)),
    )
    config = replace(make_config(), auth=AuthConfig(keys=keys))
    api = await serve_app({"fakes": fake_plugin}, config=config)
    body = {
        "network": "devnet",
        "fromToken": "native",
        "toToken": fake_plugin.weth,
        "amount": "1000",
        "address": PAIR["address"],
    }
    quoted = await api.post("/v2/swaps/quote", body, headers=bearer(FIRST))
    assert quoted.body["provider"] == "fake-swaps"
    path = f"/v2/swaps/{quoted.body['quoteId']}/action"
    assert (await api.post(path, headers=bearer(FIRST))).status == 201
    assert (await api.post(path, headers=bearer(SECOND))).status == 403
    assert (await api.post("/v2/swaps/quote", body, headers=bearer(SECOND))).status == 403


async def test_a_tier_may_have_other_numbers_of_streams(serve_app, make_config, markets):
    keys = (
        NamedKey("small", sha256=digest(FIRST), tier="small"),
        NamedKey("usual", sha256=digest(SECOND)),
    )
    limits = replace(LIMITS, tiers={"small": TierConfig(streams=1, connections=1)})
    stream = StreamConfig(streams_per_caller=2)
    config = replace(make_config(), auth=AuthConfig(keys=keys), limits=limits, stream=stream)
    api = await serve_app(markets.plugins(), config=config, clock=markets.clock)
    async with contextlib.AsyncExitStack() as stack:
        room = StreamRoom(api, stack)
        for key, most in ((FIRST, 1), (SECOND, 2)):
            for _ in range(most):
                assert (await room.follow(heads=["seven"], headers=bearer(key))).status == 200
            assert (await room.follow(heads=["seven"], headers=bearer(key))).status == 429
        first = await stack.enter_async_context(
            api.session.ws_connect(f"{api.url}/v2/rpc/7", headers=bearer(FIRST))
        )
        answer = await api.get(
            "/v2/rpc/7",
            headers={
                **bearer(FIRST),
                "Connection": "Upgrade",
                "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
            },
        )
        assert answer.status == 429
        assert "More than 1 WebSocket connections" in answer.body["error"]["message"]
        await first.close()


def test_sets_are_read_from_the_file_and_wrong_ones_refused(tmp_path):
    path = tmp_path / "quoteway.toml"
    signing = '[quotes]\nkeys = [{id = "k1", secret = {env = "SIGNING"}}]\n'
    environ = {"SIGNING": "5a1f0e9c7b3d8264aa90c1fe37d5b8c2"}

    def load(text):
        path.write_text(signing + text)
        return load_config(path, environ)

    key = f'[[auth.keys]]\nname = "wallet"\nsha256 = "{digest(ALL)}"\n'
    config = load(
        key + 'tier = "partner"\nproviders = ["uniswap", "swap+bridge"]\nexpires = 2999-01-01T00:00:00Z\n'
        '[limits.tiers.partner]\nproviders = ["uniswap"]\nstreams = 3\nconnections = 4\n'
    )
    assert config.auth.keys[0].providers == ("uniswap", "swap+bridge")
    assert config.auth.keys[0].expires > datetime.datetime.now(datetime.UTC)
    tier = config.limits.tiers["partner"]
    assert (tier.providers, tier.streams, tier.connections) == (("uniswap",), 3, 4)
    for wrong in ('providers = ["Uni swap"]', "providers = []", "provider = 1"):
        with pytest.raises(ConfigError, match=r"auth\.keys\.0\.provider"):
            load(key + wrong)


async def test_an_id_that_is_no_providers_is_named_in_the_log(serve_app, make_config, markets, caplog):
    keys = (NamedKey("wallet", sha256=digest(FIRST), providers=("fist", "second")),)
    await serve_app(markets.plugins(), config=replace(make_config(), auth=AuthConfig(keys=keys)))
    said = [
        record.getMessage()
        for record in caplog.records
        if "the providers of key wallet" in record.getMessage()
    ]
    assert said == ["the providers of key wallet: there is none with the id 'fist'. Did you mean 'first'?"]
