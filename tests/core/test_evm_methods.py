"""What clients may have forwarded: the list itself, and every way around it that people try."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quoteway.errors import InvalidRequest, Reason
from quoteway.evm.methods import FILTER_METHODS, METHODS, answered_locally, check
from quoteway.networks import Network
from quoteway.web.wire.errors import error_wire

NETWORK = Network("ethereum", 1, "Ethereum")
ADDRESS = "0x" + "11" * 20

# api.md decision 18 and the reliability notes, section 2: written out, so that a change of the list is seen.
# fmt: off
ALLOWED = [
    "eth_chainId", "net_version", "web3_sha3", "web3_clientVersion", "eth_config", "eth_capabilities",
    "eth_blockNumber", "eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_blobBaseFee", "eth_baseFee",
    "eth_syncing", "net_listening", "eth_getBlockByHash", "eth_getBlockTransactionCountByHash",
    "eth_getTransactionByBlockHashAndIndex", "eth_getUncleByBlockHashAndIndex",
    "eth_getUncleCountByBlockHash", "eth_getBlockByNumber", "eth_getBlockTransactionCountByNumber",
    "eth_getTransactionByBlockNumberAndIndex", "eth_getUncleByBlockNumberAndIndex",
    "eth_getUncleCountByBlockNumber", "eth_getBlockReceipts", "eth_getBlockAccessList",
    "eth_getHeaderByNumber", "eth_getHeaderByHash", "eth_getBalance", "eth_getCode", "eth_getStorageAt",
    "eth_getStorageValues", "eth_getTransactionCount", "eth_getProof", "eth_getAccount", "eth_call",
    "eth_estimateGas", "eth_createAccessList", "eth_simulateV1", "eth_feeHistory", "eth_getLogs",
    "eth_getTransactionByHash", "eth_getTransactionReceipt",
]

REFUSED = [
    "eth_sendRawTransaction", "eth_sendTransaction", "eth_sendBundle", "eth_sendRawTransactionSync",
    "eth_sign", "eth_signTransaction", "eth_signTypedData_v4", "eth_accounts", "eth_coinbase",
    "eth_mining", "eth_hashrate", "eth_getWork", "eth_submitWork", "eth_newFilter", "eth_newBlockFilter",
    "eth_newPendingTransactionFilter", "eth_getFilterChanges", "eth_getFilterLogs",
    "eth_uninstallFilter", "eth_subscribe", "eth_unsubscribe", "personal_unlockAccount",
    "wallet_addEthereumChain", "admin_peers", "miner_start", "engine_newPayloadV4", "clique_propose",
    "debug_traceCall", "debug_traceTransaction", "trace_block", "txpool_content", "testing_x",
    "anvil_setBalance", "hardhat_reset", "evm_mine", "eth_fillTransaction", "eth_protocolVersion",
    "rpc_modules", "web3_sha4", "ETH_CALL", "eth_Call", "Eth_call", "eth_call\x00", "eth_call.",
    "eth_call\u200b", "eth_\u0441all", "alchemy_getTokenBalances", "erigon_x", "", " eth_call",
    "eth_call ", "eth_call\n", "\ufeffeth_call",
    "x" * 1_000_000,
]
# fmt: on


def refusal(method, params):
    with pytest.raises(InvalidRequest) as error:
        check(NETWORK, method, params)
    return error.value


def test_the_list_is_exactly_this():
    assert sorted(METHODS) == sorted(ALLOWED)


@pytest.mark.parametrize("method", REFUSED, ids=lambda method: ascii(method)[:40])
def test_everything_else_is_refused(method):
    error = refusal(method, [])
    assert error.reason is Reason.METHOD_NOT_ALLOWED
    assert error_wire(error, "")["error"]["details"]["rpcCode"] == -32601
    assert len(error.message) < 120
    assert len(method) < 5 or method not in error.message


@given(st.text(max_size=40))
def test_no_other_text_passes(method):
    if method not in ALLOWED:
        assert refusal(method, []).reason is Reason.METHOD_NOT_ALLOWED


@pytest.mark.parametrize("params", [{}, "x", None, 5, [1] * 17])
def test_params_are_a_short_array(params):
    assert refusal("eth_getBalance", params).reason in (Reason.INVALID_FORMAT, Reason.OUT_OF_RANGE)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getBalance", [ADDRESS]),
        ("eth_getBalance", [ADDRESS, {"blockHash": "0x" + "11" * 32}]),
        (
            "eth_call",
            [{"to": ADDRESS, "data": "0x", "gas": "0x2faf080"}, "latest", {ADDRESS: {"code": "0x00"}}],
        ),
        ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x2710"}]),
        ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "latest"}]),
        ("eth_getLogs", [{"blockHash": "0x" + "11" * 32}]),
        ("eth_feeHistory", ["0x400", "latest", [25, 75]]),
        ("eth_feeHistory", [4, "latest", []]),
        ("eth_simulateV1", [{"blockStateCalls": [{"calls": [{"to": ADDRESS, "gas": "0xbebc2"}] * 64}]}]),
        ("eth_getProof", [ADDRESS, ["0x0"], "latest"]),
        ("eth_getStorageValues", [{ADDRESS: ["0x0"]}, "latest"]),
    ],
)
def test_reads_within_bounds_pass_unchanged(method, params):
    assert check(NETWORK, method, params) == params


@pytest.mark.parametrize(
    ("method", "params", "reason"),
    [
        ("eth_call", [{"gas": "0x2faf081"}], Reason.OUT_OF_RANGE),
        ("eth_call", [{"gas": 50_000_001}], Reason.INVALID_FORMAT),
        ("eth_call", [{"gas": "0x00"}], Reason.INVALID_FORMAT),
        ("eth_call", ["0x"], Reason.INVALID_FORMAT),
        ("eth_call", [{"data": "0x" + "00" * 131_073}], Reason.OUT_OF_RANGE),
        ("eth_call", [{"input": "0x" + "00" * 131_073}], Reason.OUT_OF_RANGE),
        ("eth_estimateGas", [{"gas": "0xffffffffffff"}], Reason.OUT_OF_RANGE),
        ("eth_createAccessList", [{"gas": "0xffffffffffff"}], Reason.OUT_OF_RANGE),
        ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x2711"}], Reason.OUT_OF_RANGE),
        ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "0x" + "f" * 16}], Reason.OUT_OF_RANGE),
        ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "0x" + "f" * 17}], Reason.OUT_OF_RANGE),
        ("eth_getLogs", [{"fromBlock": "0x01", "toBlock": "0x2"}], Reason.INVALID_FORMAT),
        ("eth_getLogs", [[]], Reason.INVALID_FORMAT),
        ("eth_feeHistory", ["0x401", "latest"], Reason.OUT_OF_RANGE),
        ("eth_feeHistory", [True, "latest"], Reason.OUT_OF_RANGE),
        ("eth_simulateV1", [{"blockStateCalls": [{"calls": [{}] * 65}]}], Reason.OUT_OF_RANGE),
        ("eth_simulateV1", [{"blockStateCalls": [{}] * 65}], Reason.OUT_OF_RANGE),
        ("eth_simulateV1", [{"blockStateCalls": [{"calls": [{"gas": "0xffffffff"}]}]}], Reason.OUT_OF_RANGE),
        ("eth_simulateV1", [{"blockStateCalls": [{"calls": {}}]}], Reason.INVALID_FORMAT),
        ("eth_simulateV1", [{}], Reason.INVALID_FORMAT),
        ("eth_getProof", [ADDRESS, ["0x0"] * 257, "latest"], Reason.OUT_OF_RANGE),
        ("eth_getStorageValues", [{ADDRESS: ["0x0"] * 257}], Reason.OUT_OF_RANGE),
        ("eth_getStorageValues", [{ADDRESS: 5}], Reason.INVALID_FORMAT),
        ("web3_sha3", ["0xabc"], Reason.INVALID_FORMAT),
        ("web3_sha3", [5], Reason.INVALID_FORMAT),
        ("eth_blockNumber", [1], Reason.OUT_OF_RANGE),
        ("eth_getBalance", [], Reason.OUT_OF_RANGE),
    ],
)
def test_reads_out_of_bounds_are_refused(method, params, reason):
    error = refusal(method, params)
    assert error.reason is reason
    assert error.fields[0].path.startswith("params")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@pytest.mark.parametrize(
    ("criteria", "reason"),
    [
        ({"blockHash": "0x" + "11" * 32}, Reason.CONFLICT),
        ({"fromBlock": "pending"}, Reason.INVALID_FORMAT),
        ({"fromBlock": "0x01"}, Reason.INVALID_FORMAT),
        ({"toBlock": "earliest"}, Reason.INVALID_FORMAT),
        ({"toBlock": "finalized"}, Reason.INVALID_FORMAT),
        ({"fromBlock": "0x0", "toBlock": "0xffffff"}, Reason.OUT_OF_RANGE),
        ({"address": "0x12"}, Reason.INVALID_FORMAT),
        ({"address": [ADDRESS, 5]}, Reason.INVALID_FORMAT),
        ({"ADDRESS": ADDRESS}, Reason.INVALID_FORMAT),
        ({"topics": "0x"}, Reason.INVALID_FORMAT),
        ({"topics": [None] * 5}, Reason.INVALID_FORMAT),
        ({"topics": [["0x12"]]}, Reason.INVALID_FORMAT),
        ("0x", Reason.INVALID_FORMAT),
    ],
)
def test_criteria_of_a_filter_that_are_refused(criteria, reason):
    with pytest.raises(InvalidRequest) as error:
        check(NETWORK, "eth_newFilter", [criteria], FILTER_METHODS)
    assert error.value.reason is reason
    assert error.value.fields[0].path.startswith("params")


@pytest.mark.parametrize(
    "criteria",
    [
        {},
        {"fromBlock": "latest", "toBlock": "latest"},
        {"fromBlock": "earliest", "address": [ADDRESS], "topics": [None, ["0x" + "11" * 32, None]]},
        {"fromBlock": "0x1", "toBlock": "0x20", "address": None, "topics": None},
    ],
)
def test_criteria_of_a_filter(criteria):
    assert check(NETWORK, "eth_newFilter", [criteria], FILTER_METHODS) == [criteria]


@given(st.sampled_from(sorted(ALLOWED)), st.lists(json_values, max_size=4))
def test_no_parameters_make_the_check_fail_otherwise(method, params):
    try:
        check(NETWORK, method, params)
    except InvalidRequest:
        return


def test_what_is_answered_without_a_node():
    assert answered_locally(NETWORK, "eth_chainId", []) == "0x1"
    assert answered_locally(NETWORK, "net_version", []) == "1"
    assert answered_locally(NETWORK, "web3_clientVersion", []) is None
    # ethereum.org, JSON-RPC API, web3_sha3
    hashed = "0x47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad"
    assert answered_locally(NETWORK, "web3_sha3", ["0x68656c6c6f20776f726c64"]) == hashed
    assert answered_locally(NETWORK, "eth_blockNumber", []) is None


HASH = "0x" + "22" * 32


@pytest.mark.parametrize(
    ("method", "params", "forwarded"),
    [
        (
            "eth_call",
            [{"to": ADDRESS, "gas": "0x1", "tracer": "x", "gasLimit": "0x9"}, {"blockHash": HASH, "x": 1}],
            [{"to": ADDRESS, "gas": "0x1"}, {"blockHash": HASH}],
        ),
        (
            "eth_call",
            [{"gas": "0x1", "accessList": [{"address": ADDRESS, "storageKeys": [HASH], "x": {}}]}, "latest"],
            [{"gas": "0x1", "accessList": [{"address": ADDRESS, "storageKeys": [HASH]}]}, "latest"],
        ),
        (
            "eth_call",
            [
                {"gas": "0x1"},
                "latest",
                {ADDRESS: {"stateDiff": {HASH: HASH}, "precompile": 1}},
                {"time": "0x1", "y": 1},
            ],
            [{"gas": "0x1"}, "latest", {ADDRESS: {"stateDiff": {HASH: HASH}}}, {"time": "0x1"}],
        ),
        (
            "eth_getLogs",
            [{"fromBlock": "0x1", "toBlock": "0x2", "topics": [None, [HASH]], "limit": 5}],
            [{"fromBlock": "0x1", "toBlock": "0x2", "topics": [None, [HASH]]}],
        ),
        (
            "eth_simulateV1",
            [{"blockStateCalls": [{"calls": [{"gas": "0x1", "z": 1}], "other": 1}], "traceCalls": True}],
            [{"blockStateCalls": [{"calls": [{"gas": "0x1"}]}]}],
        ),
        ("eth_getBalance", [ADDRESS, {"blockNumber": "0x1", "z": 1}], [ADDRESS, {"blockNumber": "0x1"}]),
    ],
)
def test_requests_are_rebuilt_from_known_members(method, params, forwarded):
    assert check(NETWORK, method, params) == forwarded


@pytest.mark.parametrize(
    ("method", "params", "path"),
    [
        ("eth_call", [{"to": ADDRESS, "GAS": "0xffffffffff"}], "params[0]"),
        ("eth_call", [{"gas": "0x1"}, {"BlockHash": HASH}], "params[1]"),
        ("eth_getLogs", [{"FromBlock": "0x0", "toBlock": "0x1"}], "params[0]"),
        ("eth_simulateV1", [{"blockStateCalls": [{"Calls": [{}]}]}], "params[0].blockStateCalls[0]"),
        ("eth_simulateV1", [{"BlockStateCalls": [{"calls": [{}]}]}], "params[0]"),
        ("eth_call", [{"gas": "0x1"}, "latest", {ADDRESS: {"Code": "0x00"}}], "params[2][...]"),
    ],
)
def test_another_spelling_of_a_known_member_is_refused(method, params, path):
    error = refusal(method, params)
    assert (error.reason, error.fields[0].path) == (Reason.INVALID_FORMAT, path)


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas", "eth_createAccessList"])
def test_a_call_without_gas_gets_the_most(method):
    assert check(NETWORK, method, [{"to": ADDRESS}])[0]["gas"] == hex(50_000_000)
