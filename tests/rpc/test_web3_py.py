"""web3.py with its defaults, sync and async, through two workers; and filters across them."""

import asyncio
import itertools
import json
import time
import urllib.request

import pytest
from eth_account import Account
from quoteway_devnet.accounts import ACCOUNTS
from web3 import AsyncHTTPProvider, AsyncWeb3, HTTPProvider, Web3
from web3.exceptions import MethodUnavailable, Web3RPCError

pytestmark = pytest.mark.slow

ABI = [
    {
        "type": "event",
        "name": "Deposit",
        "anonymous": False,
        "inputs": [
            {"name": "dst", "type": "address", "indexed": True},
            {"name": "wad", "type": "uint256", "indexed": False},
        ],
    },
    {
        "type": "function",
        "name": "balanceOf",
        "stateMutability": "view",
        "inputs": [{"name": "", "type": "address"}],
        "outputs": [{"name": "", "type": "uint256"}],
    },
]
DEPOSIT = "0xd0e30db0"
OWNER = Account.from_key(ACCOUNTS[4].private_key)


@pytest.fixture(scope="module")
def url(two_workers):
    return f"{two_workers}/v2/rpc/31337"


@pytest.fixture(scope="module")
def weth(devnet):
    return devnet.chains["devnet"].contracts["WETH9"]


@pytest.fixture(scope="module")
def deposit(devnet, weth):
    """``deposit(wei)`` sends to the node directly; returns the receipt."""
    direct = Web3(HTTPProvider(devnet.urls["devnet"]))

    def send(value):
        made = {
            "to": weth,
            "data": DEPOSIT,
            "value": value,
            "gas": 100_000,
            "chainId": 31337,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 1,
            "nonce": direct.eth.get_transaction_count(OWNER.address),
        }
        return direct.eth.wait_for_transaction_receipt(
            direct.eth.send_raw_transaction(OWNER.sign_transaction(made).raw_transaction)
        )

    return send


def test_the_ordinary_flow(url, weth, deposit, devnet):
    w3, direct = Web3(HTTPProvider(url)), Web3(HTTPProvider(devnet.urls["devnet"]))
    assert w3.is_connected()
    assert w3.client_version == direct.client_version
    assert (w3.eth.chain_id, w3.net.version) == (31337, "31337")
    assert w3.eth.get_balance(OWNER.address) == direct.eth.get_balance(OWNER.address)
    assert w3.eth.get_code(weth) == direct.eth.get_code(weth)
    token = w3.eth.contract(weth, abi=ABI)
    before = token.functions.balanceOf(OWNER.address).call()
    assert w3.eth.estimate_gas({"from": OWNER.address, "to": weth, "value": 1, "data": DEPOSIT}) > 21_000
    assert w3.eth.gas_price > 0
    assert w3.eth.max_priority_fee >= 0
    assert w3.eth.fee_history(2, "latest", [50])["baseFeePerGas"]
    receipt = w3.eth.wait_for_transaction_receipt(deposit(5)["transactionHash"])
    assert token.functions.balanceOf(OWNER.address).call() == before + 5
    block = w3.eth.get_block(receipt["blockNumber"], full_transactions=True)
    assert block["transactions"][0]["hash"] == receipt["transactionHash"]
    (log,) = token.events.Deposit().get_logs(from_block=receipt["blockNumber"])
    assert log["args"]["wad"] == 5


def test_filters(url, weth, deposit):
    w3 = Web3(HTTPProvider(url))
    token = w3.eth.contract(weth, abi=ABI)
    events, blocks = token.events.Deposit().create_filter(from_block="latest"), w3.eth.filter("latest")
    assert events.get_new_entries() == []
    receipt = deposit(6)
    assert [log["args"]["wad"] for log in events.get_new_entries()] == [6]
    assert events.get_new_entries() == []
    assert blocks.get_new_entries() == [receipt["blockHash"]]
    by_address = w3.eth.filter({"address": weth, "fromBlock": receipt["blockNumber"]})
    assert [log["blockHash"] for log in by_address.get_all_entries()] == [receipt["blockHash"]]
    assert w3.eth.uninstall_filter(events.filter_id) is True
    with pytest.raises(Web3RPCError, match="filter not found"):
        events.get_new_entries()


def test_a_batch(url, weth):
    w3 = Web3(HTTPProvider(url))
    with w3.batch_requests() as batch:
        batch.add(w3.eth.get_block("latest"))
        batch.add(w3.eth.get_balance(OWNER.address))
        batch.add(w3.eth.contract(weth, abi=ABI).functions.balanceOf(OWNER.address))
        block, balance, _ = batch.execute()
    assert block["number"] > 0
    assert balance > 0


def test_a_refused_method(url):
    w3 = Web3(HTTPProvider(url))
    with pytest.raises(MethodUnavailable, match="does not exist/is not available"):
        w3.eth.send_raw_transaction(b"\x02")
    with pytest.raises(MethodUnavailable):
        _ = w3.eth.accounts
    assert w3.eth.chain_id == 31337


async def test_the_ordinary_flow_async(url, weth, deposit):
    w3 = AsyncWeb3(AsyncHTTPProvider(url))
    assert await w3.is_connected()
    assert await w3.eth.chain_id == 31337
    token = w3.eth.contract(weth, abi=ABI)
    events = await token.events.Deposit().create_filter(from_block="latest")
    receipt = await asyncio.to_thread(deposit, 8)
    assert [log["args"]["wad"] for log in await events.get_new_entries()] == [8]
    found = await w3.eth.wait_for_transaction_receipt(receipt["transactionHash"])
    assert found["blockHash"] == receipt["blockHash"]
    balances = await asyncio.gather(*(w3.eth.get_balance(OWNER.address) for _ in range(50)))
    assert len(set(balances)) == 1
    async with w3.batch_requests() as batch:
        batch.add(w3.eth.get_block("latest"))
        batch.add(w3.eth.get_balance(OWNER.address))
        block, _ = await batch.async_execute()
    assert block["number"] >= receipt["blockNumber"]
    with pytest.raises(MethodUnavailable):
        await w3.eth.send_raw_transaction(b"\x02")
    await w3.provider.disconnect()


def test_a_filter_is_polled_at_either_worker(url, deposit):
    """Each request on a connection of its own, which the kernel gives to one of the workers."""
    numbers = itertools.count(1)

    def ask(method, *params):
        body = json.dumps({"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params})
        headers = {"Content-Type": "application/json", "Connection": "close"}
        request = urllib.request.Request(url, body.encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["result"]

    filter_id = ask("eth_newFilter", {})
    for _ in range(10):
        receipt = deposit(1)
        found, deadline = [], time.monotonic() + 60
        while not found and time.monotonic() < deadline:
            found = ask("eth_getFilterChanges", filter_id)
        assert [log["blockHash"] for log in found] == ["0x" + bytes(receipt["blockHash"]).hex()]
        assert all(ask("eth_getFilterChanges", filter_id) == [] for _ in range(6))
    assert ask("eth_uninstallFilter", filter_id) is True
    assert not any(ask("eth_uninstallFilter", filter_id) for _ in range(6))
