"""What nodes write when a range of logs is too large, and what they write of other things."""

import pytest
from quoteway import RpcError
from quoteway_rpc.log_refusals import Refusal, refusal_of, size_refusal

BY_RANGE, BY_RESULTS = True, False


@pytest.mark.parametrize(
    ("code", "text", "refusal"),
    [
        (
            -32005,
            "query returned more than 10000 results. Try with this block range [0x10, 0x20].",
            Refusal(BY_RESULTS, None, 10_000, (16, 32)),
        ),
        (-32005, "query returned more than 10000 results", Refusal(BY_RESULTS, None, 10_000)),
        (
            -32602,
            "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and "
            "no limit on the response size, or you can request any block range with a cap of 10K logs in the "
            "response. Based on your parameters and the response size limit, this block range should work: "
            "[0x1, 0x7cf]",
            Refusal(BY_RESULTS, None, 10_000, (1, 1999)),
        ),
        (
            -32600,
            "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based "
            "on your parameters, this block range should work: [0x5, 0xe].",
            Refusal(BY_RANGE, 10, None, (5, 14)),
        ),
        (-32614, "eth_getLogs is limited to a 10,000 range", Refusal(BY_RANGE, 10_000)),
        (-32602, "eth_getLogs is limited to a 5 range", Refusal(BY_RANGE, 5)),
        (
            -32602,
            "eth_getLogs and eth_newFilter are limited to a 10,000 blocks range",
            Refusal(BY_RANGE, 10_000),
        ),
        (-32062, "Block range is too large", Refusal(BY_RANGE)),
        (-32600, "block range is too wide", Refusal(BY_RANGE)),
        (-32000, "exceed maximum block range: 5000", Refusal(BY_RANGE, 5000)),
        (
            -32047,
            "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800",
            Refusal(BY_RANGE, 800),
        ),
        (-32000, "query exceeds max block range 100000", Refusal(BY_RANGE, 100_000)),
        (-32602, "logs matched by query exceeds limit of 10000", Refusal(BY_RESULTS, None, 10_000)),
        (35, "ranges over 10000 blocks are not supported on freetier", Refusal(BY_RANGE, 10_000)),
        (-32000, "block range is limited to 1024", Refusal(BY_RANGE, 1024)),
        (
            -32000,
            "requested too many blocks from 1 to 5000, maximum is set to 2048",
            Refusal(BY_RANGE, 2048),
        ),
        (-32000, "Block range limit exceeded. See more details at https://x.example", Refusal(BY_RANGE)),
        (-32602, "range limited", Refusal(BY_RANGE)),
        (-32005, "limit exceeded", Refusal(BY_RESULTS)),
        (-32000, "query timeout exceeded", Refusal(BY_RESULTS)),
        (-32008, "Response is too big", Refusal(BY_RESULTS)),
        (-32000, "please limit the query to at most 1000 blocks", Refusal(BY_RANGE, 1000)),
        (-32000, "eth_getLogs is limited to 0 - 1000 blocks range", Refusal(BY_RANGE, 1000)),
        (-32000, "You can make requests with up to a 2K block range", Refusal(BY_RANGE, 2000)),
    ],
)
def test_size_refusals(code, text, refusal):
    assert refusal_of(RpcError(code, text)) == refusal
    assert size_refusal("eth_getLogs", "rate_limited", RpcError(code, text)) is not None
    assert size_refusal("eth_call", "rate_limited", RpcError(code, text)) is None


def test_infura_gives_the_range_in_data():
    error = RpcError(
        -32005, "query returned more than 10000 results", {"from": "0x1", "to": "0x5", "limit": 10000}
    )
    assert refusal_of(error).working == (1, 5)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (-32005, "daily request count exceeded, request rate limited"),
        (429, "too many requests"),
        (-32005, "project ID request rate exceeded"),
        (-32016, "your app has exceeded its compute units per second capacity"),
        (-32000, "invalid block range params"),
        (-32000, "header not found"),
        (-32602, "invalid argument 0: hex string has length 40, want 64 for common.Hash"),
        (-32601, "the method eth_getLogs does not exist"),
        (-32603, "internal error"),
    ],
)
def test_other_errors(code, text):
    assert refusal_of(RpcError(code, text)) is None


def test_what_the_node_says_of_its_limits_is_kept():
    error = RpcError(-32614, "eth_getLogs is limited to a 1,000 blocks range")
    assert size_refusal("eth_getLogs", "too_large", error) is error
    unknown = RpcError(-32614, "no")
    assert refusal_of(size_refusal("eth_getLogs", "too_large", unknown)) == Refusal(BY_RESULTS)


@pytest.mark.parametrize("kind", ["too_large", "too_many_members", "http_413"])
def test_an_answer_that_is_too_long_is_a_size_refusal(kind):
    assert refusal_of(size_refusal("eth_getLogs", kind, None)) == Refusal(BY_RESULTS)
    assert size_refusal("eth_getBlockByHash", kind, None) is None
