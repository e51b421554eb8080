"""Attack: a swap that pays a thief, or that calls another contract, function or chain than was asked for.

The transactions are valid, and most of them would execute. A liar may tell the truth while its quote is
rehearsed, and lie in the action only.
"""

from dataclasses import replace

import pytest
from cheating import AMOUNT, THIEF, attempt, nothing_to_sign, with_step
from direct_client import OTHER
from quoteway.evm import erc20, permit2
from quoteway.evm.abi import encode_call

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("thief", [THIEF, OTHER])
async def test_another_recipient(client, lie, thief):
    lie(lambda build: replace(build, steps=(client.cheat.call(build, to=thief),)))
    nothing_to_sign(await attempt(client), "unsafe_answer", f"pays {thief}")


@pytest.mark.parametrize("side", ["inputs", "outputs"])
async def test_a_quote_with_another_account(client, side):
    def name(quote):
        (leg,) = getattr(quote, side)
        return replace(quote, **{side: (replace(leg, account=OTHER),)})

    client.cheat.quote_lie = name
    nothing_to_sign(await attempt(client), "unsafe_answer")


TARGETS = {
    "not declared": ("0x" + "12" * 20, False, "does not declare"),
    "nobody": (THIEF, True, "nothing describes the function"),
    "a token": ("USDC", True, "nothing describes the function"),
    "another contract": ("PoolManager", True, "nothing describes the function"),
    "Permit2": (permit2.ADDRESS, True, "goes to Permit2"),
    "no address": (THIEF.lower(), True, "not an EIP-55 address"),
}


@pytest.mark.parametrize(("target", "declared", "finding"), TARGETS.values(), ids=TARGETS.keys())
async def test_another_target(client, lie, target, declared, finding):
    contracts = client.devnet.chains["devnet"].contracts
    to = client.token(target) if target == "USDC" else contracts.get(target, target)
    client.cheat.named = {to: "Router"} if declared else {}
    lie(lambda build: with_step(build, to=to))
    nothing_to_sign(await attempt(client), "unsafe_answer", finding)


END = "address[] path, address to, uint256 deadline"
FUNCTIONS = {
    f"swapExactTokensForETH(uint256 amount, uint256 minimum, {END})": "does not pay",
    f"swapTokensForExactTokens(uint256 got, uint256 most, {END})": "nothing describes the function",
    "transferAnything(uint256 amount, uint256 minimum, address[] path)": "nothing describes the function",
    "removeLiquidity(address a, address b, uint256 n, uint256 x, uint256 y, address to, uint256 until)": (
        "a call to remove, which was not asked for"
    ),
}


@pytest.mark.parametrize(("call", "finding"), FUNCTIONS.items(), ids=[*FUNCTIONS])
async def test_another_function(client, lie, call, finding):
    def rewrite(build):
        args = client.cheat.args(build)
        (a, b), until = args["path"], args["deadline"]
        given = {**args, "until": until, "a": a, "b": b, "minimum": args["amountOutMin"]}
        names = [part.split()[1].rstrip(")") for part in call.partition("(")[2].split(", ")]
        return with_step(build, data=encode_call(call, [given.get(name, AMOUNT) for name in names]))

    lie(rewrite)
    nothing_to_sign(await attempt(client), "unsafe_answer", finding)


async def test_another_network(client, lie):
    lie(lambda build: with_step(build, chain_id=31338))
    nothing_to_sign(await attempt(client), "unsafe_answer", "for chain 31338")


async def test_a_transfer_of_the_wallet_s_tokens(client, lie):
    token = client.token("USDC")
    client.cheat.named = {token: "USD Coin"}
    lie(lambda build: with_step(build, to=token, data=erc20.TRANSFER.encode([THIEF, AMOUNT])))
    nothing_to_sign(await attempt(client), "unsafe_answer", "transfer(address,uint256) itself")


async def test_the_honest_swap_passes(client):
    answer = await attempt(client)
    assert (answer.status, answer.body["simulation"]["status"]) == (201, "success")
