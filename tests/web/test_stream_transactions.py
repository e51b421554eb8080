"""Live answers about transfers, transactions and indexes: what is told, when it ends, and what it costs."""

import asyncio

import pytest
from drifting_market import FRIEND, NOW, USER
from followed_transfers import (
    CONFIRMED,
    FILL,
    FILLED,
    HASH,
    OTHER_HASH,
    REFUNDED,
    TransferPlace,
    sealed_id,
)
from quoteway import UpstreamError
from quoteway.models import TransferState
from stream_room import rooms

FAST = {"transaction_interval_s": 0.05, "index_interval_s": 0.05}


@pytest.fixture
def transfers():
    return TransferPlace()


@pytest.fixture
async def open_transfers(serve_app, make_config, transfers):
    async with rooms(serve_app, make_config(), transfers) as make:

        async def open_room(**stream):
            return await make(FAST | stream)

        yield open_room


def named(room, hash_=HASH, **changes):
    return f"{sealed_id(room.api.gateway, **changes)}:{hash_}"


async def test_a_transfer_is_followed_to_its_arrival_as_the_endpoint_tells_it(
    open_transfers, transfers, contract
):
    room = await open_transfers()
    item = named(room)
    client = await room.follow(transfers=[item])
    first = await client.next()
    assert (first.name, first.data["status"], first.data["hash"]) == ("transfer", "origin_pending", HASH)
    contract.check_data("Tracked", first.data)
    tx_id = item.rpartition(":")[0]
    assert first.data == (await room.api.get(f"/v2/transactions/{tx_id}?hash={HASH}")).body
    transfers.bridge.state = CONFIRMED
    assert (await client.next()).data["status"] == "origin_confirmed"
    transfers.bridge.state = TransferState("filled", 7, 8, "1")  # a moment before its transaction is known
    assert (await client.next()).data["fillHash"] is None
    transfers.bridge.state = FILLED
    last, end = await client.rest()
    assert (last.data["status"], last.data["fillHash"]) == ("filled", FILL)
    assert (end.name, end.data, end.id) == ("end", {"reason": "complete", "reconnect": False}, "complete")


async def test_a_refund_and_the_need_to_act_are_told_and_only_the_refund_is_an_end(open_transfers, transfers):
    room = await open_transfers()
    transfers.bridge.state = TransferState("action_required", 7, 8, "1", reason="claim")
    client = await room.follow(transfers=[named(room)])
    assert (await client.next()).data["reason"] == "claim"
    transfers.bridge.state = REFUNDED
    last, end = await client.rest()
    assert (last.data["status"], last.data["refund"]["amount"]) == ("refunded", str(10**18))
    assert end.data["reason"] == "complete"


async def test_equal_states_are_told_once_and_a_reader_that_comes_back_misses_none(open_transfers, transfers):
    room = await open_transfers()
    item = named(room)
    client, other = await room.follow(transfers=[item]), await room.follow(transfers=[item])
    first = await client.next()
    assert (await other.next()) == first
    client.close()
    looks = len(transfers.bridge.asked)

    async def looked():
        return len(transfers.bridge.asked) >= looks + 3

    await room.until(looked)
    transfers.bridge.state = CONFIRMED
    told = await other.next()
    transfers.bridge.state = FILLED
    arrived = await other.next()
    again = await room.follow(last_id=first.id, transfers=[item])
    assert [await again.next(), await again.next()] == [told, arrived]
    assert (await again.next()).data["reason"] == "complete"


async def test_many_readers_of_one_transfer_cost_one_poller(open_transfers, transfers):
    room = await open_transfers(streams_per_caller=80, transactions_per_caller=80)
    item = named(room)
    clients = await asyncio.gather(*(room.follow(transfers=[item]) for _ in range(80)))
    for client in clients:
        await client.next()
    looks, began = len(transfers.bridge.asked), asyncio.get_running_loop().time()

    async def looked():
        return len(transfers.bridge.asked) >= looks + 5

    await room.until(looked)
    most = (asyncio.get_running_loop().time() - began) / 0.05
    assert len(transfers.bridge.asked) - looks <= most + 1
    assert await room.metric('quoteway_stream_topics{topic="transfers"}') == 1


