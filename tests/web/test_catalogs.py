"""Lists: filters, order, pages, ETags; providers and networks; series; and a source that fails costs its rows
only.
"""

import asyncio

import pytest
from quoteway.errors import UpstreamError
from quoteway.hookspecs import hookimpl
from quoteway.host.states import NotEnabled
from quoteway.models import NATIVE, Pool, Token
from quoteway.networks import Networks
from quoteway.providers import PoolProvider
from quoteway.web.wire.parts import TokenRef


async def test_pools_are_documented(fakes, contract):
    page = contract.check("listPools", await fakes.get("/v2/pools"))
    assert page["total"] == 7
    assert page["data"][0]["pair"] == "ETH/WETH"
    assert page["nextCursor"] is None


async def test_pages_cover_every_row_once_in_the_asked_order(fakes):
    seen, cursor, pages = [], "", 0
    while cursor is not None:
        answer = await fakes.get(f"/v2/pools?sort=-tvlUsd&limit=3&cursor={cursor}")
        assert answer.body["total"] == 7
        seen += [row["tvlUsd"] for row in answer.body["data"]]
        cursor, pages = answer.body["nextCursor"], pages + 1
    assert pages == 3
    assert seen == [600.0, 500.0, 400.0, 200.0, 100.0, 0.0, None], "unknown values come last"
    ascending = await fakes.get("/v2/pools?sort=tvlUsd")
    assert [row["tvlUsd"] for row in ascending.body["data"]] == [0.0, 100.0, 200.0, 400.0, 500.0, 600.0, None]


async def test_a_page_goes_on_where_it_was_when_rows_vanish(fakes):
    first = (await fakes.get("/v2/pools?limit=3")).body
    (provider,) = fakes.gateway.registry.enabled("pool")
    last = first["data"][-1]["id"]
    kept = [pool for pool in await provider.pools(None) if pool.id != last]

    async def pools(chain_id):
        return kept

    provider.pools = pools
    second = (await fakes.get(f"/v2/pools?limit=3&cursor={first['nextCursor']}")).body
    assert len(second["data"]) == 3
    assert last not in [row["id"] for row in second["data"]]


async def test_pool_filters(fakes, refused):
    async def ids(query):
        return {row["id"] for row in (await fakes.get(f"/v2/pools?{query}")).body["data"]}

    assert len(await ids("protocol=fake&network=devnet")) == 7
    refused(await fakes.get("/v2/pools?protocol=other"), 422, "validation_error", "unsupported_protocol")
    assert len(await ids("minTvlUsd=400")) == 3
    assert len(await ids(f"token={fakes.weth.lower()}")) == 7
    assert len(await ids("token=weth")) == 7
    assert not await ids("token=USDC")
    assert len(await ids("query=eth/w")) == 7


async def test_tokens(fakes, contract, refused):
    page = contract.check("listTokens", await fakes.get("/v2/tokens?sort=rank"))
    assert [row["id"] for row in page["data"]] == ["weth", "eth"]
    found = (await fakes.get(f"/v2/tokens?query={fakes.weth[:12].lower()}")).body["data"]
    assert [row["id"] for row in found] == ["weth"]
    profile = contract.check("getToken", await fakes.get("/v2/tokens/weth"))
    assert profile["marketCapUsd"] is None
    assert profile["contracts"][0]["explorerUrl"] == f"https://explorer.example/token/{fakes.weth}"
    refused(await fakes.get("/v2/tokens/nothing"), 404, "not_found")
    refused(await fakes.get("/v2/tokens/31337:0x12"), 404, "not_found")
    refused(await fakes.get("/v2/tokens/eip155:31337%2Ferc20:0x12"), 404, "not_found")


async def test_etag_and_cache_control(fakes):
    first = await fakes.get("/v2/pools?limit=2")
    etag = first.headers["ETag"]
    assert etag.startswith('"')
    assert first.headers["Cache-Control"] == "public, max-age=5"
    for asked in (etag, f'"x", W/{etag}', "*"):
        answer = await fakes.get("/v2/pools?limit=2", headers={"If-None-Match": asked})
        assert (answer.status, answer.raw) == (304, b"")
        assert answer.headers["ETag"] == etag
    assert (await fakes.get("/v2/pools?limit=2", headers={"If-None-Match": '"other"'})).raw == first.raw
    assert (await fakes.get("/v2/pools?limit=3")).headers["ETag"] != etag


async def test_a_change_of_state_shows_at_once(fakes):
    before = [await fakes.get(path) for path in ("/v2/networks", "/v2/providers")]
    fakes.gateway.registry.providers[0].plugin.reason = NotEnabled.STARTUP_FAILED
    fakes.gateway.registry.changed()
    networks, providers = [await fakes.get(path) for path in ("/v2/networks", "/v2/providers")]
    assert networks.headers["ETag"] != before[0].headers["ETag"]
    assert providers.headers["ETag"] != before[1].headers["ETag"]
    assert providers.headers["Cache-Control"] == "public, no-cache", "its health is that of now"
    reasons = {row["id"]: row["reason"] for row in providers.body["data"] if row["plugin"] != "quoteway"}
    assert set(reasons.values()) == {"startup_failed"}


async def test_providers(fakes, contract):
    page = contract.check("listProviders", await fakes.get("/v2/providers"))
    rows = {row["id"]: row for row in page["data"]}
    of_the_core = rows.pop("swap+bridge")
    assert (of_the_core["plugin"], of_the_core["enabled"]) == ("quoteway", True)
    assert set(rows) == {"fake-swaps", "fake-bridge", "fake-pools", "fake-vaults", "fake-tokens", "fake-rpc"}
    assert rows["fake-vaults"]["actions"] == {"pool": [], "vault": ["deposit"], "manage": ["harvest"]}
    assert rows["fake-swaps"]["networks"] == ["devnet", "devnet-l2"]
    assert all(row["enabled"] and row["reason"] is None for row in rows.values())


