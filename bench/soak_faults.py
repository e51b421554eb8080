"""What happens to the nodes and servers of ``python -m bench soak``, and which answers that explains."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from bench.harness import harness
from bench.replicas import CLIENT_VERSION
from bench.soak_load import HISTORY, Outcome

FAULT_S: Final = 20.0
"""How long nodes have the same faults."""
DOWN_S: Final = 20.0
"""How long a server stays down."""
SHARED_EVERY_S, DATABASE_EVERY_S = 240.0, 300.0
RECOVERY_S: Final = 10.0
"""The time after the start of the database within which all answers are good again."""
NO_HISTORY: Final = {
    (502, "upstream_error provider_error"),
    (502, "upstream_error provider_timeout"),
    (503, "provider_unavailable provider_paused"),
}
"""What an answer that needs the database may be while it is down."""


@dataclass
class Outages:
    """When a server was down, in seconds of the monotonic clock."""

    spans: list[list[float]] = field(default_factory=list)

    def begin(self) -> None:
        self.spans.append([time.monotonic(), float("inf")])

    def end(self) -> None:
        self.spans[-1][1] = time.monotonic()

    def covers(self, outcome: Outcome, after_s: float) -> bool:
        """Tells whether a server was down during a request, or until ``after_s`` seconds before it."""
        return any(outcome.ended >= down and outcome.began <= up + after_s for down, up in self.spans)


def is_unexpected(outcome: Outcome, database: Outages) -> bool:
    """Tells whether a 5xx is one that no fault explains: one node of each network is always healthy, and
    where two must agree, two are.
    """
    if outcome.status < 500:
        return False
    needs = outcome.kind in HISTORY and (outcome.status, outcome.code) in NO_HISTORY
    return not (needs and database.covers(outcome, RECOVERY_S))


class MiningLock:
    """Lets the requests to a node run together, and the making of its blocks alone.

    Anvil answers a request at the hash of its newest block with the state of the block that it makes
    meanwhile: beside mining, 21 of 2,755 simulations were of the wrong block. Nodes of networks are not so.
    """

    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self._requests = 0
        self._is_mining = False

    @contextlib.asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """A request to the node: not while blocks are made."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._is_mining)
            self._requests += 1
        try:
            yield
        finally:
            async with self._changed:
                self._requests -= 1
                self._changed.notify_all()

    @contextlib.asynccontextmanager
    async def mining(self) -> AsyncIterator[None]:
        """The making of blocks: not while a request is under way."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._is_mining)
            self._is_mining = True
            await self._changed.wait_for(lambda: not self._requests)
        try:
            yield
        finally:
            async with self._changed:
                self._is_mining = False
                self._changed.notify_all()


def geth_like(url: str, lock: MiningLock) -> Any:
    """Returns a faulty node that says it is Geth: answers of development nodes are kept more briefly."""
    from quoteway.testing.faulty_node import FaultyNode, send

    class GethLike(FaultyNode):
        async def forward(self, request: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
            if request["method"] == "web3_clientVersion":
                answer = {"jsonrpc": "2.0", "id": request["id"], "result": CLIENT_VERSION}
                send(writer, json.dumps(answer))
            else:
                async with lock.request():
                    await super().forward(request, writer)

    return GethLike(url)


def _acting(kind: Callable[[str], Any], url: str, session: aiohttp.ClientSession, lock: MiningLock) -> Any:
    """Returns a behaviour of a faulty node that answers as one of the tests' proxies does."""
    from quoteway.testing.faulty_node import send

    actor = kind(url)

    async def behave(node: Any, request: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
        async with lock.request():
            answer = await actor.answer(dict(request), session)
        send(writer, answer)

    return behave


@dataclass
class NodeFaults:
    """The faults of the nodes of one network: of one node after the other, in turns."""

    nodes: Sequence[Any]
    url: str
    turns: Sequence[Sequence[str]]
    lock: MiningLock
    said: str = ""

    async def run(self) -> None:
        async with aiohttp.ClientSession() as session:
            try:
                for turn in itertools.count():
                    self._give(turn, session)
                    await asyncio.sleep(FAULT_S)
            finally:
                for node in self.nodes:
                    node.behaviour = None

    def _give(self, turn: int, session: aiohttp.ClientSession) -> None:
        from quoteway.testing.node_faults import NODE_FAULTS

        liars = harness("liars")
        actors = {"lagging": liars.Laggard, "lying": liars.StateLiar, "forked": liars.Forker}
        for node in self.nodes:
            node.behaviour = None
        given = []
        for number, name in enumerate(self.turns[turn % len(self.turns)]):
            at = (turn + number) % len(self.nodes)
            known = NODE_FAULTS.get(name)
            self.nodes[at].behaviour = known or _acting(actors[name], self.url, session, self.lock)
            given.append(f"{at + 1} {name}")
        self.said = ", ".join(given) or "none"


async def in_turns(
    outages: Outages,
    stop: Callable[[], Awaitable[None]],
    start: Callable[[], Awaitable[None]],
    *,
    every_s: float,
    down_s: float,
) -> None:
    """Stops a server and starts it again, without end."""
    while True:
        await asyncio.sleep(every_s - down_s)
        outages.begin()
        await stop()
        await asyncio.sleep(down_s)
        await start()
        outages.end()
