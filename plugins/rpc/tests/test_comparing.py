"""One answer in the writing of several kinds of nodes, and answers that contradict each other."""

import pytest
from quoteway import RpcError
from quoteway_rpc.comparing import Differ, Mode, merged, mode_of, same_error

HASH = "0x" + "ab" * 32
LOG = {
    "address": "0x" + "aB" * 20,
    "topics": [HASH],
    "data": "0x00ff",
    "blockHash": HASH,
    "blockNumber": "0x10",
    "transactionHash": HASH,
    "transactionIndex": "0x0",
    "logIndex": "0x1",
    "removed": False,
}
BLOCK = {
    "number": "0x10",
    "hash": HASH,
    "parentHash": HASH,
    "timestamp": "0x5",
    "baseFeePerGas": "0x7",
    "logsBloom": "0x" + "00" * 256,
    "gasUsed": "0x0",
    "gasLimit": "0x1c9c380",
    "miner": "0x" + "11" * 20,
    "stateRoot": HASH,
    "transactionsRoot": HASH,
    "receiptsRoot": HASH,
    "transactions": [HASH],
}
SIMULATED = [
    {"hash": HASH, "calls": [{"status": "0x1", "returnData": "0x", "gasUsed": "0x5208", "logs": []}]}
]


def other(value, **changes):
    return {**value, **changes}


@pytest.mark.parametrize(
    ("method", "first", "second", "agreed"),
    [
        ("eth_getBalance", "0x1A", "0x1a", "0x1A"),
        ("eth_getBalance", "0x01a", "0x1a", "0x01a"),
        ("eth_getStorageAt", "0x0", "0x" + "00" * 32, "0x0"),
        ("eth_call", "0xAB", "0xab", "0xAB"),
        ("eth_getLogs", [LOG], [other(LOG, address=LOG["address"].lower())], [LOG]),
        ("eth_getLogs", [other(LOG, blockTimestamp="0x5")], [LOG], [LOG]),
        ("eth_getBlockByHash", other(BLOCK, size="0x1", totalDifficulty="0x9"), BLOCK, BLOCK),
        ("eth_getBlockByHash", other(BLOCK, size="0x1"), other(BLOCK, size="0x2"), BLOCK),
        ("eth_getBlockByHash", other(BLOCK, withdrawals=None), BLOCK, other(BLOCK, withdrawals=None)),
        ("eth_getBlockByHash", dict(reversed(BLOCK.items())), BLOCK, BLOCK),
        (
            "eth_simulateV1",
            [other(SIMULATED[0], hash="0x" + "cd" * 32)],
            SIMULATED,
            [{"calls": SIMULATED[0]["calls"]}],
        ),
        (
            "eth_createAccessList",
            {
                "accessList": [
                    {"address": "0xBB", "storageKeys": ["0x2", "0x1"]},
                    {"address": "0xAA", "storageKeys": []},
                ],
                "gasUsed": "0x1",
            },
            {
                "accessList": [
                    {"address": "0xaa", "storageKeys": []},
                    {"address": "0xbb", "storageKeys": ["0x1", "0x2"]},
                ],
                "gasUsed": "0x2",
            },
            {
                "accessList": [
                    {"address": "0xaa", "storageKeys": []},
                    {"address": "0xbb", "storageKeys": ["0x1", "0x2"]},
                ]
            },
        ),
        (
            "eth_feeHistory",
            {"gasUsedRatio": [0.1 + 0.2]},
            {"gasUsedRatio": [0.3]},
            {"gasUsedRatio": [0.1 + 0.2]},
        ),
    ],
)
def test_one_answer_of_two_kinds_of_nodes(method, first, second, agreed):
    assert merged(method, first, second) == agreed
    merged(method, second, first)


@pytest.mark.parametrize(
    ("method", "first", "second"),
    [
        ("eth_getBalance", "0x1a", "0x1b"),
        ("eth_getBalance", "0x1a", None),
        ("eth_call", "0x00", "0x0000"),
        ("eth_call", "0x", "0x00"),
        ("eth_getCode", "0x6000", "0x60"),
        ("eth_getLogs", [LOG], []),
        ("eth_getLogs", [LOG], [other(LOG, data="0xff")]),
        ("eth_getLogs", [LOG], [{name: LOG[name] for name in LOG if name != "logIndex"}]),
        ("eth_getBlockByHash", BLOCK, other(BLOCK, baseFeePerGas="0x8")),
        ("eth_getBlockByHash", BLOCK, {name: BLOCK[name] for name in BLOCK if name != "baseFeePerGas"}),
        ("eth_getBlockByHash", BLOCK, other(BLOCK, transactions=[])),
        ("eth_getBlockByHash", BLOCK, None),
        ("eth_getBlockByHash", BLOCK, "0x1"),
        (
            "eth_simulateV1",
            SIMULATED,
            [{"calls": [{"status": "0x1", "returnData": "0x", "gasUsed": "0x5209", "logs": []}]}],
        ),
        ("eth_getProof", {"balance": "0x1", "extra": 1}, {"balance": "0x1"}),
        ("eth_getTransactionCount", "0x1", 1),
        ("eth_getTransactionCount", "0x1", True),
    ],
)
def test_answers_that_contradict_each_other(method, first, second):
    for pair in ((first, second), (second, first)):
        with pytest.raises(Differ):
            merged(method, *pair)


def test_what_only_one_node_says_is_not_agreed():
    """A liar may not add members that the core reads, such as the peak gas of a simulated call."""
    lie = [{"calls": [{**SIMULATED[0]["calls"][0], "maxUsedGas": "0x1"}]}]
    assert "maxUsedGas" not in merged("eth_simulateV1", lie, SIMULATED)[0]["calls"][0]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ((3, "execution reverted", "0xAB"), (-32000, "VM Exception: reverted", "0xab"), True),
        ((3, "execution reverted", "0xab"), (3, "execution reverted", "0xac"), False),
        ((3, "execution reverted", None), (3, "execution reverted: x", "0x"), True),
        ((-32602, "bad"), (-32602, "invalid argument"), True),
        ((-32602, "bad"), (-32000, "bad"), False),
        ((3, "execution reverted"), (-32000, "insufficient funds"), False),
        ((3, "reverted", {"data": "0xab"}), (3, "reverted", "0xab"), True),
    ],
)
def test_errors(first, second, same):
    assert same_error(RpcError(*first), RpcError(*second)) is same


@pytest.mark.parametrize(
    ("method", "params", "mode"),
    [
        ("eth_getBlockByNumber", ["latest", False], Mode.HEAD),
        ("eth_getBlockByNumber", ["0x1", False], Mode.EQUAL),
        ("eth_gasPrice", [], Mode.MEDIAN),
        ("eth_chainId", [], Mode.ANY),
        ("eth_call", [{}, "latest"], Mode.EQUAL),
    ],
)
def test_modes(method, params, mode):
    assert mode_of(method, params) is mode
