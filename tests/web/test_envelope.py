"""Bodies, paths and methods that cannot be served: the right status, the envelope, and a server that goes
on.
"""

import gzip

import pytest

JSON = {"Content-Type": "application/json"}
PATH = "/v2/swaps/quote"

BODIES = {
    "empty": b"",
    "blank": b" \n ",
    "not json": b"{",
    "trailing comma": b'{"a":1,}',
    "two values": b"{}{}",
    "deep arrays": b"[" * 30_000,
    "deep objects": b'{"a":' * 10_000,
    "bad utf-8": b'{"a":"\xff"}',
    "lone surrogate": b'{"a":"\\ud800"}',
    "bom": b"\xef\xbb\xbf{}",
    "utf-16": '{"a":1}'.encode("utf-16"),
    "nan": b'{"a":NaN}',
    "infinity": b'{"a":-Infinity}',
    "nul": b'{"a":1}\x00',
    "array": b"[]",
    "string": b'"x"',
    "number": b"1",
    "null": b"null",
    "single quotes": b"{'a':1}",
}


@pytest.mark.parametrize("case", BODIES)
async def test_bodies_that_are_no_json_object_are_400(api, refused, case):
    refused(await api.request("POST", PATH, data=BODIES[case], headers=JSON), 400, "invalid_request")
    assert (await api.get("/healthz")).status == 200


READABLE = {
    "huge integer": b'{"amount":' + b"1" * 5_000 + b"}",
    "huge exponent": b'{"slippageBps":1e308}',
    "duplicate keys": b'{"amount":"1","amount":5}',
    "control characters": b'{"provider":"\\u0000"}',
    "long member name": b'{"' + b"x" * 50_000 + b'":1}',
    "hostile member name": b'{"\\u202e<script>\\r\\nSet-Cookie: a":1}',
}


@pytest.mark.parametrize("case", READABLE)
async def test_readable_bodies_with_wrong_members_are_422(api, refused, case):
    answer = await api.request("POST", PATH, data=READABLE[case], headers=JSON)
    assert answer.status in (400, 422)
    refused(answer, answer.status, "invalid_request" if answer.status == 400 else "validation_error")
    assert len(answer.raw) < 4_000
    assert b"\\u202e" not in answer.raw.lower()


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "", "application/json; charset=utf-16",
     "application/json; charset=latin-1", "application/json; charset=nonsense", "application/xml", "json",
     "application/json; a*"],  # the last makes aiohttp fail
)  # fmt: skip
async def test_other_content_types_are_415(api, refused, kind):
    refused(
        await api.request("POST", PATH, data=b"{}", headers={"Content-Type": kind}), 415, "invalid_request"
    )


@pytest.mark.parametrize(
    "kind", ["application/json", "APPLICATION/JSON; charset=UTF-8", "application/vnd.x+json"]
)
async def test_json_content_types_are_read(api, refused, kind):
    refused(
        await api.request("POST", PATH, data=b"{}", headers={"Content-Type": kind}), 422, "validation_error"
    )


async def test_a_compressed_bomb_is_413(api, refused):
    bomb = gzip.compress(b" " * 50_000_000)
    answer = await api.request("POST", PATH, data=bomb, headers={**JSON, "Content-Encoding": "gzip"})
    refused(answer, 413, "invalid_request")


async def test_unknown_paths_are_404(api, refused):
    for path in ("/index.html", "/v2", "/v2/", "/v1/tokens", "/v2/tokens/", "/v2/canary", "/x/nobody/here"):
        answer = await api.get(path)
        refused(answer, 404, "not_found")
        assert b"canary" not in answer.raw


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "GET", "PROPFIND"])
async def test_wrong_methods_are_405(api, refused, method):
    answer = await api.request(method, PATH)
    refused(answer, 405, "invalid_request", "method_not_allowed")
    assert answer.headers["Allow"] == "POST"


async def test_head_is_get_without_a_body(api):
    answer = await api.request("HEAD", "/v2/providers")
    assert (answer.status, answer.raw) == (200, b"")
    assert answer.headers["ETag"]


async def test_a_bug_of_ours_tells_nothing(serve_app, refused, caplog):
    api = await serve_app()

    def broken():
        raise RuntimeError("canary")

    api.gateway.readiness = broken
    answer = await api.get("/readyz")
    refused(answer, 503, "provider_unavailable")
    assert b"canary" not in answer.raw
    assert "canary" in caplog.text, "the operator gets the traceback"


async def test_a_request_over_its_deadline_is_502(serve_app, make_config, fake_plugin, refused):
    import asyncio
    from dataclasses import replace

    config = make_config()
    config = replace(config, server=replace(config.server, request_timeout_s=0.1))
    api = await serve_app({"fakes": fake_plugin}, config=config)

    async def hang(*args):
        await asyncio.sleep(60)

    api.gateway.tokens.find_all = hang
    body = {"network": "devnet", "fromToken": "native", "toToken": fake_plugin.weth, "amount": "1"}
    answer = await api.post(PATH, {**body, "address": fake_plugin.weth})
    details = refused(answer, 502, "upstream_error", "provider_timeout")
    assert details["retryable"] is True


async def test_before_it_is_ready(serve_app, refused):
    api = await serve_app()
    api.gateway.ready = False
    assert (await api.get("/healthz")).body == {"status": "ok"}
    answer = await api.get("/readyz")
    refused(answer, 503, "provider_unavailable")
    assert answer.headers["Retry-After"] == "1"
    answer = await api.get("/v2/networks")
    refused(answer, 503, "provider_unavailable")
    assert (await api.get("/v2/providers")).status == 200
    api.gateway.ready = True
    assert (await api.get("/readyz")).body == {"status": "ready"}


HOSTILE = [
    "/v2/pools?network=%ff%fe",
    "/v2/pools?network=%00",
    "/v2/pools?%ff=%ff",
    "/v2/pools?cursor=W10",
    "/v2/pools?cursor=eyJhIjoxLCJiIjoyfQ",
    "/v2/pools?=&&&",
    "/v2/tokens/%ff%fe",
    "/v2/tokens/a%2Fb%00",
    "/v2/tokens/..%2f..%2fetc%2fpasswd",
    "/v2/swaps/quote/%e2%80%ae",
    "/v2/swaps/quote/" + "a.b." * 1_900,
    "/v2/transactions/%ff?hash=0x" + "00" * 32,
    "/v2/rpc/%31",
    "/v2/vaults/1:0x%zz/tvl",
    "/%2e%2e/%2e%2e/v2/providers",
    "/v2/providers/../providers/%",
]


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path[:30])
async def test_hostile_targets_are_told_in_the_envelope(fakes, path):
    from yarl import URL

    async with fakes.session.get(URL(fakes.url + path, encoded=True)) as response:
        body = await response.json()
    assert response.status in (400, 404, 405, 422), body
    assert set(body) == {"error"}
    assert body["error"]["requestId"] == response.headers["X-Request-ID"]
