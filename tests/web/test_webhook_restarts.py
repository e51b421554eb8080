"""Webhooks over restarts and with several processes: nothing is lost, and one of them sends each event."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from followed_transfers import HASH
from shared_server import server_at
from webhook_room import DEADLINE_S, KEY, receiving

SCRIPT = Path(__file__).parent / "webhook_process.py"
HEADERS = {"Authorization": f"Bearer {KEY}"}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class Processes:
    """Gateways in processes of their own over one store, and the state of every transfer."""

    def __init__(self, folder, store, receiver):
        self.state_file, self.store, self.receiver = folder / "state", store, receiver
        self._folder = folder
        self.running = []
        self.state = "pending"

    @property
    def state(self):
        return self.state_file.read_text()

    @state.setter
    def state(self, state):
        new = self.state_file.with_suffix(".new")
        new.write_text(state)
        new.replace(self.state_file)

    async def start(self):
        log = (self._folder / f"{len(self.running)}.log").open("wb")
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(SCRIPT), str(self.state_file), str(self.store), str(self.receiver.port),
            stdout=subprocess.PIPE, stderr=log, env=os.environ | {"PYTHONPATH": ":".join(sys.path)},
        )  # fmt: skip
        self.running.append(process)
        async with asyncio.timeout(DEADLINE_S):
            said = json.loads(await process.stdout.readline())
        return process, f"http://127.0.0.1:{said['port']}", said["txId"]

    async def register(self, url, tx_id, hash_=HASH):
        body = {"url": self.receiver.url, "kind": "transfer", "txId": tx_id, "hash": hash_}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/v2/webhooks", json=body, headers=HEADERS) as answer,
        ):
            made = await answer.json()
            assert answer.status == 201, made
        return made

    async def until(self, url, webhook_id, look):
        async with aiohttp.ClientSession() as session, asyncio.timeout(DEADLINE_S):
            while True:
                async with session.get(f"{url}/v2/webhooks/{webhook_id}", headers=HEADERS) as answer:
                    found = await answer.json()
                    assert answer.status == 200, found
                if look(found):
                    return found
                await asyncio.sleep(0.05)

    async def kill(self, process, how=signal.SIGKILL):
        process.send_signal(how)
        async with asyncio.timeout(DEADLINE_S):
            await process.wait()


@contextlib.asynccontextmanager
async def processes_over(folder, store):
    async with receiving() as receiver:
        made = Processes(folder, store, receiver)
        try:
            yield made
        finally:
            for process in made.running:
                if process.returncode is None:
                    process.kill()
                    await process.wait()


@pytest.fixture
async def processes(tmp_path):
    async with processes_over(tmp_path, tmp_path / "store.sqlite3") as made:
        yield made


def kinds(receiver):
    return [json.loads(each.body)["type"].partition(".")[2] for each in receiver.received]


@pytest.mark.slow
async def test_a_gateway_that_is_killed_between_a_state_and_its_delivery_loses_nothing(processes):
    receiver = processes.receiver
    process, url, tx_id = await processes.start()
    made = await processes.register(url, tx_id)
    await processes.until(url, made["webhookId"], lambda each: each["delivered"] == 1)
    receiver.status = 500
    processes.state = "confirmed"
    await processes.until(url, made["webhookId"], lambda each: each["pending"] == 1)
    await receiver.until(2)
    await processes.kill(process)
    processes.state = "filled"  # while nobody looks
    receiver.status = 200
    before = len(receiver.received)
    _, url, _ = await processes.start()
    done = await processes.until(url, made["webhookId"], lambda each: each["state"] == "done")
    assert done["delivered"] == 3
    assert kinds(receiver)[before:] == ["origin_confirmed", "filled"]
    failed = {each.id for each in receiver.received[1:before]}
    assert failed == {receiver.received[before].id}, "the same id and body as before the kill"
    assert {each.body for each in receiver.received[1 : before + 1]} == {receiver.received[before].body}


@pytest.mark.slow
async def test_what_was_told_is_not_told_again_after_a_restart(processes):
    receiver = processes.receiver
    process, url, tx_id = await processes.start()
    made = await processes.register(url, tx_id)
    await processes.until(url, made["webhookId"], lambda each: each["delivered"] == 1)
    await processes.kill(process, signal.SIGTERM)
    _, url, _ = await processes.start()
    processes.state = "filled"
    await processes.until(url, made["webhookId"], lambda each: each["state"] == "done")
    assert kinds(receiver) == ["origin_pending", "filled"]


async def each_event_is_sent_once(processes):
    receiver = processes.receiver
    (first, one, tx_id), (_, two, _) = await processes.start(), await processes.start()
    hashes = [f"0x{number:064x}" for number in range(8)]
    made = [
        await processes.register(url, tx_id, hash_) for hash_, url in zip(hashes, (one, two) * 4, strict=True)
    ]
    for url, hook in zip((two, one) * 4, made, strict=True):  # each asks the other one
        await processes.until(url, hook["webhookId"], lambda each: each["delivered"] == 1)
    processes.state = "confirmed"
    for hook in made:
        await processes.until(two, hook["webhookId"], lambda each: each["delivered"] == 2)
    await processes.kill(first)  # it may be the one that sends: then the other one takes over
    processes.state = "filled"
    for hook in made:
        await processes.until(two, hook["webhookId"], lambda each: each["state"] == "done")
    assert len(set(receiver.taken)) == 24
    return receiver.taken


@pytest.mark.slow
async def test_of_two_processes_over_a_file_one_sends_each_event(processes):
    taken = await each_event_is_sent_once(processes)
    assert len(taken) == len(set(taken)), "an event may come twice after a kill, but seldom does"


@pytest.mark.slow
@pytest.mark.services
async def test_of_two_replicas_over_a_server_one_sends_each_event(tmp_path):
    port = free_port()
    server = await server_at(port, tmp_path)
    try:
        async with processes_over(tmp_path, f"redis://127.0.0.1:{port}/0") as made:
            taken = await each_event_is_sent_once(made)
            assert len(taken) == len(set(taken))
    finally:
        server.kill()
        await server.wait()


@pytest.mark.slow
async def test_a_process_that_ends_lets_the_next_one_begin_at_once(processes):
    receiver = processes.receiver
    first, url, tx_id = await processes.start()
    made = await processes.register(url, tx_id)
    await receiver.until(1)
    _, other, _ = await processes.start()
    await processes.kill(first, signal.SIGTERM)
    processes.state = "filled"
    await processes.until(other, made["webhookId"], lambda each: each["state"] == "done")
    assert kinds(receiver) == ["origin_pending", "filled"]
    assert urlsplit(other).port
