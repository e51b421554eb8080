"""The solver process: runs one function on the tasks that arrive on its standard input, one at a time.

Started as ``python -m quoteway_router.solver_worker <module>:<function> <memory_mb>``. It ends when its
standard input closes, so that it never outlives the server.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, BinaryIO

from quoteway_amm import BandsExceeded, Pool

from quoteway_router.solver_messages import (
    HEADER_BYTES,
    OUT_OF_MEMORY,
    Answer,
    Band,
    Exceeded,
    Failed,
    Leg,
    NewPools,
    Order,
    Ready,
    Solved,
    Task,
    decode_message,
    encode_answer,
    framed,
)

NICENESS = 10
"""The server's own work comes first."""
LOADING_S = 60.0
OVERTIME_S = 1.0
"""How long after its deadline a task ends the process, if the server did not: it may be gone."""

Solve = Callable[..., Any]
"""Has the parameters of ``quoteway_amm.flows.best_flow_exact_in``, with ``amount_out`` for an exact output,
and with ``bound_only`` for a bound alone: its result has that in ``told``.
The tasks for one snapshot have the same tuple of pools, also when tasks for others come between them."""
SNAPSHOTS_KEPT = 256
"""How many tuples of pools are kept, the least recently used first to go."""


class Worker:
    """Keeps the pools that it was sent, and solves orders on them."""

    def __init__(self, solve: Solve) -> None:
        self._solve = solve
        self._pools: dict[int, Pool] = {}
        self._snapshot: tuple[Pool, ...] = ()
        self._snapshots: dict[tuple[int, ...], tuple[Pool, ...]] = {}

    def take(self, pools: Mapping[int, Pool]) -> None:
        """Keeps new pools."""
        self._pools.update(pools)

    def answer(self, task: Task) -> Answer:
        """Solves a task; answers at once, without a flow, when its time is over."""
        self._drop(task.dropped)
        if task.snapshot is not None:
            self._snapshot = self._snapshot_of(tuple(task.snapshot))
        if not task.deadline_s:
            return Solved([], {})
        # The default action of SIGALRM ends the process, also in a loop of C code.
        signal.setitimer(signal.ITIMER_REAL, task.deadline_s + OVERTIME_S)
        try:
            return _answer_of(self._solve, self._snapshot, task.order, task.deadline_s)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _drop(self, keys: Sequence[int]) -> None:
        """Forgets pools and the snapshots that have them: their keys may come again, for others."""
        for key in keys:
            del self._pools[key]
        if keys:
            gone = set(keys)
            kept = {named: pools for named, pools in self._snapshots.items() if gone.isdisjoint(named)}
            self._snapshots = kept

    def _snapshot_of(self, keys: tuple[int, ...]) -> tuple[Pool, ...]:
        known = self._snapshots.pop(keys, None)
        self._snapshots[keys] = known or tuple(self._pools[key] for key in keys)
        if len(self._snapshots) > SNAPSHOTS_KEPT:
            del self._snapshots[next(iter(self._snapshots))]
        return self._snapshots[keys]


def _answer_of(solve: Solve, pools: Sequence[Pool], order: Order, deadline_s: float) -> Answer:
    wanted: dict[str, Any] = {} if order.amount_out is None else {"amount_out": order.amount_out}
    if order.bound_only:
        wanted["bound_only"] = True
    try:
        result = solve(
            pools,
            order.wrapped_native,
            order.token_in,
            order.token_out,
            order.amount_in,
            order.gas_model,
            order.gas_price,
            max_hops=order.max_hops,
            max_legs=order.max_legs,
            deadline_s=deadline_s,
            **wanted,
        )
        if order.bound_only:
            return Solved([], getattr(result, "told", {}))
        return _solved(result, pools)
    except BandsExceeded as error:
        at = {id(pool): index for index, pool in enumerate(pools)}
        bands = [
            Band(
                at[id(each.pool)],
                each.zero_for_one,
                each.tick,
                each.amount_in,
                each.amount_out,
                each.sqrt_price_x96,
            )
            for each in error.exceeded
        ]
        return Exceeded(bands, _solved(error.settled, pools))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:
        return Failed(_named(error))


def _solved(result: Any, pools: Sequence[Pool]) -> Solved:
    """Returns the answer for a ``FlowResult``; one without legs for anything else, such as a ``NoPath``."""
    flow = getattr(result, "flow", None)
    if flow is None:
        return Solved([], {})
    at = {id(pool): index for index, pool in enumerate(pools)}
    legs = [Leg(at[id(hop.pool)], hop.zero_for_one, hop.amount_in, hop.amount_out) for hop in flow.legs]
    return Solved(legs, result.optimality)


def _named(error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {os.path.basename(place.filename)}:{place.lineno}"[:200]


def _read(tasks: BinaryIO) -> bytes | None:
    """Returns the next message; None at the end."""
    header = tasks.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        return None
    size = int.from_bytes(header, "big")
    data = tasks.read(size)
    return data if len(data) == size else None


def main() -> None:
    """Answers tasks until standard input closes."""
    dotted, memory_mb = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is the server's to handle
    os.nice(NICENESS)
    _limit(resource.RLIMIT_DATA, int(memory_mb) << 20)
    _limit(resource.RLIMIT_CORE, 0)
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer

    def tell(answer: Answer) -> None:
        answers.write(framed(encode_answer(answer)))
        answers.flush()

    signal.setitimer(signal.ITIMER_REAL, LOADING_S)
    try:
        worker = Worker(_loaded(dotted))
    except Exception as error:
        tell(Failed(_named(error)))
        return
    signal.setitimer(signal.ITIMER_REAL, 0)
    tell(Ready())
    while (data := _read(tasks)) is not None:
        message = decode_message(data)
        if isinstance(message, NewPools):
            worker.take(message.pools)
        else:
            tell(worker.answer(message))


def _loaded(dotted: str) -> Solve:
    """Returns the function; of a class, which may keep what it makes of a snapshot, an instance."""
    module, name = dotted.split(":")
    found: Solve = getattr(import_module(module), name)
    return found() if isinstance(found, type) else found


def _limit(kind: int, most: int) -> None:
    """Lowers a limit; that of an isolated plugin's process stays when it is lower."""
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main()
