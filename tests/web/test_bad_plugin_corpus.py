"""Every bad plugin of the corpus beside an honest one: quotes, actions and lists are as without it."""

import asyncio
from dataclasses import replace
from typing import get_args

import pytest
from quoteway.config.model import PluginsConfig
from quoteway.models import Token
from quoteway.networks import Endpoint, Network
from quoteway.testing.bad_plugins import BAD_PLUGINS, Cost, Named
from quoteway.testing.fakes import FakePlugin, HttpRpc, ListedPrices, ListedTokens, RouterSwap

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
SURVIVED = [bad for bad in BAD_PLUGINS if bad.is_object and bad.needs is None]
"""What may run in the server's own process, and needs no distribution. ``tests/test_bad_servers.py`` serves
all of them beside Uniswap."""


@pytest.fixture
def beside(devnet, serve_app, make_config):
    """``await beside(*bad)`` gives an app with the honest plugin and these."""

    async def serve(*bad):
        chain = devnet.chains["devnet"]
        router = chain.contracts["UniswapV2Router02"]
        network = Network(
            "devnet",
            31337,
            "Devnet",
            wrapped_native=chain.contracts["WETH9"],
            head_poll_s=3600.0,
            endpoints=(Endpoint(devnet.urls["devnet"]),),
            contracts=chain.kinds,
        )
        rows = {symbol: chain.token(symbol) for symbol in ("USDC", "WETH")}
        usd = {rows["USDC"].address: 1.0, rows["WETH"].address: 3500.0}
        honest = FakePlugin(
            [
                HttpRpc,
                ListedTokens([Token(31337, row.address, row.decimals, name) for name, row in rows.items()]),
                ListedPrices({31337}, usd, provider_id="prices"),
                lambda context: RouterSwap(context, 31337, router, provider_id="uniswap"),
            ],
            networks=[network],
        )
        second = FakePlugin([ListedPrices({31337}, usd, provider_id="second-prices")])
        config = make_config()
        quotes = replace(config.quotes, order=("uniswap",), competition_timeout_s=8.0)
        plugins = PluginsConfig(startup_timeout_s=2.0, load=("honest", "second", *(b.name for b in bad)))
        config = replace(config, quotes=quotes, plugins=plugins)
        api = await serve_app(
            {"honest": honest, "second": second, **{each.name: each.make() for each in bad}}, config
        )
        api.tokens = {name: row.address for name, row in rows.items()}
        return api

    return serve


async def quoted(api):
    """The honest provider's quote, for which the wallet has an action."""
    body = {
        "network": "devnet",
        "fromToken": api.tokens["USDC"],
        "toToken": api.tokens["WETH"],
        "amount": str(10**9),
        "address": WALLET,
    }
    answer = await api.post("/v2/swaps/quote", body)
    assert answer.status == 200, answer.body
    assert answer.body["provider"] == "uniswap"
    action = await api.post(f"/v2/swaps/{answer.body['quoteId']}/action")
    assert action.status == 201, action.body
    return answer.body


RIGHT = []


@pytest.fixture
async def right(beside):
    """What the honest provider pays without any other. The chain does not change."""
    if not RIGHT:
        RIGHT.append((await quoted(await beside()))["toAmount"])
    return RIGHT[0]


async def lists(api):
    """Who is named in the lists, whose rows are as without bad plugins."""
    named = set()
    for path in ("tokens", "pools", "vaults"):
        answer = await api.get(f"/v2/{path}?network=devnet")
        if answer.status == 503:
            continue  # no provider of that kind
        partial = answer.body["partial"] if answer.status == 200 else answer.body["error"]["details"]
        named |= {each["provider"] for each in partial} if answer.status == 200 else {path}
        if path == "tokens":
            decimals = {c["address"]: c["decimals"] for row in answer.body["data"] for c in row["contracts"]}
            assert decimals[api.tokens["USDC"]] == 6
            assert decimals[api.tokens["WETH"]] == 18
    return named


async def judge(api, right, bad, caplog):
    """Asserts that answers are right, and that each bad plugin is named where the table says."""
    quote = await quoted(api)
    assert quote["toAmount"] == right
    # Of the first quote: a later competition leaves slow providers behind that have won nothing.
    attempts = {attempt["provider"]: attempt["outcome"] for attempt in quote["attempts"]}
    for _ in range(200):  # prices are read in the background
        if quote["fromAmountUsd"] is not None:
            break
        await asyncio.sleep(0.05)
        quote = await quoted(api)
    assert quote["fromAmountUsd"] == 1000.0
    named = await lists(api)
    assert (await api.get("/healthz")).status == 200
    assert (await api.get("/readyz")).status == 200
    rows = {row["plugin"]: row for row in (await api.get("/v2/providers?limit=200")).body["data"]}
    assert rows["honest"]["enabled"] is True
    log = caplog.text
    for each in bad:
        if each.named == "attempts":
            assert attempts[each.name] in ("failed", "timeout", "no_route"), each.name
        elif each.named == "partial":
            assert named & {each.name, each.name.partition("-")[0]}, each.name
        elif each.named == "providers":
            assert rows[each.name]["enabled"] is False, each.name
            assert rows[each.name]["reason"], each.name
        elif each.named == "log":
            assert f"'{each.name}'" in log, each.name
        else:
            # Where all others fail it is simulated, and pays more than it quoted.
            assert attempts.get(each.name, "quoted") in ("quoted", "failed"), each.name
    answers = str((quote, rows))
    assert "hunter2" not in answers


@pytest.mark.slow
@pytest.mark.parametrize("bad", SURVIVED, ids=lambda bad: bad.name)
async def test_a_bad_plugin_costs_itself(beside, right, bad, caplog):
    await judge(await beside(bad), right, [bad], caplog)


@pytest.mark.slow
async def test_all_of_them_together_cost_themselves(beside, right, caplog):
    await judge(await beside(*SURVIVED), right, SURVIVED, caplog)


def test_the_corpus_is_a_table():
    assert len({bad.name for bad in BAD_PLUGINS}) == len(BAD_PLUGINS) >= 100
    assert {bad.cost for bad in BAD_PLUGINS} == set(get_args(Cost))
    assert {bad.named for bad in BAD_PLUGINS} == set(get_args(Named))
    for bad in BAD_PLUGINS:
        assert bad.make() is not bad.make(), bad.name
        assert (bad.needs is None) == (bad.cost in ("itself", "start-up")), bad.name
