"""Facts of CoinMarketCap in the gateway's answers, and what its faults cost."""

import asyncio
import logging
import time

import pytest
from aiohttp import web
from coinmarketcap_cases import OTHER, SPOOF, USDX, USDX_ON_BASE, profile
from fake_coinmarketcap import KEY, answer, info, listing
from quoteway import Secret

SECRETS = ("hunter2", KEY)


def known(fake):
    fake.listings = [
        listing(1, 1, "BTC"),
        listing(3408, 7, "USDX", USDX.address),
        listing(77, 900, "USDX"),
        listing(55, 12, "OTHER"),
    ]
    fake.details = {
        "3408": info(3408, ("Ethereum", 1027, USDX.address), ("Base", 27716, USDX_ON_BASE.address)),
        "55": info(55, ("Ethereum", 1027, OTHER.address.lower())),
    }


async def ranked(api):
    """The ids of the list of tokens, with their ranks, or None while nothing of CoinMarketCap is in it."""
    rows = (await api.get("/v2/tokens?network=ethereum")).body["data"]
    return (
        [(row["contracts"][0]["address"], row["rank"]) for row in rows] if rows and rows[0]["rank"] else None
    )


async def test_listed_tokens_get_their_facts_and_spoofs_get_none(start, fake, until):
    known(fake)
    api = await start()

    async def whole():
        found = await ranked(api)
        return found if found is not None and (OTHER.address, 12) in found else None

    assert await until(whole) == [(USDX.address, 7), (OTHER.address, 12), (SPOOF.address, None)]
    for token in (USDX, USDX_ON_BASE):
        body = await profile(api, token)
        assert (body["symbol"], body["name"], body["contracts"][0]["decimals"]) == ("USDX", "Dollars", 6)
        assert (body["ucid"], body["rank"], body["marketCapUsd"]) == ("3408", 7, 61240000000.25)
        assert body["circulatingSupply"].startswith("61234567890.1234")
        assert body["socials"][0]["url"] == "https://twitter.com/coin"
        assert set(body["sources"].values()) == {"coinmarketcap"}
        assert {"ucid", "rank", "marketCapUsd", "totalSupply", "website"} <= body["sources"].keys()
        assert body["priceUsd"] is None
    spoof = await profile(api, SPOOF)
    assert (spoof["ucid"], spoof["rank"], spoof["sources"], spoof["socials"]) == (None, None, {}, [])
    rows = {row["id"]: row for row in (await api.get("/v2/providers")).body["data"]}
    assert rows["coinmarketcap"]["healthy"] is True
    # It lists nothing itself.
    assert (await api.get("/v2/tokens")).body["total"] == 4


@pytest.mark.parametrize(
    "fault",
    [
        lambda request: web.json_response(answer(None, 1009), status=429, headers={"Retry-After": "1"}),
        lambda request: web.json_response(answer(None, 500), status=500),
        lambda request: web.json_response(answer(None, 1006), status=403),
        lambda request: web.json_response(answer(None, 400)),
        lambda request: web.json_response({"data": 5}),
        lambda request: web.Response(text="<html>hunter2"),
        lambda request: web.Response(text="[" * 100_000),
        lambda request: web.Response(body=b"x" * 3_000_000),
        lambda request: web.Response(status=302, headers={"Location": "http://169.254.169.254/"}),
    ],
    ids=range(9),
)
async def test_what_was_read_stays_while_it_fails_and_nothing_leaks(start, fake, until, caplog, fault):
    known(fake)
    caplog.set_level(logging.DEBUG)
    api = await start(refresh_s=1, max_response_bytes=1_000_000)
    await until(lambda: ranked(api))

    async def fails(request):
        return fault(request)

    fake.fault = fails

    async def unhealthy():
        rows = (await api.get("/v2/providers")).body["data"]
        return [row for row in rows if row["id"] == "coinmarketcap" and row["healthy"] is False]

    rows = await until(unhealthy)
    assert (await profile(api, USDX))["ucid"] == "3408"
    texts = [
        caplog.text,
        str(rows),
        await (await api.session.get(f"{api.url}/metrics")).text(),
        str((await api.get("/v2/tokens")).body),
    ]
    assert not [secret for secret in SECRETS for text in texts if secret in text]
    assert "CoinMarketCap failed" in caplog.text


async def test_a_server_that_hangs_delays_no_client(start, fake):
    async def hangs(request):
        await asyncio.sleep(3600)

    fake.fault = hangs
    api = await start(timeout_s=60.0)
    began = time.monotonic()
    assert (await profile(api, USDX))["ucid"] is None
    assert (await api.get("/v2/tokens")).body["total"] == 4
    assert time.monotonic() - began < 5


async def test_a_refused_key_is_not_tried_again_at_once(start, fake, caplog, until):
    api = await start(api_key=Secret("wrong-key"), refresh_s=1)

    async def refused():
        return fake.asked

    await until(refused)
    await asyncio.sleep(1.5)
    assert len(fake.asked) == 1
    assert "the key or its plan is not accepted" in caplog.text
    assert (await profile(api, USDX))["ucid"] is None


async def test_requests_are_one_at_a_time_and_no_more_than_the_plan_allows(start, fake, until):
    fake.listings = [listing(number, number, "X", f"0x{number:040x}") for number in range(1, 451)]
    fake.details = {str(number): info(number) for number in range(1, 451)}
    await start(requests_per_minute=300)

    async def done():
        return len(fake.asked) >= 6

    await until(done)
    await asyncio.sleep(0.5)
    assert len(fake.asked) == 6  # the ranking, and 450 coins by the hundred
    assert fake.most_running == 1
    times = [at for at, _ in fake.asked]
    assert times[-1] - times[0] > 0.9  # five pauses of a fifth of a second


async def test_the_ranking_is_read_in_pages_as_far_as_it_goes(start, fake, until):
    fake.listings = [listing(number, number, "X", f"0x{number:040x}") for number in range(1, 5_002)]
    await start(tokens=7_000)

    async def done():
        return [path for _, path in fake.asked if "start=5001&limit=2000" in path]

    await until(done)
    assert "start=1&limit=5000" in fake.asked[0][1]


async def test_without_a_key_nothing_is_asked(start, fake):
    api = await start(api_key=None)
    await asyncio.sleep(0.3)
    assert fake.asked == []
    assert (await profile(api, USDX))["sources"] == {}


async def test_of_two_coins_with_one_contract_the_better_rank_has_it(start, fake, until):
    fake.listings = [listing(2, 50, "FAKE", USDX.address), listing(1, 3, "USDX", USDX.address)]
    api = await start()
    await until(lambda: ranked(api))
    assert (await profile(api, USDX))["ucid"] == "1"
