"""Attack: reading a credential of the operator's nodes out of whatever the gateway says when they fail.

The endpoints have a canary in user info, path, query and headers. No answer, header, metric or log line has
it, whatever a node does, also when the node repeats it in its error.
"""

import json
import logging
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from quoteway.config.network import NetworkConfig
from quoteway.networks import Endpoint

quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")

sys.path.insert(0, str(Path(__file__).parents[2] / "plugins" / "rpc" / "tests"))
from fake_node import FakeNode, error, raw, send  # noqa: E402
from faults import FAULTS, MAX_BYTES  # noqa: E402

CANARY = "canary-5f3a9c-0123456789"
PARTS = [f"{CANARY}-{part}" for part in ("user", "password", "path", "query", "header", "bearer")]
USER, PASSWORD, PATH, QUERY, HEADER, BEARER = PARTS
URL = f"http://{USER}:{PASSWORD}@127.0.0.1:{{}}/v3/{PATH}?key={QUERY}"
TEXT = f"no quota left for key {HEADER} at {URL} ({BEARER})"
JSON_ERROR = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": TEXT}})


async def says_in_headers(node, request, writer):
    send(writer, "denied", f"401 {HEADER}", f"X-Key: {HEADER}\r\nWWW-Authenticate: Bearer {BEARER}\r\n")


LEAKS = {
    **FAULTS,
    "revert with the key": error(3, TEXT, TEXT),
    "error with the key": error(-32000, TEXT, {"see": [TEXT]}),
    "unauthorized, as JSON-RPC": raw(JSON_ERROR, "401 Unauthorized"),
    "payment required, as JSON-RPC": raw(JSON_ERROR, "402 Payment Required"),
    "forbidden, as JSON-RPC": raw(JSON_ERROR, "403 Forbidden"),
    "the key in headers": says_in_headers,
}
PLACES = (
    "/v2/providers",
    "/v2/networks",
    "/readyz",
    "/readyz?verbose",
    "/metrics",
    "/v2/tokens",
    "/v2/portfolio/balances?wallet=" + "0x" + "11" * 20,
)


@pytest.mark.parametrize("fault", LEAKS)
async def test_no_credential_in_anything_that_is_said(serve_app, make_config, caplog, capfd, fault):
    async with FakeNode(LEAKS[fault]) as node, FakeNode(LEAKS[fault]) as other:
        node.elsewhere = other.elsewhere = node.port
        headers = {"X-Api-Key": HEADER, "X-Auth": f"Bearer {BEARER}"}
        endpoints = tuple(Endpoint(URL.format(each.port), headers) for each in (node, other))
        section = {"attempt_timeout_s": 0.2, "total_timeout_s": 0.4, "max_response_bytes": MAX_BYTES}
        config = replace(
            make_config(access_log="all"),
            networks={"ethereum": NetworkConfig(rpc=endpoints)},
            plugin_sections={"rpc": section},
        )
        with caplog.at_level(logging.DEBUG):
            api = await serve_app({"rpc": quoteway_rpc}, config=config)
            call = {"jsonrpc": "2.0", "id": 1, "method": "eth_gasPrice", "params": []}
            answers = [await api.post("/v2/rpc/1", call) for _ in range(2)]
            answers += [await api.get(place) for place in PLACES]
        assert node.seen, "the node was asked"
        said = [answer.raw.decode() + str(answer.headers) for answer in answers]
        for text in (*said, caplog.text, *capfd.readouterr()):
            assert CANARY not in text
            assert f"127.0.0.1:{node.port}" not in text
