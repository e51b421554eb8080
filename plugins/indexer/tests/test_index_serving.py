"""Reads of an index over a Unix socket."""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
import threading

import pytest
from index_rows import CHAIN, POOL, facts
from quoteway import UpstreamError
from quoteway_indexer.messages import MAX_QUESTION
from quoteway_indexer.reading import SocketReader
from quoteway_indexer.serving import ReadServer
from quoteway_indexer.store import Commit, Condition, Select, StoreError


class Held:
    """Reads that wait until a test lets them go on."""

    def __init__(self, reads):
        self.reads, self.gate = reads, threading.Event()

    def read(self, query):
        self.gate.wait(10)
        return self.reads.read(query)

    def revision(self):
        return self.reads.revision()

    def spans(self, chain_id):
        raise StoreError("the database has gone to postgresql://user:secret@host")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index.sock"


@pytest.fixture
def server(duckdb_store, path):
    server = ReadServer(duckdb_store.reads, path)
    server.start()
    yield server
    server.close()


@pytest.fixture
async def reader(path):
    reader = SocketReader(path, timeout_s=5)
    yield reader
    await reader.close()


def swaps(*rows):
    return {"swap": facts("swap", *({"block": 1, "pool": POOL, **one} for one in rows))}


async def test_many_questions_are_open_at_once_on_one_connection(duckdb_store, path, reader):
    duckdb_store.commit(Commit(CHAIN, facts=swaps(*({"tick": tick} for tick in range(20)))))
    held = Held(duckdb_store.reads)
    server = ReadServer(held, path, threads=2)
    server.start()
    try:
        asked = [
            asyncio.create_task(reader.fetch(Select("swap", ("tick",), (Condition("tick", "=", tick),))))
            for tick in range(20)
        ]
        slow = asyncio.create_task(SocketReader(path, timeout_s=0.05).fetch(Select("swap", ("tick",))))
        with pytest.raises(UpstreamError, match=r"0\.05 seconds"):
            await slow
        held.gate.set()
        assert await asyncio.gather(*asked) == [[(tick,)] for tick in range(20)]
    finally:
        server.close()


async def test_an_answer_to_a_question_that_was_given_up_harms_no_other(duckdb_store, path, reader):
    held = Held(duckdb_store.reads)
    server = ReadServer(held, path, threads=2)
    server.start()
    try:
        given_up = asyncio.create_task(reader.fetch(Select("swap", ("tick",))))
        assert await reader.revision() == 0
        given_up.cancel()
        await asyncio.wait([given_up])
        held.gate.set()
        assert await reader.fetch(Select("swap", ("tick",))) == []
    finally:
        server.close()


async def test_the_reader_connects_again_when_the_index_process_restarts(duckdb_store, path, reader):
    with pytest.raises(UpstreamError, match="does not run"):
        await reader.revision()
    for _ in range(3):
        server = ReadServer(duckdb_store.reads, path)
        server.start()
        assert await asyncio.gather(*(reader.revision() for _ in range(5))) == [0] * 5
        server.close()
    with pytest.raises(UpstreamError):
        await reader.revision()


async def test_a_server_takes_the_place_of_one_that_was_killed(duckdb_store, path, reader):
    killed = ReadServer(duckdb_store.reads, path)
    killed.start()
    assert await reader.revision() == 0
    server = ReadServer(duckdb_store.reads, path)
    server.start()
    try:
        assert await SocketReader(path).revision() == 0
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert [one.name for one in path.parent.glob("*.sock*")] == ["index.sock"]
    finally:
        server.close()
        killed.close()


async def test_failures_are_told_without_the_words_of_the_database(duckdb_store, path, reader):
    server = ReadServer(Held(duckdb_store.reads), path)
    server.start()
    try:
        with pytest.raises(UpstreamError) as failed:
            await reader.spans(CHAIN)
        assert "secret" not in failed.value.message
        assert await reader.revision() == 0
    finally:
        server.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        (MAX_QUESTION + 1).to_bytes(4, "big"),
        b"\0\0\0\3\xff\xff\xff",
        b"\0\0\0\2\x91",
        b"\0\0\0\x09\x92\x01\xa5other",
    ],
)
async def test_what_is_no_question_ends_that_connection_alone(duckdb_store, server, path, reader, sent):
    assert await reader.revision() == 0
    hostile, writer = await asyncio.open_unix_connection(str(path))
    writer.write(sent)
    writer.write_eof()
    assert await hostile.read() == b""
    writer.close()
    assert await reader.revision() == 0


async def test_queries_without_meaning_end_no_connection(duckdb_store, server, path):
    from quoteway_indexer.messages import LENGTH_BYTES, Question, answer_in, frame

    stream, writer = await asyncio.open_unix_connection(str(path))
    for asked in (
        Question(1, "fetch", table="nothing", columns=("a",)),
        Question(2, "fetch", table="swap", columns=("block; DROP TABLE swap",)),
    ):
        writer.write(frame(asked))
        length = int.from_bytes(await stream.readexactly(LENGTH_BYTES), "big")
        answer = answer_in(await stream.readexactly(length))
        assert (answer.id, answer.failed) == (asked.id, True)
    writer.close()


def test_a_reader_imports_no_database():
    program = (
        "import sys, quoteway_indexer.stores as s\n"
        "s.open_reader({'store': 'duckdb', 'path': 'x', 'socket': None, 'cache_mb': 8})\n"
        "print([m for m in ('duckdb', 'pyarrow', 'numpy') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_a_socket_that_cannot_be_made_is_refused_with_the_remedy(duckdb_store, tmp_path):
    for path in (tmp_path / "missing" / "index.sock", tmp_path / ("long" * 40)):
        with pytest.raises(StoreError, match="at most 100 characters"):
            ReadServer(duckdb_store.reads, path).start()
