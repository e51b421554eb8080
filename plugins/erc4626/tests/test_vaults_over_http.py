"""The vault endpoints over a real socket, on the devnet's contracts."""

import pytest
from quoteway.evm.abi import encode_call
from quoteway.testing.fakes import FakePlugin, ListedPrices
from quoteway_devnet.accounts import ACCOUNTS
from vault_harness import send, serve_vaults

USER = ACCOUNTS[0].address
OTHER = ACCOUNTS[1].address
NOBODY = "0x000000000000000000000000000000000000bEEF"


@pytest.fixture
async def harness(fresh_devnet):
    async with serve_vaults(fresh_devnet) as harness:
        yield harness


def only(legs):
    (leg,) = legs
    return leg


async def test_the_catalog_lists_the_devnets_vaults(harness):
    page = (await harness.api.get("/v2/vaults?network=devnet&sort=-apy")).body
    rows = {row["address"]: row for row in page["data"]}
    steady, bold = (rows[harness.vaults[name].address] for name in ("steady-usdc", "bold-usdc"))
    assert steady["id"] == f"31337:{steady['address']}"
    assert (steady["asset"]["symbol"], steady["share"]["symbol"]) == ("USDC", "stUSDC")
    assert steady["actions"] == ["deposit", "mint", "withdraw", "redeem"]
    assert steady["status"] == "active"
    assert steady["isTransactional"] is True
    assert steady["fees"] == {
        "entryBps": 0,
        "exitBps": 0,
        "performanceBps": None,
        "managementBps": None,
    }
    with harness.devnet.rpc() as rpc:
        data = {"to": steady["address"], "data": "0x" + encode_call("totalAssets()", []).hex()}
        assert int(steady["totalAssets"]) == int(rpc("eth_call", data, "latest"), 16)
    filtered = (await harness.api.get("/v2/vaults?strategy=bold-usdc&network=31337")).body
    assert [row["address"] for row in filtered["data"]] == [bold["address"]]


@pytest.mark.parametrize("vault", ["steady-usdc", "bold-usdc"])
async def test_deposit_then_redeem_everything(harness, vault):
    usdc, share = harness.manifest.token("USDC").address, harness.vaults[vault].address
    quote = await harness.quote(vault, amount=123_456_789)
    assert quote.status == 200, quote.body
    promised = int(only(quote.body["outputs"])["amount"])
    assert quote.body["vault"]["id"] == f"31337:{share}"
    assert quote.body["vault"]["asset"]["address"] == usdc
    assert quote.body["vault"]["share"]["address"] == share
    assert 1 < float(quote.body["vault"]["sharePrice"]) < 1.02
    assert quote.body["limit"] is None
    assert quote.body["lockSeconds"] is None
    assert quote.body["feesBps"] == {"entry": 0, "exit": 0}
    assert quote.body["approvals"][0]["required"] == "123456789"
    assert [warning["code"] for warning in quote.body["warnings"]] == [
        "no_onchain_limit",
        "unlisted_token",  # there is no catalog here
    ]

    action = await harness.action(vault, amount=123_456_789, quoteId=quote.body["quoteId"])
    assert action.status == 201, action.body
    assert [step["kind"] for step in action.body["steps"]] == ["approval", "deposit"]
    assert action.body["steps"][1]["decoded"]["signature"] == "deposit(uint256,address)"
    harness.send_steps(action.body)
    assert harness.balance(share, USER) == promised

    before = harness.balance(usdc, USER)
    action = await harness.action(vault, action="withdraw", amount="max")
    assert action.status == 201, action.body
    assert action.body["steps"][0]["decoded"]["signature"] == "redeem(uint256,address,address)"
    harness.send_steps(action.body)
    assert harness.balance(share, USER) == 0
    assert harness.balance(usdc, USER) - before == int(only(action.body["outputs"])["amount"])


async def test_answers_have_the_documented_shape(harness):
    path = f"/v2/vaults/31337:{harness.vaults['steady-usdc'].address}"
    await harness.api.check("createVaultQuote", await harness.quote("steady-usdc"))
    await harness.api.check("createVaultAction", await harness.action("steady-usdc"))
    await harness.api.check("listVaults", await harness.api.get("/v2/vaults"))
    await harness.api.check("getVaultTvl", await harness.api.get(f"{path}/tvl"))
    await harness.api.check("getVaultApy", await harness.api.get(f"{path}/apy"))


