"""The encoder against calldata made by Uniswap's SDK; the vectors name their origin."""

import json
from pathlib import Path

import pytest
from quoteway.evm.abi import reencode
from quoteway_uniswap.router import Order, SwapHop, encode_swap

CASES = json.loads((Path(__file__).parent / "vectors" / "router_calldata.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['router_version']} {case['name']}")
def test_calldata_equals_the_sdk(case):
    order = case["order"] | {name: int(case["order"][name]) for name in ("amount_in", "amount_out_min")}
    hops = [SwapHop(**hop) for hop in case["hops"]]
    made = encode_swap(case["router_version"], Order(**order), hops, case["deadline"])
    assert "0x" + made.data.hex() == case["data"]
    assert reencode(made.decoded) == made.data
    assert len(made.decoded.inner) == len(made.decoded.args[0].value) // 2 - 1
