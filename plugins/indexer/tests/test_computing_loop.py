"""Computations of a chain whose database or node fails."""

from __future__ import annotations

import logging

import pytest
from quoteway import UpstreamError
from quoteway_indexer.computing import Computation
from quoteway_indexer.ingest.computing_loop import ComputingLoop
from quoteway_indexer.store import StoreError


class Failing(Computation):
    def __init__(self, error):
        self.error = error
        self.calls = 0

    async def advance(self, frontier):
        self.calls += 1
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize(
    ("error", "is_traced"),
    [(StoreError("it is down"), False), (UpstreamError("it is slow"), False), (KeyError("x"), True)],
)
async def test_a_failure_is_tried_again_and_only_faults_are_traced(error, is_traced, caplog):
    failing, other = Failing(error), Failing(None)
    loop = ComputingLoop([failing, other], lambda: "frontier", logging.getLogger("test"))
    assert not await loop.advance()
    assert other.calls == 1, "one computation does not hold up the others"
    (record,) = caplog.records
    assert (record.exc_info is not None) == is_traced
    failing.error = None
    assert await loop.advance()
    assert await loop.advance()
    assert (failing.calls, other.calls) == (2, 2), "nothing is computed twice"
