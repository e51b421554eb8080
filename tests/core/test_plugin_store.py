"""``Context.store``: values of a plugin in memory, in a file and in Valkey; shared, bounded, kept apart."""

import asyncio
import contextlib
import logging
import subprocess
import sys

import pytest
from isolated_gateway import PATIENCE_S, request, starter, swaps
from quoteway import Context
from quoteway.config.loading import load_config
from quoteway.config.model import Config, StoreConfig
from quoteway.config.run_folder import RUN_FOLDER
from quoteway.errors import ConfigError, UpstreamError
from quoteway.host import plugin_rows
from quoteway.host.plugin_rows import FileRows, MemoryRows, ValkeyRows, open_rows
from quoteway.host.runtime import Runtime
from quoteway.plugin_store import MOST_KEY_CHARS, MOST_KEYS, MOST_VALUE_BYTES, PluginStore
from quoteway.secrets import Secret
from shared_server import server_at

CANARY = "canary-9b1f"


@pytest.fixture(params=["memory", "file", pytest.param("valkey", marks=pytest.mark.services)])
async def places(request, tmp_path, unused_tcp_port):
    """Two users of one place, as two workers have it."""
    if request.param == "memory":
        one = MemoryRows()
        yield one, one
        return
    process = None
    if request.param == "file":
        made = FileRows(tmp_path / "kept.sqlite3"), FileRows(tmp_path / "kept.sqlite3")
    else:
        process = await server_at(unused_tcp_port, tmp_path)
        url = f"redis://127.0.0.1:{unused_tcp_port}/0"
        made = ValkeyRows(url), ValkeyRows(url)
    yield made
    for each in made:
        await each.close()
    if process is not None:
        process.terminate()
        await process.wait()


async def test_what_one_worker_keeps_the_other_reads(places):
    one, other = (PluginStore("mine", each) for each in places)
    assert await one.get("key") is None
    await one.set("key", b"\x00value")
    assert await other.get("key") == b"\x00value"
    await other.set("key", b"")
    assert await one.get("key") == b""
    await one.set("a/2 \u00e9", b"2")
    await one.set("a/1", b"1")
    assert await other.keys("a/") == ["a/1", "a/2 \u00e9"]
    assert await other.keys() == ["a/1", "a/2 \u00e9", "key"]
    await one.delete("key")
    await one.delete("key")
    assert await other.get("key") is None
    assert await other.keys() == ["a/1", "a/2 \u00e9"]


async def test_a_plugin_reaches_its_own_values_only(places):
    mine, theirs = PluginStore("mine", places[0]), PluginStore("theirs", places[1])
    await mine.set("key", b"mine")
    assert await theirs.get("key") is None
    assert await theirs.keys() == []
    await theirs.delete("key")
    assert await theirs.add("key", b"theirs")
    assert (await mine.get("key"), await theirs.get("key")) == (b"mine", b"theirs")


async def test_a_value_ends_with_its_time(places):
    one, other = (PluginStore("mine", each) for each in places)
    await one.set("short", b"1", ttl_s=0.15)
    await one.set("long", b"2", ttl_s=600)
    assert await other.get("short") == b"1"
    assert not await other.add("short", b"3")
    async with asyncio.timeout(20):
        while await other.get("short") is not None:
            await asyncio.sleep(0.01)
    assert await other.keys() == ["long"]
    assert await other.add("short", b"3")
    assert await one.get("short") == b"3"


async def test_of_many_who_add_one_is_told_so(places):
    stores = [PluginStore("mine", each) for each in places]
    told = await asyncio.gather(*(stores[n % 2].add("key", b"%d" % n) for n in range(40)))
    assert sorted(told) == [False] * 39 + [True]
    assert await stores[0].get("key") == b"%d" % told.index(True)


async def test_a_value_is_kept_and_listed_or_neither(places):
    one, other = (PluginStore("mine", each) for each in places)
    await asyncio.gather(one.get("key"), other.get("key"))  # both are connected
    for _ in range(300):
        await asyncio.gather(one.delete("key"), other.set("key", b"value"))
        kept = await one.get("key") is not None
        assert await other.keys() == (["key"] if kept else [])
        assert await other.add("key", b"new") is not kept


