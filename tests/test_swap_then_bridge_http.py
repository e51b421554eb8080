"""A swap joined with a transfer over HTTP: its parts, and all its calls in one batch."""

import asyncio
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from eth_account import Account
from quoteway import Capability
from quoteway.config.model import Config, LimitsConfig, QuotesConfig
from quoteway.testing.serving import served

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from crossings import PLUGINS, RECIPIENT, SENDER, THIEF, Harness, plugin_sections, read_lists  # noqa: E402
from quoteway_devnet.accounts import ACCOUNTS  # noqa: E402
from quoteway_devnet.batch_code import batch_code  # noqa: E402


@pytest.mark.slow
async def test_the_calls_of_a_wallet_that_batches_are_one_transaction(api, served_harness):
    """EIP-7702: the sender's account runs all calls of ``walletSendCalls`` at once, and the transfer is
    followed by that one transaction's hash."""
    harness = served_harness
    status, quote = await told(api.post("/v2/swaps/quote", body(harness)))
    assert status == 200, quote
    status, action = await told(api.post(f"/v2/swaps/{quote['quoteId']}/action"))
    assert status == 201, action
    calls = action["walletSendCalls"]
    assert calls["atomicRequired"] is True
    arrives, surplus = quote["outputs"]
    far, near = harness.token("USDC", "devnet-l2"), harness.token("USDC")
    had, held = await harness.balance(far, RECIPIENT), await harness.balance(near, SENDER)
    receipt = await asyncio.to_thread(send_as_one, harness, calls["calls"])
    assert receipt["status"] == "0x1"
    url = f"/v2/transactions/{action['steps'][-1]['txId']}?hash={receipt['transactionHash']}"
    async with asyncio.timeout(120):
        while True:
            status, tracked = await told(api.get(url))
            if tracked["status"] == "filled":
                break
            await asyncio.sleep(0.05)
    assert (status, tracked["status"]) == (200, "filled")
    assert await harness.balance(far, RECIPIENT) - had == int(arrives["amount"])
    assert await harness.balance(near, SENDER) - held == int(surplus["amount"])


def send_as_one(harness, calls):
    account = next(account for account in ACCOUNTS if account.address == SENDER)
    batcher = "0x7702770277027702770277027702770277027702"
    with harness.devnet.rpc("devnet") as rpc:
        rpc("anvil_setCode", batcher, "0x" + batch_code(calls).hex())
        nonce = int(rpc("eth_getTransactionCount", SENDER, "latest"), 16)
        signer = Account.from_key(account.private_key)
        # The sender's own nonce is counted up before the authorization is looked at.
        allowed = signer.sign_authorization({"chainId": 31337, "address": batcher, "nonce": nonce + 1})
        transaction = {
            "type": 4,
            "chainId": 31337,
            "nonce": nonce,
            "to": SENDER,
            "value": 0,
            "data": "0x",
            "gas": 2_000_000,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
            "authorizationList": [allowed],
        }
        raw = signer.sign_transaction(transaction).raw_transaction
        identity = rpc("eth_sendRawTransaction", "0x" + bytes(raw).hex())
        while (receipt := rpc("eth_getTransactionReceipt", identity)) is None:
            time.sleep(0.005)
    return receipt


@pytest.fixture
async def api(fresh_devnet, relayer):
    """The gateway on a socket."""
    limits = LimitsConfig(enabled=False)
    config = Config(
        limits=limits,
        quotes=QuotesConfig(competition_timeout_s=30.0),
        plugin_sections=plugin_sections(fresh_devnet, relayer.port),
    )
    async with served(PLUGINS, config) as api:
        await read_lists(api.gateway)
        yield api


@pytest.fixture
def served_harness(fresh_devnet, api):
    return Harness(fresh_devnet, api.gateway)


async def told(answer):
    answer = await answer
    return answer.status, answer.body


def body(harness, sold="WETH", got="USDC", **changes):
    members = {
        "fromChain": "devnet",
        "toChain": "devnet-l2",
        "fromToken": harness.token(sold).address,
        "toToken": harness.token(got, "devnet-l2").address,
        "amount": str(10**18),
        "address": SENDER,
        "toAddress": RECIPIENT,
    }
    return {name: value for name, value in (members | changes).items() if value is not None}


