"""One solver process, as the server sees it: started, asked one task at a time, ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import OrderedDict
from dataclasses import dataclass

from quoteway_amm import Pool

from quoteway_router.solver_messages import (
    HEADER_BYTES,
    MAX_ANSWER_BYTES,
    OUT_OF_MEMORY,
    Answer,
    Failed,
    NewPools,
    Order,
    Ready,
    Task,
    decode_answer,
    encode_message,
    framed,
)

POOLS_KEPT = 1_024
"""How many pool states a process keeps, the least recently used first to go; more if a snapshot has more."""
POOLS_KEPT_S = 300.0
"""How long a process keeps the state of a pool that no snapshot has any more: most are of blocks that have
passed."""
START_S = 30.0
"""Most time of a start. The solver's libraries are imported in it."""
GRACE_S = 0.5
"""How long after its deadline a task is killed. A busy machine delays good answers, and a new process has to
import its libraries and gets all pools anew."""
END_S = 1.0
"""Most time that the end of a killed process is waited for."""
SENDING_S = 10.0
"""Most time in which the new pools of a snapshot are sent. The order's deadline may pass meanwhile, but the
process goes on: another one would have to get all of them again."""
POOLS_PER_MESSAGE = 16
"""Pools that are pickled before others get the event loop: 1 ms for pools with 300 ticks."""
_KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ")
"""The environment of the process. It needs no secret and no setting of the server."""
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""A process is one core's work: threads of BLAS would take the server's."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The pools of a chain at one block. Orders on one block should share one object: a process that worked
    on it last is sent the order alone. Pools are known by object too: keep the object of an unchanged pool.
    """

    chain_id: int
    block_hash: str
    pools: tuple[Pool, ...]


class SolverLost(Exception):  # noqa: N818 - tells how it ended
    """The process cannot be used any more."""


class SolverProcess:
    """A running process. ``ended`` is done when it ended. It knows pools by their ``id`` here, which no other
    pool gets as long as this holds them.
    """

    def __init__(self, process: Process, memory_mb: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._memory_mb = memory_mb
        self._tasks, self._answers = process.stdin, process.stdout
        self.ended = asyncio.ensure_future(process.wait())
        self._pools: OrderedDict[int, tuple[Pool, float]] = OrderedDict()
        """By their ``id``, with the time at which they were last in a snapshot."""
        self._snapshot: Snapshot | None = None

    @classmethod
    async def start(cls, function: str, memory_mb: int) -> SolverProcess:
        """Starts a process and waits until it has loaded ``function``. Raises SolverLost."""
        environ = {name: os.environ[name] for name in _KEPT if name in os.environ} | _ONE_THREAD
        environ["PYTHONPATH"] = os.pathsep.join(folder for folder in sys.path if folder)
        command = [sys.executable, "-P", "-m", "quoteway_router.solver_worker", function, str(memory_mb)]
        try:
            # It stays in this process's group: what ends an isolated plugin's group ends it too.
            running = await asyncio.create_subprocess_exec(
                *command, env=environ, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
            )
        except OSError as error:
            raise SolverLost(f"it cannot be started: {error.strerror}") from None
        process = cls(running, memory_mb)
        try:
            answer = await process._answer(asyncio.get_running_loop().time() + START_S)
        except BaseException:
            await process.kill()
            raise
        if not isinstance(answer, Ready):
            await process.kill()
            raise SolverLost(f"{function} cannot be loaded: {_told(answer)}")
        return process

    async def solve(self, snapshot: Snapshot, order: Order, deadline: float) -> Answer:
        """Returns the answer to an order. ``deadline`` is a time of the event loop's clock.

        Raises SolverLost when the process ended, answered with anything else, or did not answer in time.
        """
        loop = asyncio.get_running_loop()
        keys: list[int] | None = None
        dropped: list[int] = []
        if snapshot is not self._snapshot:
            now = loop.time()
            await self._send_new(snapshot, now)
            dropped = self._forget(max(POOLS_KEPT, len(snapshot.pools)), now - POOLS_KEPT_S)
            keys = [id(pool) for pool in snapshot.pools]
            self._snapshot = snapshot
        left_s = max(deadline - loop.time(), 0.0)
        # A tenth is for the way of the task and of its answer.
        self._send(Task(keys, dropped, order, 0.9 * left_s))
        answer = await self._answer(loop.time() + left_s + GRACE_S)
        if isinstance(answer, Ready):
            raise SolverLost("it answered out of turn")
        return answer

    async def kill(self) -> str:
        """Ends the process if it still runs. Returns how it ended, for people."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._tasks.close()
        try:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(END_S):
                    while await self._answers.read(MAX_ANSWER_BYTES):
                        pass  # an unread answer would keep the pipe open
            return await self._how_it_ended()
        finally:
            # asyncio closes it when it has seen both ends, which a busy machine may tell too late.
            self._process._transport.close()  # type: ignore[attr-defined]

    def _send(self, message: NewPools | Task) -> None:
        self._tasks.write(framed(encode_message(message)))

    def _forget(self, most: int, before: float) -> list[int]:
        """Forgets what exceeds ``most`` pools or was last used before a time. Returns the keys."""
        forgotten: list[int] = []
        for key, (_, used_at) in self._pools.items():
            if len(self._pools) - len(forgotten) <= most and used_at >= before:
                break
            forgotten.append(key)
        for key in forgotten:
            del self._pools[key]
        return forgotten

    async def _send_new(self, snapshot: Snapshot, now: float) -> None:
        new = {}
        for pool in snapshot.pools:
            key = id(pool)
            if key not in self._pools:
                new[key] = pool
            self._pools[key] = pool, now
            self._pools.move_to_end(key)
        keys = list(new)
        try:
            async with asyncio.timeout(SENDING_S):
                for at in range(0, len(keys), POOLS_PER_MESSAGE):
                    self._send(NewPools({key: new[key] for key in keys[at : at + POOLS_PER_MESSAGE]}))
                    await self._tasks.drain()
                    await asyncio.sleep(0)
        except TimeoutError:
            raise SolverLost("it does not read its pools") from None
        except OSError:
            raise SolverLost(await self._how_it_ended()) from None

    async def _answer(self, until: float) -> Answer:
        try:
            async with asyncio.timeout_at(until):
                await self._tasks.drain()
                header = await self._answers.readexactly(HEADER_BYTES)
                size = int.from_bytes(header, "big")
                if size > MAX_ANSWER_BYTES:
                    raise SolverLost(f"it sent {size} bytes, the longest answer has {MAX_ANSWER_BYTES}")
                data = await self._answers.readexactly(size)
        except TimeoutError:
            raise SolverLost("it did not answer in time") from None
        except (OSError, asyncio.IncompleteReadError):
            raise SolverLost(await self._how_it_ended()) from None
        try:
            return decode_answer(data)
        except Exception as error:  # whatever another process sends
            raise SolverLost(f"it sent what cannot be read: {type(error).__name__}") from None

    async def _how_it_ended(self) -> str:
        await asyncio.wait((self.ended,), timeout=END_S)
        if not self.ended.done():
            return "it closed its pipe"
        status = self.ended.result()
        if status == OUT_OF_MEMORY:
            return f"it needed more than {self._memory_mb} MB of memory"
        return f"it ended with {signal.Signals(-status).name if status < 0 else f'status {status}'}"


def _told(answer: Answer) -> str:
    return answer.error if isinstance(answer, Failed) else "it answered out of turn"
