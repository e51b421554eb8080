"""Swaps for an exact output over HTTP: quoted, built, signed, executed, and what is refused."""

import pytest
from quoteway.engine.auto_slippage import HIGH_BPS, LOW_BPS

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from direct_client import USER, client_of, kinds  # noqa: E402
from quoteway.models import NATIVE  # noqa: E402

ETHER = 10**18


@pytest.fixture
async def client(fresh_devnet):
    with fresh_devnet.rpc() as rpc:
        rpc("anvil_mine", hex(21))
    async with client_of(fresh_devnet, 0.0) as client:
        yield client


async def coins(client):
    """The user's native coins."""
    with client.devnet.rpc() as rpc:
        return int(rpc("eth_getBalance", USER, "latest"), 16)


async def refused(client, **body):
    whole = {"network": "devnet", "fromToken": client.token("USDC"), "toToken": client.token("WETH")}
    whole |= {"amount": "1000000", "address": USER, "side": "exactOut", **body}
    answer = await client.api.post("/v2/swaps/quote", whole)
    assert answer.status >= 400, answer.body
    return answer.status, answer.body["error"]["details"]


async def test_a_quote_says_what_it_takes_and_its_action_does_that(client):
    quote = await client.quote_swap("USDC", "WETH", ETHER, side="exactOut", slippageBps=100)
    taken, most = int(quote["fromAmount"]), int(quote["fromAmountMax"])
    assert quote["side"] == quote["request"]["side"] == "exactOut"
    assert quote["request"]["amount"] == quote["toAmountMin"] == str(ETHER)
    assert int(quote["toAmount"]) >= ETHER
    assert most == taken * 101 // 100
    assert quote["inputs"][0]["amountMax"] == str(most)
    assert {grant["required"] for grant in quote["approvals"]} == {str(most)}
    assert quote["simulation"]["status"] == "success"
    assert 0 < float(quote["executionPrice"]) < 1
    (told,) = [row for row in quote["attempts"] if row["provider"] == "uniswap"]
    assert (told["outcome"], told["amountIn"]) == ("quoted", str(taken))
    shown = await client.api.get(f"/v2/swaps/quote/{quote['quoteId']}")
    for name in ("side", "fromAmount", "fromAmountMax", "toAmount", "toAmountMin"):
        assert shown.body[name] == quote[name]
    action = await client.act(quote)
    assert kinds(action) == ["approval", "permit2_approval", "swap"]
    intent = action["steps"][-1]["clearSigning"]["intent"]
    assert intent.startswith("Swap at most ")
    assert "for exactly 1 WETH" in intent or "for at least 1 WETH" in intent
    await client.carry_out(quote, action)


async def test_an_exact_input_is_as_it_was(client):
    quote = await client.quote_swap("USDC", "WETH", 10**9)
    assert (quote["side"], quote["fromAmountMax"], quote["fromAmount"]) == ("exactIn", str(10**9), str(10**9))
    assert quote["inputs"][0]["amountMax"] is None
    assert not any("amountIn" in row for row in quote["attempts"])


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["uniswap-v2", "uniswap-v3", "uniswap-v4"])
async def test_the_native_coin_comes_back_to_the_wei(client, protocol):
    wanted = 2_000 * 10**6
    quote = await client.quote_swap("ETH", "USDC", wanted, side="exactOut", protocols=[protocol])
    action = await client.act(quote)
    (swap,) = action["transactions"]
    assert int(swap["value"], 16) == int(quote["fromAmountMax"]) > int(quote["fromAmount"])
    before, usdc = await coins(client), client.token("USDC")
    held = (await client.balances([usdc]))[usdc]
    with client.devnet.rpc() as rpc:
        identity = rpc("eth_sendTransaction", {**swap, "from": USER, "chainId": hex(swap["chainId"])})
        while (receipt := rpc("eth_getTransactionReceipt", identity)) is None:
            pass
    fee = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    assert before - await coins(client) - fee == int(quote["fromAmount"])
    assert (await client.balances([usdc]))[usdc] - held == int(quote["toAmount"]) >= wanted


@pytest.mark.slow
async def test_the_price_moves_between_quote_and_action(client):
    """The action takes more, up to the maximum; beyond it there is none."""
    pools = {"protocols": ["uniswap-v2"], "maxHops": 1}
    quote = await client.quote_swap(
        "USDC", "WETH", ETHER, side="exactOut", slippageBps=100, acknowledge=["high_price_impact"], **pools
    )
    rival = await client.quote_swap("USDC", "WETH", 3_000 * 10**6, **pools)
    await client.send(*(await client.act(rival))["transactions"])
    action = await client.act(quote)
    usdc, weth = client.token("USDC"), client.token("WETH")
    before = await client.balances([usdc, weth])
    await client.send(*action["transactions"])
    after = await client.balances([usdc, weth])
    assert int(quote["fromAmount"]) < before[usdc] - after[usdc] <= int(quote["fromAmountMax"])
    assert ETHER <= after[weth] - before[weth] <= int(quote["toAmount"]) + 10**12
    quote = await client.quote_swap("USDC", "WETH", ETHER, side="exactOut", slippageBps=10, **pools)
    rival = await client.quote_swap(
        "USDC", "WETH", 300_000 * 10**6, acknowledge=["high_price_impact"], **pools
    )
    await client.send(*(await client.act(rival))["transactions"])
    answer = await client.api.post(f"/v2/swaps/{quote['quoteId']}/action", None)
    assert answer.refused(502, "upstream_error")["details"]["reason"] == "price_moved"


