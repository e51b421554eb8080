"""What a wallet did: transactions that an index names, as the chain has them."""

import asyncio

import pytest
from index_rows import facts
from quoteway.evm.abi import function
from quoteway.testing.fakes import RouterSwap
from quoteway_indexer.source_versions import version_of
from quoteway_indexer.store import Commit, Span
from quoteway_indexer.transfer_sources import SOURCE
from wallet_service import CHAIN, OTHER, WALLET, of_transfers_and_swaps, pair_of

ACTIVITY = f"/v2/portfolio/activity?wallet={WALLET}&network=devnet"
SEND = function("transfer(address to, uint256 value)")
TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


@pytest.fixture
def service(fresh_devnet, store):
    return of_transfers_and_swaps(fresh_devnet, store)


def moved_in(rpc, name):
    """Returns the wallet's transfers of a transaction, by the node's own receipt."""
    account = WALLET[2:].lower()
    rows = []
    for log in rpc("eth_getTransactionReceipt", name)["logs"]:
        if log["topics"][0] == TRANSFER_TOPIC and len(log["topics"]) == 3:
            sender, recipient = (topic[-40:] for topic in log["topics"][1:])
            if account in (sender, recipient):
                way = "self" if sender == recipient else "out" if sender == account else "in"
                rows.append((log["address"], way, str(int(log["data"], 16))))
    return rows


def told(row):
    return [(each["tokenAddress"].lower(), each["direction"], each["amount"]) for each in row["transfers"]]


async def test_every_transaction_is_there_once_newest_first_as_its_receipt_has_it(service):
    usdc = service.token("USDC").address
    sent = [
        service.send(usdc, SEND.encode([OTHER, 5 * 10**6])),
        service.send(usdc, SEND.encode([WALLET, 7]), sender=OTHER),
        service.send(usdc, SEND.encode([WALLET, 3])),
    ]
    air = service.give("AIR", "Air of somebody", 9)
    service.fill()
    async with service.serving():
        body = await service.get("getPortfolioActivity", ACTIVITY)
        names = [row["hash"] for row in body["data"]]
        assert names[1:4] == [each["transactionHash"] for each in reversed(sent)]
        with service.devnet.rpc() as rpc:
            for row in body["data"]:
                assert told(row) == moved_in(rpc, row["hash"])
                receipt = rpc("eth_getTransactionReceipt", row["hash"])
                block = rpc("eth_getBlockByNumber", receipt["blockNumber"], False)
                assert (row["block"], row["timestamp"]) == (
                    int(block["number"], 16),
                    int(block["timestamp"], 16),
                )
                paid = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
                own = receipt["from"] == WALLET.lower()
                assert row["feeWei"] == (str(paid) if own else None)
        gift, to_self, got, gone = body["data"][:4]
        told_gift = f'Received 0.000009 "AIR" ({air}) from 0x{"0" * 40}'
        assert gift["description"] == told_gift
        assert not gift["transfers"][0]["listed"]
        assert to_self["description"] == "No tokens were exchanged with other accounts"
        assert [each["direction"] for each in to_self["transfers"]] == ["self"]
        assert got["description"] == f"Received 0.000007 USDC from {OTHER}"
        assert gone["transfers"][0]["amountFormatted"] == "5"
        assert gone["description"] == f"Sent 5 USDC to {OTHER}"
        assert body["coverage"]["complete"]
        assert body["partial"] == []
        pages, path = [], ACTIVITY + "&limit=2"
        while True:
            page = await service.get("getPortfolioActivity", path)
            pages += page["data"]
            if page["nextCursor"] is None:
                break
            path = f"{ACTIVITY}&limit=2&cursor={page['nextCursor']}"
        assert pages == body["data"]


async def test_a_swap_is_read_by_the_description_of_its_call_and_named_with_its_pool(service):
    usdc, weth = service.token("USDC"), service.token("WETH")
    router = service.manifest.contracts["UniswapV2Router02"]
    async with service.serving(lambda context: RouterSwap(context, CHAIN, router)):
        asked = {
            "network": "devnet",
            "fromToken": usdc.address,
            "toToken": weth.address,
            "amount": str(10**9),
            "address": WALLET,
            "slippageBps": 500,
        }
        quote = await service.api.post("/v2/swaps/quote", asked)
        assert quote.status == 200, quote.body
        action = await service.api.post(f"/v2/swaps/{quote.body['quoteId']}/action")
        assert action.status == 201, action.body
        for step in action.body["transactions"]:
            data, value = bytes.fromhex(step["data"][2:]), int(step["value"], 16)
            receipt = await asyncio.to_thread(service.send, step["to"], data, value)
        service.fill()
        row = (await service.get("getPortfolioActivity", ACTIVITY))["data"][0]
        assert row["hash"] == receipt["transactionHash"]
        with service.devnet.rpc() as rpc:
            assert sorted(told(row)) == sorted(moved_in(rpc, row["hash"]))
        assert row["call"]["action"] == "swap"
        (got,) = (each for each in row["transfers"] if each["direction"] == "in")
        received = f"{got['amountFormatted']} WETH"
        said = f"Swap through Uniswap v2 router: sent 1,000 USDC and received {received}"
        assert row["description"] == said
        assert row["events"] == [{"kind": "swap", "source": "pairs", "subject": pair_of(service.devnet)}]


async def test_what_a_token_says_of_the_wallet_is_hearsay(service):
    air = service.give("AIR", "Air", 100)
    # A token that moves what it likes: OTHER sends it from the wallet by an allowance that nobody gave.
    with service.devnet.rpc() as rpc:
        topics = [TRANSFER_TOPIC, "0x" + WALLET[2:].rjust(64, "0"), "0x" + OTHER[2:].rjust(64, "0")]
        code = "0x602a5f52" + "".join(f"7f{topic[2:]}" for topic in reversed(topics)) + "60205fa300"
        rpc("anvil_setCode", air, code)
    service.send(air, b"", sender=OTHER)
    service.fill()
    async with service.serving():
        row = (await service.get("getPortfolioActivity", ACTIVITY))["data"][0]
    (transfer,) = row["transfers"]
    assert (transfer["direction"], transfer["amount"], transfer["hearsay"]) == ("out", "42", True)
    assert row["description"].startswith("An unlisted token tells of a transfer")
    assert row["feeWei"] is None


async def test_a_transaction_that_the_chain_does_not_have_is_named(service):
    service.fill()
    ends = {"sender": bytes.fromhex(OTHER[2:]), "recipient": bytes.fromhex(WALLET[2:]), "amount": 1}
    row = {"block": 1, "log_index": 9, "transaction_hash": b"\x77" * 32, "token": b"\x05" * 20, **ends}
    service.store.commit(Commit(CHAIN, facts={"transfer": facts("transfer", row)}))
    async with service.serving():
        body = await service.get("getPortfolioActivity", ACTIVITY)
    assert body["partial"] == [{"hash": "0x" + "77" * 32, "reason": "transaction_not_found"}]


async def test_without_an_index_it_is_503_and_a_wrong_cursor_422(service):
    async with service.serving():
        answer = await service.api.get(ACTIVITY)
        assert answer.status == 503, answer.body
        version = version_of(service.sources[0])
        service.store.commit(Commit(CHAIN, read=[Span(SOURCE, version, 0, 9)]))
        empty = await service.get("getPortfolioActivity", ACTIVITY)
        assert (empty["data"], empty["nextCursor"]) == ([], None)
        assert empty["coverage"] == {"fromBlock": 0, "toBlock": 9, "complete": True}
        (await service.api.get(ACTIVITY + "&cursor=abc")).refused(422, "validation_error", member="cursor")
