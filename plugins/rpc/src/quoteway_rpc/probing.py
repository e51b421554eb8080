"""The background task that asks the upstreams of a network that are out whether they are well again."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from quoteway import RpcError

from quoteway_rpc.outcomes import Unusable
from quoteway_rpc.upstream import Upstream

if TYPE_CHECKING:
    from quoteway_rpc.health import Health

IDLE_S: Final = 60.0
"""Without a call for this long, nothing is probed."""
LEAST_WAIT_S: Final = 0.02
MOST_WAIT_S: Final = 1.0


class Probing:
    """Runs while an upstream is out and the network is in use, and sends nothing otherwise."""

    def __init__(self, health: Health, timeout_s: float) -> None:
        self._health = health
        self.timeout_s = timeout_s
        self.task: asyncio.Task[None] | None = None
        self._closed = False
        self._used = True
        self._sooner = asyncio.Event()

    def used(self, now: float) -> None:
        """Notes that the network is in use. A task that ended for want of calls starts again."""
        if not self._used:
            self._used = True
            self.wake()

    def wake(self) -> None:
        """Starts the task when an upstream is out. Is called on the event loop."""
        if self._closed or (self.task is not None and not self.task.done()):
            return
        if self._health.next_probe_s() is None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        # In a context of its own: that of the request which failed has its trace and its arrival.
        name = f"rpc probes of {self._health.network.slug}"
        self.task = loop.create_task(self._run(), name=name, context=contextvars.Context())

    def hurry(self) -> None:
        """Is called when a probe is due sooner than it was."""
        self._sooner.set()

    async def close(self) -> None:
        """Ends the task."""
        self._closed = True
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])

    async def probe(self, upstreams: Sequence[Upstream]) -> None:
        """Probes upstreams at once and tells ``Health`` the results."""
        await asyncio.gather(*(self._probe(upstream) for upstream in upstreams))

    async def _run(self) -> None:
        """Probes each upstream when it is due: a probe that hangs holds up no other one."""
        idle_s = 0.0
        probes: set[asyncio.Task[None]] = set()
        try:
            while (left_s := self._health.next_probe_s()) is not None:
                wait_s = min(max(left_s, LEAST_WAIT_S), MOST_WAIT_S)
                self._sooner.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._sooner.wait()
                idle_s = 0.0 if self._used else idle_s + wait_s
                self._used = False
                if idle_s >= IDLE_S:
                    return
                probes = {task for task in probes if not task.done()}
                for upstream in self._health.due():
                    probe = asyncio.create_task(self._probe(upstream))
                    probe.add_done_callback(lambda _: self._sooner.set())
                    probes.add(probe)
        finally:
            for task in probes:
                task.cancel()
            if probes:
                await asyncio.wait(probes)

    async def _probe(self, upstream: Upstream) -> None:
        began, kind = asyncio.get_running_loop().time(), "session_closed"
        with contextlib.suppress(RuntimeError):  # the server stops, and its session with it
            try:
                self._health.probed(upstream, await upstream.probe(timeout_s=self.timeout_s))
                return
            except Unusable as failure:
                kind = failure.kind
            except RpcError:
                kind = "rpc_error"
        self._health.probe_failed(upstream, kind, asyncio.get_running_loop().time() - began)