@pytest.mark.slow
async def test_the_slippage_can_be_chosen(client):
    quote = await client.quote_swap("USDC", "WETH", ETHER // 100, side="exactOut", slippageBps="auto")
    assert quote["slippageBps"] == LOW_BPS
    assert int(quote["fromAmountMax"]) == int(quote["fromAmount"]) * (10_000 + LOW_BPS) // 10_000
    await client.carry_out(quote, await client.act(quote))
    coin = await client.quote_swap("ETH", "USDC", 10**7, side="exactOut", slippageBps="auto")
    assert coin["slippageBps"] == LOW_BPS
    deep = await client.quote_swap("DAI", "CRV", 30_000 * ETHER, side="exactOut", slippageBps="auto")
    assert LOW_BPS < deep["slippageBps"] <= HIGH_BPS


@pytest.mark.slow
async def test_batches_and_indicative_prices_have_a_side(client):
    ends = {"network": "devnet", "fromToken": NATIVE, "toToken": client.token("USDC")}
    item = {**ends, "amount": "5000000", "address": USER, "side": "exactOut"}
    answer = await client.ask("/v2/swaps/quotes", {"quotes": [item, {**item, "side": "both"}]})
    assert [set(each) for each in answer["results"]] == [{"quote"}, {"error"}]
    assert answer["results"][0]["quote"]["toAmountMin"] == "5000000"
    query = "&".join(f"{name}={value}" for name, value in {**ends, "amount": 5_000_000}.items())
    price = await client.api.get(f"/v2/swaps/price?{query}&side=exactOut")
    assert price.status == 200, price.body
    assert price.body["side"] == "exactOut"
    assert int(price.body["toAmount"]) >= 5_000_000
    assert int(price.body["fromAmount"]) > 0
    depth = (await client.api.get(f"/v2/swaps/depth?{query}&side=exactOut&rungs=8")).body
    assert (depth["side"], len(depth["rungs"])) == ("exactOut", 8)
    taken = []
    for step, rung in enumerate(depth["rungs"]):
        assert int(rung["amount"]) == 5_000_000 * 10**step
        if rung["price"] is None:
            assert (rung["fromAmount"], rung["reason"]) == (None, "insufficient_liquidity")
            continue
        assert rung["fromAmount"] == rung["price"]["fromAmount"]
        assert int(rung["price"]["toAmount"]) >= int(rung["amount"])
        taken.append(int(rung["fromAmount"]))
    assert taken[0] == int(price.body["fromAmount"])
    assert taken == sorted(taken)
    assert 3 < len(taken) < 8


async def test_a_wallet_that_lacks_the_maximum_of_the_coin_is_told(client):
    poor = "0x7777777777777777777777777777777777777777"
    quote = await client.quote_swap("ETH", "USDC", 10**9, side="exactOut", address=poor)
    (issue,) = [each for each in quote["issues"] if each["code"] == "insufficient_balance"]
    assert issue["required"] == quote["fromAmountMax"]
    quote = await client.quote_swap("USDC", "WETH", 10**15, side="exactOut", address=poor)
    (issue,) = [each for each in quote["issues"] if each["code"] == "insufficient_balance"]
    assert issue["required"] == quote["fromAmount"]


@pytest.mark.parametrize(
    "side", ["exactout", "EXACTOUT", "out", 1, True, None, ["exactOut"], {"exactOut": 1}], ids=repr
)
async def test_another_side_is_refused(client, side):
    status, details = await refused(client, side=side)
    assert status == 422
    assert [field["path"] for field in details["fields"]] == ["side"]


@pytest.mark.parametrize("amount", ["0", "-1", "1.5", "", 5, str(2**256), "1e3"])
async def test_another_amount_is_refused(client, amount):
    status, details = await refused(client, amount=amount)
    assert status == 422
    assert [field["path"] for field in details["fields"]] == ["amount"]


async def test_what_cannot_be_bought_is_refused_clearly(client):
    status, details = await refused(client, amount=str(10**30))
    assert (status, details["reason"]) == (502, "insufficient_liquidity")
    status, details = await refused(client, amount=str(2**256 - 1))
    assert (status, details["reason"]) == (422, "amount_too_high")
    status, details = await refused(client, toToken=client.token("TAX"))
    assert (status, details["reason"]) == (422, "unsupported_token")
    far = {"fromChain": "devnet", "toChain": "devnet-l2", "toToken": client.token("WETH", "devnet-l2")}
    status, details = await refused(client, network="", **far)
    assert status == 422
    assert [field["path"] for field in details["fields"]] == ["side"]


async def test_a_bridge_has_no_side(client):
    body = {"fromChain": "devnet", "toChain": "devnet-l2", "address": USER, "amount": "1000000"}
    body |= {"fromToken": client.token("USDC"), "toToken": client.token("USDC", "devnet-l2")}
    answer = await client.api.post("/v2/bridges/quote", {**body, "side": "exactOut"})
    assert answer.status == 422
    assert "side" in str(answer.body["error"]["details"]["fields"])


async def test_providers_say_whether_they_quote_it(client):
    rows = (await client.api.get("/v2/providers")).body["data"]
    both = {row["id"]: row["exactOut"] for row in rows if "swap" in row["capabilities"]}
    assert both.pop("uniswap") is True
    assert not any(both.values())
