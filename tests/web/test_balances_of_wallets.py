"""The balances of several wallets in one request: as each is alone, at one block; what a failure costs."""

import asyncio
from dataclasses import replace

import pytest
from portfolio_gateway import OTHER, WALLET, address
from quoteway.config.model import LimitsConfig
from quoteway.models import NATIVE
from quoteway.web.resources.balances import MAX_WALLETS

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

PATH = "/v2/portfolio/balances"
NOBODY = address(0x99)


@pytest.fixture
def usd(portfolio):
    return {portfolio.token("WETH").address: 3500.0, portfolio.token("USDC").address: 1.0}


async def test_each_wallet_is_as_it_is_alone_and_all_are_at_one_block(serve_app, portfolio, contract, usd):
    api = await portfolio.serve(serve_app, listed=("WETH", "USDC"), usd=usd)
    wallets = [WALLET, NOBODY, OTHER]
    for more in ({}, {"tokens": ["native", portfolio.token("DAI").address]}, {"includeNative": False}):
        body = {"wallets": wallets, "network": "devnet", **more}
        query = "".join(
            f"&{name}={','.join(value) if isinstance(value, list) else str(value).lower()}"
            for name, value in more.items()
        )
        alone = {}
        for wallet in wallets:
            async with asyncio.timeout(20):
                while True:
                    alone[wallet] = (await api.get(f"{PATH}?wallet={wallet}&network=devnet{query}")).body
                    if alone[wallet]["totalComplete"]:
                        break
                    await asyncio.sleep(0.05)
        together = contract.check("listBalancesOfWallets", await api.post(PATH, body))
        assert [each["wallet"] for each in together["data"]] == wallets
        for each in together["data"]:
            assert each == alone[each["wallet"]] | {"asOf": each["asOf"]}
        assert len({each["asOf"][0]["block"] for each in together["data"]}) == 1
        totals = [each["totalUsd"] for each in together["data"] if each["totalUsd"] is not None]
        assert together["totalUsd"] == (pytest.approx(sum(totals)) if totals else None)
        assert together["totalComplete"] is True


async def test_one_head_is_read_for_all_wallets(serve_app, portfolio):
    api = await portfolio.serve(serve_app)
    chain, heads = api.gateway.runtime.chains[31337], []
    head = chain.head

    async def counted(**more):
        heads.append(await head(**more))
        return heads[-1]

    chain.head = counted
    body = (await api.post(PATH, {"wallets": [WALLET, OTHER, NOBODY], "network": "devnet"})).body
    read = [each["asOf"][0]["block"] for each in body["data"]]
    # What a sale pays and prices read heads of their own.
    assert read == [heads[0].number] * 3


async def test_a_network_that_fails_is_named_for_each_wallet(serve_app, portfolio, refused):
    api = await portfolio.serve(serve_app)
    await api.gateway.runtime.chains[31338].close()
    portfolio.rpc.dead.add("devnet-l2")
    body = (await api.post(PATH, {"wallets": [WALLET, OTHER]})).body
    assert [[row["chainId"] for row in each["partial"]] for each in body["data"]] == [[31338], [31338]]
    assert [each["totalComplete"] for each in body["data"]] == [False, False]
    assert body["totalComplete"] is False
    dead = {"wallets": [WALLET, OTHER], "network": "devnet-l2"}
    refused(await api.post(PATH, dead), 502, "upstream_error")


async def test_a_wallet_that_cannot_be_read_costs_no_other(serve_app, portfolio, monkeypatch):
    from quoteway.errors import Reason, UpstreamError
    from quoteway.web.resources import balances

    read = balances.read_holdings

    async def fails_for_one(chain, wallet, *rest):
        if wallet == OTHER:
            raise UpstreamError("No node answers.", reason=Reason.RPC_ERROR)
        return await read(chain, wallet, *rest)

    monkeypatch.setattr(balances, "read_holdings", fails_for_one)
    api = await portfolio.serve(serve_app)
    body = (await api.post(PATH, {"wallets": [OTHER, WALLET], "network": "devnet"})).body
    lost, kept = body["data"]
    assert (lost["wallet"], lost["data"], lost["totalUsd"], lost["totalComplete"]) == (OTHER, [], None, False)
    assert lost["partial"] == [{"chainId": 31337, "token": None, "reason": "rpc_error"}]
    assert kept["wallet"] == WALLET
    assert kept["data"]


async def test_a_thousand_tokens_are_named_in_a_body(serve_app, portfolio):
    api = await portfolio.serve(serve_app)
    usdc = portfolio.token("USDC").address
    tokens = [usdc, *(address(0x5000 + number) for number in range(999))]
    answer = await api.post(PATH, {"wallets": [WALLET], "network": "devnet", "tokens": tokens})
    assert answer.status == 200, answer.body
    (wallet,) = answer.body["data"]
    assert [row["token"]["address"] for row in wallet["data"]] == [NATIVE, usdc]
    assert len(wallet["partial"]) == 999


@pytest.mark.parametrize(
    ("body", "member"),
    [
        ({}, "wallets"),
        ({"wallets": []}, "wallets"),
        ({"wallets": WALLET}, "wallets"),
        ({"wallets": [NATIVE]}, "wallets"),
        ({"wallets": [WALLET, 7]}, "wallets"),
        ({"wallets": [f"0x{number:040x}" for number in range(1, MAX_WALLETS + 2)]}, "wallets"),
        ({"wallets": [WALLET], "tokens": ["0x12"]}, "tokens"),
        ({"wallets": [WALLET], "tokens": []}, "tokens"),
        ({"wallets": [WALLET], "includeNative": "true"}, "includeNative"),
        ({"wallets": [WALLET], "minBlock": 3}, "minBlock"),
        ({"wallets": [WALLET], "wallet": WALLET}, "wallet"),
    ],
)
async def test_bad_bodies_name_the_member(api, refused, body, member):
    details = refused(await api.post(PATH, body), 422, "validation_error")
    assert [field["path"] for field in details["fields"]] == [member]


async def test_each_wallet_counts_against_the_limit(serve_app, portfolio, make_config, refused):
    api = await portfolio.serve(
        serve_app, config=replace(make_config(), limits=LimitsConfig(catalog="12/hour"))
    )
    three = {"wallets": [WALLET, OTHER, NOBODY], "network": "devnet"}
    statuses = [(await api.post(PATH, three)).status for _ in range(5)]
    assert statuses == [200, 200, 200, 200, 429]
