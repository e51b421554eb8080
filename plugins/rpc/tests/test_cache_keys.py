"""Calls that ask the same have one key, and no others."""

import pytest
from quoteway_rpc.cache_keys import Kind, plan_of

A, B = "0x" + "aB" * 20, "0x" + "cd" * 20
H = "0x" + "Ef" * 32
T = "0x" + "12" * 32

SAME = {
    "omitted block": ("eth_getBalance", [A], [A, "latest"]),
    "case of an address": ("eth_getBalance", [A, "0x1F"], [A.lower(), "0x1f"]),
    "leading zeros": ("eth_getBalance", [A, "0x01"], [A, "0x1"]),
    "number as an object": ("eth_getCode", [A, "0x1"], [A, {"blockNumber": "0x1"}]),
    "hash as an object": ("eth_getCode", [A, H], [A, {"blockHash": H.lower()}]),
    "canonical not required": (
        "eth_getCode",
        [A, {"blockHash": H}],
        [A, {"blockHash": H, "requireCanonical": False}],
    ),
    "omitted flag": ("eth_getBlockByNumber", ["0x5"], ["0x5", False]),
    "data and input": ("eth_call", [{"to": A, "data": "0xAB"}, "0x1"], [{"input": "0xab", "to": A}, "0x1"]),
    "data and input both": (
        "eth_call",
        [{"to": A, "data": "0xab", "input": "0xAB"}],
        [{"to": A, "data": "0xab"}, "latest"],
    ),
    "null members": ("eth_call", [{"to": A, "from": None}], [{"to": A}]),
    "empty overrides": ("eth_call", [{"to": A}, "0x1", {}], [{"to": A}, "0x1"]),
    "slot": ("eth_getStorageAt", [A, "0x0"], [A, "0x" + "00" * 32, "latest"]),
    "one address": (
        "eth_getLogs",
        [{"address": A, "fromBlock": "0x1", "toBlock": "0x2"}],
        [{"toBlock": "0x2", "fromBlock": "0x1", "address": [A.lower()]}],
    ),
    "order of alternatives": (
        "eth_getLogs",
        [{"address": [A, B], "topics": [None, [T, H]], "blockHash": H}],
        [{"address": [B, A], "topics": [None, [H, T]], "blockHash": H}],
    ),
    "omitted ends": ("eth_getLogs", [{}], [{"fromBlock": "latest", "toBlock": "latest"}]),
    "count": ("eth_feeHistory", [4, "0x9", [10]], ["0x4", "0x9", [10.0]]),
}
OTHER = {
    "another block": ("eth_getBalance", [A, "0x1"], [A, "0x2"]),
    "another tag": ("eth_getBalance", [A, "safe"], [A, "latest"]),
    "full transactions": ("eth_getBlockByNumber", ["0x5"], ["0x5", True]),
    "another sender": ("eth_call", [{"to": A, "from": A}], [{"to": A, "from": B}]),
    "another amount of gas": ("eth_call", [{"to": A, "gas": "0x1"}], [{"to": A, "gas": "0x2"}]),
    "omitted block of an estimate": ("eth_estimateGas", [{"to": A}], [{"to": A}, "latest"]),
    "place of a topic": ("eth_getLogs", [{"topics": [T]}], [{"topics": [None, T]}]),
    "trailing null topic": ("eth_getLogs", [{"topics": [T]}], [{"topics": [T, None]}]),
    "one end": ("eth_getLogs", [{"fromBlock": "0x1"}], [{"fromBlock": "0x1", "toBlock": "0x1"}]),
    "address or topic": ("eth_getLogs", [{"address": [], "topics": [[T]]}], [{"topics": [[T]]}]),
    "no percentiles": ("eth_feeHistory", [4, "0x9"], [4, "0x9", []]),
    "spelling of a proven slot": ("eth_getProof", [A, ["0x0"]], [A, ["0x" + "00" * 32]]),
}
NONE = {
    "pending": ("eth_getBalance", [A, "pending"]),
    "earliest": ("eth_getBalance", [A, "earliest"]),
    "pending in a range": ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "pending"}]),
    "canonical required": ("eth_getBalance", [A, {"blockHash": H, "requireCanonical": True}]),
    "number and hash": ("eth_getBalance", [A, {"blockHash": H, "blockNumber": "0x1"}]),
    "null block": ("eth_getBalance", [A, None]),
    "integer block": ("eth_getBalance", [A, 1]),
    "state overrides": ("eth_call", [{"to": A}, "0x1", {A: {"balance": "0x1"}}]),
    "block overrides": ("eth_call", [{"to": A}, "0x1", {}, {"time": "0x1"}]),
    "simulation": ("eth_simulateV1", [{"blockStateCalls": []}, "0x1"]),
    "unknown member": ("eth_call", [{"to": A, "authorizationList": []}, "0x1"]),
    "spelling": ("eth_call", [{"TO": A}, "0x1"]),
    "two inputs": ("eth_call", [{"to": A, "data": "0xab", "input": "0xcd"}, "0x1"]),
    "unknown filter member": ("eth_getLogs", [{"limit": 5}]),
    "hash and range": ("eth_getLogs", [{"blockHash": H, "fromBlock": "0x1"}]),
    "null alternative": ("eth_getLogs", [{"topics": [[None, T]]}]),
    "unknown method": ("eth_syncing", []),
    "chain id": ("eth_chainId", []),
    "too many": ("eth_getBalance", [A, "0x1", "0x2"]),
    "too few": ("eth_getBalance", []),
    "short hash": ("eth_getTransactionReceipt", ["0x12"]),
    "hash as number": ("eth_getBlockByNumber", [H]),
    "number as hash": ("eth_getBlockByHash", ["0x1"]),
    "beyond 64 bits": ("eth_getBalance", [A, "0x" + "f" * 16]),
    "percentile": ("eth_feeHistory", [1, "0x1", [101]]),
    "no percentile": ("eth_feeHistory", [1, "0x1", [float("nan")]]),
    "flag of text": ("eth_getBlockByNumber", ["0x5", "false"]),
    "no ASCII": ("eth_call", [{"to": A, "data": "0x\u212a"}]),
    "unhashable": ("eth_getBalance", [[], {}]),
    "no text": ("eth_getBalance", [A, "\ud800"]),
    "lone surrogate": ("eth_getLogs", [{"address": "0x\ud800"}]),
}