async def test_networks(fakes, contract):
    page = contract.check("listNetworks", await fakes.get("/v2/networks"))
    (row,) = (row for row in page["data"] if row["network"] == "devnet")
    assert (row["chainId"], row["caip2"], row["nativeCurrency"]["decimals"]) == (31337, "eip155:31337", 18)
    assert row["capabilities"] == ["swap", "bridge", "pool", "vault", "tokens", "rpc"]


async def test_vaults_and_routes_and_positions(fakes, contract):
    page = contract.check("listVaults", await fakes.get("/v2/vaults?asset=eth"))
    assert page["data"][0]["fees"]["performanceBps"] is None
    routes = contract.check("listBridgeRoutes", await fakes.get("/v2/bridges/routes?fromChain=31337"))
    assert [(row["fromChain"], row["toChain"]) for row in routes["data"]] == [("devnet", "devnet-l2")]
    positions = await fakes.get(f"/v2/pools/31337:{fakes.weth}/positions?wallet={fakes.weth}")
    assert contract.check("listPoolPositions", positions)["data"] == []
    assert positions.headers["Cache-Control"] == "no-store"


async def test_series(fakes, contract, refused):
    series = contract.check(
        "getPoolTvl", await fakes.get(f"/v2/pools/31337:{fakes.weth}/tvl?from=1700000000&to=1700086400")
    )
    assert series["points"] == [
        {"timestamp": 1700000000, "value": 1.5},
        {"timestamp": 1700086400, "value": None},
    ]
    contract.check("getPoolApr", await fakes.get(f"/v2/pools/31337:{fakes.weth}/apr"))
    refused(await fakes.get(f"/v2/pools/31337:{fakes.weth}/volume"), 503, "provider_unavailable")
    refused(await fakes.get(f"/v2/vaults/31337:{fakes.weth}/apy"), 503, "provider_unavailable")
    refused(await fakes.get(f"/v2/pools/31338:{fakes.weth}/tvl"), 404, "not_found")
    path = f"/v2/pools/31337:{fakes.weth}/tvl"
    refused(
        await fakes.get(f"{path}?interval=1h&from=0&to=1700086400"), 422, "validation_error", "out_of_range"
    )


class BadPools:
    """One source that raises, one that hangs and swallows cancellation, one that works."""

    def __init__(self, chain_id):
        self.chain_id = chain_id

    @hookimpl
    def quoteway_pool_providers(self, context):
        class Base(PoolProvider):
            title = "x"
            networks = frozenset({self.chain_id})

            async def pool(self, pool_id):
                raise UpstreamError("down")

        class Raising(Base):
            id = "raising"

            async def pools(self, chain_id):
                raise RuntimeError("canary")

        class Hanging(Base):
            id = "hanging"

            async def pools(self, chain_id):
                # The deadline cancels it once, the end of the test again.
                for _ in range(2):
                    try:
                        await asyncio.sleep(3600)
                    except asyncio.CancelledError:
                        continue

        class Working(Base):
            id = "working"

            async def pools(self, chain_id):
                token = Token(31337, context.config.path or "0x" + "0" * 40, 18, "ETH")
                return [
                    Pool("31337:0x1", "devnet", 31337, "p", "k", "0x1", (token,), (), "chain", 1_700_000_000)
                ]

        return [Raising(), Hanging(), Working()]


async def test_one_failing_source_never_fails_a_list(serve_app, make_config, devnet, fake_plugin, refused):
    from dataclasses import replace

    fake_plugin.kinds = ()
    config = make_config()
    config = replace(config, quotes=replace(config.quotes, competition_timeout_s=2.0))
    api = await serve_app({"fakes": fake_plugin, "bad": BadPools(31337)}, config=config)
    answer = await api.get("/v2/pools")
    assert [row["id"] for row in answer.body["data"]] == ["31337:0x1"]
    missing = {row["provider"]: row["reason"] for row in answer.body["partial"]}
    assert sorted(missing.values()) == ["provider_error", "provider_timeout"]
    assert answer.headers["Cache-Control"] == "no-store"
    answer = await api.get(f"/v2/pools/31337:{fake_plugin.weth}/tvl")
    refused(answer, 502, "upstream_error")


async def test_a_list_whose_every_source_fails_is_no_empty_list(
    serve_app, make_config, devnet, fake_plugin, refused
):
    from dataclasses import replace

    class Broken:
        @hookimpl
        def quoteway_pool_providers(self, context):
            return BadPools(31337).quoteway_pool_providers(context)[:2]

    fake_plugin.kinds = ()
    config = make_config()
    config = replace(config, quotes=replace(config.quotes, competition_timeout_s=2.0))
    api = await serve_app({"fakes": fake_plugin, "bad": Broken()}, config=config)
    refused(await api.get("/v2/pools"), 502, "upstream_error")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://example.org/a.png", True),
        ("ipfs://bafy", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        (" https://x", False),
        ("//example.org", False),
        (None, False),
    ],
)
def test_only_addresses_that_nothing_runs_are_shown_as_links(text, shown):
    token = Token(1, NATIVE, 18, logo_uri=text)
    assert TokenRef.render(token, Networks())["logoUri"] == (text if shown else None)
