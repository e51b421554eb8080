"""Indexes of generated chains behind limits, and the calls that they took."""

import pathlib
import tempfile
import time
from dataclasses import dataclass

from generated_node import SOURCE, GeneratedNode
from index_chain import Index, chain_at


@dataclass(frozen=True, slots=True)
class Measured:
    """``minimum`` are the fewest calls of eth_getLogs within the limits, ``other_calls`` those for blocks."""

    log_calls: int
    minimum: int
    other_calls: int
    refused: int
    logs: int
    took_s: float


def transfers_of(index):
    """Returns what an index has of a generated chain, in the order of ``GeneratedNode.rows``."""
    facts, _, _ = index.contents()
    return sorted((block, at, *own) for _, _, block, at, _, _, *own in facts["transfer"])


async def index_behind(blocks, **limits):
    """Indexes a chain of so many blocks at once. Fails unless the index has all that the chain has."""
    node = GeneratedNode(blocks, **limits)
    with tempfile.TemporaryDirectory() as folder:
        async with node.running() as proxy, chain_at(proxy.address) as chain:
            index = Index(chain, (SOURCE,), pathlib.Path(folder) / "index.duckdb")
            try:
                began = time.perf_counter()
                await index.once()
                took_s = time.perf_counter() - began
                found = transfers_of(index)
            finally:
                await index.close()
    expected = node.rows()
    assert found == expected
    log_calls = node.calls["eth_getLogs"]
    other = sum(node.calls.values()) - log_calls
    return Measured(log_calls, node.minimum(), other, node.refused, len(expected), took_s)