async def test_a_plugin_keeps_a_bounded_number_of_values(places, monkeypatch):
    monkeypatch.setattr(plugin_rows, "MOST_KEYS", 3)
    store, other = PluginStore("mine", places[0]), PluginStore("theirs", places[1])
    for key in "abc":
        await store.set(key, b"")
    for attempt in (store.set, store.add):
        with pytest.raises(UpstreamError, match="'mine' keeps too many values"):
            await attempt("d", b"")
    await store.set("a", b"again")
    assert not await store.add("a", b"other")
    await other.set("d", b"")
    await store.delete("b")
    await store.set("d", b"", ttl_s=0.05)
    async with asyncio.timeout(20):  # what has ended makes room
        while not await _kept(store, "e"):
            await asyncio.sleep(0.01)
    assert await store.keys() == ["a", "c", "e"]


async def _kept(store, key):
    with contextlib.suppress(UpstreamError):
        await store.set(key, b"")
        return True
    return False


@pytest.mark.parametrize(
    ("key", "value", "ttl_s"),
    [
        ("", b"", None),
        ("k" * (MOST_KEY_CHARS + 1), b"", None),
        ("a\nb", b"", None),
        ("\ud800", b"", None),
        (b"key", b"", None),
        ("key", "text", None),
        ("key", b"x" * (MOST_VALUE_BYTES + 1), None),
        ("key", b"", 0),
        ("key", b"", -1.0),
        ("key", b"", float("inf")),
        ("key", b"", float("nan")),
    ],
)
async def test_what_is_out_of_range_is_refused(key, value, ttl_s):
    store = PluginStore("mine", MemoryRows())
    for attempt in (store.set, store.add):
        with pytest.raises(ValueError, match=r"store|ttl_s"):
            await attempt(key, value, ttl_s)
    assert await store.keys() == []
    assert MOST_KEYS * MOST_VALUE_BYTES == 16 << 20


async def test_a_file_outlives_the_server_and_another_process_reads_it(tmp_path):
    path = tmp_path / "kept.sqlite3"
    rows = FileRows(path)
    await PluginStore("mine", rows).set("key", b"value")
    script = (
        "import asyncio, sys, pathlib\n"
        "from quoteway.host.plugin_rows import FileRows\n"
        "rows = FileRows(pathlib.Path(sys.argv[1]))\n"
        "print(asyncio.run(rows.get('mine', 'key')))\n"
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "b'value'"
    await rows.close()
    again = FileRows(path)
    assert await PluginStore("mine", again).get("key") == b"value"
    await again.close()


@pytest.mark.parametrize("what", ["corrupt", "a folder", "no folder"])
async def test_a_file_that_cannot_be_used_is_an_error_and_named_in_the_log(tmp_path, caplog, what):
    path = tmp_path / f"{CANARY}.sqlite3"
    if what == "corrupt":
        path.write_bytes(b"no database, but long enough to look like one" * 100)
    elif what == "a folder":
        path.mkdir()
    else:
        path = tmp_path / "nowhere" / path.name
    rows = FileRows(path)
    store = PluginStore("mine", rows)
    for call in (store.get("k"), store.set("k", b""), store.add("k", b""), store.delete("k"), store.keys()):
        with pytest.raises(UpstreamError) as raised:
            await call
        assert CANARY not in str(raised.value)
    records = [record.getMessage() for record in caplog.records if record.name == plugin_rows.log.name]
    assert len(records) == 1, "not at every call"
    assert (
        f"{path} cannot be used; where it is damaged, end the server and restore or delete it" in records[0]
    )
    await rows.close()


async def test_a_file_that_another_process_writes_for_long_costs_no_more_than_the_call(tmp_path, monkeypatch):
    import sqlite3

    monkeypatch.setattr(plugin_rows, "_TIMEOUT_S", 0.05)
    path = tmp_path / "kept.sqlite3"
    rows = FileRows(path)
    store = PluginStore("mine", rows)
    await store.set("key", b"1")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("begin immediate")
        with pytest.raises(UpstreamError):
            await store.set("key", b"2")
        assert await store.get("key") == b"1"
        writer.execute("rollback")
    await store.set("key", b"3")
    assert await store.get("key") == b"3"
    await rows.close()


@pytest.mark.services
async def test_a_server_that_is_down_is_an_error_and_serves_again_when_it_is_back(
    tmp_path, unused_tcp_port, caplog
):
    rows = ValkeyRows(f"redis://:{CANARY}@127.0.0.1:{unused_tcp_port}/0")
    with pytest.raises(UpstreamError):
        await rows.get("mine", "key")
    assert CANARY not in caplog.text
    assert str(unused_tcp_port) not in caplog.text
    await rows.close()
    rows = ValkeyRows(f"redis://127.0.0.1:{unused_tcp_port}/0")
    with pytest.raises(UpstreamError):
        await rows.set("mine", "key", b"value", None, False)
    process = await server_at(unused_tcp_port, tmp_path)
    assert await rows.set("mine", "key", b"value", None, False)
    assert await rows.get("mine", "key") == b"value"
    await rows.close()
    process.terminate()
    await process.wait()


def test_the_place_is_configured_beside_the_configuration_or_for_the_run(tmp_path, monkeypatch):
    monkeypatch.delenv(RUN_FOLDER, raising=False)
    assert isinstance(open_rows(Config()), MemoryRows)
    monkeypatch.setenv(RUN_FOLDER, str(tmp_path))
    assert open_rows(Config())._path == tmp_path / "plugins.sqlite3"
    config = Config(store=StoreConfig(url="kept.sqlite3"), path=tmp_path / "etc" / "quoteway.toml")
    assert open_rows(config)._path == tmp_path / "etc" / "kept.sqlite3"
    assert isinstance(open_rows(Config(store=StoreConfig(url=Secret("redis://127.0.0.1:9")))), ValkeyRows)
    monkeypatch.setitem(sys.modules, "valkey.asyncio", None)
    with pytest.raises(ConfigError, match=r"pip install 'quoteway\[valkey\]'"):
        open_rows(Config(store=StoreConfig(url="valkey://127.0.0.1:9")))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('"http://127.0.0.1/"', "expected the path of a file or a valkey://"),
        ('"memory://"', "expected the path of a file or a valkey://"),
        ('""', "expected the path of a file or a valkey://"),
        (f'"redis://:{CANARY}@host/0"', "this URL holds a password"),
        ("5", "expected the path of a file or a valkey://"),
    ],
)
def test_another_place_is_refused(tmp_path, text, says):
    path = tmp_path / "quoteway.toml"
    path.write_text(f"[store]\nurl = {text}\n")
    with pytest.raises(ConfigError, match=r"store\.url") as raised:
        load_config(path, {})
    assert says in str(raised.value)
    assert CANARY not in str(raised.value)


