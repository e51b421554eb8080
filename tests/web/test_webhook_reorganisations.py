"""Webhooks after the first block: reorganisations are told once each, and so is the end."""

import asyncio
import contextlib
import json
import time
from dataclasses import replace

import pytest

pytest.importorskip("quoteway_devnet", reason="this is about the blocks of a real chain")

from followed_transfers import CONFIRMED, FILL, FILLED
from quoteway.engine.quote_tokens import TransactionCommitment, calldata_hash
from quoteway.engine.webhooks.registrations import Progress, Registration
from quoteway.networks import Endpoint, Network
from quoteway.testing.fakes import FakePlugin, HttpRpc
from quoteway_devnet.accounts import ACCOUNTS
from webhook_process import RING
from webhook_room import DEADLINE_S, Hooks, with_webhooks

SENDER, PAID = ACCOUNTS[0].address, ACCOUNTS[1].address
PAYMENT = {
    "from": SENDER,
    "to": PAID,
    "value": "0x5",
    "gas": hex(30_000),
    "maxFeePerGas": hex(10**12),
    "maxPriorityFeePerGas": hex(10**9),
}


def events_of(receiver):
    return [json.loads(each.body) for each in receiver.received]


def told(event):
    return event["type"], event["reorganized"], event["final"]


class Chain:
    """The devnet as a wallet uses it, and its reorganisations."""

    def __init__(self, devnet, slug="devnet"):
        self._devnet, self._slug = devnet, slug

    async def __call__(self, method, *params):
        def ask():
            with self._devnet.rpc(self._slug) as rpc:
                return rpc(method, *params)

        return await asyncio.to_thread(ask)

    async def pay(self, nonce):
        """The receipt of the payment, which is the same transaction each time."""
        tx_hash = await self("eth_sendTransaction", PAYMENT | {"nonce": nonce})
        async with asyncio.timeout(DEADLINE_S):
            while (receipt := await self("eth_getTransactionReceipt", tx_hash)) is None:
                await asyncio.sleep(0.01)
        return receipt

    async def mine(self, count):
        for _ in range(count):
            await self("evm_mine")


@contextlib.asynccontextmanager
async def gateway_over(serve_app, devnet, base, receiver, store):
    networks = []
    for slug, chain in devnet.chains.items():
        endpoints = (Endpoint(devnet.urls[slug]),)
        networks.append(Network(slug, chain.chain_id, slug, head_poll_s=0.05, endpoints=endpoints))
    config = with_webhooks(base, receiver.port, store, RING, confirmations=3)
    api = await serve_app({"node": FakePlugin([HttpRpc], networks=networks)}, config)
    try:
        yield Hooks(api, None, receiver.url)
    finally:
        await api.runner.cleanup()


def step_of(hooks):
    """The ``txId`` of the payment."""
    members = (31337, SENDER, PAID, 5, calldata_hash(b""), "0x" + "11" * 32, 0, int(time.time()) + 86_400)
    return hooks.api.gateway.quote_tokens.seal_transaction(TransactionCommitment(*members))


@pytest.mark.slow
async def test_a_block_that_is_gone_is_told_once_over_restarts_and_by_two_processes(
    fresh_devnet, serve_app, make_config, receiver, tmp_path
):
    chain, store = Chain(fresh_devnet), tmp_path / "store.sqlite3"
    open_gateway = lambda: gateway_over(serve_app, fresh_devnet, make_config(), receiver, store)  # noqa: E731
    nonce = await chain("eth_getTransactionCount", SENDER, "latest")
    before = await chain("evm_snapshot")
    first = await chain.pay(nonce)
    async with open_gateway() as hooks, open_gateway():
        made = await hooks.registered(kind="transaction", txId=step_of(hooks), hash=first["transactionHash"])
        assert made["confirmations"] == 3
        await receiver.until(1)
        await chain("evm_revert", before)
        await chain.mine(2)
        await receiver.until(2)
        await hooks.until(made["webhookId"], lambda each: each["delivered"] == 2)
    # Without anybody, the transaction comes into another block.
    second = await chain.pay(nonce)
    assert second["blockHash"] != first["blockHash"]
    async with open_gateway() as hooks, open_gateway():
        await receiver.until(3)
        await hooks.until(made["webhookId"], lambda each: each["delivered"] == 3)
    # And from that one into a third, of the same number, while nobody looks.
    await chain("anvil_rollback", 1)
    await chain("evm_increaseTime", hex(7))
    third = await chain.pay(nonce)
    assert (third["blockNumber"], third["transactionHash"]) == (
        second["blockNumber"],
        second["transactionHash"],
    )
    assert third["blockHash"] != second["blockHash"]
    async with open_gateway() as hooks:
        await receiver.until(4)
        await hooks.until(made["webhookId"], lambda each: each["delivered"] == 4)
    await chain.mine(1)
    async with open_gateway() as hooks, open_gateway():
        assert (await hooks.get(made["webhookId"])).body["state"] == "active"
        await chain.mine(1)
        await hooks.until(made["webhookId"], lambda each: each["state"] == "done")
    events = events_of(receiver)
    assert [told(each) for each in events] == [
        ("transaction.confirmed", False, False),
        ("transaction.unknown", True, False),
        ("transaction.confirmed", False, False),
        ("transaction.confirmed", True, False),
        ("transaction.confirmed", False, True),
    ]
    blocks = [each["data"]["blockHash"] for each in events]
    assert blocks == [first["blockHash"], None, second["blockHash"], third["blockHash"], third["blockHash"]]
    assert events[-1]["data"]["confirmations"] == 3
    assert len(set(receiver.taken)) == 5


