"""The audit log of policy decisions: several writers, and everything that somebody may do to the file."""

import fcntl
import hashlib
import json
import multiprocessing
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from quoteway.engine import audit_log
from quoteway.engine.audit_log import FIRST, AuditError, AuditLog, verify
from quoteway.server.cli import main


@pytest.fixture
def log(tmp_path):
    return AuditLog(tmp_path / "decisions.jsonl")


def add(path, count, name):
    for number in range(count):
        AuditLog(path).add({"actionId": f"{name} {number}", "violations": ["x" * 3_000]})


def test_processes_and_threads_write_one_chain(log):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=add, args=(log.path, 20, f"process {n}")) for n in range(2)]
    threads = [threading.Thread(target=add, args=(log.path, 10, f"thread {n}")) for n in range(4)]
    for each in (*processes, *threads):
        each.start()
    for each in (*processes, *threads):
        each.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert verify(log.path)[0] == 80
    names = [json.loads(line)["actionId"] for line in log.path.read_text().splitlines()]
    assert len(set(names)) == 80


def test_the_hash_is_what_the_documentation_says(log):
    first = log.add({"b": 1, "a": "é"})
    second = log.add({"c": [True, None]})
    text = '{"a":"é","b":1,"prev":"' + "0" * 64 + '"}'
    assert first == hashlib.sha256(text.encode()).hexdigest()
    assert second == hashlib.sha256(f'{{"c":[true,null],"prev":"{first}"}}'.encode()).hexdigest()
    assert log.path.stat().st_mode & 0o777 == 0o600


def changed(lines):
    return [lines[0], lines[1].replace(b'"n":1', b'"n":7'), *lines[2:]]


TAMPERED = {
    "changed": (changed, "line 2 is not as it was written"),
    "spaced": (lambda lines: [lines[0].replace(b":", b": ", 1), *lines[1:]], "line 1 is not"),
    "named twice": (lambda lines: [b'{"n":9,' + lines[0][1:], *lines[1:]], "line 1 is not"),
    "taken out": (lambda lines: [lines[0], *lines[2:]], "line 2 does not follow"),
    "first taken out": (lambda lines: lines[1:], "line 1 does not follow"),
    "moved": (lambda lines: [lines[1], lines[0], *lines[2:]], "line 1 does not follow"),
    "repeated": (lambda lines: [*lines, lines[-1]], "line 5 does not follow"),
    "cut": (lambda lines: [*lines[:-1], lines[-1][:-9]], "line 4 is not"),
    "without its end": (lambda lines: [*lines[:-1], lines[-1][:-1]], "line 4 is not"),
    "emptied": (lambda lines: [lines[0], b"\n", *lines[1:]], "line 2 is not"),
    "no object": (lambda lines: [b"[]\n", *lines], "line 1 is not"),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_chain_that_somebody_changed_is_broken(log, how):
    for number in range(4):
        log.add({"n": number})
    assert verify(log.path)[0] == 4
    change, words = TAMPERED[how]
    log.path.write_bytes(b"".join(change(log.path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(AuditError, match=words):
        verify(log.path)
    result = CliRunner().invoke(main, ["policy", "audit", str(log.path)])
    assert (result.exit_code, result.output.startswith(f"broken: {words}")) == (1, True)


def test_lines_cut_off_at_the_end_are_found_by_a_known_hash(log):
    hashes = [log.add({"n": number}) for number in range(3)]
    command = ["policy", "audit", str(log.path), "--known"]
    result = CliRunner().invoke(main, [*command, hashes[1]])
    assert result.output == f"whole: 3 decisions, the last with the hash {hashes[2]}\n"
    log.path.write_bytes(b"".join(log.path.read_bytes().splitlines(keepends=True)[:2]))
    assert CliRunner().invoke(main, [*command, hashes[1]]).exit_code == 0
    result = CliRunner().invoke(main, [*command, hashes[2]])
    assert (result.exit_code, "no line has the hash" in result.output) == (1, True)
    # The chain goes on from the last line that is there.
    assert log.add({"n": 9}) not in hashes
    assert CliRunner().invoke(main, [*command, hashes[2]]).exit_code == 1
    missing = CliRunner().invoke(main, ["policy", "audit", str(log.path) + ".none"])
    assert (missing.exit_code, "cannot be read" in missing.output) == (2, True)


def test_nothing_is_added_after_a_line_that_is_not_whole(log):
    log.add({"n": 1})
    whole = log.path.read_bytes()
    for damaged in (whole[:-1], whole[:-5] + b"\n", whole + b"\n", b"\0" * 9, b'{"hash":"1"}\n', b"5\n"):
        log.path.write_bytes(damaged)
        with pytest.raises(AuditError, match="its last line is not whole"):
            log.add({"n": 2})
        assert log.path.read_bytes() == damaged
    log.path.write_bytes(b"")
    log.add({"n": 2})
    assert json.loads(log.path.read_text())["prev"] == FIRST


def test_a_disk_that_takes_nothing_is_an_error(log):
    log.add({"n": 1})
    with pytest.raises(AuditError, match="cannot be written"):
        AuditLog(log.path / "below a file").add({"n": 2})
    with pytest.raises(AuditError, match=r"cannot be written \(No space left on device\)"):
        AuditLog(Path("/dev/full")).add({"n": 2})


def test_a_lock_that_is_held_is_not_waited_for_without_end(log, monkeypatch):
    log.add({"n": 1})
    monkeypatch.setattr(audit_log, "LOCK_S", 0.02)
    with log.path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(AuditError, match="another process has held its lock"):
            log.add({"n": 2})
    log.add({"n": 2})
    assert verify(log.path)[0] == 2


def test_the_start_waits_for_no_lock(log, monkeypatch):
    log.add({"n": 1})
    monkeypatch.setattr(audit_log.time, "sleep", lambda seconds: pytest.fail("it waited"))
    with log.path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        log.check()
    log.path.write_text("{")
    with pytest.raises(AuditError, match="not whole"):
        log.check()
