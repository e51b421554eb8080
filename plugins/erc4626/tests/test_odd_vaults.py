"""Vaults that are paused, full, charge fees, lack functions or preview falsely."""

import pytest
from quoteway_devnet.accounts import ACCOUNTS
from test_vaults_over_http import only
from vault_harness import become, odd_vault, serve_vaults

USER = ACCOUNTS[0].address


@pytest.fixture
async def harness(fresh_devnet):
    async with serve_vaults(fresh_devnet) as harness:
        yield harness


@pytest.fixture
def vault(harness):
    """An ``OddVault`` that behaves plainly at first."""
    return odd_vault(harness.devnet, harness.manifest.token("USDC").address)


async def hold(harness, vault, amount=10**8):
    action = await harness.action(vault, amount=amount)
    assert action.status == 201, action.body
    harness.send_steps(action.body)


async def test_an_unlisted_vault_is_served_with_an_issue(harness, vault):
    action = await harness.action(vault, amount=10**6)
    assert {"code": "unverified_target", "token": vault, "actual": None, "required": None} in action.body[
        "issues"
    ]
    harness.send_steps(action.body)
    assert harness.balance(vault, USER) == int(only(action.body["outputs"])["amount"])
    rows = (await harness.api.get("/v2/vaults")).body["data"]
    assert vault not in {row["address"] for row in rows}
    # It must not appear among the spenders that integrators allow.
    providers = {row["id"]: row for row in (await harness.api.get("/v2/providers")).body["data"]}
    assert vault not in {spender["address"] for spender in providers["erc4626"]["spenders"]}


async def test_paused(harness, vault):
    await hold(harness, vault)
    become(harness.devnet, vault, paused=True)
    for order in ({}, {"action": "withdraw"}, {"action": "withdraw", "amount": "max"}, {"asset": "share"}):
        error = (await harness.quote(vault, **order)).refused(
            422, "validation_error", "amount_too_high", "amount"
        )
        assert "paused" in error["message"]
        assert error["details"]["limit"] == "0"


async def test_cap_reached(harness, vault):
    become(harness.devnet, vault, cap=10**9 + 5)
    quote = await harness.quote(vault, amount=5)
    assert quote.status == 200
    assert quote.body["limit"] == "5"
    (await harness.quote(vault, amount=6)).refused(422, "validation_error", "amount_too_high", "amount")


async def test_short_of_liquid_assets(harness, vault):
    await hold(harness, vault)
    become(harness.devnet, vault, liquid=10**7)
    assert (await harness.quote(vault, action="withdraw", amount=10**7)).body["limit"] == str(10**7)
    (await harness.quote(vault, action="withdraw", amount=10**7 + 1)).refused(
        422,
        "validation_error",
        "amount_too_high",
    )
    # "max" is all shares, never a part of them.
    (await harness.quote(vault, action="withdraw", amount="max")).refused(
        422,
        "validation_error",
        "amount_too_high",
    )


async def test_fees_are_quoted_and_amounts_are_exact(harness, vault):
    await hold(harness, vault)
    become(harness.devnet, vault, entry_fee_bps=100, exit_fee_bps=50)
    quote = (await harness.quote(vault, amount=10**8)).body
    assert quote["feesBps"] == {"entry": 99, "exit": 50}  # 1 on top of 100 is 1/101 of the whole
    (fee,) = quote["fees"]
    assert (fee["name"], fee["included"], fee["bps"]) == ("Protocol fee", True, 99)
    assert int(fee["amount"]) == 10**8 - int(only(quote["outputs"])["amount"])
    usdc = harness.manifest.token("USDC").address
    for order in (
        {"amount": 10**8},
        {"asset": "share", "amount": 10**7},
        {"action": "withdraw", "amount": 10**7 + 3},
        {"action": "withdraw", "asset": "share", "amount": 10**6 + 1},
    ):
        before = {token: harness.balance(token, USER) for token in (usdc, vault)}
        action = await harness.action(vault, **order)
        assert action.status == 201, action.body
        harness.send_steps(action.body)
        paid, got = only(action.body["inputs"]), only(action.body["outputs"])
        for leg, sign in ((paid, -1), (got, 1)):
            token = leg["token"]["address"]
            assert harness.balance(token, USER) - before[token] == sign * int(leg["amount"])


async def test_no_conversion(harness, vault):
    """convertToAssets reverts: no share price, fees or APY; quotes by preview still work."""
    become(harness.devnet, vault, convert_reverts=True)
    quote = await harness.quote(vault, amount=10**6)
    assert quote.status == 200, quote.body
    assert quote.body["vault"]["sharePrice"] is None
    assert quote.body["feesBps"] == {"entry": None, "exit": None}
    assert (await harness.action(vault, amount=10**6)).status == 201
    apy = (await harness.api.get(f"/v2/vaults/31337:{vault}/apy?interval=1w")).body
    assert apy["current"] is None
    assert (await harness.api.get(f"/v2/vaults/31337:{vault}/tvl?interval=1w")).body["current"] == 1_000.0


