"""Attack: a swap that takes more of the wallet than was asked for: a larger amount, a second call, a coin.

The wallet has given the router allowances before, so that the transactions would execute.
"""

from dataclasses import replace

import pytest
import pytest_asyncio
from cheating import AMOUNT, THIEF, attempt, nothing_to_sign, with_step
from quoteway.evm import erc20

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def allowances(cheated):
    for symbol in ("USDC", "DAI"):
        await cheated.approve(cheated.token(symbol), cheated.cheat.router, 10**30)


def sells_more(client, build):
    return replace(build, steps=(client.cheat.call(build, amountIn=2 * AMOUNT),))


def sells_in_two_bites(client, build):
    """Both are calls that the core knows."""
    return replace(build, steps=(*build.steps, client.cheat.call(build, amountIn=5, amountOutMin=0)))


def sells_twice(client, build):
    return replace(build, steps=build.steps * 2)


def sells_something_else_too(client, build):
    dai, weth = client.token("DAI"), client.token("WETH")
    second = client.cheat.call(build, amountIn=10**18, amountOutMin=0, path=[dai, weth], to=THIEF)
    return replace(build, steps=(*build.steps, second))


def sells_something_else(client, build):
    path = [client.token("DAI"), client.token("WETH")]
    return replace(build, steps=(client.cheat.call(build, path=path, amountIn=10**21),))


def takes_a_coin(client, build):
    return with_step(build, value=1)


def sells_less_and_keeps_the_allowance(client, build):
    return replace(build, steps=(client.cheat.call(build, amountIn=AMOUNT - 1),))


def many(client, build):
    return replace(build, steps=build.steps * 17)


LIES = {
    sells_more: "takes more of",
    sells_in_two_bites: "takes more of",
    sells_twice: "takes more of",
    sells_something_else_too: "takes more of",
    sells_something_else: "takes more of",
    takes_a_coin: "native coin",
    many: "1 to 16 transactions",
}


@pytest.mark.parametrize(("change", "finding"), LIES.items(), ids=[each.__name__ for each in LIES])
async def test_a_build_that_takes_more(client, lie, change, finding):
    lie(lambda build: change(client, build))
    nothing_to_sign(await attempt(client), "unsafe_answer", finding)


async def test_an_allowance_that_is_left_over(client, lie):
    token, router = client.token("USDC"), client.cheat.router
    await client.approve(token, router, 0)
    lie(lambda build: sells_less_and_keeps_the_allowance(client, build))
    nothing_to_sign(await attempt(client), "unsafe_answer", "leaves an allowance")
    await client.approve(token, router, 10**30)


QUOTES = {
    "amount": {"amount": AMOUNT + 1},
    "maximum": {"amount_max": 3 * AMOUNT},
    "less": {"amount": AMOUNT - 1},
}


@pytest.mark.parametrize("change", QUOTES.values(), ids=QUOTES)
async def test_a_quote_that_sells_another_amount(client, change):
    def quote_lie(quote):
        (sold,) = quote.inputs
        return replace(quote, inputs=(replace(sold, **change),))

    client.cheat.quote_lie = quote_lie
    nothing_to_sign(await attempt(client), "unsafe_answer")


async def test_what_the_wallet_has_allowed_before_is_no_more_than_the_swap_takes(client):
    """The control: with large allowances the honest swap takes what was sold."""
    action = (await attempt(client)).body
    assert [step["kind"] for step in action["steps"]] == ["swap"]
    token = client.token("USDC")
    before = await client.balances([token])
    await client.send(*action["transactions"])
    after = await client.balances([token])
    assert before[token] - after[token] == AMOUNT
    assert erc20.APPROVE.selector.hex() not in str(action["transactions"])
