"""Pages of strangers beside the embedded default, which listens on loopback without a key.

A page of the same machine may call it from any port. A page of another host may not: not by its origin, and
not by letting its own name lead to 127.0.0.1 (DNS rebinding), whatever it asks.
"""

import asyncio
from dataclasses import replace

import aiohttp
import pytest
from multidict import CIMultiDict
from quoteway.config.model import Config, ServerConfig
from quoteway.web.http.origins import Hosts

LOCAL = ["http://localhost:5173", "http://127.0.0.1:3000", "http://[::1]:8080", "http://localhost"]
STRANGERS = [
    "https://evil.example",
    "http://localhost.evil.example",
    "http://127.0.0.1.nip.io:3000",
    "http://evil.example#localhost",
    "http://localhost:5173.evil.example",
    "http://user@localhost:5173",
    "http://localhost:",
    "file://",
    "null",
]
CALL = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}


@pytest.fixture
async def fakes(serve_app, make_config, fake_plugin):
    return await serve_app({"fakes": fake_plugin}, config=replace(make_config(), embedded=True))


@pytest.fixture
async def deployment(serve_app, make_config, fake_plugin):
    async def start(embedded=False, **server):
        config = replace(make_config(**server), embedded=embedded)
        return await serve_app({"fakes": fake_plugin}, config=config)

    return start


@pytest.mark.parametrize("origin", LOCAL)
async def test_a_page_of_this_machine_may_call_the_embedded_default(fakes, origin):
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    preflight = await fakes.request("OPTIONS", "/v2/swaps/quote", headers={"Origin": origin, **asked})
    assert (preflight.status, preflight.headers["Access-Control-Allow-Origin"]) == (204, origin)
    assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
    assert "Content-Type" in preflight.headers["Access-Control-Allow-Headers"]
    quote = await fakes.post("/v2/swaps/quote", {}, headers={"Origin": origin})
    answers = [await fakes.get(path, headers={"Origin": origin}) for path in ("/v2/pools", "/v2/pools", "/")]
    answers.append(await fakes.post("/v2/rpc/31337", CALL, headers={"Origin": origin}))
    for answer in (quote, *answers):
        assert answer.headers["Access-Control-Allow-Origin"] == origin
        assert "Origin" in answer.headers.getall("Vary")
        assert "Access-Control-Allow-Credentials" not in answer.headers
    async with fakes.session.ws_connect(fakes.url + "/v2/rpc/31337", origin=origin) as socket:
        await socket.send_json(CALL)
        assert (await socket.receive_json(timeout=20))["result"] == "0x7a69"


@pytest.mark.parametrize("origin", STRANGERS)
async def test_a_page_of_another_host_may_not(fakes, origin):
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    answers = [
        await fakes.request("OPTIONS", "/v2/swaps/quote", headers=asked),
        await fakes.get("/v2/pools", headers={"Origin": origin}),
        await fakes.post("/v2/rpc/31337", CALL, headers={"Origin": origin}),
    ]
    assert not any("Access-Control-Allow-Origin" in answer.headers for answer in answers)
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await fakes.session.ws_connect(fakes.url + "/v2/rpc/31337", origin=origin)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "127.0.0.1.nip.io",
        "localhost.evil.example",
        "10.0.0.7",
        "",
        "a b",
    ],
)
async def test_a_name_that_was_made_to_lead_here_is_refused_everywhere(fakes, refused, host):
    told = {"Host": host, "Origin": f"http://{host}"}
    await fakes.get("/v2/pools")
    for path in ("/", "/v2/pools", "/v2/nothing", "/healthz", "/metrics", "/x/nobody/here"):
        answer = await fakes.get(path, headers=told)
        refused(answer, 421, "invalid_request")
        assert "server.allowed_hosts" in answer.body["error"]["message"]
        assert "Access-Control-Allow-Origin" not in answer.headers
    for _ in range(2):
        refused(await fakes.post("/v2/rpc/31337", CALL, headers=told), 421, "invalid_request")
    preflight = {**told, "Access-Control-Request-Method": "POST"}
    refused(await fakes.request("OPTIONS", "/v2/pools", headers=preflight), 421, "invalid_request")
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        await fakes.session.ws_connect(fakes.url + "/v2/rpc/31337", headers=told)
    assert refusal.value.status == 421


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "localhost.", "127.0.0.1", "127.8.0.1:9", "[::1]:8080"]
)
async def test_names_of_loopback_are_served(fakes, host):
    assert (await fakes.get("/v2/pools", headers={"Host": host})).status == 200
    assert (await fakes.post("/v2/rpc/31337", CALL, headers={"Host": host})).status == 200


async def test_a_program_may_leave_the_host_out_as_http_1_0_does(fakes):
    answer = await asyncio.to_thread(fakes.raw, b"GET /v2/networks HTTP/1.0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.0 200")


async def test_a_deployment_decides_by_its_settings(deployment, refused):
    origin = {"Origin": LOCAL[0]}
    api = await deployment()
    assert (await api.get("/v2/pools", headers={"Host": "api.example.org"})).status == 200
    assert "Access-Control-Allow-Origin" not in (await api.get("/v2/pools", headers=origin)).headers
    api = await deployment(allowed_hosts=("api.example.org",))
    for host, status in (("API.example.org:443", 200), ("localhost:8080", 200), ("evil.example", 421)):
        assert (await api.get("/v2/pools", headers={"Host": host})).status == status
    api = await deployment(embedded=True, allowed_hosts=("box.lan",))
    assert (await api.get("/v2/pools", headers={"Host": "box.lan:8080"})).status == 200
    refused(await api.get("/v2/pools", headers={"Host": "evil.example"}), 421, "invalid_request")


def test_the_embedded_default_on_another_address_is_open_to_names():
    """The configuration calls such a one a deployment; nothing else may rely on loopback either."""
    for host, checks in (("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False)):
        hosts = Hosts(replace(Config(), server=replace(ServerConfig(), host=host)))
        assert (not hosts.serve(CIMultiDict({"Host": "evil.example"}))) is checks
