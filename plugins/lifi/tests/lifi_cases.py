"""Requests to LI.FI and its documented answers, for the tests over a fake LI.FI."""

import json

from fake_lifi import HERE, patched
from quoteway import Capability, SwapRequest, Token

KEY = "canary-7f3a9c"
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USDC = Token(1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6, "USDC")
WETH = Token(1, "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 18, "WETH")
FAR = Token(10, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85", 6, "USDC")
ASKS = {
    "swap": (Capability.SWAP, SwapRequest(1, 1, USDC, WETH, 10**9, USER, USER, 50)),
    "transfer": (Capability.BRIDGE, SwapRequest(1, 10, USDC, FAR, 10**9, USER, USER, 50)),
}
ANSWERS = {name: json.loads((HERE / "answers" / f"{name}.json").read_text()) for name in ASKS}
TIMEOUT_S = 30.0
IMPATIENT_S = 0.6


def timeout_s(case):
    """The timeout for a case: short where LI.FI never answers in full."""
    late = {"hang", "drip"}
    return IMPATIENT_S if any(answer.get("fault") in late for answer in case["responses"]) else TIMEOUT_S


def filled(response):
    """A response of a case file, its answer read from the file it names."""
    response = dict(response)
    if "answer" in response:
        answer = ANSWERS[response.pop("answer").removesuffix(".json")]
        response["body"] = patched(answer, response.pop("patch", []))
    return response


def scripted(responses):
    """Answers by the case's list, the last one again and again."""
    filled_in = [filled(response) for response in responses]
    return lambda path, query, count: filled_in[min(count, len(filled_in)) - 1]
