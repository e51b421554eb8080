"""Attack: texts that write lines of their own into the log, colour the operator's terminal, or fill the disk.

What clients, plugins and nodes write is in the log as one escaped line of bounded length, or not at all.
"""

import asyncio
import io
import json
import logging
import re

import pytest
from quoteway.errors import RpcError
from quoteway.hookspecs import hookimpl
from quoteway.networks import Network
from quoteway.providers import RpcUpstream, TokenCatalog
from quoteway.telemetry.logs import configure_logging

FORGED = '"}\r\n{"event":"forged"}\n12:00:00 info forged\r\x1b[2J\x1b[31m\u2028\u202e\x00\x9b1m'
LONG = 1 << 20
LONGEST_LINE = 1 << 17
NETWORK = Network("ethereum", 1, "Ethereum")


class Hostile:
    """A plugin whose every text is hostile."""

    @hookimpl
    def quoteway_networks(self):
        return [NETWORK]

    @hookimpl
    def quoteway_rpc_upstreams(self, context):
        class Node(RpcUpstream):
            id, title, networks = "node", "Node", frozenset({1})

            async def forward(self, network, method, params, *, timeout_s):
                if method == "eth_gasPrice":
                    context.log.warning("the node says %s", FORGED * 10_000, extra={"more": FORGED})
                    raise RpcError(-32000, FORGED + "x" * LONG, FORGED)
                raise RuntimeError(FORGED + "x" * LONG)

        return [Node()]

    @hookimpl
    def quoteway_token_catalogs(self):
        class Catalog(TokenCatalog):
            id, title = "catalog", FORGED

            async def tokens(self, chain_id):
                raise ValueError(FORGED + "x" * LONG)

            async def profile(self, token_id):
                raise ValueError(FORGED + token_id)

            async def token(self, chain_id, address):
                raise ValueError(FORGED)

        return [Catalog()]


@pytest.fixture(params=["json", "console"])
async def logged(request, serve_app, make_config, monkeypatch):
    """A served app, and the text of its log in one format."""
    stream, root = io.StringIO(), logging.getLogger()
    before = root.handlers[:], root.level
    config = make_config(log_format=request.param, access_log="all")
    monkeypatch.setattr("sys.stderr", stream)
    configure_logging(config)
    api = await serve_app({"hostile": Hostile()}, config=config)
    yield api, stream, request.param
    root.handlers[:], root.level = before


async def test_nobody_else_writes_a_line(logged):
    api, stream, log_format = logged
    await attack(api)
    text = stream.getvalue()
    assert text.count("forged") > 0, "the texts are in the log"
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]", text)
    lines = text.splitlines()
    assert max(map(len, lines)) < LONGEST_LINE
    assert len(text) < 40 * LONGEST_LINE
    for line in lines:
        if log_format == "json":
            assert {"time", "level", "logger", "event"} <= json.loads(line).keys()
        else:
            assert re.match(r"\d\d:\d\d:\d\d \w+ +\w[\w.]*: |  |$", line), line[:100]
            assert not line.startswith("12:00:00 info forged")


async def attack(api):
    headers = {"X-Request-ID": "a b", "User-Agent": "forged", "Referer": "forged"}
    for path in (
        "/v2/%0d%0aforged%1b[31m",
        "/v2/tokens/forged%0a%00",
        "/v2/tokens?forged=%0d%0a",
        "/forged%e2%80%ae",
    ):
        await api.get(path, headers=headers)
    for name in ("eth_gasPrice", "eth_blockNumber", "forged\r\n\x1b[31m", "forged" * 1_000):
        await api.post("/v2/rpc/1", {"jsonrpc": "2.0", "id": "forged\n", "method": name, "params": []})
    raw = (
        b"GET /forged\x1b[31m HTTP/1.1\r\nHost: x\r\n\r\n",
        b"forged\r\n\r\n",
        b"FORGED" * 9_000 + b" / HTTP/1.1\r\n\r\n",
    )
    for request in raw:
        await asyncio.to_thread(api.raw, request)
    answer = await api.post("/v2/swaps/quote", {"provider": "forged\r\n", "forged\u202e": "\x1b"})
    assert answer.status == 422
