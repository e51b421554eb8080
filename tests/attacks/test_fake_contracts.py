"""Attack: a copy of a real pool or router at another address, under the thief's control.

The copies have the code and the storage of the true contracts and answer every question as these do, except
the one that the true factory answers.
"""

import asyncio
from dataclasses import replace

import pytest
from cheating import THIEF, attempt, nothing_to_sign, with_step
from direct_client import USER

pytestmark = pytest.mark.asyncio(loop_scope="module")
COPY = "0x1111111111111111111111111111111111111115"


async def copy(client, of, slots=32):
    """Puts the code and the first storage slots of a contract to COPY."""

    def put():
        with client.devnet.rpc() as rpc:
            rpc("anvil_setCode", COPY, rpc("eth_getCode", of, "latest"))
            for slot in range(slots):
                value = rpc("eth_getStorageAt", of, hex(slot), "latest")
                rpc("anvil_setStorageAt", COPY, f"0x{slot:064x}", value)
            rpc("evm_mine")

    await asyncio.to_thread(put)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["v2", "v3"])
async def test_a_pool_that_its_factory_does_not_know(client, kind):
    pool = client.pool(kind, "WETH/USDC")
    await copy(client, pool.id)
    body = {"action": "add", "amount": "1000000", "asset": client.token("USDC"), "address": USER}
    for path in ("quote", "action"):
        await client.ask(f"/v2/pools/31337:{pool.id}/{path}", body)
        answer = await client.api.post(f"/v2/pools/31337:{COPY}/{path}", body)
        answer.refused(404, "not_found")
        assert set(answer.body) == {"error"}
    assert (await client.api.get(f"/v2/pools/31337:{COPY}")).status == 404


@pytest.mark.parametrize("retired", [False, True], ids=["copy", "retired"])
async def test_a_router_that_is_not_in_the_list(client, lie, retired):
    """A router that its makers have retired is not in the list either: it does what it always did."""
    cheat = client.cheat
    await copy(client, cheat.router)
    cheat.named, cheat.trusted = {COPY: "Uniswap v2 router"}, (COPY,)
    if retired:
        await client.approve(client.token("USDC"), COPY, 10**12)

    def elsewhere(build):
        spends = tuple(replace(spend, spender=COPY) for spend in build.spends)
        return replace(with_step(build, to=COPY), spends=spends)

    lie(elsewhere)
    nothing_to_sign(await attempt(client), "unsafe_answer", "nothing describes the function")


async def test_a_pool_of_a_thief_in_the_path(client, lie):
    """The path names tokens, and the true router finds the pools; a token between them is the provider's
    choice. What arrives is simulated, and its minimum is in the calldata."""
    usdc, weth = client.token("USDC"), client.token("WETH")
    lie(lambda build: replace(build, steps=(client.cheat.call(build, path=[usdc, THIEF, weth]),)))
    nothing_to_sign(await attempt(client), "reverted")


async def test_a_vault_that_copies_another_is_named_in_the_sentence(client):
    """Vaults have no factory: the caller names the address, and the signer reads it."""
    vault = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.id == "steady-usdc")
    await copy(client, vault.address)
    body = {"action": "deposit", "amount": "1000000", "asset": client.token("USDC"), "address": USER}
    action = await client.ask(f"/v2/vaults/31337:{COPY}/action", body)
    assert f"into vault {COPY}" in action["steps"][-1]["clearSigning"]["intent"]
    assert "no_onchain_limit" in [warning["code"] for warning in action["warnings"]]
