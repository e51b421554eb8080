"""Attack: a request that makes the gateway keep, or share, an answer that is wrong for the next caller.

There is no cache of JSON-RPC answers; lists are kept, and identical reads under way are shared. What is kept
does not depend on headers, errors are not kept, chains are kept apart, and each caller gets its own ids.
"""

import asyncio

import pytest
from quoteway.errors import UpstreamError
from quoteway.hookspecs import hookimpl
from quoteway.networks import Network
from quoteway.providers import RpcUpstream

HEADERS = {
    "Host": "evil.example",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "gopher",
    "X-Forwarded-Prefix": "/evil",
    "X-Original-URL": "/v2/tokens",
    "X-Rewrite-URL": "/v2/tokens",
    "X-HTTP-Method-Override": "POST",
    "Origin": "https://evil.example",
    "Accept": "text/html",
    "Accept-Language": "evil",
    "Accept-Encoding": "evil, br;q=0",
    "Accept-Charset": "utf-16",
    "Range": "bytes=0-1",
    "X-Request-ID": "evil",
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "Authorization": "Bearer evil",
    "Cookie": "evil=1",
    "If-None-Match": '"evil"',
    "Cache-Control": "no-store",
}


@pytest.mark.parametrize("path", ["/v2/networks", "/v2/providers", "/v2/pools"])
async def test_no_header_of_the_first_caller_reaches_the_second(fakes, path):
    # The first caller is sent a compressed answer where that is long enough, the second never.
    own = {"Accept-Encoding": "identity"}
    plain = await fakes.get(path, headers=own)
    for number, (name, value) in enumerate(HEADERS.items(), 1):
        # A query of its own makes each the first.
        asked = f"{path}?limit={number}"
        await fakes.get(asked, headers={name: value})
        second = await fakes.get(asked, headers=own)
        assert (second.status, second.headers.keys()) == (200, plain.headers.keys()), name
        assert b"evil" not in second.raw + str(second.headers).encode(), name
        assert second.body.keys() == plain.body.keys(), name


async def test_refusals_are_not_kept(fakes):
    for path in ("/v2/tokens?limit=0", "/v2/pools?network=nowhere", "/v2/canary", "/v2/swaps/quote"):
        answer = await fakes.get(path)
        assert answer.status >= 400
        assert answer.headers["Cache-Control"] == "no-store"
        again = await fakes.get(path)
        assert again.body["error"]["requestId"] != answer.body["error"]["requestId"]


class Chains:
    """Two chains whose node answers with chain, method and parameters, fails when told, and counts."""

    def __init__(self):
        self.asked, self.fails, self.answer = [], False, asyncio.Event()

    @hookimpl
    def quoteway_networks(self):
        return [Network("one", 1, "One"), Network("two", 2, "Two")]

    @hookimpl
    def quoteway_rpc_upstreams(self, context):
        plugin = self

        class Node(RpcUpstream):
            id, title, networks = "node", "Node", frozenset({1, 2})

            async def forward(self, network, method, params, *, timeout_s):
                if method == "eth_chainId":
                    return hex(network.chain_id)
                plugin.asked.append((network.chain_id, method, params))
                await plugin.answer.wait()
                if plugin.fails:
                    raise UpstreamError("down")
                return [network.chain_id, method, params]

        return [Node()]


ADDRESS = "0x" + "11" * 20


@pytest.fixture
async def chains(serve_app):
    plugin = Chains()
    return await serve_app({"chains": plugin}), plugin


def ask(api, chain_id, identity, *params, method="eth_getBalance"):
    body = {"jsonrpc": "2.0", "id": identity, "method": method, "params": list(params)}
    return api.post(f"/v2/rpc/{chain_id}", body)


async def test_callers_of_one_read_get_their_own_ids(chains):
    api, plugin = chains
    plugin.asked.clear()
    waiting = [asyncio.create_task(ask(api, 1 + n % 2, f"id-{n}", ADDRESS, "latest")) for n in range(40)]
    async with asyncio.timeout(60):
        while {asked[0] for asked in plugin.asked if asked[1] == "eth_getBalance"} != {1, 2}:
            await asyncio.sleep(0.01)
    plugin.answer.set()
    for number, answer in enumerate(await asyncio.gather(*waiting)):
        assert answer.status == 200, answer.body
        assert answer.body["id"] == f"id-{number}"
        assert answer.body["result"] == [1 + number % 2, "eth_getBalance", [ADDRESS, "latest"]]


async def test_a_failure_is_not_the_next_caller_s(chains):
    api, plugin = chains
    plugin.answer.set()
    plugin.fails = True
    assert (await ask(api, 1, 1, ADDRESS, "latest")).status == 502
    plugin.fails = False
    answers = [await ask(api, 1, 2, ADDRESS, tag) for tag in ("latest", "0x1", "latest")]
    assert [answer.body["result"][2][1] for answer in answers] == ["latest", "0x1", "latest"]
    assert [asked[2][1] for asked in plugin.asked if asked[1] == "eth_getBalance"][-3:] == [
        "latest",
        "0x1",
        "latest",
    ]


async def test_null_and_the_newest_block_are_read_each_time(chains):
    api, plugin = chains
    plugin.answer.set()
    for method, params in (("eth_blockNumber", ()), ("eth_getTransactionReceipt", ("0x" + "12" * 32,))):
        for number in range(3):
            await ask(api, 1, number, *params, method=method)
        assert [asked[1] for asked in plugin.asked].count(method) == 3
