import asyncio
import http.client
import json
import time
from urllib.parse import urlencode

import pytest
from ports import answers
from quoteway.evm.abi import encode_call
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.bridge import RELAYER, bridged_tokens
from quoteway_devnet.errors import DevnetError
from quoteway_devnet.relayer import Relayer

SENDER = ACCOUNTS[6].address
RECIPIENT = "0x5555555555555555555555555555555555555555"
DEPOSIT = (
    "depositV3(address,address,address,address,uint256,uint256,uint256,address,uint32,uint32,uint32,bytes)"
)


@pytest.fixture
def relayer(fresh):
    with Relayer.running(fresh) as relayer:
        yield relayer


def ask(relayer, path, body=None, **query):
    connection = http.client.HTTPConnection("127.0.0.1", relayer.port, timeout=60)
    target = f"{path}?{urlencode(query)}" if query else path
    connection.request("GET" if body is None else "POST", target, body)
    response = connection.getresponse()
    answer = response.status, json.loads(response.read())
    connection.close()
    return answer


def fees(relayer, devnet, symbol="USDC", amount=10**9, **changes):
    query = {
        "inputToken": devnet.chains["devnet"].token(symbol).address,
        "outputToken": devnet.chains["devnet-l2"].token(symbol).address,
        "originChainId": 31337,
        "destinationChainId": 31338,
        "amount": amount,
    }
    return ask(relayer, "/api/suggested-fees", **(query | changes))


def deposit(devnet, terms, amount=10**9):
    near, far = devnet.chains["devnet"], devnet.chains["devnet-l2"]
    token, pool = near.token("USDC").address, near.contracts["SpokePool"]
    data = encode_call(
        DEPOSIT,
        [
            *(SENDER, RECIPIENT, token, far.token("USDC").address, amount, int(terms["outputAmount"])),
            *(31338, terms["exclusiveRelayer"], int(terms["timestamp"]), int(terms["fillDeadline"])),
            *(int(terms["exclusivityDeadline"]), b""),
        ],
    )
    with devnet.rpc("devnet") as rpc:
        for to, call in ((token, encode_call("approve(address,uint256)", [pool, amount])), (pool, data)):
            receipt = rpc.send({"from": SENDER, "to": to, "data": "0x" + call.hex()})
            assert receipt["status"] == "0x1"


def balance(devnet, slug, owner):
    data = "0x" + encode_call("balanceOf(address)", [owner]).hex()
    with devnet.rpc(slug) as rpc:
        return int(
            rpc("eth_call", {"to": devnet.chains[slug].token("USDC").address, "data": data}, "latest"), 16
        )


def arrives(devnet, amount, timeout_s=120):
    deadline = time.monotonic() + timeout_s
    while balance(devnet, "devnet-l2", RECIPIENT) != amount:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_relayer_is_stocked_and_the_pools_are_its_own(devnet):
    for slug, chain in devnet.chains.items():
        with devnet.rpc(slug) as rpc:
            pool = chain.contracts["SpokePool"]
            owner = rpc("eth_call", {"to": pool, "data": "0x" + encode_call("owner()", []).hex()}, "latest")
            assert int(owner, 16) == int(RELAYER, 16)
            for row in bridged_tokens():
                token = chain.token(row.symbol).address
                for call in (
                    encode_call("balanceOf(address)", [RELAYER]),
                    encode_call("allowance(address,address)", [RELAYER, pool]),
                ):
                    answer = rpc("eth_call", {"to": token, "data": "0x" + call.hex()}, "latest")
                    assert int(answer, 16) > 10 ** (row.decimals + 2), (slug, row.symbol)


def test_fees_are_what_the_relayer_says_they_are(relayer, fresh):
    amount = 12_345_678_901
    status, terms = fees(relayer, fresh, amount=amount)
    assert status == 200
    parts = ("relayerCapitalFee", "relayerGasFee", "lpFee")
    total = sum(int(terms[name]["total"]) for name in parts)
    assert total == int(terms["totalRelayFee"]["total"]) == amount - int(terms["outputAmount"])
    assert int(terms["totalRelayFee"]["pct"]) == total * 10**18 // amount
    assert int(terms["relayerGasFee"]["total"]) > 0
    assert terms["spokePoolAddress"] == fresh.chains["devnet"].contracts["SpokePool"]
    assert int(terms["timestamp"]) <= time.time() + 1 < int(terms["fillDeadline"])
    # More gas, more fee.
    with fresh.rpc("devnet-l2") as rpc:
        usual = rpc("eth_getBlockByNumber", "pending", False)["baseFeePerGas"]
        rpc("anvil_setNextBlockBaseFeePerGas", hex(100 * 10**9))
        rpc("evm_mine")
        dearer = fees(relayer, fresh, amount=amount)[1]
        rpc("anvil_setNextBlockBaseFeePerGas", usual)  # it is no part of a snapshot
    assert int(dearer["relayerGasFee"]["total"]) > 20 * int(terms["relayerGasFee"]["total"])
    assert dearer["lpFee"] == terms["lpFee"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"amount": 1}, "AMOUNT_TOO_LOW"),
        ({"amount": 10**18}, "AMOUNT_TOO_HIGH"),
        ({"amount": "many"}, "INVALID_PARAM"),
        ({"destinationChainId": 1}, "ROUTE_NOT_ENABLED"),
        ({"destinationChainId": 31337}, "ROUTE_NOT_ENABLED"),
        ({"outputToken": RECIPIENT}, "ROUTE_NOT_ENABLED"),
    ],
)
def test_refusals_carry_the_apis_codes(relayer, fresh, changes, code):
    status, answer = fees(relayer, fresh, **changes)
    assert (status, answer["type"], answer["code"]) == (400, "AcrossApiError", code)


