"""Approvals that the client ends, and answers that would do something else: nothing of those is signed."""

import asyncio
import time
from pathlib import Path

import httpx
import pytest
from quoteway.evm.abi import encode_call
from quoteway_client import ActionMismatch, Quoteway
from test_client_tampering import THIEF, Between, NoSigner, at

SPENDER = "0x5555555555555555555555555555555555555555"
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "see-and-end-approvals.md"
PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
pytestmark = pytest.mark.slow


@pytest.fixture
async def asked(chain):
    """The body of a request to end an allowance of the token and one of Permit2, which both exist."""
    token, owner = chain.token("USDC"), chain.account.address
    until = int(time.time()) + 10**7
    with chain.devnet.rpc() as rpc:
        for to, data in (
            (token, encode_call("approve(address,uint256)", [SPENDER, 5])),
            (PERMIT2, encode_call("approve(address,address,uint160,uint48)", [token, SPENDER, 7, until])),
        ):
            await asyncio.to_thread(rpc.send, {"from": owner, "to": to, "data": "0x" + data.hex()})
    approvals = [{"token": token, "spender": SPENDER, "kind": kind} for kind in ("erc20", "permit2")]
    return {"address": owner, "network": "devnet", "approvals": approvals}


async def allowances(chain):
    found = await chain.client.portfolio.approvals(wallet=chain.account.address, network="devnet")
    return {(each.kind, each.amount) for each in found.data if each.spender.lower() == SPENDER.lower()}


async def test_approvals_are_ended(chain, asked):
    assert await allowances(chain) == {("erc20", 5), ("permit2", 7)}
    action = await chain.client.portfolio.revoke(**asked)
    sent = await chain.client.send(action, chain.account, revoking=asked, rpc_url=chain.node_url)
    assert [each.receipt["status"] for each in sent.transactions] == ["0x1", "0x1"]
    assert await allowances(chain) == set()


async def test_the_program_of_the_page(chain, asked):
    program = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    names = {
        "account": chain.account,
        "token": chain.token("USDC"),
        "spender": SPENDER,
        "node": chain.node_url,
    }

    def run():
        with Quoteway(chain.url) as client:
            exec(program, names | {"qw": client})

    await asyncio.to_thread(run)
    assert await allowances(chain) == {("permit2", 7)}


def approved(answer, index=0):
    """The transaction allows one unit instead of none."""
    data = answer["transactions"][index]["data"]
    return at(answer, ["transactions", index, "data"], data[:-1] + "1")


def instead(index, before, after):
    def change(answer):
        data = answer["transactions"][index]["data"]
        assert before in data
        return at(answer, ["transactions", index, "data"], data.replace(before, after))

    return change


def moved(answer, selector, to):
    """The same words behind another selector, for another contract."""
    data = answer["transactions"][0]["data"]
    at(answer, ["transactions", 0, "to"], to)
    return at(answer, ["transactions", 0, "data"], selector + data[10:])


def longer(index, tail):
    return lambda a: at(a, ["transactions", index, "data"], a["transactions"][index]["data"] + tail)


LIES = {
    "amount": (approved, "approve of zero"),
    "transfer": (lambda a: moved(a, "0xa9059cbb", a["transactions"][0]["to"]), "approve of zero"),
    "token": (lambda a: at(a, ["transactions", 0, "to"], THIEF), "the approval that it ends"),
    "spender": (instead(0, SPENDER[2:], THIEF[2:].lower()), "the approval that it ends"),
    "spender of Permit2": (instead(1, SPENDER[2:], THIEF[2:].lower()), "the approval that it ends"),
    "contract of the lockdown": (lambda a: at(a, ["transactions", 1, "to"], THIEF), "approve of zero"),
    "offset": (instead(1, "cc53287f" + f"{32:064x}", "cc53287f" + f"{64:064x}"), "approve of zero"),
    "count": (instead(1, f"{32:064x}" + f"{1:064x}", f"{32:064x}" + f"{2:064x}"), "approve of zero"),
    "dirty address": (instead(0, "095ea7b3" + "0" * 24, "095ea7b3" + "0" * 23 + "1"), "approve of zero"),
    "one word more": (longer(0, "0" * 64), "approve of zero"),
    "one byte more": (longer(1, "00"), "approve of zero"),
    "no data": (lambda a: at(a, ["transactions", 0, "data"], "0x"), "approve of zero"),
    "coin": (lambda a: at(a, ["transactions", 0, "value"], "0x1"), "value must be 0"),
    "chain of a transaction": (lambda a: at(a, ["transactions", 0, "chainId"], 1), "chainId must be 31337"),
    "chain of all": (lambda a: a | {"network": "ethereum", "chainId": 1}, "network must be devnet"),
    "sender": (lambda a: a | {"from": THIEF}, "from must be"),
    "kind": (lambda a: a | {"kind": "swap"}, "kind must be revocation"),
    "recipient": (
        lambda a: a | {"recipients": [{"account": THIEF, "chainId": 31337, "network": "devnet"}]},
        "recipients must be",
    ),
    "nothing": (lambda a: a | {"transactions": [], "steps": []}, "transactions must be at least one"),
    "step": (lambda a: a | {"steps": a["steps"][:1]}, "the number of steps must be 2"),
}


@pytest.mark.parametrize("case", LIES)
async def test_what_is_no_end_of_these_approvals_is_refused(chain, asked, case):
    change, said = LIES[case]

    def revoke():
        with Quoteway(chain.url, http=httpx.Client(transport=Between("/revoke", change))) as client:
            client.portfolio.revoke(**asked)

    with pytest.raises(ActionMismatch, match=said):
        await asyncio.to_thread(revoke)


async def test_it_is_compared_again_before_anything_is_signed(chain, asked):
    action = await chain.client.portfolio.revoke(**asked)
    fewer = asked | {"approvals": asked["approvals"][:1]}
    with pytest.raises(ActionMismatch, match="the approval that it ends must be erc20"):
        await chain.client.send(action, NoSigner(chain.account), revoking=fewer, rpc_url=chain.node_url)


async def test_a_token_is_named_by_its_address(chain, asked):
    symbol = asked | {"approvals": [{"token": "USDC", "spender": SPENDER}]}
    with pytest.raises(ActionMismatch, match="the approval that it ends"):
        await chain.client.portfolio.revoke(**symbol)


async def test_an_action_is_compared_with_one_thing(chain, asked):
    action = await chain.client.portfolio.revoke(**asked)
    with pytest.raises(TypeError, match="either its quote or the approvals"):
        await chain.client.send(action, NoSigner(chain.account))
