"""The words of nodes and providers, and what each of them means for the caller and for the upstream."""

import time
from email.utils import formatdate

import pytest
from quoteway import RpcError
from quoteway_rpc.error_rows import DIALECTS, Outcome
from quoteway_rpc.outcomes import (
    MAX_RETRY_AFTER_S,
    Unusable,
    agreed,
    classify,
    conclusion,
    for_client,
    refused,
    refused_by_status,
    retry_after_s,
    retry_in_error,
)

CALLER, CAPACITY, MISSING = Outcome.CALLER, Outcome.CAPACITY, Outcome.DATA_MISSING
FAULT, AUTHORISATION, METHOD = Outcome.NODE_FAULT, Outcome.AUTHORISATION, Outcome.METHOD_MISSING
LARGE, UNKNOWN, TIMEOUT = Outcome.TOO_LARGE, Outcome.UNKNOWN, Outcome.TIMEOUT

# who, code, message, what it is
ERRORS = [
    ("geth", 3, "execution reverted: Too little received", CALLER),
    ("geth", -32000, "execution reverted", CALLER),
    ("a contract", 3, "execution reverted: too many requests, upgrade your plan", CALLER),
    ("a contract", -32000, "execution reverted: missing trie node", CALLER),
    ("a contract", -32603, "Error: VM Exception while processing transaction: reverted with 'quota'", CALLER),
    ("nethermind", -32015, "VM execution error.", CALLER),
    ("besu", -32000, "Execution reverted (ERC20: transfer amount exceeds balance)", CALLER),
    ("geth", -32602, "invalid argument 0: json: cannot unmarshal hex string of odd length", CALLER),
    ("a caller", -32602, 'invalid argument 1: hex string "0xrate limit exceeded" has length 4', CALLER),
    ("geth", -32602, "missing value for required argument 1", CALLER),
    ("geth", -32602, "too many arguments, want at most 2", CALLER),
    ("geth", -32000, "insufficient funds for gas * price + value: address 0x1 have 0 want 1", CALLER),
    ("geth", -32000, "err: insufficient funds for gas * price + value (supplied gas 50000000)", CALLER),
    ("geth", -32000, "nonce too low: next nonce 5, tx nonce 1", CALLER),
    ("geth", -32000, "max fee per gas less than block base fee: address 0x1", CALLER),
    ("geth", -32000, "gas required exceeds allowance (50000000)", CALLER),
    ("geth", -32000, "intrinsic gas too low: have 0, want 21000", CALLER),
    ("geth", -32000, "invalid opcode: INVALID", CALLER),
    ("geth", -32000, "stack underflow (0 <=> 2)", CALLER),
    ("geth", -32602, "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified", CALLER),
    ("geth", -32602, "invalid block range params", CALLER),
    ("execution-apis", -38014, "insufficient funds", CALLER),
    ("execution-apis", -38020, "block numbers must be in order", CALLER),
    ("besu", -32004, "Upfront cost exceeds account balance", CALLER),
    ("openethereum", -32010, "Insufficient funds. The account has no balance", CALLER),
    ("anvil", -32603, "EVM error InvalidJump", CALLER),
    ("reth", -32000, "gas limit is too high", CALLER),
    ("hosted", 429, "Too Many Requests", CAPACITY),
    ("hosted", -32000, "too many requests", CAPACITY),
    ("infura", -32005, "daily request count exceeded, request rate limited", CAPACITY),
    ("infura", -32005, "project ID request rate exceeded", CAPACITY),
    ("alchemy", 429, "Your app has exceeded its compute units per second capacity.", CAPACITY),
    ("alchemy", -32000, "Monthly capacity limit exceeded. Visit https://dashboard.example.com", CAPACITY),
    ("quicknode", -32007, "50/second request limit reached - reduce calls per second", CAPACITY),
    ("quicknode", -32003, "daily request limit reached - upgrade your account", CAPACITY),
    ("ankr", -32090, "Too many requests, reason: call rate limit exhausted, retry in 10s", CAPACITY),
    ("drpc", 15, "Too many request, try again later", CAPACITY),
    ("drpc", 30, "Request timeout on the free tier, please upgrade your tier to the paid one", CAPACITY),
    ("1rpc", -32001, "You have exhausted your daily free quota", CAPACITY),
    ("chainstack", -32005, "You've exceeded the RPS limit available on the current plan.", CAPACITY),
    ("proxyd", -32016, "over rate limit", CAPACITY),
    ("proxyd", -32012, "backend is over capacity", CAPACITY),
    ("bsc", -32005, "limit exceeded", CAPACITY),
    ("geth", -32000, "header not found", MISSING),
    ("geth", -32000, "header for hash not found", MISSING),
    ("geth", -32000, "missing trie node 3f2a (path ) state 0x1 is not available", MISSING),
    ("geth", -32000, "historical state 9d1f is not available", MISSING),
    ("geth", -32000, "required historical state unavailable (reexec=128)", MISSING),
    ("geth", -32000, "hash 1f is not currently canonical", MISSING),
    ("geth", -32602, "block range extends beyond current head block", MISSING),
    ("geth", -32000, "transaction indexing is in progress", MISSING),
    ("geth", -32000, "unknown block", MISSING),
    ("execution-apis", 4444, "Pruned history unavailable", MISSING),
    ("reth", -32000, "state at block #1 is pruned", MISSING),
    ("reth", -32602, "distance to target block exceeds maximum proof window", MISSING),
    ("a pruned node", 3, "state is pruned", MISSING),
    ("erigon", -32000, "old data not available due to pruning", MISSING),
    ("nethermind", -32002, "No state available for block 0x1", MISSING),
    ("besu", -32000, "World state unavailable", MISSING),
    ("eip-1474", -32001, "resource not found", MISSING),
    (
        "alchemy",
        -32000,
        "One of the blocks specified in filter (fromBlock, toBlock) cannot be found.",
        MISSING,
    ),
    ("publicnode", -32603, "Archive requests require a personal token, get one at allnodes.com", MISSING),
    ("proxyd", -32019, "block is out of range", MISSING),
    ("goldsky", -32014, "missing data", MISSING),
    ("json-rpc", -32603, "Internal error", FAULT),
    ("json-rpc", -32603, "something new", FAULT),
    ("geth", -32603, "method handler crashed", FAULT),
    ("eip-1474", -32002, "resource unavailable", FAULT),
    ("hosted", -32000, "internal error", FAULT),
    ("proxyd", -32011, "no backends available for method", FAULT),
    ("proxyd", -32010, "backend offline", FAULT),
    ("drpc", 19, "Temporary internal error. Please retry", FAULT),
    ("drpc", 12, "Can't route your request to suitable provider", FAULT),
    ("cloudflare", -32046, "Cannot fulfill request", FAULT),
    ("erigon", -32000, "mdbx_txn_begin: MDBX_CORRUPTED", FAULT),
    ("geth", -32000, "dial tcp 10.0.0.1:8545: connect: connection refused", FAULT),
    ("hosted", -32000, "request timed out", TIMEOUT),
    ("geth", -32002, "request timed out", TIMEOUT),
    ("geth", -32000, "execution aborted (timeout = 5s)", LARGE),
    ("proxyd", -32015, "gateway timeout", TIMEOUT),
    ("hosted", -32016, "unauthorized: invalid api key", AUTHORISATION),
    ("alchemy", -32600, "Must be authenticated!", AUTHORISATION),
    ("infura", -32002, "project ID does not have access to this network", AUTHORISATION),
    ("ankr", -32000, "Unauthorized: You must authenticate your request with an API key", AUTHORISATION),
    ("hosted", -32000, "invalid project id", AUTHORISATION),
    ("hosted", 403, "Forbidden", AUTHORISATION),
    ("json-rpc", -32601, "the method eth_foo does not exist/is not available", METHOD),
    ("eip-1474", -32004, "method not supported", METHOD),
    ("alchemy", -32600, "Unsupported method: eth_config on ETH_MAINNET", METHOD),
    ("hosted", -32000, "method eth_simulateV1 not whitelisted", METHOD),
    ("nobody knows", -32000, "the frobnicator is unwell", UNKNOWN),
    ("nobody knows", -32600, "Invalid Request", UNKNOWN),
    ("nobody knows", -32700, "Parse error", UNKNOWN),
    ("nobody knows", 1234, "", UNKNOWN),
]
LOG_LIMITS = [
    ("infura", -32005, "query returned more than 10000 results. Try with this block range [0x1, 0x2]."),
    (
        "alchemy",
        -32602,
        "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range",
    ),
    (
        "alchemy",
        -32600,
        "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.",
    ),
    ("quicknode", -32614, "eth_getLogs is limited to a 10,000 range"),
    ("quicknode", -32602, "eth_getLogs is limited to a 5 range, upgrade your plan"),
    ("ankr", -32600, "block range is too wide"),
    ("drpc", 35, "ranges over 10000 blocks are not supported on freetier"),
    (
        "publicnode",
        -32701,
        "Please specify an address in your request or, to remove restrictions, order a node",
    ),
    ("publicnode", -32602, "exceed maximum block range: 50000"),
    ("reth", -32602, "query exceeds max block range 100000"),
    ("reth", -32602, "query exceeds max results 20000, retry with the range 1-2"),
    ("besu", -32005, "Requested range exceeds maximum range limit"),
    ("chainstack", -32602, "Block range limit exceeded. See more details at https://docs.example.com"),
    ("blockpi", -32000, "eth_getLogs block range too large, range: 5000, max: 1024"),
    ("hosted", -32602, "range limited"),
    (
        "cloudflare",
        -32047,
        "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800",
    ),
    ("bsc", -32005, "exceed max block range: 5000"),
    ("zksync", -32602, "Query returned more than 10000 results. Try with this block range [0x1, 0x2]."),
    ("polygon", -32000, "query timeout exceeded. Consider reducing your block range."),
]


