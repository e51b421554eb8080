"""Quote and action of every capability on the devnet: one engine answers them all."""

import json

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
ETH = "0x0000000000000000000000000000000000000000"


async def quote_swap(api, **members):
    body = {
        "network": "devnet",
        "fromToken": "native",
        "toToken": api.weth,
        "amount": "1000",
        "address": WALLET,
    }
    return await api.post("/v2/swaps/quote", {**body, **members})


async def test_swap_quote(fakes, contract):
    answer = await quote_swap(fakes, slippageBps=400)
    body = contract.check("createSwapQuote", answer)
    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert (body["kind"], body["provider"], body["status"], body["chainId"]) == (
        "swap",
        "fake-swaps",
        "active",
        31337,
    )
    assert body["fromToken"]["address"] == ETH
    assert body["fromToken"]["isNative"] is True
    assert (body["fromAmount"], body["toAmount"], body["toAmountMin"]) == ("1000", "1000", "1000")
    assert body["executionPrice"] == "1"
    assert 170 <= body["expiresIn"] <= 180
    assert [warning["code"] for warning in body["warnings"]] == ["high_slippage"]
    assert [(a["provider"], a["outcome"]) for a in body["attempts"]] == [("fake-swaps", "quoted")]
    assert body["request"]["toAddress"] == WALLET
    assert body["request"]["refundAddress"] is None
    assert len(body["quoteId"]) < 4096


async def test_network_may_be_named_in_every_way(fakes):
    for name in ("devnet", "31337", "eip155:31337"):
        assert (await quote_swap(fakes, network=name)).status == 200
    answer = await quote_swap(fakes, network="", fromChain="devnet", toChain="")
    assert answer.body["request"]["toChain"] == "devnet"


async def test_quote_is_read_back_from_its_token_alone(fakes, contract):
    quoted = (await quote_swap(fakes)).body
    answer = await fakes.get(f"/v2/swaps/quote/{quoted['quoteId']}")
    shown = contract.check("getSwapQuote", answer)
    for member in (
        "quoteId",
        "provider",
        "createdAt",
        "expiresAt",
        "request",
        "block",
        "toAmountMin",
        "slippageBps",
    ):
        assert shown[member] == quoted[member]
    assert shown["gas"] is None
    assert shown["attempts"] is None


async def test_swap_action_is_what_a_wallet_needs_and_executes(fakes, contract, fresh_devnet):
    quoted = (await quote_swap(fakes, amount=str(10**18))).body
    answer = await fakes.post(f"/v2/swaps/{quoted['quoteId']}/action")
    action = contract.check("createSwapAction", answer)
    assert answer.status == 201
    (transaction,) = action["transactions"]
    assert set(transaction) == {"to", "data", "value", "chainId"}
    assert transaction == {"to": fakes.weth, "data": "0xd0e30db0", "value": hex(10**18), "chainId": 31337}
    assert action["quoteId"] == quoted["quoteId"]
    assert action["walletSendCalls"]["version"] == "2.0.0"
    assert action["walletSendCalls"]["chainId"] == "0x7a69"
    assert action["walletSendCalls"]["calls"] == [{k: transaction[k] for k in ("to", "data", "value")}]
    (step,) = action["steps"]
    descriptor = json.loads(step["clearSigning"]["descriptor"])
    assert descriptor["context"]["contract"]["deployments"] == [{"chainId": 31337, "address": fakes.weth}]
    assert list(descriptor["display"]["formats"]) == [step["decoded"]["signature"]]
    assert step["decoded"]["signature"] == "deposit()"
    assert step["target"]["known"] is True
    assert action["simulation"]["status"] == "success"
    changes = {change["token"]: change["delta"] for change in action["simulation"]["assetChanges"]}
    assert changes[fakes.weth] == str(10**18)

    again = await fakes.post(f"/v2/swaps/{quoted['quoteId']}/action")
    assert again.raw == answer.raw, "the same token at the same block gives the same bytes"

    rpc = fresh_devnet.rpc("devnet")
    sent = rpc("eth_sendTransaction", {"from": WALLET, **transaction, "chainId": "0x7a69"})
    while rpc("eth_getTransactionReceipt", sent) is None:
        pass
    report = await fakes.post(f"/v2/transactions/{step['txId']}/submit-hash", {"hash": sent})
    body = contract.check("submitTransactionHash", report)
    assert (body["match"], body["differences"], body["status"]) == ("match", [], "confirmed")
    assert body["confirmations"] >= 1


