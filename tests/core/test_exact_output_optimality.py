"""What the core checks of an ``optimality`` of an exact output: its bound is below the input."""

import math
from dataclasses import replace

import pytest
from quoteway import Block, Leg, Optimality, Quote, SwapRequest, Token
from quoteway.guard.optimality import optimality_flaw

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USDC = Token(1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6, "USDC")
WETH = Token(1, "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 18, "WETH")
BLOCK = Block(7, "0x" + "ab" * 32, 1_700_000_000)
REQUEST = SwapRequest(1, 1, USDC, WETH, 0, USER, USER, 50, amount_out=10**18)
TOLD = Optimality(999_900, 1.0, 0.5, 5, 3, ("v3",), BLOCK, "split")
QUOTE = Quote(
    (Leg(USDC, 1_000_000, USER, amount_max=1_005_000),),
    (Leg(WETH, 10**18, USER, amount_min=10**18),),
    BLOCK,
    {},
    optimality=TOLD,
)


def flaw(**changes):
    return optimality_flaw(REQUEST, replace(QUOTE, optimality=replace(TOLD, **changes)))


def test_a_true_one_is_passed_on():
    assert flaw() is None
    # What the pools offer without any input may be more than the bound.
    assert flaw(arbitrage=10**9) is None
    assert flaw(bound=1_000_000, gap_bps=0.0) is None
    assert flaw(bound=0, gap_bps=10_000.0) is None


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"bound": 1_000_001}, "above the input"),
        ({"bound": -1}, "optimality"),
        ({"bound": 999_899}, "gap_bps is not what"),
        ({"gap_bps": 0.9}, "gap_bps is not what"),
        ({"gap_bps": 1.02}, "gap_bps is not what"),
        ({"gap_bps": math.nan}, "optimality"),
        ({"arbitrage": -1}, "optimality"),
        ({"net_gap_bps": -0.1}, "net_gap_bps"),
        ({"net_gap_bps": 10_001.0}, "net_gap_bps"),
    ],
)
def test_a_wrong_one_is_not(changes, finding):
    assert finding in flaw(**changes)


def test_a_quote_without_one_input_has_none():
    for inputs in ((), QUOTE.inputs * 2, (replace(QUOTE.inputs[0], amount=0),), (None,)):
        wrong = replace(QUOTE, inputs=inputs, optimality=replace(TOLD, bound=0, gap_bps=0.0))
        assert optimality_flaw(REQUEST, wrong) is not None