@pytest.mark.parametrize("case", SAME)
def test_one_key_for_one_meaning(case):
    method, one, other = SAME[case]
    assert plan_of(1, method, one) == plan_of(1, method, other) is not None


@pytest.mark.parametrize("case", OTHER)
def test_another_key_for_another_meaning(case):
    method, one, other = OTHER[case]
    plans = plan_of(1, method, one), plan_of(1, method, other)
    assert None not in plans
    assert plans[0].key != plans[1].key


@pytest.mark.parametrize("case", NONE)
def test_what_is_not_known_has_no_key(case):
    method, params = NONE[case]
    assert plan_of(1, method, params) is None


def test_chains_and_methods_have_keys_of_their_own():
    keys = {
        plan_of(chain, method, [A, "0x1"]).key
        for chain in (1, 10)
        for method in ("eth_getBalance", "eth_getCode", "eth_getTransactionCount")
    }
    assert len(keys) == 6


def test_a_long_call_has_a_short_key():
    call = {"to": A, "data": "0x" + "00" * 100_000}
    plans = [plan_of(1, "eth_call", [{**call, "data": call["data"] + end}, "0x1"]) for end in ("00", "01")]
    assert [len(plan.key) for plan in plans] == [32, 32]
    assert plans[0].key != plans[1].key


@pytest.mark.parametrize(
    ("method", "params", "kind", "number", "state"),
    [
        ("eth_blockNumber", [], Kind.HEAD, None, False),
        ("eth_getBalance", [A], Kind.HEAD, None, True),
        ("eth_getBalance", [A, "finalized"], Kind.HEAD, None, True),
        ("eth_getBlockByNumber", ["finalized"], Kind.HEAD, None, False),
        ("eth_getBalance", [A, "0x10"], Kind.NUMBERED, 16, True),
        ("eth_getBalance", [A, {"blockHash": H}], Kind.IMMUTABLE, None, True),
        ("eth_getBlockByHash", [H], Kind.IMMUTABLE, None, False),
        ("eth_getBlockReceipts", [H], Kind.IMMUTABLE, None, False),
        ("eth_getBlockReceipts", ["0x10"], Kind.NUMBERED, 16, False),
        ("eth_getLogs", [{"fromBlock": "0x10", "toBlock": "0x20"}], Kind.NUMBERED, 32, False),
        ("eth_getLogs", [{"fromBlock": "0x10"}], Kind.HEAD, None, False),
        ("eth_getLogs", [{"fromBlock": "0x10", "toBlock": "finalized"}], Kind.HEAD, None, False),
        ("eth_getLogs", [{"blockHash": H}], Kind.IMMUTABLE, None, False),
        ("eth_getTransactionByHash", [T], Kind.TRANSACTION, None, False),
        ("eth_getTransactionReceipt", [T], Kind.TRANSACTION, None, False),
        ("eth_config", [], Kind.NODE, None, False),
    ],
)
def test_how_long_an_answer_is_right(method, params, kind, number, state):
    plan = plan_of(1, method, params)
    assert (plan.kind, plan.number, plan.state) == (kind, number, state)
