"""An order that two providers share, over HTTP: its parts, and its calls in one batch of a real wallet."""

import asyncio

import pytest
from fee_apart_exchange import Exchange, plugins, sections
from quoteway.config.model import Config, LimitsConfig, QuotesConfig
from quoteway.evm import erc20
from quoteway.evm.abi import encode_call
from quoteway.testing.serving import served
from smart_accounts import MAKERS, Chain

AMOUNT = 10**12
"""A million USDC."""


@pytest.fixture
def exchange(fresh_devnet):
    made = Exchange(fresh_devnet)
    made.add("USDC", "MKR", 20_000_000)
    return made


@pytest.fixture
async def api(exchange):
    config = Config(
        limits=LimitsConfig(enabled=False),
        quotes=QuotesConfig(competition_timeout_s=30.0),
        **sections(exchange),
    )
    async with served(plugins(), config) as api:
        yield api


def body(exchange, **members):
    return {
        "network": "devnet",
        "fromToken": exchange.token("USDC").address,
        "toToken": exchange.token("MKR").address,
        "amount": str(AMOUNT),
        "address": exchange.account,
        "atomicBatch": True,
        "acknowledge": ["high_price_impact"],
        **members,
    }


async def quoted(api, exchange, **members):
    answer = await api.post("/v2/swaps/quote", body(exchange, **members))
    assert answer.status == 200, answer.body
    await api.check("createSwapQuote", answer)
    return answer.body


async def acted(api, quote):
    answer = await api.post(f"/v2/swaps/{quote['quoteId']}/action")
    assert answer.status == 201, answer.body
    await api.check("createSwapAction", answer)
    return answer.body


async def test_only_who_says_that_the_wallet_batches_gets_a_quote_in_parts(api, exchange):
    for members in ({"atomicBatch": False}, {"atomicBatch": None}):
        asked = {name: value for name, value in body(exchange, **members).items() if value is not None}
        answer = await api.post("/v2/swaps/quote", asked)
        assert (answer.status, answer.body["parts"]) == (200, None)
        assert "swap+swap" not in [each["provider"] for each in answer.body["attempts"]]
        single = answer.body
    quote = await quoted(api, exchange)
    assert quote["provider"] == "swap+swap"
    assert int(quote["toAmount"]) > int(single["toAmount"])
    told = {each["provider"]: each for each in quote["attempts"]}
    assert told["swap+swap"] == {
        "provider": "swap+swap",
        "outcome": "quoted",
        "amountOut": quote["toAmount"],
        "reason": None,
    }
    assert [part["kind"] for part in quote["parts"]] == ["swap", "swap"]
    for member in ("amount", "amountMin"):
        whole = {"amount": "toAmount", "amountMin": "toAmountMin"}[member]
        assert sum(int(part["outputs"][0][member]) for part in quote["parts"]) == int(quote[whole])
    assert quote["request"]["amount"] == quote["fromAmount"] == str(AMOUNT)
    assert (quote["optimality"], len(quote["approvals"])) == (None, 2)
    assert sum(path["bps"] for path in quote["route"]["paths"]) == 10_000
    shown = await api.get(f"/v2/swaps/quote/{quote['quoteId']}")
    await api.check("getSwapQuote", shown)
    for part, other in zip(shown.body["parts"], quote["parts"], strict=True):
        (got,), (same,) = part["outputs"], other["outputs"]
        assert (got["amount"], got["amountMin"]) == (same["amount"], same["amountMin"])
    answer = await api.post("/v2/swaps/quotes", {"quotes": [body(exchange), body(exchange, atomicBatch=1)]})
    first, second = answer.body["results"]
    assert first["quote"]["toAmount"] == quote["toAmount"]
    assert second["error"]["details"]["fields"][0]["path"] == "atomicBatch"


