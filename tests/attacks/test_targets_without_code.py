"""Attack: a transaction to an account without code, to code that vanishes, or to a proxy of somebody else's.

A call to an account without code succeeds, keeps its coins and does nothing.
"""

import asyncio
from dataclasses import replace

import pytest
import pytest_asyncio
from cheating import THIEF, attempt, client_with_a_cheat, nothing_to_sign, wanted, with_step
from direct_client import OTHER, USER

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROUTER = "UniswapV2Router02"
EMPTY = "0x1212121212121212121212121212121212121212"
SELFDESTRUCTS = "0x73" + THIEF[2:] + "ff"


def proxy_of(logic):
    """Code that delegates every call to ``logic`` (EIP-1167)."""
    return f"0x363d3d373d3d3d363d73{logic[2:]}5af43d82803e903d91602b57fd5bf3"


async def set_code(client, address, code):
    def put():
        with client.devnet.rpc() as rpc:
            before = rpc("eth_getCode", address, "latest")
            rpc("anvil_setCode", address, code)
            rpc("evm_mine")
            return before

    return await asyncio.to_thread(put)


@pytest.mark.parametrize("code", [None, "proxy", SELFDESTRUCTS], ids=["none", "proxy", "selfdestruct"])
async def test_an_account_that_the_provider_calls_a_router(client, lie, code):
    if code is not None:
        await set_code(client, THIEF, proxy_of(client.cheat.router) if code == "proxy" else code)
    client.cheat.named, client.cheat.trusted = {THIEF: "Router"}, (THIEF,)

    def elsewhere(build):
        spends = tuple(replace(spend, spender=THIEF) for spend in build.spends)
        return replace(with_step(build, to=THIEF), spends=spends)

    lie(elsewhere)
    nothing_to_sign(await attempt(client), "unsafe_answer", "nothing describes the function")


@pytest.mark.parametrize("account", [OTHER, EMPTY])
async def test_a_vault_that_the_caller_names_and_that_is_none(client, account):
    """Whoever gives the caller this id gets a deposit of coins for nothing, if it is built."""
    body = {"action": "deposit", "amount": "1000", "asset": client.token("USDC"), "address": USER}
    for path in ("quote", "action"):
        answer = await client.api.post(f"/v2/vaults/31337:{account}/{path}", body)
        assert (answer.status, answer.body["error"]["code"]) == (404, "not_found")
        assert set(answer.body) == {"error"}


@pytest_asyncio.fixture(loop_scope="module")
async def fresh(devnet, client):
    """A gateway that has not seen the router's code."""
    with devnet.restored():
        async with client_with_a_cheat(devnet) as other:
            yield other


@pytest.mark.parametrize("warm", [False, True], ids=["from the start", "after a quote"])
@pytest.mark.parametrize("code", ["0x", SELFDESTRUCTS, "0x00"], ids=["none", "selfdestruct", "stop"])
async def test_a_known_router_whose_code_is_gone_or_another(fresh, warm, code):
    """Calls to such code succeed; the run of the action shows that nothing is paid."""
    if warm:
        assert (await attempt(fresh)).status == 201
    answer = await fresh.api.post("/v2/swaps/quote", wanted(fresh))
    await set_code(fresh, fresh.cheat.router, code)
    action = await fresh.api.post(f"/v2/swaps/{answer.body['quoteId']}/action")
    nothing_to_sign(action, "unsafe_answer")
