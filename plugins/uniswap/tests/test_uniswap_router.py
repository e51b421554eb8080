"""The encoder against calldata made by Uniswap's SDK; the vectors name their origin."""

import json
from pathlib import Path

import pytest
from quoteway import NATIVE
from quoteway.evm.abi import reencode
from quoteway.evm.calls.meaning import Charge, Payment, Sent
from quoteway.evm.calls.universal_router import UniversalRouter
from quoteway_uniswap.flow import SwapHop
from quoteway_uniswap.router import Order, encode_swap

ROUTER = "0x66a9893cC07D91D95644AEDD05D03f95e1dBA8Af"
SENDER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
VECTORS = Path(__file__).parent / "vectors"
CASES = json.loads((VECTORS / "router_calldata.json").read_text())["cases"]
EXACT_OUTPUTS = json.loads((VECTORS / "router_exact_output.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['router_version']} {case['name']}")
def test_calldata_equals_the_sdk(case):
    order = case["order"] | {name: int(case["order"][name]) for name in ("amount_in", "amount_out_min")}
    hops = [SwapHop(**hop) for hop in case["hops"]]
    made = encode_swap(case["router_version"], Order(**order), hops, case["deadline"])
    assert "0x" + made.data.hex() == case["data"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['router_version']} {case['name']}")
def test_the_core_reads_the_sdks_calldata(case):
    order, data = case["order"], bytes.fromhex(case["data"][2:])
    value = int(order["amount_in"]) if order["token_in"] == NATIVE else 0
    sent = Sent(ROUTER, data, value, SENDER, order["wrapped_native"])
    reading = UniversalRouter(case["router_version"]).read(sent)
    assert reencode(reading.decoded) == data
    assert len(reading.decoded.inner) == len(reading.decoded.args[0].value) // 2 - 1
    meaning = reading.meaning
    assert (meaning.action, meaning.deadline) == ("swap", case["deadline"])
    assert meaning.payments == (
        Payment(order["token_out"], order["recipient"], int(order["amount_out_min"])),
    )
    assert meaning.charges == (Charge(order["token_in"], int(order["amount_in"])),)


@pytest.mark.parametrize("case", EXACT_OUTPUTS, ids=lambda case: f"{case['router_version']} {case['name']}")
def test_exact_outputs_equal_the_sdk_and_are_read(case):
    numbers = {name: int(case["order"][name]) for name in ("amount_in", "amount_out_min")}
    order = Order(**case["order"] | numbers, exact_out=True)
    made = encode_swap(
        case["router_version"], order, [SwapHop(**hop) for hop in case["hops"]], case["deadline"]
    )
    assert "0x" + made.data.hex() == case["data"]
    assert made.value == (order.amount_in if order.token_in == NATIVE else 0)
    sent = Sent(ROUTER, made.data, made.value, SENDER, order.wrapped_native)
    meaning = UniversalRouter(case["router_version"]).read(sent).meaning
    assert meaning.charges == (Charge(order.token_in, order.amount_in),)
    refunds = (Payment(NATIVE, SENDER, 0),) if order.token_in == NATIVE else ()
    assert meaning.payments == (
        Payment(order.token_out, order.recipient, order.amount_out_min),
        *refunds,
    )
