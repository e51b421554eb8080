"""The servers that replicas share: options of their URLs, TLS, and a cluster."""

import asyncio
import contextlib
import os
import pathlib
import ssl

import pytest
from quoteway.engine import held_amounts
from quoteway.engine.held_amounts import HeldAmounts, Hold
from quoteway.errors import ConfigError
from quoteway.host import plugin_rows
from quoteway.host.plugin_rows import ValkeyRows
from quoteway.host.shared_answers import SharedAnswersOf
from quoteway.host.shared_server import SharedServer
from quoteway.server import machine_checks
from quoteway.shared_store import named, options_of, store_client
from quoteway.shared_tls import TlsFiles
from quoteway.web.http.buckets import Bound, SharedBuckets
from quoteway.web.rpc import cursors
from quoteway.web.rpc.cursors import ValkeyCursors
from shared_replicas import SharingReplica
from shared_server import certificates, cluster_at, server_at, tls_server_at
from valkey.exceptions import ValkeyClusterException, ValkeyError

FAILURES = (OSError, ValkeyError, ValkeyClusterException)
SECRET = b"a key that all replicas have"


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("redis://host/0?socket_timeout=60", "unknown option"),
        ("rediss://host/0?ssl_cert_reqs=none", "unknown option"),
        ("rediss://host/0?ssl_check_hostname=false", "unknown option"),
        ("redis://host/0?cluster=maybe", '"true" or "false"'),
        ("redis://host/1?cluster=true", "number 0 only"),
        ("redis://host/x", "number of a database"),
        ("redis://host/0?ssl_ca_certs=ca.pem", "without TLS"),
        ("rediss://host/0?ssl_keyfile=key.pem", "without ssl_certfile"),
        ("rediss://user:canary@host/0?ssl_ca_certs=/nowhere/canary.pem", "ssl_ca_certs"),
        ("rediss://host/0?ssl_certfile=/nowhere/client.pem", "ssl_certfile"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_at_the_start(url, text):
    with pytest.raises(ConfigError) as refusal:
        store_client(url, "shared.url")
    assert str(refusal.value).startswith("shared.url")
    assert text in str(refusal.value)
    assert "canary" not in str(refusal.value)


def test_options_of_a_url():
    assert not options_of("redis://host?cluster=false")
    assert options_of("redis://host?cluster=true") == {"cluster": "true"}
    client = store_client("rediss://quoteway:p%40ss@host:7000/2")
    given = client.connection_pool.connection_kwargs
    context = given["tls_files"].get()
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert (given["host"], given["port"], given["db"]) == ("host", 7000, 2)
    assert (given["username"], given["password"]) == ("quoteway", "p@ss")
    assert "tls_files" not in store_client("redis://host").connection_pool.connection_kwargs


# --- TLS ----------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_connections_share_one_context_until_a_file_changes(tmp_path):
    files = certificates(tmp_path)
    paths = {"ssl_ca_certs": files["ca.pem"], "ssl_certfile": files["client.pem"]}
    tls = TlsFiles({**paths, "ssl_keyfile": files["client.key"]})
    first = tls.get()
    assert tls.get() is first
    assert len(first.get_ca_certs()) == 1, "authorities of the machine are not believed beside one's own"
    before = pathlib.Path(files["ca.pem"]).read_bytes()
    pathlib.Path(files["ca.pem"]).write_bytes(b"half a file")
    assert tls.get() is first, "connections go on with the old files"
    pathlib.Path(files["ca.pem"]).unlink()
    assert tls.get() is first
    pathlib.Path(files["ca.pem"]).write_bytes(before)
    os.utime(files["ca.pem"], ns=(1, 1))
    assert tls.get() is not first
    with pytest.raises(OSError, match="No such file"):
        TlsFiles({"ssl_ca_certs": str(tmp_path / "none.pem")}).get()


def in_one_file(files, path):
    path.write_text("".join(pathlib.Path(files[f"client.{part}"]).read_text() for part in ("pem", "key")))
    return path


@pytest.mark.services
async def test_tls_with_an_authority_a_client_certificate_and_a_password(tmp_path, unused_tcp_port):
    files = certificates(tmp_path)
    process = await tls_server_at(unused_tcp_port, tmp_path, files)
    of_client = f"&ssl_certfile={files['client.pem']}&ssl_keyfile={files['client.key']}"
    trusted = f"?ssl_ca_certs={files['ca.pem']}{of_client}"
    place = f"localhost:{unused_tcp_port}/0"
    both = in_one_file(files, tmp_path / "both.pem")
    wrong = {
        # The certificate is of localhost.
        f"rediss://quoteway:secret@127.0.0.1:{unused_tcp_port}/0{trusted}": "host name",
        f"rediss://quoteway:secret@{place}?ssl_ca_certs={files['other.pem']}{of_client}": "authority",
        f"rediss://quoteway:secret@{place}{trusted.split('&')[0]}": "Error",  # no certificate of its own
        f"rediss://quoteway:wrong@{place}{trusted}": "user and password",
        f"redis://quoteway:secret@{place}": "Error",
    }
    try:
        one_file = f"?ssl_ca_certs={files['ca.pem']}&ssl_certfile={both}"
        for options in (trusted, one_file):
            client = store_client(f"rediss://quoteway:secret@{place}{options}")
            assert await client.set("x", b"1")
            assert await client.get("x") == b"1"
            await client.aclose()
        assert await the_rpc_cache_keeps(f"rediss://quoteway:secret@{place}{trusted}")
        for url, text in wrong.items():
            assert not await the_rpc_cache_keeps(url, within_s=1.0)
            client = store_client(url)
            with pytest.raises(FAILURES) as refusal:
                await client.get("x")
            assert text in named(refusal.value)
            with contextlib.suppress(Exception):
                await client.aclose()
    finally:
        process.kill()
        await process.wait()


async def the_rpc_cache_keeps(url, within_s=60.0):
    """Whether the store of the RPC cache keeps what it is given. It waits 0.1 s for an answer."""
    cache_store = pytest.importorskip("quoteway_rpc.cache_store")
    store = cache_store.open_store(url)
    keys = [b"key %d" % number for number in range(20)]
    try:
        async with asyncio.timeout(within_s):
            while True:
                # A caller reads first, and writes what was missing.
                found = [await store.get(key) for key in keys]
                if found == [b"{}"] * len(keys):
                    return True
                for key in keys:
                    store.put(key, b"{}")
                if store._writes:
                    await asyncio.wait(store._writes)
                await asyncio.sleep(0.05)
    except TimeoutError:
        return False
    finally:
        await store.close()


# --- a cluster ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster_ports(unused_tcp_port_factory):
    return [unused_tcp_port_factory() for _ in range(3)]


@pytest.fixture
def patience(monkeypatch):
    """To begin TLS with each node takes a busy machine longer than requests wait."""
    for module in (cursors, held_amounts, plugin_rows):
        monkeypatch.setattr(module, "STORE_TIMEOUT_S", 30.0)
    monkeypatch.setitem(store_client.__kwdefaults__, "timeout_s", 30.0)


async def use_everything(url):
    """Uses what keeps something in a store, with keys that belong to all parts of a cluster."""
    buckets = SharedBuckets(url)
    for number in range(20):
        found = await buckets.spend(f"bucket/{number}", Bound(10, 3_600), 3)
        assert (found.granted, found.left) == (3, 7)
        assert (await buckets.spend(f"bucket/{number}", Bound(10, 3_600), 8)).granted == 0
    await asyncio.wait([buckets._presenting])
    assert buckets.replicas == 1
    await buckets.look()
    await buckets.close()

    amounts = HeldAmounts(url, "mine", 3_600)
    holds = [Hold(f"counter {number}", 10, 15, 60) for number in range(10)]
    assert (await amounts.hold("one", 60, b"", holds)).is_held
    assert (await amounts.hold("other", 60, b"", holds)).used == (10,) * 10
    (held,) = await amounts.held("counter 1")
    assert await amounts.release("counter 1", held)
    await amounts.tell("1:0xabc", 7, "0xhash", 60)
    assert await amounts.told("1:0xabc", [7, 8]) == {7: "0xhash"}
    await amounts.close()

    rows = ValkeyRows(url)
    for number in range(10):
        assert await rows.set("mine", f"key {number}", b"value", None, True)
    assert not await rows.set("mine", "key 1", b"other", 60.0, True)
    await rows.delete("mine", "key 2")
    assert len(await rows.keys("mine")) == 9
    assert await rows.get("mine", "key 1") == b"value"
    await rows.close()

    saved = ValkeyCursors(url, "mine")
    for number in range(10):
        assert await saved.save(f"key {number}", 0, b"content", 60.0)
        assert not await saved.save(f"key {number}", 0, b"other", 60.0)
        assert await saved.load(f"key {number}") == (1, b"content")
    await saved.close()

    servers = [
        SharedServer(store_client(url, timeout_s=30), "mine", [SECRET], timeout_s=30, wait_s=30)
        for _ in range(2)
    ]
    one, other = (SharedAnswersOf(server, "rpc") for server in servers)
    keys = [f"key {number}".encode() for number in range(40)]
    assert await asyncio.gather(*map(one.get, keys)) == [None] * 40
    waiting = asyncio.gather(*map(other.get, keys))
    for key in keys:
        one.put(key, key + b" value", 60)
    assert await waiting == [key + b" value" for key in keys]
    assert not any(server.failures for server in servers)
    for each in (one, other, *servers):
        await each.close()


@pytest.mark.services
async def test_everything_that_is_shared_works_over_a_cluster(tmp_path, cluster_ports):
    servers = await cluster_at(cluster_ports, tmp_path)
    try:
        url = f"redis://127.0.0.1:{cluster_ports[0]}/0?cluster=true"
        await use_everything(url)
        await heads_over(url)
        assert await the_rpc_cache_keeps(url)
        await a_cluster_is_named_that_the_url_does_not_say(url.partition("?")[0])
        for asked, level in (
            (url, "ok"),
            *((f"redis://127.0.0.1:{port}/0", "fail") for port in cluster_ports),
        ):
            (finding,) = await machine_checks._server("shared.url", asked, "each reads for itself")
            assert finding.mark == level, finding
            assert level == "ok" or "add ?cluster=true" in finding.text
        await all_nodes_fail_and_come_back(url, servers, cluster_ports, tmp_path)
    finally:
        for server in servers:
            if server.returncode is None:
                server.kill()
            await server.wait()


@pytest.mark.services
@pytest.mark.usefixtures("patience")
async def test_everything_that_is_shared_works_over_a_cluster_by_tls(tmp_path, unused_tcp_port_factory):
    files = certificates(tmp_path, "IP:127.0.0.1")
    ports = [unused_tcp_port_factory() for _ in range(3)]
    servers = await cluster_at(ports, tmp_path, files)
    own = f"ssl_certfile={files['client.pem']}&ssl_keyfile={files['client.key']}"
    options = f"cluster=true&ssl_ca_certs={files['ca.pem']}&{own}"
    try:
        url = f"rediss://quoteway:secret@127.0.0.1:{ports[0]}/0?{options}"
        await use_everything(url)
        await heads_over(url)
        assert await the_rpc_cache_keeps(url)
        for wrong in (url.replace("secret", "wrong"), url.replace("ca.pem", "other.pem")):
            client = store_client(wrong)
            with pytest.raises(FAILURES):
                await client.get("x")
            with contextlib.suppress(Exception):
                await client.aclose()
    finally:
        for server in servers:
            server.kill()
            await server.wait()


async def heads_over(url):
    """One replica follows the chain, and the other is told of its blocks at once."""
    replicas = [SharingReplica(url) for _ in range(2)]
    async with asyncio.timeout(60):
        while not (any(r.heads.holds for r in replicas) and any(r.heads.follows for r in replicas)):
            for each in replicas:
                await each.use()
            await asyncio.sleep(0.05)
        (follower,) = (each for each in replicas if each.heads.follows)
        before = follower.events("heads")
        while follower.events("heads") < before + 10:
            await follower.use()
            await asyncio.sleep(0.05)
    for each in replicas:
        await each.close()


async def a_cluster_is_named_that_the_url_does_not_say(url):
    client = store_client(url)
    with pytest.raises(FAILURES) as refusal:
        await asyncio.gather(*(client.get(f"key {number}") for number in range(20)))
    assert "add ?cluster=true" in named(refusal.value)
    await client.aclose()


async def all_nodes_fail_and_come_back(url, servers, ports, folder):
    server = SharedServer(store_client(url), "mine", [SECRET], timeout_s=2, wait_s=0.1)
    answers = SharedAnswersOf(server, "rpc")
    await answers.get(b"key")
    for each in servers:
        each.kill()
        await each.wait()
    # At once, so that each node is found to fail.
    await asyncio.gather(*(answers.get(str(number).encode()) for number in range(50)))
    assert server.rests
    for place, port in enumerate(ports):
        bus = str(port - 20_000 if port > 40_000 else port + 20_000)
        options = ("--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "2000")
        servers[place] = await server_at(port, folder / str(port), *options)
    async with asyncio.timeout(120):
        while server.rests:
            await asyncio.sleep(0.1)
        answers.put(b"again", b"value", 60)
        while await answers.get(b"again") != b"value":
            await asyncio.sleep(0.1)
            answers.put(b"again", b"value", 60)
    for each in (answers, server):
        await each.close()


@pytest.mark.services
async def test_one_server_is_no_cluster(tmp_path, unused_tcp_port):
    process = await server_at(unused_tcp_port, tmp_path)
    client = store_client(f"redis://127.0.0.1:{unused_tcp_port}/0?cluster=true")
    with pytest.raises(FAILURES) as refusal:
        await client.get("x")
    assert "no cluster" in named(refusal.value)
    process.kill()
    await process.wait()
