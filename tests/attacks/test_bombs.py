"""Attack: a few bytes that unfold into millions, in a request's body or in a node's answer.

Sizes are counted while a body is unpacked, documents have a depth, and refusals are short. The next request
is served.
"""

import gzip
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from quoteway.config.network import NetworkConfig
from quoteway.networks import Endpoint

SIZE = 20_000_000
JSON = {"Content-Type": "application/json"}
PATHS = ("/v2/swaps/quote", "/v2/rpc/1")


def raw_deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


SPACES = b" " * SIZE
PACKED = {
    "gzip": ("gzip", gzip.compress(SPACES)),
    "gzip of JSON": ("gzip", gzip.compress(b'{"amount":"' + b"1" * SIZE + b'"}')),
    "many gzip members": ("gzip", gzip.compress(SPACES[:100_000]) * 200),
    "deflate": ("deflate", zlib.compress(SPACES)),
    "raw deflate": ("deflate", raw_deflate(SPACES)),
}
UNREADABLE = {
    "gzip in gzip": ("gzip", gzip.compress(gzip.compress(SPACES))),
    "two codings": ("gzip, gzip", gzip.compress(gzip.compress(SPACES))),
    "brotli": ("br", b"\x5b\xff\xff\x0f" * 100),
    "zstandard": ("zstd", b"\x28\xb5\x2f\xfd" + b"\0" * 100),
}
DOCUMENTS = {
    "deep arrays": b"[" * 60_000,
    "deep and closed": b'{"a":' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    "wide": b"[" + b"[]," * 20_000 + b"[]]",
    "long number": b'{"amount":' + b"1" * 60_000 + b"}",
    "long exponent": b'{"slippageBps":1e' + b"9" * 60_000 + b"}",
    "one member many times": b"{" + b'"amount":"1",' * 4_000 + b'"amount":"1"}',
    "many members": b"{" + b",".join(b'"m%d":1' % n for n in range(5_000)) + b"}",
    "escapes": b'{"provider":"' + b"\\u0000" * 9_000 + b'"}',
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("case", PACKED)
async def test_a_packed_body_is_refused_when_it_grows_too_long(api, refused, case, path):
    coding, body = PACKED[case]
    answer = await api.request("POST", path, data=body, headers={**JSON, "Content-Encoding": coding})
    refused(answer, 413, "invalid_request")
    assert (await api.get("/healthz")).status == 200


@pytest.mark.parametrize("case", UNREADABLE)
async def test_a_body_packed_in_another_way_is_refused(api, refused, case):
    coding, body = UNREADABLE[case]
    answer = await api.request("POST", PATHS[0], data=body, headers={**JSON, "Content-Encoding": coding})
    refused(answer, 400, "invalid_request")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("case", DOCUMENTS)
async def test_a_document_that_is_hard_to_read_is_refused_in_few_words(api, refused, case, path):
    answer = await api.request("POST", path, data=DOCUMENTS[case], headers=JSON)
    assert answer.status in (400, 413, 422)
    refused(answer, answer.status, "validation_error" if answer.status == 422 else "invalid_request")
    assert len(answer.raw) < 16_000
    assert (await api.get("/healthz")).status == 200


# --- from a node ------------------------------------------------------------------------------------------

PATIENT = {"attempt_timeout_s": 30, "total_timeout_s": 30}


@pytest.fixture
async def answered_by(serve_app, make_config):
    """``await answered_by(behaviour)``: what a client sees of a node that behaves like this."""
    quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    sys.path.insert(0, str(Path(__file__).parents[2] / "plugins" / "rpc" / "tests"))
    from fake_node import FakeNode

    async def ask(behaviour):
        async with FakeNode(behaviour) as node:
            endpoint = Endpoint(f"http://127.0.0.1:{node.port}")
            config = replace(
                make_config(),
                networks={"ethereum": NetworkConfig(rpc=(endpoint,))},
                plugin_sections={"rpc": {**PATIENT, "max_response_bytes": 1_000_000}},
            )
            api = await serve_app({"rpc": quoteway_rpc}, config=config)
            call = {"jsonrpc": "2.0", "id": 1, "method": "eth_gasPrice", "params": []}
            answer = await api.post("/v2/rpc/1", call)
            assert (await api.get("/healthz")).status == 200
            return answer

    return ask


def packed(body, coding="gzip"):
    async def behave(node, request, writer):
        from fake_node import send

        send(writer, body, headers=f"Content-Encoding: {coding}\r\n" if coding else "")

    return behave


def result(document):
    """A JSON-RPC answer with this result."""

    async def behave(node, request, writer):
        from fake_node import send

        send(writer, b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (request["id"], document))

    return behave


FROM_NODES = {
    "gzip": packed(gzip.compress(SPACES)),
    "deflate": packed(zlib.compress(SPACES), "deflate"),
    "plain": packed(SPACES, ""),
    "deep": result(b"[" * 5_000 + b"]" * 5_000),
    "too deep to be passed on": result(b"[" * 300 + b"]" * 300),
    "wide": result(b"[" + b"[]," * 250_000 + b"[]]"),
}


@pytest.mark.parametrize("case", FROM_NODES)
async def test_a_node_that_answers_with_a_bomb_has_not_answered(answered_by, refused, case):
    refused(await answered_by(FROM_NODES[case]), 502, "upstream_error", "rpc_error")


async def test_a_node_that_answers_with_much_has_answered(answered_by):
    answer = await answered_by(result(b"[" + b'"0x00",' * 100_000 + b"[]]"))
    assert len(answer.body["result"]) == 100_001
