"""Attack: a router call with a minimum of 1, and the quoted minimum where the router reads a deadline.

Somebody who searches the calldata for the minimum finds it. The swap executes, and whoever moves the price
before it takes nearly all: 11 % of the minimum arrived when this was tried.
"""

from dataclasses import replace

import pytest
from cheating import attempt, nothing_to_sign
from direct_client import OTHER

pytestmark = pytest.mark.asyncio(loop_scope="module")


def least(build):
    return build.outputs[0].amount_min


PLACES = {
    "deadline": lambda build: {"deadline": least(build)},
    "deadline that never ends": lambda build: {"deadline": 2**256 - 1},
    "amount": lambda build: {"amountIn": least(build)},
    "recipient": lambda build: {"to": f"0x{least(build):040x}"},
    "path": lambda build: {"path": [*build_path(build), f"0x{least(build):040x}"]},
    "nowhere": lambda build: {},
}


def build_path(build):
    (paid,), (got,) = build.inputs, build.outputs
    return [paid.token.address, got.token.address]


@pytest.mark.parametrize("told", [True, False], ids=["with a deadline of its own", "without"])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
async def test_a_minimum_of_1(client, lie, place, told):
    def move(build):
        build = build if told else replace(build, deadline=None)
        return replace(build, steps=(client.cheat.call(build, amountOutMin=1, **place(build)),))

    lie(move)
    nothing_to_sign(await attempt(client), "unsafe_answer")


async def test_the_minimum_in_its_place_beside_another_recipient(client, lie):
    lie(lambda build: replace(build, steps=(client.cheat.call(build, to=OTHER),), deadline=None))
    nothing_to_sign(await attempt(client), "unsafe_answer", f"pays {OTHER}, another account")
