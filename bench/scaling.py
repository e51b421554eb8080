"""Extrapolates one process to many regions: ``python -m bench.scaling`` simulates 10,000 quotes a second.

A simulation by events with the assumptions of ``Assumptions``, whose defaults are those of
``docs/explanation/scaling.md``. Nothing runs: what a process costs is measured elsewhere (``bench quotes``,
``bench replicas``), and what nodes cost is assumed. It shows what grows with what, and where queues begin.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.report import percentile

RATES: Final = (5, 100, 1_000, 10_000)
_COLUMNS: Final = (
    *("quotes/s", "processes", "nodes", "Valkeys", "requests/s", "without [shared]"),
    *("p50 ms", "p99 ms", "a month"),
)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """All times in seconds. ``measured`` in a comment means here, the others are guesses to be replaced."""

    cpu_s: float = 0.012  # measured: processor time of a warm quote
    utilisation: float = 0.6  # of a process; above, queues grow quickly
    requests_of_quote: float = 2.0  # measured: the head after the arrival, and the run
    requests_of_block: float = 6.0  # measured: what a process reads at a new block, for all quotes of it
    follower_per_block: float = 0.3  # measured: audits, finalised block, chain id of one that follows another
    own_head_per_block: float = 2.0  # polls of one that follows the chain itself
    node_s: float = 0.010  # time of a node for one request, on one of its threads
    node_threads: int = 16
    node_utilisation: float = 0.6
    network_s: float = 0.002  # between a process and its region's nodes, there and back
    valkey_s: float = 0.0005  # a round trip to the region's Valkey
    valkey_per_s: float = 50_000  # commands that one Valkey does a second
    block_s: float = 2.0
    regions: int = 3
    chains: int = 1
    valkey_month: float = 50.0  # price of one Valkey, of a processor, of a node, in a month
    process_month: float = 20.0
    node_month: float = 400.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """How many of each are needed in all regions together."""

    processes: int
    nodes: int
    valkeys: int
    requests_per_s: float
    requests_per_s_apart: float
    """The requests to nodes, and those without ``[shared]``."""
    commands_per_s: float
    """The commands of the busiest region's Valkey."""

    def month(self, given: Assumptions) -> float:
        """Returns the price of a month."""
        return (
            self.processes * given.process_month
            + self.nodes * given.node_month
            + self.valkeys * given.valkey_month
        )


def fleet(given: Assumptions, rate: float) -> Fleet:
    """Returns what so many quotes a second need, by the averages."""
    of_region = rate / given.regions
    processes = max(math.ceil(of_region * given.cpu_s / given.utilisation), 1)
    blocks_per_s = given.chains / given.block_s
    of_quotes = of_region * given.requests_of_quote
    # At few quotes not each block is read by each process.
    readers = min(processes, of_region * given.block_s)
    apart = of_quotes + blocks_per_s * (
        readers * given.requests_of_block + processes * given.own_head_per_block
    )
    read_once = min(of_region * given.block_s, 1.0)
    shared = of_quotes + blocks_per_s * (
        read_once * given.requests_of_block
        + given.own_head_per_block
        + (processes - 1) * given.follower_per_block
    )
    commands = blocks_per_s * processes * (2 * given.requests_of_block + 4)
    capacity = given.node_threads / given.node_s * given.node_utilisation
    nodes = max(math.ceil(shared / capacity), 2)  # one may fail
    return Fleet(
        processes * given.regions,
        nodes * given.regions,
        max(math.ceil(commands / (given.valkey_per_s * 0.5)), 1) * given.regions,
        shared * given.regions,
        apart * given.regions,
        commands,
    )


class _Station:
    """A queue before ``servers`` that take the first one waiting."""

    def __init__(self, servers: int) -> None:
        self._free_at = [0.0] * servers
        self.busy_s = 0.0

    def serve(self, now: float, takes_s: float) -> float:
        """Returns when what arrives at ``now`` is done. Arrivals must come in their order."""
        began = max(now, heapq.heappop(self._free_at))
        heapq.heappush(self._free_at, began + takes_s)
        self.busy_s += takes_s
        return began + takes_s


def latencies(given: Assumptions, rate: float, seconds: float, seed: int) -> list[float]:
    """Returns the times of the quotes of one region: arrivals by chance, processes in turns."""
    # ruff: noqa: S311 - not for secrets
    chance, needed = random.Random(seed), fleet(given, rate)
    processes = [_Station(1) for _ in range(needed.processes // given.regions)]
    nodes = _Station(needed.nodes // given.regions * given.node_threads)
    blocks: dict[tuple[int, int], float] = {}
    """When a block's reads are there, by process and block; for all at -1."""
    took = []
    # What happens next: (time, number, process, arrival, step), steps in the order of a quote.
    events = [
        (at, number, number % len(processes), at, 0)
        for number, at in enumerate(_arrivals(chance, rate / given.regions, seconds))
    ]
    heapq.heapify(events)
    while events:
        now, number, process, arrival, step = heapq.heappop(events)
        after: float
        if step in (0, 2, 4):  # a third of the work each, in the one thread of a process
            after = processes[process].serve(now, given.cpu_s / 3)
        elif step == 1:
            after = _asked(given, chance, nodes, now)
            after = max(after, _block_read(given, chance, nodes, blocks, process, now))
        else:
            after = _asked(given, chance, nodes, now)
        if step == 4:
            took.append(after - arrival)
        else:
            heapq.heappush(events, (after, number, process, arrival, step + 1))
    return took


def _arrivals(chance: random.Random, rate: float, seconds: float) -> Iterator[float]:
    at = chance.expovariate(rate)
    while at < seconds:
        yield at
        at += chance.expovariate(rate)


def _asked(given: Assumptions, chance: random.Random, nodes: _Station, now: float) -> float:
    """Returns when a node's answer is there. Some requests take far longer than most."""
    takes_s = given.node_s * chance.choice((0.6, 0.8, 0.9, 1.0, 1.0, 1.1, 1.2, 1.4))
    return nodes.serve(now, takes_s) + given.network_s


def _block_read(
    given: Assumptions,
    chance: random.Random,
    nodes: _Station,
    blocks: dict[tuple[int, int], float],
    process: int,
    now: float,
) -> float:
    """Returns when a process has what it reads at the present block: from memory, Valkey or the nodes."""
    block = int(now / given.block_s)
    if (process, block) not in blocks:
        if (-1, block) not in blocks:
            ready = [_asked(given, chance, nodes, now) for _ in range(math.ceil(given.requests_of_block))]
            blocks[-1, block] = max(ready)
        blocks[process, block] = max(blocks[-1, block], now) + 2 * given.valkey_s
    return blocks[process, block]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="time to simulate")
    parser.add_argument("--seed", type=int, default=1)
    for each in fields(Assumptions):
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=type(each.default), default=each.default)
    options = parser.parse_args()
    given = replace(Assumptions(), **{each.name: getattr(options, each.name) for each in fields(Assumptions)})
    table = Table(*_COLUMNS)
    for rate in RATES:
        needed, took = fleet(given, rate), latencies(given, rate, options.seconds, options.seed)
        p50, p99 = (percentile(took, share) * 1e3 for share in (0.5, 0.99))
        counted = needed.processes, needed.nodes, needed.valkeys, needed.requests_per_s
        row = rate, *counted, needed.requests_per_s_apart, p50, p99, needed.month(given)
        table.add_row(*(f"{cell:,.0f}" for cell in row))
    Console().print(table)


if __name__ == "__main__":
    main()