def test_limits_are_the_edge(relayer, fresh):
    limits = fees(relayer, fresh)[1]["limits"]
    low, high = int(limits["minDeposit"]), int(limits["maxDeposit"])
    assert [fees(relayer, fresh, amount=a)[0] for a in (low - 1, low, high, high + 1)] == [400, 200, 200, 400]


@pytest.mark.parametrize("symbol", ["USDC", "WETH"])
def test_the_limits_of_a_route_are_those_of_its_fees(relayer, fresh, symbol):
    query = {
        "inputToken": fresh.chains["devnet"].token(symbol).address,
        "outputToken": fresh.chains["devnet-l2"].token(symbol).address,
        "originChainId": 31337,
        "destinationChainId": 31338,
    }
    status, limits = ask(relayer, "/api/limits", **query)
    assert status == 200
    low, high = int(limits["minDeposit"]), int(limits["maxDeposit"])
    edge = (low - 1, low, high, high + 1)
    assert [fees(relayer, fresh, symbol, amount)[0] for amount in edge] == [400, 200, 200, 400]
    assert fees(relayer, fresh, symbol, high)[1]["limits"] == limits
    relayer.behave(liquid=False)
    assert ask(relayer, "/api/limits", **query)[1]["maxDeposit"] == "0"
    for asked, code in (
        (query | {"outputToken": RECIPIENT}, "ROUTE_NOT_ENABLED"),
        ({"inputToken": query["inputToken"]}, "MISSING_PARAM"),
    ):
        status, answer = ask(relayer, "/api/limits", **asked)
        assert (status, answer["code"]) == (400, code)


def test_a_deposit_is_filled_and_an_exclusive_one_too(relayer, fresh):
    _, terms = fees(relayer, fresh)
    deposit(fresh, terms)
    arrives(fresh, int(terms["outputAmount"]))
    relayer.behave(exclusivity_s=300)
    _, more = fees(relayer, fresh)
    assert more["exclusiveRelayer"] == RELAYER
    deposit(fresh, more)
    arrives(fresh, int(terms["outputAmount"]) + int(more["outputAmount"]))


def test_the_conduct_is_told_over_http(relayer, fresh):
    assert ask(relayer, "/conduct")[1]["filling"] is True
    assert ask(relayer, "/conduct", json.dumps({"filling": False, "delay_s": 0.5}))[0] == 200
    assert (relayer.conduct.filling, relayer.conduct.delay_s) == (False, 0.5)
    for nonsense in ("x", "[]", '{"kindness": 1}'):
        assert ask(relayer, "/conduct", nonsense)[0] == 400
    assert ask(relayer, "/nowhere")[0] == 404
    _, terms = fees(relayer, fresh)
    deposit(fresh, terms)
    rounds = relayer.rounds + 10
    while relayer.rounds < rounds:
        time.sleep(0.02)
    assert balance(fresh, "devnet-l2", RECIPIENT) == 0
    ask(relayer, "/conduct", json.dumps({"filling": True}))
    arrives(fresh, int(terms["outputAmount"]))


def test_both_chains_reverted_under_it(relayer, fresh):
    for _ in range(3):
        snapshot = fresh.snapshot()
        _, terms = fees(relayer, fresh)
        deposit(fresh, terms)
        arrives(fresh, int(terms["outputAmount"]))
        fresh.revert(snapshot)
        assert balance(fresh, "devnet-l2", RECIPIENT) == 0


def test_a_revert_while_the_relayer_sends_loses_no_block(relayer, fresh):
    heads = dict.fromkeys(fresh.chains, 0)
    for slug in heads:
        with fresh.rpc(slug) as rpc:
            heads[slug] = int(rpc("eth_blockNumber"), 16)
    _, terms = fees(relayer, fresh)
    for time_of_a_send in range(30):
        snapshot = fresh.snapshot()
        deposit(fresh, terms)
        time.sleep(0.005 * time_of_a_send)
        fresh.revert(snapshot)
        for slug, head in heads.items():
            with fresh.rpc(slug) as rpc:
                assert int(rpc("eth_blockNumber"), 16) == head
                for number in range(head + 1):
                    assert rpc("eth_getBlockByNumber", hex(number), False) is not None, (slug, number)


def test_a_deposit_from_before_its_time_is_filled(fresh):
    with Relayer.running(fresh) as relayer:
        relayer.behave(filling=False)
        _, terms = fees(relayer, fresh)
    deposit(fresh, terms)
    with Relayer.running(fresh):
        arrives(fresh, int(terms["outputAmount"]))


async def test_it_ends_with_its_block_and_refuses_a_taken_port(devnet):
    async with Relayer.start(devnet) as relayer:
        with pytest.raises(DevnetError, match=f"Port {relayer.port}"), Relayer.running(devnet, relayer.port):
            pass
        assert await asyncio.to_thread(answers, relayer.port)
    assert not await asyncio.to_thread(answers, relayer.port)