async def test_the_unit_of_an_amount_is_the_asset(harness):
    share = harness.vaults["steady-usdc"].address
    minted = await harness.action("steady-usdc", action="deposit", asset="share", amount=5_000_000)
    assert minted.body["steps"][1]["decoded"]["signature"] == "mint(uint256,address)"
    assert only(minted.body["outputs"])["amount"] == "5000000"
    paid = only(minted.body["inputs"])
    assert int(paid["amount"]) * 10_050 // 10_000 <= int(paid["amountMax"])
    assert minted.body["steps"][0]["approval"]["required"] == paid["amountMax"]
    exact = await harness.action("steady-usdc", asset="share", amount=5_000_000, slippageBps=0)
    assert exact.body["steps"][0]["approval"]["required"] == only(exact.body["inputs"])["amount"]
    harness.send_steps(minted.body)
    redeemed = await harness.quote("steady-usdc", action="withdraw", asset="share", amount=1_000_000)
    assert only(redeemed.body["inputs"])["token"]["address"] == share
    assert only(redeemed.body["inputs"])["amount"] == "1000000"
    withdrawn = await harness.quote("steady-usdc", action="withdraw", amount=1_000_000)
    assert only(withdrawn.body["outputs"])["amount"] == "1000000"
    assert only(withdrawn.body["outputs"])["amountMin"] == "1000000"
    assert int(only(withdrawn.body["inputs"])["amount"]) < 1_000_000


async def test_another_recipient(harness):
    share = harness.vaults["bold-usdc"].address
    action = await harness.action("bold-usdc", amount=10**9, recipient=NOBODY)
    harness.send_steps(action.body)
    assert harness.balance(share, NOBODY) == int(only(action.body["outputs"])["amount"])
    for recipient in (share, harness.manifest.token("USDC").address):
        (await harness.quote("bold-usdc", recipient=recipient)).refused(422, "validation_error", "conflict")


@pytest.mark.parametrize(
    ("order", "reason", "member"),
    [
        ({"asset": NOBODY}, "unsupported_token", "asset"),
        ({"asset": "native"}, "unsupported_token", "asset"),
        ({"action": "mint"}, "conflict", "asset"),
        ({"action": "redeem"}, "conflict", "asset"),
        ({"amount": "max"}, "invalid_format", "amount"),
        ({"amount": "0"}, "out_of_range", "amount"),
        ({"amount": "1.5"}, "invalid_format", "amount"),
        ({"amount": str(2**256)}, "out_of_range", "amount"),
        ({"action": "lend"}, "unsupported_action", "action"),
        ({"slippageBps": 5_001}, "out_of_range", "slippageBps"),
        ({"action": "withdraw", "amount": "max", "address": NOBODY}, "amount_too_low", "amount"),
        ({"action": "withdraw", "amount": "1" + "0" * 30}, "amount_too_high", "amount"),
        ({"strategy": "x"}, None, "strategy"),
    ],
)
async def test_bad_orders(harness, order, reason, member):
    for ask in (harness.quote, harness.action):
        (await ask("steady-usdc", **order)).refused(422, "validation_error", reason, member)


async def test_addresses_that_are_not_vaults(harness):
    usdc = harness.manifest.token("USDC").address
    error = (await harness.quote(usdc)).refused(404, "not_found")
    assert "is no ERC-4626 vault: asset() gives no address" in error["message"]
    (await harness.quote(NOBODY)).refused(404, "not_found")
    wrong_chain = f"/v2/vaults/1:{harness.vaults['steady-usdc'].address}/quote"
    (await harness.api.post(wrong_chain, harness.body("steady-usdc"))).refused(404, "not_found")
    (await harness.api.get(f"/v2/vaults/31337:{usdc}/tvl")).refused(404, "not_found")


async def test_more_than_the_wallet_holds_is_an_issue_and_simulated(harness):
    poor = await harness.action("steady-usdc", amount=10**6, address=NOBODY)
    assert poor.status == 201, poor.body
    usdc = harness.manifest.token("USDC").address
    assert {"insufficient_balance", "insufficient_allowance"} == {i["code"] for i in poor.body["issues"]}
    assert poor.body["simulation"]["status"] == "success"
    assert poor.body["simulation"]["assumptions"] == [f"balance:{usdc}"]
    without = await harness.action("steady-usdc", action="withdraw", amount=10**6, address=NOBODY)
    assert without.status == 201, without.body
    share = harness.vaults["steady-usdc"].address
    assert without.body["issues"] == [
        {
            "code": "insufficient_balance",
            "token": share,
            "actual": "0",
            "required": only(without.body["inputs"])["amount"],
        }
    ]
    assert without.body["simulation"]["assumptions"] == [f"balance:{share}"]


