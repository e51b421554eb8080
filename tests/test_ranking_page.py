"""The page "How quotes are ranked": its example is what the core computes, its numbers are the core's."""

import re
from pathlib import Path

from quoteway.engine.dividing import TWO_SWAPS
from quoteway.engine.ranking import CLOSE_BPS, bids_of
from quoteway.host.outcomes import Outcome
from quoteway.host.scores import REVERT_S
from quoteway.models import NATIVE, Block, Gas, SwapRequest, Token
from quoteway.providers import SwapProvider
from quoteway.testing.fakes import swap_quote

PAGE = (Path(__file__).parents[1] / "docs" / "explanation" / "how-quotes-are-ranked.md").read_text()
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
TOKENS = Token(1, NATIVE, 18), Token(1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6)
REQUEST = SwapRequest(1, 1, *TOKENS, 10**18, USER, USER, 0)
ROW = re.compile(r"^\| ([a-d]) \| (\d+) \| (\d+|none) \| (\d+|none) \| (\d+) \| (\d+) \|$", re.MULTILINE)


class Named(SwapProvider):
    def __init__(self, name):
        self.id = name

    async def quote(self, request):
        return None

    async def build(self, sealed):
        raise AssertionError


def quoted(name, amount, units, stated):
    more = {} if units == "none" else {"gas": Gas(int(units), int(units))}
    if stated != "none":
        more["net_output"] = int(amount) - int(stated)
    quote = swap_quote(REQUEST, int(amount), Block(1, "0x" + "11" * 32, 0), **more)
    return Outcome(Named(name), "quoted", quote)


def test_the_example_is_what_the_core_computes():
    rows = ROW.findall(PAGE)
    assert [row[0] for row in rows] == ["a", "b", "c", "d"]
    bids = bids_of([quoted(*row[:4]) for row in rows])
    assert [(str(bid.gas_cost), str(bid.promised)) for bid in bids] == [row[4:] for row in rows]


def test_the_numbers_are_those_of_the_core():
    words = " ".join(PAGE.split())
    assert f"promises at least {100 - CLOSE_BPS / 100} % of the first" in words
    assert REVERT_S == 10
    assert "reverted within the last ten seconds" in words
    assert f"(`{TWO_SWAPS.id}`)" in words
