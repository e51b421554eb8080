"""Requests to receivers reach checked addresses only: private ones, rebinding, redirects, TLS and size."""

import asyncio
import ipaddress
import shutil
import ssl
import subprocess

import pytest
from quoteway import is_public_address
from quoteway.config.webhooks import WebhooksConfig
from quoteway.engine.webhooks.receivers import Receivers
from webhook_room import LOOPBACK, receiving

PRIVATE = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
    *("100.64.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.255.255.255", "240.0.0.1"),
    *("255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "fe80::1"),
    *(
        "fc00::1",
        "fd12:3456::1",
        "fec0::1",
        "ff02::1",
        "2002:7f00:1::",
        "2002:0a00:0001::1",
        "64:ff9b::7f00:1",
    ),
    *("64:ff9b::8.8.8.8", "64:ff9b:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "100::1"),
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "::ffff:8.8.8.8", "2606:4700::1111", "203.0.112.1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_off_the_public_internet_is_told(address):
    assert not is_public_address(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_on_the_public_internet_is_told(address):
    assert is_public_address(ipaddress.ip_address(address))


def names(*answers):
    """A resolver that gives each list of addresses once, and then the last one; it counts its calls."""

    async def lookup(host, port):
        lookup.calls += 1
        return answers[min(lookup.calls, len(answers)) - 1]

    lookup.calls = 0
    return lookup


@pytest.fixture
async def receivers_of():
    """``receivers_of(lookup, **section)`` gives ``Receivers``, closed after the test."""
    made = []

    def make(lookup=None, **section):
        config = WebhooksConfig(enabled=True, timeout_s=5.0, **section)
        made.append(Receivers(config) if lookup is None else Receivers(config, lookup))
        return made[-1]

    yield make
    for each in made:
        await each.close()


@pytest.mark.parametrize("address", PRIVATE)
async def test_a_private_target_is_refused_by_name_and_by_literal(receivers_of, address):
    lookup = names([address])
    receivers = receivers_of(lookup)
    assert "public internet" in await receivers.check("https://hook.example/x")
    answer = await receivers.post("https://hook.example/x", b"{}", {})
    assert (answer.status, answer.failure) == (0, "not_allowed")
    literal = f"[{address}]" if ":" in address else address
    assert "public internet" in await receivers.check(f"https://{literal}/x")
    assert (await receivers.post(f"https://{literal}/x", b"{}", {})).failure == "not_allowed"
    assert lookup.calls == 2, "a literal is resolved by nobody"


async def test_one_private_address_among_public_ones_is_enough(receivers_of):
    receivers = receivers_of(names(["8.8.8.8", "127.0.0.1"]))
    assert await receivers.check("https://hook.example/") is not None
    assert (await receivers.post("https://hook.example/", b"", {})).failure == "not_allowed"


SPELLINGS = ["127.1", "0x7f.1", "2130706433", "017700000001", "0177.0.0.1", "localhost", "127.0.0.1."]


@pytest.mark.parametrize("host", SPELLINGS)
async def test_other_spellings_of_loopback_are_refused(receivers_of, host):
    """The resolver of the system reads some of these as 127.0.0.1, and the connector some as addresses."""
    receivers = receivers_of()
    assert await receivers.check(f"https://{host}/") is not None
    answer = await receivers.post(f"https://{host}/", b"", {})
    assert (answer.status, answer.failure) == (0, "not_allowed")


async def test_a_name_that_is_bound_anew_after_its_check_reaches_nothing(receivers_of):
    """The address that is connected to is one that was checked in the same attempt."""
    async with receiving() as receiver:
        lookup = names(["8.8.8.8"], ["127.0.0.1"])
        receivers = receivers_of(lookup, ports=(receiver.port,))
        url = f"https://rebinding.example:{receiver.port}/"
        assert await receivers.check(url) is None, "the first answer is public"
        answer = await receivers.post(url, b"{}", {})
        assert (answer.failure, receiver.received, lookup.calls) == ("not_allowed", [], 2)


async def test_an_attempt_resolves_once_and_connects_to_what_was_checked(receivers_of):
    async with receiving() as receiver:
        lookup = names(["127.0.0.1"], ["10.255.255.1"])
        receivers = receivers_of(lookup, ports=(receiver.port,), private_networks=LOOPBACK)
        answer = await receivers.post(f"http://hook.example:{receiver.port}/a?b=%2F", b"{}", {"x": "y"})
        assert (answer.status, lookup.calls) == (204, 1)
        (got,) = receiver.received
        assert got.headers["Host"] == f"hook.example:{receiver.port}"
        answer = await receivers.post(f"http://hook.example:{receiver.port}/", b"{}", {})
        assert (answer.failure, lookup.calls) == ("not_allowed", 2), "each attempt asks and checks anew"


async def test_http_is_for_named_private_networks_alone(receivers_of):
    receivers = receivers_of(names(["8.8.8.8"]))
    assert "https://" in await receivers.check("http://hook.example/")
    allowed = receivers_of(names(["8.8.8.8"]), ports=(80, 443), private_networks=("10.0.0.0/8",))
    assert await allowed.check("https://hook.example/") is None
    assert "https://" in await allowed.check("http://hook.example/")
    assert (await allowed.post("http://hook.example/", b"", {})).failure == "not_allowed"
    inside = receivers_of(names(["10.1.2.3"]), ports=(80, 443), private_networks=("10.0.0.0/8",))
    assert await inside.check("http://hook.example/") is None
    outside = receivers_of(names(["192.168.0.1"]), ports=(80, 443), private_networks=("10.0.0.0/8",))
    assert await outside.check("https://hook.example/") is not None


async def test_ports_users_and_fragments_are_refused(receivers_of):
    receivers = receivers_of(names(["8.8.8.8"]))
    hosts = ("hook.example:22/", "u:p@hook.example/", "u@hook.example/", "hook.example/#x")
    for url in (f"https://{each}" for each in (*hosts, "hook.example:99999/", "[::1/", "/x")):
        assert await receivers.check(url) is not None, url
        assert (await receivers.post(url, b"", {})).failure == "not_allowed", url
    assert await receivers.check("https://hook.example:8443/x?y=z") is None


async def test_a_redirect_to_a_private_place_is_not_followed(receivers_of):
    async with receiving(status=302) as receiver, receiving() as inner:
        receiver.headers["Location"] = f"http://127.0.0.1:{inner.port}/secret"
        receivers = receivers_of(ports=(receiver.port, inner.port), private_networks=LOOPBACK)
        answer = await receivers.post(receiver.url, b"{}", {})
        assert (answer.status, answer.failure, inner.received) == (302, "redirect", [])


async def test_a_name_that_does_not_resolve_or_resolves_for_ever_is_told(receivers_of):
    async def nothing(host, port):
        raise OSError("no such name")

    async def hangs(host, port):
        await asyncio.Event().wait()

    assert "resolved" in await receivers_of(nothing).check("https://hook.example/")
    assert (await receivers_of(nothing).post("https://hook.example/", b"", {})).failure == "connection"
    receivers = receivers_of(hangs)
    answer = await receivers.post("https://hook.example/", b"", {})
    assert answer.failure == "timeout"
    assert "resolved" in await receivers_of(names([])).check("https://hook.example/")


class RawServer:
    """Answers any request with the bytes of ``parts``, the last one for ever."""

    def __init__(self, *parts):
        self.parts, self.sent = parts, 0

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _answer(self, reader, writer):
        try:
            await reader.readuntil(b"\r\n\r\n")
            for part in self.parts:
                writer.write(part)
            while self.parts[-1:] != (b"",):
                writer.write(self.parts[-1])
                self.sent += len(self.parts[-1])
                await writer.drain()
                await asyncio.sleep(0)
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


@pytest.mark.parametrize(
    ("parts", "failure"),
    [
        ([b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65_536], None),
        ([b"HTTP/1.1 200 OK\r\n", b"X: " + b"x" * 1_000 + b"\r\n"], "connection"),
        ([b"HTTP/1.1 200 OK\r\nX: ", b"x" * 65_536], "connection"),
        ([b"garbage\r\n\r\n", b""], "connection"),
        ([b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\n\r\n"], None),
    ],
    ids=["endless body", "endless headers", "endless header", "garbage", "endless hints"],
)
async def test_an_answer_that_does_not_end_is_cut(receivers_of, parts, failure):
    async with RawServer(*parts) as server:
        receivers = receivers_of(ports=(server.port,), private_networks=LOOPBACK)
        answer = await receivers.post(f"http://127.0.0.1:{server.port}/", b"{}", {})
        if failure is not None:
            assert answer.failure in (failure, "timeout")
        assert server.sent < 64 * 1024 * 1024


@pytest.fixture
def certificate(tmp_path):
    """A certificate of ``hook.example`` that its own file makes trusted."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl")
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=hook.example"]
    command += ["-addext", "subjectAltName=DNS:hook.example"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    return tmp_path / "cert.pem", context


async def test_tls_asks_for_the_name_and_checks_it(receivers_of, certificate, monkeypatch):
    path, context = certificate
    asked = []
    context.sni_callback = lambda connection, name, _: asked.append(name)
    async with receiving(ssl_context=context) as receiver:
        section = {"ports": (receiver.port,), "private_networks": LOOPBACK}
        untrusted = receivers_of(names(["127.0.0.1"]), **section)
        answer = await untrusted.post(f"https://hook.example:{receiver.port}/", b"{}", {})
        assert (answer.failure, receiver.received) == ("tls", [])
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        trusted = receivers_of(names(["127.0.0.1"]), **section)
        answer = await trusted.post(f"https://hook.example:{receiver.port}/x", b"{}", {})
        assert (answer.status, answer.failure) == (204, None)
        assert receiver.received[0].headers["Host"] == f"hook.example:{receiver.port}"
        answer = await trusted.post(f"https://other.example:{receiver.port}/", b"{}", {})
        assert (answer.failure, len(receiver.received)) == ("tls", 1)
    assert asked == ["hook.example", "hook.example", "other.example"]