async def test_a_pinned_quote_keeps_its_minimum(harness):
    quote = (await harness.quote("steady-usdc", amount=10**9, slippageBps=10)).body
    minimum = int(only(quote["outputs"])["amountMin"])
    held = harness.vaults["steady-usdc"].address
    harness.devnet.faucet("USDC", held, 10**9)  # a little yield: fewer shares, within the slippage
    order = {"amount": 10**9, "slippageBps": 10, "quoteId": quote["quoteId"]}
    action = await harness.action("steady-usdc", **order)
    assert action.status == 201, action.body
    out = only(action.body["outputs"])
    assert minimum <= int(out["amount"]) < int(only(quote["outputs"])["amount"])
    assert int(out["amountMin"]) == minimum
    harness.devnet.faucet("USDC", held, 10**13)  # and more than that
    (await harness.action("steady-usdc", **order)).refused(502, "upstream_error", "price_moved")
    other = {**order, "amount": 10**9 + 1}
    (await harness.action("steady-usdc", **other)).refused(422, "validation_error", "conflict")


async def test_mint_succeeds_when_the_price_rises_within_the_slippage(harness):
    """The price of a vault that accrues interest rises with every block."""
    order = {"action": "mint", "asset": "share", "amount": 10**9}
    quote = (await harness.quote("bold-usdc", **order)).body
    harness.devnet.faucet("USDC", harness.vaults["bold-usdc"].address, 10**9)
    action = await harness.action("bold-usdc", **order, quoteId=quote["quoteId"])
    assert action.status == 201, action.body
    quoted, paid = only(quote["inputs"]), only(action.body["inputs"])
    assert int(quoted["amount"]) < int(paid["amount"]) <= int(quoted["amountMax"])
    usdc = harness.manifest.token("USDC").address
    before = harness.balance(usdc, USER)
    harness.send_steps(action.body)
    assert before - harness.balance(usdc, USER) == int(paid["amount"])
    strict = {**order, "slippageBps": 0}
    quote = (await harness.quote("bold-usdc", **strict)).body
    harness.devnet.faucet("USDC", harness.vaults["bold-usdc"].address, 10**9)
    late = await harness.action("bold-usdc", **strict, quoteId=quote["quoteId"])
    late.refused(502, "upstream_error", "price_moved")


async def test_a_fallen_share_price_requires_a_new_quote(harness):
    """After a loss, withdraw would burn more shares than quoted, to which the caller has not agreed."""
    vault, usdc = harness.vaults["bold-usdc"].address, harness.manifest.token("USDC").address
    harness.send_steps((await harness.action("bold-usdc", amount=10**9)).body)
    quote = (await harness.quote("bold-usdc", action="withdraw", amount=10**8)).body
    with harness.devnet.rpc() as rpc:
        rpc("anvil_setBalance", vault, hex(10**18))
    send(harness.devnet, vault, usdc, "transfer(address,uint256)", NOBODY, 10**12)
    order = {"action": "withdraw", "amount": 10**8, "quoteId": quote["quoteId"]}
    error = (await harness.action("bold-usdc", **order)).refused(502, "upstream_error", "price_moved")
    assert "takes more than quoted" in error["message"]


async def test_positions_are_what_redeeming_pays(harness):
    harness.send_steps((await harness.action("steady-usdc", amount=777_777_777)).body)
    await harness.catch_up()
    answer = await harness.api.get(f"/v2/portfolio/positions?wallet={USER}&network=devnet")
    vault = f"31337:{harness.vaults['steady-usdc'].address}"
    (position,) = [row for row in answer.body["data"] if row["vaultId"] == vault]
    action = await harness.action("steady-usdc", action="withdraw", amount="max")
    assert only(position["amounts"])["amount"] == only(action.body["outputs"])["amount"]
    before = harness.balance(harness.manifest.token("USDC").address, USER)
    harness.send_steps(action.body)
    after = harness.balance(harness.manifest.token("USDC").address, USER)
    assert after - before == int(only(position["amounts"])["amount"])


async def test_dollars_where_the_asset_has_a_price(fresh_devnet):
    usdc = fresh_devnet.chains["devnet"].token("USDC").address
    prices = FakePlugin([ListedPrices({31337}, {usdc: 0.5})])
    async with serve_vaults(fresh_devnet, prices=prices) as harness:
        vault = harness.vaults["steady-usdc"].address
        tvl = (await harness.api.get(f"/v2/vaults/31337:{vault}/tvl?interval=1w")).body
        assert tvl["components"]["assets"] == tvl["current"]
        assert tvl["components"]["usd"] == pytest.approx(tvl["current"] / 2)
        rows = (await harness.api.get("/v2/vaults?network=devnet&sort=-tvlUsd")).body["data"]
        (row,) = [row for row in rows if row["address"] == vault]
        assert row["tvlUsd"] == pytest.approx(int(row["totalAssets"]) / 10**6 / 2)
        quote = (await harness.quote("steady-usdc", amount=10**6)).body
        assert only(quote["inputs"])["amountUsd"] == pytest.approx(0.5)