@pytest.mark.parametrize(("who", "code", "message", "outcome"), ERRORS)
def test_errors_are_told_apart(who, code, message, outcome):
    assert classify(code, message, "eth_call") is outcome


@pytest.mark.parametrize(("who", "code", "message"), LOG_LIMITS)
def test_limits_of_log_ranges_blame_nobody(who, code, message):
    found = refused(RpcError(code, message), "eth_getLogs")
    assert found.outcome is LARGE
    assert not found.blames_upstream


def test_every_client_and_provider_is_covered():
    named = "geth erigon nethermind besu reth anvil alchemy quicknode infura ankr drpc publicnode"
    assert set(named.split()) <= DIALECTS


def test_the_data_of_a_revert_outweighs_its_words():
    error = RpcError(3, "state is pruned", "0x08c379a0")
    assert refused(error, "eth_call") is error


@pytest.mark.parametrize("status", [401, 402, 403, 429])
def test_the_account_of_the_operator_is_no_matter_of_the_caller(status):
    body = RpcError(-32602, "key canary-7 has used up its quota: https://pay.example.com")
    found = refused_by_status(status, None, body, "eth_call")
    assert found.outcome is (CAPACITY if status == 429 else AUTHORISATION)
    assert found.blames_upstream
    assert found.error is None
    assert conclusion([found]) is None