async def test_a_state_that_lasts_is_looked_at_less_often_but_never_forgotten(open_transfers, transfers):
    room = await open_transfers(transaction_interval_s=0.05)
    client = await room.follow(transfers=[named(room)])
    await client.next()
    await asyncio.sleep(3.0)  # an interval of 0.15 s is 5 % of it
    looks, began = len(transfers.bridge.asked), asyncio.get_running_loop().time()

    async def looked():
        return len(transfers.bridge.asked) >= looks + 3

    await room.until(looked)
    assert asyncio.get_running_loop().time() - began >= 2 * 0.14
    transfers.bridge.state = FILLED
    assert (await client.next()).data["status"] == "filled"


@pytest.mark.parametrize("error", [UpstreamError("The node is down."), RuntimeError("a bug"), None])
async def test_a_state_that_is_not_known_is_a_failure_that_ends(open_transfers, transfers, error):
    """``None``: no bridge knows the transaction, which may be in a block that was reorganised."""
    room = await open_transfers()
    client = await room.follow(transfers=[named(room)])
    await client.next()
    transfers.bridge.state = error
    failed = await client.next()
    assert (failed.name, failed.data["topic"]) == ("failure", "transfers")
    assert failed.data["error"]["code"] == ("not_found" if error is None else "upstream_error")
    transfers.bridge.state = FILLED
    assert (await client.next()).data["status"] == "filled"


async def test_a_bridge_that_hangs_delays_its_own_answer_alone(open_transfers, transfers):
    room = await open_transfers()
    transfers.bridge.hangs = True
    client = await room.follow(transfers=[named(room)], heads=["seven"])
    assert (await client.next()).name == "head"
    transfers.bridge.hangs = False
    assert (await client.next("transfer")).data["status"] == "origin_pending"


async def test_a_transaction_id_that_expires_ends_its_topic_with_the_error(open_transfers, transfers):
    room = await open_transfers()
    client = await room.follow(transfers=[named(room, expires_at=NOW + 10)])
    await client.next()
    transfers.now = NOW + 11
    failed, end = await client.rest()
    assert (failed.data["error"]["code"], end.data["reason"]) == ("not_found", "complete")
    assert failed.data["error"]["details"]["reason"] == "quote_expired"


@pytest.mark.parametrize(
    ("item", "status", "reason", "words"),
    [
        ("nothing", 422, "invalid_format", "<txId>:<hash>"),
        (f"nothing:{HASH}", 404, "quote_invalid", "unknown"),
        (f":{HASH}", 422, "invalid_format", ""),
        ("{id}:0x12", 422, "out_of_range", "32 bytes"),
        ("{id}", 422, "invalid_format", "<txId>:<hash>"),
        (f"{'x' * 4097}:{HASH}", 422, "out_of_range", "4096"),
        (f"{{id}}x:{HASH}", 404, "quote_invalid", ""),
        (f"{{expired}}:{HASH}", 404, "quote_expired", "expired"),
        ("{id}:" + HASH + "," + "x", 422, "invalid_format", ""),
    ],
)
@pytest.mark.parametrize("topic", ["transfers", "transactions"])
async def test_wrong_items_are_refused_before_the_stream(
    open_transfers, refused, topic, item, status, reason, words
):
    room = await open_transfers()
    gateway = room.api.gateway
    expired = sealed_id(gateway, expires_at=NOW - 1)
    given = item.format(id=sealed_id(gateway), expired=expired) if "{" in item else item
    answer = await room.refused(**{topic: given})
    details = refused(answer, status, "validation_error" if status == 422 else "not_found", reason)
    assert words in str(answer.body), details


async def test_without_a_bridge_or_an_index_there_is_nothing_to_follow(serve_app, make_config, refused):
    place = TransferPlace(has_index=False, has_bridge=False)
    async with rooms(serve_app, make_config(), place) as make:
        room = await make(FAST)
        for topics in ({"transfers": [named(room)]}, {"index": ["seven"]}):
            refused(await room.refused(**topics), 503, "provider_unavailable", "capability_disabled")
        refused(await room.refused(index="nine"), 422, "validation_error", "unsupported_network")