async def test_submit_hash_names_what_differs(fakes, contract, fresh_devnet):
    quoted = (await quote_swap(fakes)).body
    action = (await fakes.post(f"/v2/swaps/{quoted['quoteId']}/action")).body
    tx_id = action["steps"][0]["txId"]
    rpc = fresh_devnet.rpc("devnet")
    sent = rpc("eth_sendTransaction", {"from": WALLET, "to": OTHER, "value": "0x3e9"})
    body = contract.check(
        "submitTransactionHash", await fakes.post(f"/v2/transactions/{tx_id}/submit-hash", {"hash": sent})
    )
    assert body["match"] == "mismatch"
    assert {difference["member"] for difference in body["differences"]} == {"to", "value", "data"}
    unknown = await fakes.post(f"/v2/transactions/{tx_id}/submit-hash", {"hash": "0x" + "11" * 32})
    assert (unknown.body["match"], unknown.body["status"]) == ("not_found", "unknown")


async def test_submit_never_says_submitted_without_a_relay(fakes, refused):
    quoted = (await quote_swap(fakes)).body
    action = (await fakes.post(f"/v2/swaps/{quoted['quoteId']}/action")).body
    tx_id = action["steps"][0]["txId"]
    payload = {"signedPayload": "0x02" + "f8" + "00" * 90}
    refused(
        await fakes.post(f"/v2/transactions/{tx_id}/submit", payload),
        422,
        "validation_error",
        "invalid_format",
    )
    refused(await fakes.post("/v2/transactions/nothing/submit", payload), 404, "not_found")
    refused(
        await fakes.post(f"/v2/transactions/{tx_id}/submit", {"signedPayload": "0xzz"}),
        422,
        "validation_error",
    )


async def test_a_transfer_into_a_token_that_no_catalog_lists_there(fakes):
    """The catalog of the fakes lists tokens of the first network only."""
    body = {"fromChain": "devnet", "toChain": "devnet-l2", "fromToken": ETH, "toToken": fakes.weth}
    quote = (await fakes.post("/v2/bridges/quote", {**body, "amount": "7", "address": WALLET})).body
    (told,) = [warning for warning in quote["warnings"] if warning["code"] == "unlisted_token"]
    assert fakes.weth in told["message"]
    action = (await fakes.post(f"/v2/bridges/{quote['quoteId']}/action")).body
    assert told in action["warnings"]