async def test_quote_readback_and_action_tell_the_parts(api, served_harness):
    harness = served_harness
    status, quote = await told(api.post("/v2/swaps/quote", body(harness)))
    assert (status, quote["provider"], quote["kind"]) == (200, "swap+bridge", "swap")
    swap, transfer = quote["parts"]
    assert (swap["kind"], swap["provider"]) == ("swap", "uniswap")
    assert (transfer["kind"], transfer["provider"]) == ("bridge", "across")
    assert swap["outputs"][0]["amountMin"] == transfer["inputs"][0]["amount"]
    assert transfer["outputs"][0]["amountMin"] == quote["toAmountMin"] == quote["toAmount"]
    assert quote["estimatedSeconds"] > 0
    assert quote["refund"]["token"] == harness.token("USDC").address
    assert len(quote["approvals"]) == 2
    status, shown = await told(api.get(f"/v2/swaps/quote/{quote['quoteId']}"))
    assert status == 200
    assert [part["provider"] for part in shown["parts"]] == ["uniswap", "across"]
    for part, other in zip(shown["parts"], quote["parts"], strict=True):
        for side in ("inputs", "outputs"):
            (one,), (two,) = part[side], other[side]
            assert (one["amount"], one["amountMin"]) == (two["amount"], two["amountMin"])
    status, action = await told(api.post(f"/v2/swaps/{quote['quoteId']}/action"))
    assert (status, action["provider"]) == (201, "swap+bridge")
    assert [part["steps"] for part in action["parts"]] == [[0, 1, 2], [3, 4]]
    labels = [step["target"]["label"] for step in action["steps"]]
    assert labels == ["WETH", "Permit2", labels[2], "USDC", "Across SpokePool"]
    assert all(step["target"]["known"] for step in action["steps"])
    assert action["tracking"]["destinationChainId"] == 31338
    report = await send_each(api, harness, action)
    assert report[2]["realized"]["vsQuoteBps"] == 0, "the swap's own outcome is compared"


async def send_each(api, harness, action):
    """Sends every transaction; ``submit-hash`` of each."""
    reports = []
    for transaction, step in zip(action["transactions"], action["steps"], strict=True):
        sent = await harness.send(transaction | {"gas": step["gasLimit"]})
        status, report = await told(api.post(f"/v2/transactions/{step['txId']}/submit-hash", {"hash": sent}))
        assert (status, report["match"]) == (200, "match")
        reports.append(report)
    return reports


async def test_who_sends_one_call_at_a_time_is_offered_no_parts(api, served_harness):
    harness = served_harness
    status, answer = await told(api.post("/v2/swaps/quote", body(harness, atomicBatch=False)))
    assert (status, answer["error"]["details"]["reason"]) == (502, "no_route")
    assert [attempt["provider"] for attempt in answer["error"]["details"]["attempts"]] == ["across"]
    status, answer = await told(api.post("/v2/swaps/quote", body(harness, atomicBatch="no")))
    assert (status, answer["error"]["details"]["fields"][0]["path"]) == (422, "atomicBatch")
    status, quote = await told(api.post("/v2/swaps/quote", body(harness, provider="swap+bridge")))
    assert (status, [attempt["provider"] for attempt in quote["attempts"]]) == (200, ["swap+bridge"])
    straight = body(harness, "USDC", "USDC", amount="1000000000", atomicBatch=False)
    status, quote = await told(api.post("/v2/swaps/quote", straight))
    assert (status, quote["provider"], quote["parts"]) == (200, "across", None)
    status, action = await told(api.post(f"/v2/swaps/{quote['quoteId']}/action"))
    assert (status, action["parts"]) == (201, None)


@pytest.mark.parametrize(("sold", "part"), [("WETH", Capability.BRIDGE), ("USDC", Capability.SWAP)])
async def test_no_word_of_a_provider_replaces_what_was_checked(api, served_harness, monkeypatch, sold, part):
    """The members of ``terms`` stand beside those of an answer: a provider cannot hand its own transactions
    to the client past the guard."""
    harness = served_harness
    provider = harness.gateway.registry.get(part, "across")
    honest_quote, honest_build = provider.quote, provider.build

    stolen = ({"to": THIEF, "data": "0x", "value": "0x1", "chainId": 31337},)

    def lying(answer):
        return replace(answer, terms=SimpleNamespace(transactions=stolen, outputs=(), to_amount_min="1"))

    async def quote(request):
        answer = await honest_quote(request)
        return answer and lying(answer)

    async def build(sealed):
        return lying(await honest_build(sealed))

    order = body(harness, sold, amount=str(10 ** harness.token(sold).decimals * 10))
    status, quoted = await told(api.post("/v2/swaps/quote", order))
    assert (status, bool(quoted["parts"])) == (200, part is Capability.BRIDGE)
    assert quoted["toAmountMin"] == quoted["outputs"][0]["amountMin"]
    monkeypatch.setattr(provider, "build", build)
    status, answer = await told(api.post(f"/v2/swaps/{quoted['quoteId']}/action"))
    assert (status, answer["error"]["details"]["reason"]) == (502, "unsafe_answer")
    monkeypatch.setattr(provider, "quote", quote)
    status, answer = await told(api.post("/v2/swaps/quote", order))
    assert status == 502
    assert "unsafe_answer" in [attempt["reason"] for attempt in answer["error"]["details"]["attempts"]]
    monkeypatch.setattr(provider, "build", honest_build)
    status, action = await told(api.post(f"/v2/swaps/{quoted['quoteId']}/action"))
    assert (status, len(action["transactions"])) == (201, len(action["steps"]))
    assert THIEF not in str(action["transactions"]) + str(action["walletSendCalls"])
    assert action["outputs"]
    assert action["tracking"]["bridge"] == "across", "its own members are there"