@pytest.mark.parametrize("status", [400, 500])
def test_a_revert_is_one_whatever_its_status(status):
    error = RpcError(3, "execution reverted", "0x")
    assert refused_by_status(status, None, error, "eth_call") is error


def test_other_statuses_are_faults_of_the_node():
    for status in (302, 404, 405, 500, 502, 503, 521):
        found = refused_by_status(status, "3", None, "eth_call")
        assert (found.outcome, found.kind, found.retry_after_s) == (FAULT, f"http_{status}", 3)
    unknown = RpcError(-32000, "the frobnicator is unwell")
    assert refused_by_status(503, None, unknown, "eth_call").outcome is FAULT
    assert refused_by_status(413, None, None, "eth_getLogs").outcome is LARGE
    assert refused_by_status(413, None, None, "eth_call").outcome is FAULT


def unusable(code, message):
    return refused(RpcError(code, message), "eth_call")


def test_an_unknown_error_is_the_callers_once_two_upstreams_give_it():
    first = unusable(-32000, "the frobnicator of 0xab is unwell at 5")
    assert agreed([first]) is None
    assert agreed([first, Unusable("timeout")]) is None
    assert agreed([first, unusable(1234, "something else")]) is None
    for second in (unusable(-32000, "other words"), unusable(77, "the frobnicator of 0x1 is unwell at 99")):
        assert agreed([first, Unusable("http_500"), second]).rpc_message == first.error.rpc_message


