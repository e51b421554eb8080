"""Solves orders in processes of their own: the event loop stays free, and numpy out of the server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from cachetools import TTLCache
from quoteway import span
from quoteway_amm import BandExceeded, BandsExceeded, Hop

from quoteway_router.exact_output_resimulation import recomputed_exact_output
from quoteway_router.resimulation import graph_node, resimulate
from quoteway_router.solver_messages import Answer, Band, Exceeded, Failed, Order, Solved
from quoteway_router.solver_process import Snapshot, SolverLost, SolverProcess

log = logging.getLogger("quoteway.router.solver_processes")

FLOW_SOLVER = "quoteway_router.flow_solver:FlowSolver"
MEMORY_MB = 1_024
"""Most memory of one process."""
QUEUED_PER_PROCESS = 8
"""Most orders that wait, for each process."""
FIRST_START_S = 1.5
"""Most time that an order waits until a process has started for the first time, before its own time begins.
Otherwise large orders of a server's first moments would all keep their single paths."""
LEAST_S = 0.002
"""With less time left, an order is not begun."""
FIRST_BACKOFF_S, MAX_BACKOFF_S = 0.1, 30.0
LOG_EVERY_S = 60.0
"""One failure of the function is logged once in this time."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A flow in execution order. Its amounts were computed again here, and are exact at the snapshot's block.

    ``optimality`` is the solver's word, as plain data: read it with ``msgspec.convert``, and check its bound.
    Of an order with ``bound_only`` there is nothing else.
    """

    hops: tuple[Hop, ...]
    amount_out: int
    optimality: Mapping[str, Any]


_OUTCOMES = {Solution: "solved", BandsExceeded: "ticks_missing", type(None): "not_solved"}
"""What came of an order, in the trace of a request."""


@dataclass(slots=True, eq=False)
class _Job:
    snapshot: Snapshot
    order: Order
    deadline: float
    answer: asyncio.Future[Solution | BandsExceeded | None]

    def end(self, outcome: Solution | BandsExceeded | None) -> None:
        if not self.answer.done():
            self.answer.set_result(outcome)


