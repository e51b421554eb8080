"""What swaps paid beside their quotes: reported by callers, or found by an index on the real contracts."""

import asyncio

import pytest
from quoteway import Reason
from quoteway.engine import fills
from quoteway.models import Capability
from quoteway.testing.fakes import RouterSwap
from wallet_service import CHAIN, OTHER, WALLET, of_transfers_and_swaps

SOLD = 1_000 * 10**6
PATH = "/v2/providers/router/performance"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(fills, "LOOK_EVERY_S", 0.02)


@pytest.fixture
def service(fresh_devnet, store):
    return of_transfers_and_swaps(fresh_devnet, store)


class Swapping:
    """A caller of a service with one swap provider."""

    def __init__(self, service):
        self.service = service

    async def action(self, sold="USDC", bought="WETH", amount=SOLD, **more):
        body = {
            "network": "devnet",
            "fromToken": self.service.token(sold).address,
            "toToken": self.service.token(bought).address,
            "amount": str(amount),
            "address": WALLET,
            "slippageBps": 500,
            **more,
        }
        quote = await self.service.api.post("/v2/swaps/quote", body)
        assert quote.status == 200, quote.body
        answer = await self.service.api.post(f"/v2/swaps/{quote.body['quoteId']}/action")
        assert answer.status == 201, answer.body
        return answer.body

    async def execute(self, action):
        """Sends all transactions of an action and returns the receipt of the last one."""
        for step in action["transactions"]:
            data, value = bytes.fromhex(step["data"][2:]), int(step["value"], 16)
            receipt = await asyncio.to_thread(self.service.send, step["to"], data, value, action["from"])
        return receipt

    async def report(self, action, receipt):
        path = f"/v2/transactions/{action['steps'][-1]['txId']}/submit-hash"
        return (await self.service.api.post(path, {"hash": receipt["transactionHash"]})).body

    async def performance(self, until=lambda body: True):
        """Returns the performance as soon as it is as wanted."""
        async with asyncio.timeout(20):
            while True:
                body = await self.service.get("getProviderPerformance", PATH)
                if until(body):
                    return body
                await asyncio.sleep(0.01)


@pytest.fixture
async def swapping(service):
    router = service.manifest.contracts["UniswapV2Router02"]
    usd = {service.token("USDC").address: 1.0, service.token("WETH").address: 2_500.0}
    async with service.serving(lambda context: RouterSwap(context, CHAIN, router), usd=usd):
        yield Swapping(service)


def done(count):
    return lambda body: sum(row["fills"] for row in body["data"]) == count


async def test_the_index_finds_a_swap_that_nobody_reported_and_tells_that_nothing_came_before(swapping):
    await swapping.execute(await swapping.action())
    swapping.service.fill()
    body = await swapping.performance(done(1))
    (row,) = body["data"]
    assert row == {
        "network": "devnet",
        "chainId": CHAIN,
        "pairClass": "dollar",
        "size": "under10k",
        "fills": 1,
        "reverted": 0,
        "medianVsQuoteBps": 0,
        "meanVsQuoteBps": 0.0,
        "worstVsQuoteBps": 0,
        "sameStateFills": 1,
        "sameStateExact": 1,
    }
    assert (body["provider"], body["indexed"], body["waiting"]) == ("router", True, 0)
    provider = swapping.service.api.gateway.registry.get(Capability.SWAP, "router")
    assert swapping.service.api.gateway.registry.scores.of(provider).rehearsed >= 1


async def test_a_swap_after_another_trade_paid_less_and_does_not_touch_the_score(swapping):
    gateway = swapping.service.api.gateway
    provider = gateway.registry.get(Capability.SWAP, "router")
    first = await swapping.action()
    before = gateway.registry.scores.of(provider)
    await swapping.execute(await swapping.action(amount=20 * SOLD))
    await swapping.execute(first)
    swapping.service.fill()
    body = await swapping.performance(done(2))
    rows = {row["size"]: row for row in body["data"]}
    assert rows["under100k"]["sameStateExact"] == 1
    assert rows["under10k"]["sameStateFills"] == 0
    assert rows["under10k"]["worstVsQuoteBps"] < 0
    score = gateway.registry.scores.of(provider)
    assert (score.rehearsed - before.rehearsed, score.failed - before.failed) == (2, 0)


async def test_a_report_counts_once_and_the_index_does_not_count_it_again(swapping):
    action = await swapping.action()
    receipt = await swapping.execute(action)
    assert (await swapping.report(action, receipt))["match"] == "match"
    await swapping.performance(done(1))
    await swapping.report(action, receipt)
    swapping.service.fill()
    await swapping.execute(await swapping.action(amount=2 * SOLD))
    swapping.service.fill()
    body = await swapping.performance(done(2))
    assert [row["fills"] for row in body["data"]] == [2]


async def test_another_transaction_of_the_wallet_with_the_same_tokens_is_no_fill(swapping):
    promised = await swapping.action()
    router = swapping.service.manifest.contracts["UniswapV2Router02"]
    other = await swapping.action(amount=SOLD + 1)
    await swapping.execute(promised | {"transactions": other["transactions"]})  # the other one is executed
    swapping.service.fill()
    body = await swapping.performance(done(1))
    assert body["waiting"] == 1
    assert router in {step["to"] for step in promised["transactions"]}


async def test_a_reverted_swap_counts_when_it_is_reported(swapping):
    action = await swapping.action(slippageBps=0)
    await swapping.execute(action | {"transactions": action["transactions"][:-1]})
    await swapping.execute(await swapping.action(amount=5 * SOLD))
    step = action["transactions"][-1]
    with swapping.service.devnet.rpc() as rpc:
        call = {"from": WALLET, "to": step["to"], "data": step["data"], "gas": hex(500_000)}
        sent = rpc("eth_sendTransaction", call)
        while (receipt := rpc("eth_getTransactionReceipt", sent)) is None:
            pass
    assert receipt["status"] == "0x0"
    assert (await swapping.report(action, receipt))["status"] == "reverted"
    body = await swapping.performance(lambda body: any(row["reverted"] for row in body["data"]))
    assert sum(row["reverted"] for row in body["data"]) == 1


async def test_without_an_index_of_transfers_nothing_is_looked_for_in_vain(swapping):
    swapping.service.index.networks = frozenset()
    await swapping.execute(await swapping.action())
    body = await swapping.performance()
    assert body["data"] == []
    assert body["waiting"] == 1


async def test_an_unknown_provider_is_told_so(swapping):
    answer = await swapping.service.api.get("/v2/providers/nobody/performance")
    assert answer.status == 404
    assert answer.body["error"]["code"] == "not_found"
    refused = await swapping.service.api.get("/v2/providers/No%20Body/performance")
    assert (refused.status, refused.body["error"]["details"]["fields"][0]["reason"]) == (
        422,
        Reason.INVALID_FORMAT,
    )
    assert OTHER not in str(refused.body)