async def test_no_preview(harness, vault):
    become(harness.devnet, vault, preview_reverts=True)
    error = (await harness.quote(vault, amount=10**6)).refused(502, "upstream_error", "no_route")
    assert "no preview" in error["message"]


@pytest.mark.parametrize(
    ("oddity", "order"),
    [
        ({"hidden_entry_bps": 1}, {"amount": 10**8}),
        ({"hidden_entry_bps": 30}, {"amount": 10**8}),
        ({"hidden_exit_bps": 1}, {"action": "withdraw", "asset": "share", "amount": 10**7}),
        ({"hidden_exit_bps": 30}, {"action": "withdraw", "asset": "share", "amount": 10**7}),
        ({"hidden_gift_bps": 30}, {"amount": 10**8}),
    ],
)
async def test_a_preview_that_differs_from_the_simulation_is_refused(harness, vault, oddity, order):
    """Also within the slippage: the simulation must give what the preview says."""
    await hold(harness, vault)
    become(harness.devnet, vault, **oddity)
    assert (await harness.quote(vault, **order)).status == 200  # nothing can be seen yet
    error = (await harness.action(vault, **order)).refused(502, "upstream_error", "unsafe_answer")
    assert f"but {vault} previews " in error["message"]


@pytest.mark.parametrize(
    ("oddity", "order"),
    [
        ({"hidden_entry_bps": 30}, {"asset": "share", "amount": 10**7}),
        ({"hidden_exit_bps": 30}, {"action": "withdraw", "amount": 10**7}),
    ],
)
async def test_an_exact_amount_that_falls_short_is_refused(harness, vault, oddity, order):
    await hold(harness, vault)
    become(harness.devnet, vault, **oddity)
    answer = await harness.action(vault, **order)
    error = answer.refused(502, "upstream_error", "quote_mismatch")
    assert (error["details"]["retryable"], "provider erc4626" in error["message"]) == (False, True)


async def test_interest_accrues_every_second(harness, vault):
    """As in most lending vaults, the next block has another price. Operations within the slippage succeed."""
    await hold(harness, vault)
    become(harness.devnet, vault, per_second=500)
    usdc = harness.manifest.token("USDC").address
    for order in (
        {"amount": 10**8},
        {"asset": "share", "amount": 10**7},
        {"action": "withdraw", "amount": 10**7},
        {"action": "withdraw", "asset": "share", "amount": 10**6},
    ):
        before = {token: harness.balance(token, USER) for token in (usdc, vault)}
        quote = await harness.quote(vault, **order)
        with harness.devnet.rpc() as rpc:
            rpc("anvil_mine", "0x5", "0x3")  # five blocks of three seconds
        action = await harness.action(vault, **order, quoteId=quote.body["quoteId"])
        assert action.status == 201, action.body
        harness.send_steps(action.body)
        paid, got = only(action.body["inputs"]), only(action.body["outputs"])
        spent = before[paid["token"]["address"]] - harness.balance(paid["token"]["address"], USER)
        gained = harness.balance(got["token"]["address"], USER) - before[got["token"]["address"]]
        assert int(paid["amountMin"] or paid["amount"]) <= spent <= int(paid["amountMax"] or paid["amount"])
        assert gained >= int(got["amountMin"])
    strict = {"asset": "share", "amount": 10**7, "slippageBps": 0}
    quote = await harness.quote(vault, **strict)
    with harness.devnet.rpc() as rpc:
        rpc("anvil_mine", "0x5", "0x3")
    late = await harness.action(vault, **strict, quoteId=quote.body["quoteId"])
    late.refused(502, "upstream_error", "price_moved")


async def test_a_vault_of_a_fee_on_transfer_token_takes_no_deposit(harness):
    tax = harness.manifest.token("TAX").address
    vault = harness.devnet.deploy("YieldVault", "(address,string,string)", tax, "T", "T")
    answer = await harness.quote(vault, asset=tax, amount=10**18)
    answer.refused(422, "validation_error", "unsupported_token")


async def test_odd_numbers_of_decimals_and_names(harness):
    for decimals, name in ((0, "Bare"), (77, "N" * 10_000)):
        asset = harness.devnet.deploy("MintableToken", "(string,string,uint8)", name, "ODD", decimals)
        vault = harness.devnet.deploy("YieldVault", "(address,string,string)", asset, name, "vODD")
        quote = await harness.quote(vault, asset=asset, amount=10**9)
        assert quote.status == 200, quote.body
        assert only(quote.body["outputs"])["amount"] == str(10**9)
        assert only(quote.body["inputs"])["token"]["decimals"] == decimals
        assert quote.body["vault"]["share"]["name"] == (name if len(name) <= 128 else None)
        assert float(quote.body["vault"]["sharePrice"]) == 1.0
        action = await harness.action(vault, asset=asset, amount=10**9)
        assert action.status == 201, action.body
        assert "insufficient_balance" in {issue["code"] for issue in action.body["issues"]}
        assert len(action.body["steps"][1]["clearSigning"]["intent"]) < 600