async def test_bridge_runs_on_the_same_engine(fakes, contract, refused):
    body = {"fromChain": "devnet", "toChain": "devnet-l2", "fromToken": ETH, "toToken": fakes.weth}
    quoted = await fakes.post("/v2/bridges/quote", {**body, "amount": "7", "address": WALLET})
    quote = contract.check("createBridgeQuote", quoted)
    assert (quote["kind"], quote["estimatedSeconds"]) == ("bridge", 12)
    answer = await fakes.post(f"/v2/bridges/{quote['quoteId']}/action")
    action = contract.check("createBridgeAction", answer)
    assert answer.status == 201
    assert action["transactions"][0]["value"] == "0x7"

    refused(await fakes.post(f"/v2/swaps/{quote['quoteId']}/action"), 404, "not_found", "quote_invalid")
    swap = (await quote_swap(fakes)).body
    refused(await fakes.post(f"/v2/bridges/{swap['quoteId']}/action"), 404, "not_found", "quote_invalid")

    assert quote["request"]["refundAddress"] == WALLET
    asked = {**body, "amount": "7", "address": WALLET, "refundAddress": OTHER.lower()}
    other = contract.check("createBridgeQuote", await fakes.post("/v2/bridges/quote", asked))
    assert other["request"]["refundAddress"] == OTHER
    answer = await fakes.post(f"/v2/bridges/{other['quoteId']}/action")
    action_of_other = contract.check("createBridgeAction", answer)
    assert action_of_other["steps"][0]["decoded"]["args"][0]["value"] == OTHER

    body = {**body, "fromToken": fakes.weth, "toToken": ETH}
    answer = await fakes.post("/v2/bridges/quote", {**body, "amount": "7", "address": WALLET})
    details = refused(answer, 502, "upstream_error", "no_route")
    assert details["attempts"] == [
        {"provider": "fake-bridge", "outcome": "no_route", "amountOut": None, "reason": "no_route"}
    ]

    tx_id = action["steps"][0]["txId"]
    tracked = await fakes.get(f"/v2/transactions/{tx_id}?hash=0x{'aa' * 32}")
    assert contract.check("trackTransaction", tracked)["status"] == "origin_pending"
    refused(await fakes.get(f"/v2/transactions/{tx_id}?hash=0x{'bb' * 32}"), 404, "not_found")


async def test_pool_runs_on_the_same_engine(fakes, contract, refused):
    path = f"/v2/pools/31337:{fakes.weth.lower()}"
    body = {"action": "add", "address": WALLET, "amount": "5", "asset": "native"}
    quote = contract.check("createPoolQuote", await fakes.post(f"{path}/quote", body))
    assert (quote["kind"], quote["request"]["poolId"]) == ("pool", f"31337:{fakes.weth}")
    for extra in ({}, {"quoteId": quote["quoteId"]}):
        answer = await fakes.post(f"{path}/action", {**body, **extra})
        assert answer.status == 201
        assert contract.check("createPoolAction", answer)["transactions"][0]["value"] == "0x5"
    other = {**body, "amount": "6", "quoteId": quote["quoteId"]}
    refused(await fakes.post(f"{path}/action", other), 422, "validation_error", "conflict")
    forged = {**body, "quoteId": quote["quoteId"][:-2]}
    refused(await fakes.post(f"{path}/action", forged), 404, "not_found", "quote_invalid")
    refused(await fakes.post(f"/v2/pools/31337:{OTHER}/quote", body), 404, "not_found")


async def test_vault_runs_on_the_same_engine(fakes, contract, refused):
    path = f"/v2/vaults/31337:{fakes.weth}"
    body = {"action": "deposit", "address": WALLET, "amount": "5", "asset": "native"}
    quote = contract.check("createVaultQuote", await fakes.post(f"{path}/quote", body))
    assert quote["kind"] == "vault"
    action = contract.check("createVaultAction", await fakes.post(f"{path}/action", body))
    assert action["transactions"][0]["value"] == "0x5"
    # The fake wraps coins whatever it is asked for: the core reads that in the calldata.
    for what, asked in (("manage", {"action": "harvest"}), ("rebalance", {})):
        lie = await fakes.post(f"{path}/{what}/action", {"address": WALLET, **asked})
        refused(lie, 502, "upstream_error", "unsafe_answer")
    deploy = {"asset": fakes.weth, "network": "devnet", "owner": WALLET, "strategy": "wrap", "bot": ETH}
    quote = contract.check("createVaultDeployQuote", await fakes.post("/v2/vaults/deploy/quote", deploy))
    assert quote["request"]["bot"] is None
    lie = await fakes.post("/v2/vaults/deploy/action", {**deploy, "quoteId": quote["quoteId"]})
    refused(lie, 502, "upstream_error", "unsafe_answer")
    refused(await fakes.post(f"/v2/vaults/31337:{OTHER}/quote", body), 404, "not_found")
