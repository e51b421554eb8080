"""Attack: a minimum below what the caller signed for: in the quote, in the calldata, or by an odd slippage.

What is between the price and the minimum goes to whoever moves the price before the swap is executed.
"""

import json
from dataclasses import replace

import pytest
from cheating import attempt, nothing_to_sign, wanted

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("least", [0, 1, "half", "one less"])
async def test_a_minimum_below_the_quoted_one_in_the_calldata(client, lie, least):
    def lower(build):
        quoted = build.outputs[0].amount_min
        minimum = {"half": quoted // 2, "one less": quoted - 1}.get(least, least)
        return replace(build, steps=(client.cheat.call(build, amountOutMin=minimum),))

    lie(lower)
    nothing_to_sign(await attempt(client), "unsafe_answer", "enforces a minimum of")


async def test_a_minimum_below_the_quoted_one_in_the_build(client, lie):
    def lower(build):
        (got,) = build.outputs
        step = client.cheat.call(build, amountOutMin=got.amount_min - 1)
        return replace(build, steps=(step,), outputs=(replace(got, amount_min=got.amount_min - 1),))

    lie(lower)
    nothing_to_sign(await attempt(client), "unsafe_answer", "its minimum is below the quoted one")


@pytest.mark.parametrize("slippage_bps", [0, 50, 5000])
@pytest.mark.parametrize("wrong", ["below the slippage", "none", "above the amount"])
async def test_a_quoted_minimum_that_is_not_the_caller_s(client, slippage_bps, wrong):
    def quote_lie(quote):
        (got,) = quote.outputs
        minimum = {"below the slippage": got.amount * (10_000 - slippage_bps) // 10_000 - 1, "none": None}
        return replace(quote, outputs=(replace(got, amount_min=minimum.get(wrong, got.amount + 1)),))

    client.cheat.quote_lie = quote_lie
    nothing_to_sign(await attempt(client, slippageBps=slippage_bps), "unsafe_answer")


async def test_a_slippage_of_its_own(client):
    """The quote says another slippage than the caller; its minimum is what counts."""

    def quote_lie(quote):
        (got,) = quote.outputs
        return replace(quote, slippage_bps=5000, outputs=(replace(got, amount_min=got.amount // 2),))

    client.cheat.quote_lie = quote_lie
    nothing_to_sign(await attempt(client), "unsafe_answer")


ODD = [
    "-1", "5001", "10001", '"50"', "50.0", "1e2", "1E2", "5e-1", "true", "null", "[]", "{}", '"\uff11"',
    "1" + "0" * 30,
]  # fmt: skip


@pytest.mark.parametrize("slippage", ODD)
async def test_an_odd_slippage(client, slippage):
    """As bytes on the wire: what a reader would make 50, 100 or 1 of is refused."""
    url, headers = f"{client.api.url}/v2/swaps/quote", {"Content-Type": "application/json"}
    body = json.dumps(wanted(client, slippageBps="(here)")).replace('"(here)"', slippage).encode()
    async with client.api.session.post(url, data=body, headers=headers) as answer:
        error = (await answer.json())["error"]
    assert (answer.status, error["code"]) == (422, "validation_error")
    assert [field["path"] for field in error["details"]["fields"]] == ["slippageBps"]


@pytest.mark.parametrize("slippage_bps", [0, 1, 5000])
async def test_the_honest_minimum_is_in_the_calldata(client, slippage_bps):
    quote = await client.ask("/v2/swaps/quote", wanted(client, slippageBps=slippage_bps))
    action = await client.act(quote)
    (minimum,) = [
        each["value"] for each in action["steps"][-1]["decoded"]["args"] if each["name"] == "amountOutMin"
    ]
    assert int(minimum) == int(quote["toAmountMin"])
    assert int(minimum) >= int(quote["toAmount"]) * (10_000 - slippage_bps) // 10_000