async def test_a_node_that_lags_makes_no_reorganisation(
    fresh_devnet, serve_app, make_config, receiver, tmp_path
):
    """It has the block, and not the transaction; or neither."""
    chain = Chain(fresh_devnet)
    receipt = await chain.pay(await chain("eth_getTransactionCount", SENDER, "latest"))
    async with gateway_over(
        serve_app, fresh_devnet, make_config(), receiver, tmp_path / "store.sqlite3"
    ) as hooks:
        (node,) = hooks.api.gateway.registry.rpc_upstreams(31337)
        await hooks.registered(kind="transaction", txId=step_of(hooks), hash=receipt["transactionHash"])
        await receiver.until(1)
        asked, forward = [], node.forward

        async def behind(network, method, params, *, timeout_s):
            asked.append(method)
            if method in ("eth_getTransactionByHash", "eth_getTransactionReceipt"):
                return None
            if method == "eth_getBlockByNumber" and params[0] == receipt["blockNumber"] and len(asked) < 20:
                return None
            return await forward(network, method, params, timeout_s=timeout_s)

        node.forward = behind
        await chain.mine(4)
        async with asyncio.timeout(DEADLINE_S):
            while asked.count("eth_getTransactionReceipt") < 3:
                await asyncio.sleep(0.02)
        assert len(receiver.received) == 1
        node.forward = forward
        await receiver.until(2)
    assert [told(each)[1:] for each in events_of(receiver)] == [(False, False), (False, True)]


async def test_a_transaction_on_another_network_than_it_was_built_for_has_an_end(
    fresh_devnet, serve_app, make_config, receiver, tmp_path
):
    chain = Chain(fresh_devnet, "devnet-l2")
    receipt = await chain.pay(await chain("eth_getTransactionCount", SENDER, "latest"))
    await chain.mine(2)
    store = tmp_path / "store.sqlite3"
    async with gateway_over(serve_app, fresh_devnet, make_config(), receiver, store) as hooks:
        tx_hash = receipt["transactionHash"]
        made = await hooks.registered(kind="transaction", txId=step_of(hooks), hash=tx_hash)
        await hooks.until(made["webhookId"], lambda each: each["state"] == "done")
    (event,) = events_of(receiver)
    assert told(event) == ("transaction.confirmed", False, True)
    assert event["data"]["match"] == "mismatch"


async def test_a_payment_that_is_gone_is_told_and_the_end_by_its_confirmations(
    open_hooks, receiver, transfer_place
):
    blocks = {number: f"0x{number:064x}" for number in range(1, 6)}
    receipts = {FILL: {"blockNumber": "0x5", "blockHash": blocks[5]}}

    def block(params):
        number = max(blocks) if params[0] == "latest" else int(params[0], 16)
        found = {"timestamp": hex(1_700_000_000 + number), "baseFeePerGas": "0x1", "number": hex(number)}
        return found | {"hash": blocks[number]} if number in blocks else None

    transfer_place.rpc.answers["eth_getBlockByNumber"] = block
    transfer_place.rpc.answers["eth_getTransactionReceipt"] = lambda params: receipts.get(params[0])
    transfer_place.bridge.state = FILLED
    hooks = await open_hooks()
    made = await hooks.registered(confirmations=3)
    await receiver.until(1)
    transfer_place.bridge.state = CONFIRMED
    receipts.clear()
    blocks[5] = "0x" + "ee" * 32
    await receiver.until(2)
    transfer_place.bridge.state = FILLED
    receipts[FILL] = {"blockNumber": "0x5", "blockHash": blocks[5]}
    await receiver.until(3)
    blocks[6], blocks[7] = "0x" + "06" * 32, "0x" + "07" * 32
    await hooks.until(made["webhookId"], lambda each: each["state"] == "done")
    assert [told(each) for each in events_of(receiver)] == [
        ("transfer.filled", False, False),
        ("transfer.origin_confirmed", True, False),
        ("transfer.filled", False, False),
        ("transfer.filled", False, True),
    ]


async def test_without_nodes_of_a_network_the_end_is_not_known(open_hooks, receiver, transfer_place):
    transfer_place.bridge.state = replace(FILLED, destination_chain_id=9)
    hooks = await open_hooks()
    made = await hooks.registered()
    await hooks.until(made["webhookId"], lambda each: each["state"] == "done")
    assert [told(each) for each in events_of(receiver)] == [("transfer.filled", False, None)]


async def test_another_number_of_confirmations_is_another_registration(open_hooks, refused):
    hooks = await open_hooks()
    one, two = await hooks.registered(), await hooks.registered(confirmations=2)
    assert (one["confirmations"], two["confirmations"]) == (1, 2)
    assert one["webhookId"] != two["webhookId"]
    assert (await hooks.registered(confirmations=2))["webhookId"] == two["webhookId"]
    refused(await hooks.register(confirmations=0), 422, "validation_error")


def test_what_an_older_version_has_kept_is_read():
    kept = Progress(told="aa", sequence=2).dumped()
    older = {name: value for name, value in json.loads(kept).items() if name != "place"}
    assert Progress.loaded(json.dumps(older).encode()) == Progress(told="aa", sequence=2)
    assert Progress.loaded(Progress(place=(1, 2, "0x")).dumped()).place == (1, 2, "0x")
    assert Registration("a", "b", "transfer", "c", "d", "e", "f", "g", 1, 2).confirmations == 64