async def test_the_numbers_of_followed_transactions_are_limited(open_transfers, refused):
    room = await open_transfers(transactions_per_caller=2, transactions=1)
    one = await room.follow(transfers=[named(room)])
    await one.next()
    refused(await room.refused(transfers=named(room, OTHER_HASH)), 503, "provider_unavailable")
    two = await room.follow(transfers=[named(room)])
    await two.next()
    refused(await room.refused(transfers=named(room)), 429, "rate_limit_exceeded")
    refused(await room.refused(transactions=named(room)), 429, "rate_limit_exceeded")
    assert await room.metric('quoteway_streams_refused_total{cause="transactions"}') == 2


async def test_what_is_gone_leaves_no_poller(open_transfers, transfers, monkeypatch):
    monkeypatch.setattr("quoteway.web.resources.live_topics.LINGER_S", 0.05)
    room = await open_transfers()
    client = await room.follow(transfers=[named(room)], index=["seven"])
    await client.next("index")
    client.close()

    async def ended():
        return not any(task.get_name().startswith("stream:") for task in asyncio.all_tasks())

    await room.until(ended)
    assert not room.streams._followed
    assert await room.metric('quoteway_stream_topics{topic="transfers"}') == 0


# --- transactions -------------------------------------------------------------------------------------------


async def test_a_transaction_is_followed_from_nowhere_into_a_block(open_transfers, transfers, contract):
    room = await open_transfers()
    known = {"eth_getTransactionByHash": None, "eth_getTransactionReceipt": None}
    transfers.rpc.answers |= {name: lambda params, name=name: known[name] for name in known}
    client = await room.follow(transactions=[named(room)])
    told = await client.next()
    assert (told.name, told.data["match"], told.data["status"]) == ("transaction", "not_found", "unknown")
    contract.check_data("HashReport", told.data)
    sent = {"chainId": "0x7", "to": FRIEND, "value": "0x0", "input": "0x", "from": USER, "hash": HASH}
    known["eth_getTransactionByHash"] = {**sent, "blockHash": None, "blockNumber": None}
    told = await client.next()
    assert (told.data["match"], told.data["status"]) == ("mismatch", "pending")
    block = {"blockHash": "0x11" + "11" * 31, "blockNumber": "0x1", "transactionIndex": "0x0"}
    known["eth_getTransactionByHash"] = sent | block
    known["eth_getTransactionReceipt"] = {
        **block,
        "transactionHash": HASH,
        "status": "0x0",
        "gasUsed": "0x5208",
        "logs": [],
        "from": USER,
        "to": FRIEND,
    }
    told, end = await client.rest()
    assert (told.data["status"], told.data["blockNumber"]) == ("reverted", 1)
    assert end.data["reason"] == "complete"


# --- indexes ------------------------------------------------------------------------------------------------


async def test_the_progress_of_an_index_is_told_as_the_endpoint_tells_it(open_transfers, transfers, contract):
    room = await open_transfers()
    client = await room.follow(index=["seven"])
    told = await client.next()
    assert told.name == "index"
    contract.check_data("IndexStatus", told.data)
    assert told.data == (await room.api.get("/v2/index/status?network=seven")).body
    transfers.index.updated_at += 60  # no news
    looks = transfers.index.asked

    async def looked():
        return transfers.index.asked >= looks + 3

    await room.until(looked)
    transfers.index.percent = 20.0
    told = await client.next()
    assert told.data["data"][0]["percent"] == 20.0
    transfers.index.error = UpstreamError("The index is down.")
    assert (await client.next()).name == "failure"
    transfers.index.error = None
    assert (await client.next()).name == "index"


async def test_networks_share_what_is_read_of_indexes_and_one_without_is_named(open_transfers, transfers):
    room = await open_transfers(index_interval_s=0.2)
    client = await room.follow(index=["seven", "eight"])
    told = {(await client.next()).name for _ in range(2)}
    assert told == {"index", "failure"}
    looks, began = transfers.index.asked, asyncio.get_running_loop().time()

    async def looked():
        return transfers.index.asked >= looks + 3

    await room.until(looked)
    assert transfers.index.asked - looks <= (asyncio.get_running_loop().time() - began) / 0.2 + 1
