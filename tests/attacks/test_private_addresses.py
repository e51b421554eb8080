"""Attack: a URL that leads the gateway to a service of its own network, such as a cloud's metadata.

The gateway fetches the operator's URLs only: nodes, token lists, APIs. The name of a list may lead anywhere,
at once, after its check or by a redirect. Its address is checked before a byte is sent, and no other is used.
No member of a request is fetched but the URL of a webhook, which is checked as strictly
(``tests/web/test_webhook_receivers.py``).
"""

import asyncio
import json

import pytest
from aiohttp import TCPConnector
from quoteway.config.model import Config
from quoteway.testing.serving import served

quoteway_tokenlist = pytest.importorskip("quoteway_tokenlist", reason="needs quoteway-tokenlist")

PUBLIC = "93.184.215.14"
"""An address that counts as public."""


@pytest.fixture
async def inside():
    """A service on loopback that answers with a list, and all that reached it."""
    seen = []

    async def serve(reader, writer):
        seen.append((await reader.readuntil(b"\r\n\r\n")).decode())
        redirect = (
            f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{port}/metadata\r\nContent-Length: 0\r\n\r\n"
        )
        writer.write(redirect.encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield port, seen


def names(monkeypatch, answers):
    """DNS that gives each name the addresses in turn, the last one for ever. Other names are not known."""
    real = asyncio.get_running_loop().getaddrinfo
    left = {name: list(addresses) for name, addresses in answers.items()}

    async def resolve(host, port, **options):
        if host not in left:
            return await real(host, port, **options)
        address = left[host].pop(0) if len(left[host]) > 1 else left[host][0]
        return [(10 if ":" in address else 2, 1, 6, "", (address, port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)


async def lists_tried(caplog, urls, **section):
    """Serves a gateway with these token lists until each was tried; what a client sees of its tokens."""
    section = {"lists": urls, "timeout_s": 2.0, **section}
    async with served(
        {"tokenlist": quoteway_tokenlist}, Config(plugin_sections={"tokenlist": section})
    ) as api:
        async with asyncio.timeout(60):
            while len([r for r in caplog.records if "refused" in r.getMessage()]) < len(urls):
                await asyncio.sleep(0.02)
        texts = [str((await api.get(path)).body) for path in ("/v2/tokens", "/v2/providers")]
    return " ".join(texts)


FORMS = [
    "127.0.0.1:{port}",
    "localhost:{port}",
    "[::1]:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "[64:ff9b::7f00:1]:{port}",
    "[2002:7f00:1::]:{port}",
    "2130706433:{port}",
    "0x7f000001:{port}",
    "0x7f.1:{port}",
    "0177.0.0.1:{port}",
    "127.1:{port}",
    "0.0.0.0:{port}",
    "169.254.169.254",
    "[fd00:ec2::254]",
    "metadata.example:{port}",
]


async def test_no_list_is_fetched_from_a_private_address(inside, caplog, monkeypatch):
    port, seen = inside
    names(monkeypatch, {"metadata.example": ["169.254.169.254"]})
    urls = [f"http://{form.format(port=port)}/latest/meta-data?key=hidden" for form in FORMS]
    told = await lists_tried(caplog, urls)
    assert seen == []
    assert caplog.text.count("private network") == len(FORMS)
    assert "hidden" not in told + caplog.text


async def test_a_name_that_leads_elsewhere_after_its_check(inside, caplog, monkeypatch):
    """DNS rebinding: the first answer is public. The connection goes to that one."""
    port, seen = inside
    names(monkeypatch, {"rebinding.example": [PUBLIC, "127.0.0.1"]})
    connected, real = [], TCPConnector._create_connection

    async def connect(self, request, *args, **kwargs):
        if request.url.host != PUBLIC:
            return await real(self, request, *args, **kwargs)
        connected.append(request.url.host)
        raise OSError("tests do not leave the machine")

    monkeypatch.setattr(TCPConnector, "_create_connection", connect)
    await lists_tried(caplog, [f"http://rebinding.example:{port}/list.json"])
    assert seen == []
    assert connected


async def test_a_list_that_redirects_into_the_network(inside, caplog):
    """Also where private addresses are allowed: that allows the list's own host, no other."""
    port, seen = inside
    await lists_tried(caplog, [f"http://localhost:{port}/list.json"], allow_private=True)
    assert "redirects to another host" in caplog.text
    assert [request.split()[1] for request in seen] == ["/list.json"]


URL = "http://127.0.0.1:{port}/logo.png"
BODIES = {
    "/v2/swaps/quote": {
        "network": "{url}",
        "fromToken": "{url}",
        "toToken": "{url}",
        "address": "{url}",
        "amount": "1",
    },
    "/v2/rpc/31337": {"jsonrpc": "2.0", "id": "{url}", "method": "{url}", "params": ["{url}"]},
    "/v2/bridges/quote": {
        "fromChain": "{url}",
        "toChain": "{url}",
        "refundAddress": "{url}",
        "provider": "{url}",
    },
    "/v2/vaults/deploy/quote": {
        "network": "{url}",
        "asset": "{url}",
        "strategy": "{url}",
        "callback": "{url}",
    },
}


async def test_no_member_of_a_request_is_fetched(fakes, inside):
    port, seen = inside
    url = URL.format(port=port)
    for path, body in BODIES.items():
        answer = await fakes.post(path, json.loads(json.dumps(body).replace("{url}", url)))
        if "/rpc/" in path:
            assert answer.body["error"]["code"] == -32601
        else:
            assert answer.status in (404, 422), path
    for path in (f"/v2/tokens?search={url}", f"/v2/pools?network={url}", f"/v2/tokens/{url}", f"/{url}"):
        await fakes.get(path)
    assert seen == []