@dataclass(eq=False)
class SolverProcesses:
    """``count`` processes that run ``function``, given as ``module:name``; 0: none, and no order is solved.

    ``function`` has the parameters of ``quoteway_amm.flows.best_flow_exact_in``; of a class, an instance is
    made in each process, which may keep what it makes of a snapshot. The processes start at the first order,
    or when this is entered as an async context manager, which ends them when it is left. One that dies,
    answers nonsense or overruns a deadline is started again, later each time.
    """

    count: int
    function: str = FLOW_SOLVER
    memory_mb: int = MEMORY_MB
    _jobs: asyncio.Queue[_Job] = field(init=False)
    _keepers: list[asyncio.Task[None]] = field(default_factory=list, init=False)
    _closed: bool = field(default=False, init=False)
    _begun: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Set when a process has started for the first time, or could not be started."""
    _live: set[_Job] = field(default_factory=set, init=False)
    _down: int = field(default=0, init=False)
    """Processes that wait for their next start."""
    _idle: int = field(default=0, init=False)
    _typical_s: float = field(default=0.0, init=False)
    """Moving average of the time of an order in its process."""
    _told: TTLCache[str, None] = field(default_factory=lambda: TTLCache(64, LOG_EVERY_S), init=False)

    def __post_init__(self) -> None:
        self._jobs = asyncio.Queue(max(self.count, 1) * QUEUED_PER_PROCESS)

    async def __aenter__(self) -> Self:
        self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def solve(self, snapshot: Snapshot, order: Order, deadline_s: float) -> Solution | None:
        """Returns the flow that the solver found; None when there is none within ``deadline_s``.

        None at once when all processes are down, or busy for longer. An order that comes before the first
        start waits ``FIRST_START_S`` more for it. Raises BandsExceeded when pools that may win lack ticks:
        ``settled`` is then the Solution among the known ticks, or None.
        """
        self._start()
        if not self._begun.is_set() and self.count:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_START_S):
                    await self._begun.wait()
        if self._closed or self._down == self.count or self._expected_wait_s() > deadline_s:
            return None
        loop = asyncio.get_running_loop()
        job = _Job(snapshot, order, loop.time() + deadline_s, loop.create_future())
        try:
            self._jobs.put_nowait(job)
        except asyncio.QueueFull:
            return None
        self._live.add(job)
        with span("solver", f"chain {snapshot.chain_id}") as timed:
            outcome = await self._answer(job)
            if timed is not None:
                timed.outcome = _OUTCOMES[type(outcome)]
        if isinstance(outcome, BandsExceeded):
            raise outcome
        return outcome

    async def _answer(self, job: _Job) -> Solution | BandsExceeded | None:
        try:
            async with asyncio.timeout_at(job.deadline):
                return await job.answer
        except TimeoutError:
            return None
        finally:
            self._live.discard(job)

    async def close(self) -> None:
        """Ends the processes. Orders under way get None, as all later ones do."""
        self._closed = True
        self._begun.set()
        for job in self._live:
            job.end(None)
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)

    def _start(self) -> None:
        if self._keepers or self._closed:
            return
        self._keepers = [
            asyncio.create_task(self._keep(), name=f"uniswap:solver-{index}") for index in range(self.count)
        ]

    def _expected_wait_s(self) -> float:
        ahead = self._jobs.qsize()
        return 0.0 if self._idle > ahead else (ahead + 1) * self._typical_s / (self.count - self._down)

    async def _keep(self) -> None:
        """Keeps one process running and gives it orders."""
        backoff_s = FIRST_BACKOFF_S
        while True:
            try:
                try:
                    process = await SolverProcess.start(self.function, self.memory_mb)
                finally:
                    self._begun.set()
                try:
                    while True:
                        await self._serve_next(process)
                        backoff_s = FIRST_BACKOFF_S
                finally:
                    await process.kill()
            except SolverLost as error:
                log.warning("a solver process is started again in %.1f s: %s", backoff_s, error)
            except Exception:  # a pool that cannot be pickled, for example, costs its own order only
                log.exception("a solver process is started again in %.1f s", backoff_s)
            self._down += 1
            await asyncio.sleep(backoff_s)
            self._down -= 1
            backoff_s = min(2 * backoff_s, MAX_BACKOFF_S)

    async def _serve_next(self, process: SolverProcess) -> None:
        """Waits for an order and has the process solve it. Raises SolverLost."""
        loop = asyncio.get_running_loop()
        job = await self._next_job(process)
        began = loop.time()
        try:
            if job.answer.done() or job.deadline - began < LEAST_S:
                return
            answer = await process.solve(job.snapshot, job.order, job.deadline)
            self._typical_s += (loop.time() - began - self._typical_s) / 8
            if not job.answer.done():
                job.end(self._outcome(job, answer))
        except SolverLost as error:
            snapshot = job.snapshot
            raise SolverLost(f"{error} (chain {snapshot.chain_id}, block {snapshot.block_hash})") from None
        finally:
            job.end(None)

    async def _next_job(self, process: SolverProcess) -> _Job:
        getting = asyncio.ensure_future(self._jobs.get())
        self._idle += 1
        try:
            await asyncio.wait((getting, process.ended), return_when=asyncio.FIRST_COMPLETED)
            if not getting.done():
                raise SolverLost(await process.kill())
            return getting.result()
        finally:
            self._idle -= 1
            getting.cancel()

    def _outcome(self, job: _Job, answer: Answer) -> Solution | BandsExceeded | None:
        """Returns what an answer is worth. Raises SolverLost when it is wrong."""
        if isinstance(answer, Solved):
            return _checked(job, answer)
        if isinstance(answer, Exceeded):
            bands = tuple(_band(job.snapshot, band) for band in answer.bands)
            return BandsExceeded(bands, _checked(job, answer.settled))
        if isinstance(answer, Failed) and answer.error not in self._told:
            self._told[answer.error] = None
            log.error("the solver failed on chain %d: %s", job.snapshot.chain_id, answer.error)
        return None


def _checked(job: _Job, solved: Solved) -> Solution | None:
    if job.order.bound_only:
        return Solution((), 0, solved.optimality) if solved.optimality else None
    if not solved.legs:
        return None
    compute = resimulate if job.order.amount_out is None else recomputed_exact_output
    hops = compute(job.snapshot.pools, job.order, solved.legs)
    if hops is None:
        raise SolverLost("it gave a flow that its pools do not give")
    end = graph_node(job.order, job.order.token_out)
    amount_out = sum(hop.amount_out for hop in hops if graph_node(job.order, hop.token_out) == end)
    return Solution(hops, amount_out, solved.optimality)


def _band(snapshot: Snapshot, band: Band) -> BandExceeded:
    if not 0 <= band.pool < len(snapshot.pools):
        raise SolverLost("it named a pool that does not exist")
    pool = snapshot.pools[band.pool]
    return BandExceeded(
        pool, band.zero_for_one, band.tick, band.amount_in, band.amount_out, band.sqrt_price_x96
    )
