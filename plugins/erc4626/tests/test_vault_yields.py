"""The yearly rates of a catalog while the node that has the history is slow, or has none."""

import itertools
from types import SimpleNamespace

import pytest
from quoteway import Reason, UpstreamError
from quoteway_erc4626 import catalog
from quoteway_erc4626.catalog import YieldBook

VAULT = SimpleNamespace(id="1:0xvault")
LATE = TimeoutError()
NONE = UpstreamError("no history", reason=Reason.RPC_ERROR)


@pytest.fixture
def book(monkeypatch):
    """``await book(now, answer)`` asks at a time; returns the rate and whether the node was asked."""
    now, answers, asked = [0], [None], []

    async def growths(history, facts, pairs):
        asked.append(now[0])
        if isinstance(answers[0], Exception):
            raise answers[0]
        return {pair: SimpleNamespace(value=answers[0]) for pair in pairs}

    monkeypatch.setattr(catalog, "growths", growths)
    rates = YieldBook(SimpleNamespace(now=lambda: now[0]))

    async def ask(at, answer):
        now[0], answers[0], before = at, answer, len(asked)
        return await rates.apy(None, VAULT), len(asked) > before

    return ask


async def test_a_rate_is_read_every_five_minutes(book):
    assert await book(1_000, 0.05) == (0.05, True)
    assert await book(1_299, 0.06) == (0.05, False)
    assert await book(1_300, 0.06) == (0.06, True)
    assert await book(1_200, 0.07) == (0.07, True), "the clock was set back"


@pytest.mark.parametrize("failure", [LATE, NONE], ids=["late", "none"])
async def test_after_a_slow_moment_it_is_asked_again_soon(book, failure):
    assert await book(1_000, failure) == (None, True)
    assert await book(1_009, 0.05) == (None, False)
    assert await book(1_010, 0.05) == (0.05, True)


async def test_a_rate_stays_while_its_node_is_slow(book):
    assert await book(1_000, 0.05) == (0.05, True)
    assert await book(1_300, LATE) == (0.05, True)
    assert await book(1_310, LATE) == (0.05, True)


async def test_a_node_without_history_is_asked_less_and_less(book):
    times = [at for at in range(0, 2_000, 5) if (await book(at, NONE))[1]]
    assert times[:6] == [0, 10, 30, 70, 150, 310]
    assert {later - at for at, later in itertools.pairwise(times[5:])} == {300}
