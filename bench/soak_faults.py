"""What happens to the nodes and servers of ``python -m bench soak``, and which answers that explains."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
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


def geth_like(url: str) -> Any:
    """Returns a faulty node that says it is Geth: answers of development nodes are kept more briefly."""
    from quoteway.testing.faulty_node import FaultyNode, send

    class GethLike(FaultyNode):
        async def forward(self, request: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
            if request["method"] == "web3_clientVersion":
                answer = {"jsonrpc": "2.0", "id": request["id"], "result": CLIENT_VERSION}
                send(writer, json.dumps(answer))
            else:
                await super().forward(request, writer)

    return GethLike(url)


def _acting(kind: Callable[[str], Any], url: str, session: aiohttp.ClientSession) -> Any:
    """Returns a behaviour of a faulty node that answers as one of the tests' proxies does."""
    from quoteway.testing.faulty_node import send

    actor = kind(url)

    async def behave(node: Any, request: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
        send(writer, await actor.answer(dict(request), session))

    return behave


@dataclass
class NodeFaults:
    """The faults of the nodes of one network: of one node after the other, in turns."""

    nodes: Sequence[Any]
    url: str
    turns: Sequence[Sequence[str]]
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
            self.nodes[at].behaviour = known or _acting(actors[name], self.url, session)
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