def balances(chain, tokens, owner):
    declaration = "balanceOf(address account) returns (uint256)"
    return [chain.call(token, declaration, owner) for token in tokens]


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
async def test_a_wallet_sends_both_parts_as_one(api, exchange, kind):
    chain = Chain(exchange.devnet)
    account = await asyncio.to_thread(MAKERS[kind], chain)
    tokens = exchange.token("USDC").address, exchange.token("MKR").address
    funding = erc20.TRANSFER.encode([account.address, AMOUNT])
    await asyncio.to_thread(chain.send, tokens[0], funding, exchange.owner)
    quote = await quoted(api, exchange, address=account.address, approvalMode="permit2-signature")
    assert quote["provider"] == "swap+swap"
    action = await acted(api, quote)
    sent = action["walletSendCalls"]
    assert (sent["atomicRequired"], action["signatures"]) == (True, [])
    calls = [(c["to"], int(c["value"], 16), bytes.fromhex(c["data"][2:])) for c in sent["calls"]]
    before = await asyncio.to_thread(balances, chain, tokens, account.address)
    await asyncio.to_thread(account.execute, calls)
    after = await asyncio.to_thread(balances, chain, tokens, account.address)
    assert after[0] - before[0] == -AMOUNT
    assert after[1] - before[1] == int(quote["toAmount"])
    for step in action["steps"]:
        approval = step["approval"]
        if approval is not None and step["kind"] == "approval":
            grant = account.address, approval["spender"]
            left = "allowance(address owner, address spender) returns (uint256)"
            assert await asyncio.to_thread(chain.call, approval["token"], left, *grant) == 0


@pytest.mark.slow
async def test_a_batch_of_which_one_part_fails_does_nothing(api, exchange):
    chain = Chain(exchange.devnet)
    account = await asyncio.to_thread(MAKERS["eip-7702"], chain)
    tokens = exchange.token("USDC").address, exchange.token("MKR").address
    funding = erc20.TRANSFER.encode([account.address, AMOUNT])
    await asyncio.to_thread(chain.send, tokens[0], funding, exchange.owner)
    action = await acted(api, await quoted(api, exchange, address=account.address))
    calls = [
        (c["to"], int(c["value"], 16), bytes.fromhex(c["data"][2:]))
        for c in action["walletSendCalls"]["calls"]
    ]

    def rival():
        """Moves the price of the exchange's pool by more than the slippage."""
        exchange.send(tokens[0], encode_call("approve(address,uint256)", [exchange.address, AMOUNT]))
        pool = [[*tokens], [exchange.address], [500], AMOUNT, 0, exchange.owner, 1 << 40]
        swap = "swap(address[],address[],uint24[],uint256,uint256,address,uint256)"
        exchange.send(exchange.address, encode_call(swap, pool))

    await asyncio.to_thread(rival)
    before = await asyncio.to_thread(balances, chain, tokens, account.address)
    with pytest.raises(AssertionError, match="0x0"):
        await asyncio.to_thread(account.execute, calls)
    assert await asyncio.to_thread(balances, chain, tokens, account.address) == before


@pytest.mark.slow
async def test_each_part_sent_in_order_reports_its_own_outcome(api, exchange):
    quote = await quoted(api, exchange)
    action = await acted(api, quote)
    reports = []

    def send(transaction, gas):
        with exchange.devnet.rpc("devnet") as rpc:
            rpc("anvil_impersonateAccount", exchange.account)
            sent = {name: transaction[name] for name in ("to", "data", "value")}
            identity = rpc("eth_sendTransaction", {**sent, "from": exchange.account, "gas": gas})
            while rpc("eth_getTransactionReceipt", identity) is None:
                pass
            rpc("anvil_stopImpersonatingAccount", exchange.account)
        return identity

    for transaction, step in zip(action["transactions"], action["steps"], strict=True):
        identity = await asyncio.to_thread(send, transaction, step["gasLimit"])
        report = await api.post(f"/v2/transactions/{step['txId']}/submit-hash", {"hash": identity})
        assert (report.body["match"], report.body["status"]) == ("match", "confirmed"), report.body
        reports.append(report.body)
    for part in action["parts"]:
        assert reports[part["steps"][-1]]["realized"]["vsQuoteBps"] == 0