def test_the_callers_error_is_told_when_all_others_fail():
    unknown = unusable(-32000, "the frobnicator is unwell")
    assert conclusion([Unusable("timeout"), unknown]).rpc_message == "the frobnicator is unwell"
    missing = unusable(-32000, "header not found")
    assert conclusion([missing]).rpc_message == "header not found"
    assert conclusion([missing, Unusable("timeout")]) is None
    assert conclusion([]) is None


@pytest.mark.parametrize(
    "text",
    [
        "archive data is on the Growth plan, see https://pay.example.com",
        "missing trie node: get your personal token",
        "header not found. Contact support",
        "header not found\r\nX-Injected: 1",
        "header not found" + "!" * 600,
    ],
)
def test_no_words_of_a_provider_reach_a_client(text):
    shown = for_client(RpcError(-32000, text, {"see": "https://pay.example.com"}), MISSING)
    assert shown.rpc_message == "the node does not have the requested block or state"
    assert (shown.rpc_code, shown.data) == (-32000, None)


def test_retry_after_is_seconds_or_a_date_and_bounded():
    assert retry_after_s(None) is None
    assert retry_after_s("7") == 7
    assert retry_after_s("86400") == MAX_RETRY_AFTER_S
    assert retry_after_s("9" * 5000) == MAX_RETRY_AFTER_S
    assert 10 < retry_after_s(formatdate(time.time() + 30, usegmt=True)) <= 30
    assert retry_after_s(formatdate(time.time() - 30, usegmt=True)) == 0
    assert retry_after_s(formatdate(time.time() + 1e6, usegmt=True)) == MAX_RETRY_AFTER_S
    for text in ("", "soon", "-1", "1.5", "٣", "Mon, 99 Foo 2026 99:99:99 GMT"):
        assert retry_after_s(text) is None


def test_a_pause_may_be_in_the_error_object():
    assert retry_in_error(RpcError(-32005, "", {"rate": {"backoff_seconds": 30}})) == 30
    assert retry_in_error(RpcError(-32090, "call rate limit exhausted, retry in 10s")) == 10
    assert retry_in_error(RpcError(-32005, "try again in 250ms")) == 0.25
    assert retry_in_error(RpcError(-32005, "retry after 999999 min")) == MAX_RETRY_AFTER_S
    for data in (
        None,
        {"rate": {"backoff_seconds": "1"}},
        {"rate": {"backoff_seconds": -1}},
        [],
        {"rate": 3},
    ):
        assert retry_in_error(RpcError(-32005, "limit exceeded", data)) is None


def test_words_for_the_log_have_a_class():
    assert Unusable("timeout").outcome is TIMEOUT
    assert Unusable("wrong_chain_id").outcome is Outcome.INTEGRITY
    assert Unusable("data_missing").outcome is MISSING
    assert Unusable("ClientOSError").outcome is FAULT
    assert not Unusable("method_missing").blames_upstream
