"""A wallet's positions from every pool and vault provider: merged, isolated, valued."""

import asyncio
from dataclasses import replace

import pytest
from portfolio_gateway import WALLET, address
from quoteway.models import Block, Incomplete, Leg, Pool, PoolPosition, Vault, VaultPosition
from quoteway.testing.fakes import ListedPools, ListedVaults

HEAD = {"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}


def position(token, resource, number=1, amount=10**6):
    block = Block(1, "0x" + "11" * 32, 1_700_000_000)
    return PoolPosition(
        f"{resource}/{number}",
        resource,
        WALLET,
        "fungible",
        amount,
        (Leg(token, amount, WALLET),),
        (Leg(token, 5, WALLET),),
        block,
    )


@pytest.fixture
def sources(portfolio):
    usdc = portfolio.token("USDC")
    pool_id, vault_id = f"31337:{address(1)}", f"31337:{address(2)}"
    pool = Pool(pool_id, "devnet", 31337, "fake", "v2", address(1), (usdc, usdc), (), "fake", 0)
    vault = Vault(vault_id, "devnet", 31337, address(2), "V", "fake", "hold", usdc, usdc, (), "fake", 0)

    class Pools(ListedPools):
        async def positions(self, wallet, pool_id):
            assert pool_id is None
            return [position(usdc, pool.id, number) for number in range(2)] if wallet == WALLET else []

    class Vaults(ListedVaults):
        async def positions(self, wallet):
            legs = (Leg(usdc, 10**6, WALLET),)
            return [VaultPosition(vault.id, WALLET, 10**6, legs, position(usdc, vault.id).block)]

    return Pools([pool]), lambda context: Vaults(context, [vault])


async def test_positions_of_all_sources_are_merged_valued_and_paged(serve_app, portfolio, sources, contract):
    usdc = portfolio.token("USDC").address
    api = await portfolio.serve(serve_app, *sources, usd={usdc: 0.5})
    answer = await api.get(f"/v2/portfolio/positions?wallet={WALLET}")
    body = contract.check("getPortfolioPositions", answer)
    assert answer.headers["Cache-Control"] == "no-store"
    assert (body["total"], body["partial"]) == (3, [])
    kinds = [(row["provider"], row["poolId"] is None, row["vaultId"] is None) for row in body["data"]]
    assert kinds == [("listed-pools", False, True)] * 2 + [("listed-vaults", True, False)]
    assert body["data"][0]["valueUsd"] == 1_000_005 / 10**6 * 0.5 == pytest.approx(0.5000025)
    one = (await api.get(f"/v2/portfolio/positions?wallet={WALLET}&limit=2")).body
    two = (await api.get(f"/v2/portfolio/positions?wallet={WALLET}&limit=2&cursor={one['nextCursor']}")).body
    assert [*one["data"], *two["data"]] == body["data"]
    elsewhere = await api.get(f"/v2/portfolio/positions?wallet={WALLET}&network=devnet-l2")
    assert elsewhere.body["data"] == []


async def test_sources_that_fail_or_lie_are_named_and_cost_nobody_else(
    serve_app, portfolio, sources, contract, make_config
):
    def broken(name, does):
        class Broken(ListedPools):
            async def positions(self, wallet, pool_id):
                return await does()

        listed = Broken([], provider_id=name)
        listed.networks = frozenset({31337})
        return listed

    async def raises():
        raise RuntimeError("secret path /etc/passwd")

    async def lies():
        return ["not a position"]

    bad = [broken(does.__name__, does) for does in (raises, lies)]
    config = make_config()
    quotes = replace(config.quotes, competition_timeout_s=2.0)
    api = await portfolio.serve(serve_app, *sources, *bad, config=replace(config, quotes=quotes))
    body = contract.check("getPortfolioPositions", await api.get(f"/v2/portfolio/positions?wallet={WALLET}"))
    assert body["total"] == 3
    assert {row["provider"]: row["reason"] for row in body["partial"]} == {
        "raises": "provider_error",
        "lies": "unsafe_answer",
    }


async def test_a_position_of_the_other_kind_is_refused(serve_app, portfolio, sources):
    """A vault cannot show its shares as a position in a pool of another provider, nor a pool the reverse."""
    usdc = portfolio.token("USDC")
    shares = VaultPosition(f"31337:{address(1)}", WALLET, 1, (), position(usdc, "x").block)

    class Pools(ListedPools):
        async def positions(self, wallet, pool_id):
            return [shares]

    class Vaults(ListedVaults):
        async def positions(self, wallet):
            return [position(usdc, f"31337:{address(1)}")]

    def vaults(context):
        made = Vaults(context, [], provider_id="odd-vaults")
        made.networks = frozenset({31337})
        return made

    pools = Pools([], provider_id="odd-pools")
    pools.networks = frozenset({31337})
    api = await portfolio.serve(serve_app, *sources, pools, vaults)
    body = (await api.get(f"/v2/portfolio/positions?wallet={WALLET}")).body
    assert body["total"] == 3
    assert {(row["provider"], row["reason"]) for row in body["partial"]} == {
        ("odd-pools", "unsafe_answer"),
        ("odd-vaults", "unsafe_answer"),
    }


async def test_a_position_that_two_sources_know_is_counted_once(serve_app, portfolio, sources):
    pools, vaults = sources
    twin = type(pools)(list(pools._pools.values()), provider_id="twin")
    api = await portfolio.serve(serve_app, pools, vaults, twin)
    body = (await api.get(f"/v2/portfolio/positions?wallet={WALLET}")).body
    assert body["total"] == 3


async def test_a_source_that_hangs_is_left_behind(serve_app, portfolio, sources, make_config):
    class Hanging(ListedPools):
        async def positions(self, wallet, pool_id):
            await asyncio.Event().wait()

    hanging = Hanging([], provider_id="hangs")
    hanging.networks = frozenset({31337})
    config = make_config()
    quotes = replace(config.quotes, competition_timeout_s=2.0)
    api = await portfolio.serve(serve_app, *sources, hanging, config=replace(config, quotes=quotes))
    body = (await api.get(f"/v2/portfolio/positions?wallet={WALLET}")).body
    assert body["partial"] == [{"provider": "hangs", "reason": "provider_timeout"}]
    assert body["total"] == 3


async def test_positions_without_any_source_are_503(serve_app, portfolio, refused):
    api = await portfolio.serve(serve_app)
    path = f"/v2/portfolio/positions?wallet={WALLET}"
    refused(await api.get(path), 503, "provider_unavailable", "capability_disabled")
    refused(await api.get("/v2/portfolio/positions"), 422, "validation_error", "missing")


@pytest.mark.parametrize(
    ("reason", "told"),
    [("logs_unavailable", "logs_unavailable"), ("my own", "provider_error"), (None, "provider_error")],
)
async def test_what_a_source_could_not_look_for_is_named_beside_what_it_found(
    serve_app, portfolio, sources, contract, reason, told
):
    usdc, pool_id = portfolio.token("USDC"), f"31337:{address(1)}"

    class Pools(type(sources[0])):
        async def positions(self, wallet, pool_id=None):
            return Incomplete([position(usdc, f"31337:{address(1)}")], reason)

    pool = Pool(pool_id, "devnet", 31337, "fake", "v2", address(1), (usdc, usdc), (), "fake", 0)
    api = await portfolio.serve(serve_app, Pools([pool]))
    for path, name in (
        ("/v2/portfolio/positions", "getPortfolioPositions"),
        (f"/v2/pools/{pool_id}/positions", "listPoolPositions"),
    ):
        body = contract.check(name, await api.get(f"{path}?wallet={WALLET}"))
        assert [row["positionId"] for row in body["data"]] == [f"{pool_id}/1"]
        assert body["partial"] == [{"provider": "listed-pools", "reason": told}]


async def test_the_block_of_each_network_is_told_also_of_one_without_a_position(
    serve_app, portfolio, sources, contract
):
    api = await portfolio.serve(serve_app, *sources)
    path = f"/v2/portfolio/positions?wallet={WALLET}"
    body = contract.check("getPortfolioPositions", await api.get(path))
    blocks = {row["chainId"]: row["block"] for row in body["asOf"]}
    assert blocks[31337] == min(row["asOfBlock"]["number"] for row in body["data"]) == 1
    assert (await api.get(f"{path}&limit=1")).body["asOf"][0] == {"chainId": 31337, "block": 1}, (
        "of all pages"
    )
    head = int((await api.post("/v2/rpc/31338", HEAD)).body["result"], 16)
    (row,) = (await api.get(f"{path}&network=devnet-l2")).body["asOf"]
    assert (row["chainId"], row["block"] <= head) == (31338, True)
    api = await portfolio.serve(serve_app, sources[0])
    stranger = (await api.get(path.replace(WALLET, address(9)))).body
    assert stranger["data"] == []
    head = int((await api.post("/v2/rpc/31337", HEAD)).body["result"], 16)
    assert {row["chainId"]: row["block"] for row in stranger["asOf"]}[31337] == head


async def test_a_network_whose_node_hangs_is_left_out_of_as_of(
    serve_app, portfolio, sources, contract, monkeypatch
):
    from quoteway.evm.chain import RpcChain

    api = await portfolio.serve(serve_app, *sources)
    head = RpcChain.head

    async def hangs(chain):
        if chain.network.chain_id == 31338:
            await asyncio.Event().wait()
        return await head(chain)

    monkeypatch.setattr(RpcChain, "head", hangs)
    body = (await api.get(f"/v2/portfolio/positions?wallet={WALLET}")).body
    assert [row["chainId"] for row in body["asOf"]] == [31337]