async def test_the_context_gives_the_plugin_its_own_store():
    runtime = Runtime(None)
    made = [Context(name, {}, logging.getLogger(name), runtime) for name in ("mine", "theirs")]
    await made[0].store.set("key", b"value")
    assert made[0].store is made[0].store
    assert await made[0].store.get("key") == b"value"
    assert await made[1].store.get("key") is None


ISOLATED = """
    from quoteway import UpstreamError, hookimpl
    from quoteway.testing.fakes import FixedRateSwap

    class Keeper(FixedRateSwap):
        async def quote(self, request):
            store = self._context.store
            if request.slippage_bps == 1:
                return [await store.add("key", b"one", 60), await store.add("key", b"two", 60)]
            if request.slippage_bps == 2:
                await store.set("other", b"three")
                await store.delete("key")
                return [await store.get("key"), await store.get("other"), await store.keys("o")]
            # What the process may ask of the server beside the methods of a store.
            link = store._rows.link
            answers = []
            for asked in (("_set", "a", b"", None, True), ("__class__",), ("get", "key", "theirs"), ()):
                try:
                    answers.append(await link.ask("stored", *asked))
                except Exception as error:
                    answers.append(type(error).__name__)
            return answers

    @hookimpl
    def quoteway_swap_providers(context):
        return [Keeper(context, provider_id="naughty")]
"""


async def test_a_plugin_in_a_process_of_its_own_reaches_its_values_and_no_others(
    tmp_path, monkeypatch, make_gateway
):
    gateway = await starter(tmp_path, monkeypatch, make_gateway)(ISOLATED)
    await PluginStore("theirs", gateway.runtime.rows).set("key", b"theirs")
    async with asyncio.timeout(PATIENCE_S):
        assert await swaps(gateway).quote(request(1)) == [True, False]
        assert await PluginStore("naughty", gateway.runtime.rows).get("key") == b"one"
        assert await swaps(gateway).quote(request(2)) == [None, b"three", ["other"]]
        answers = await swaps(gateway).quote(request(3))
    assert all(isinstance(each, str) for each in answers), answers
    assert await PluginStore("naughty", gateway.runtime.rows).keys() == ["other"]
    assert await PluginStore("theirs", gateway.runtime.rows).get("key") == b"theirs"
