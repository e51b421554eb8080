"""Attack: another management call than was asked for: ``setBot(thief)`` for ``pause``, another owner.

Each call goes to the right contract, is signed by the vault's owner and would execute.
"""

from dataclasses import replace

import pytest
import pytest_asyncio
from cheating import THIEF, nothing_to_sign, with_step
from direct_client import client_of
from quoteway import NATIVE, Capability
from quoteway.evm.abi import encode_call
from quoteway_devnet.accounts import ACCOUNTS

quoteway_managedvault = pytest.importorskip("quoteway_managedvault", reason="its vaults are attacked")

pytestmark = pytest.mark.asyncio(loop_scope="module")
OWNER, FRIEND = ACCOUNTS[0].address, ACCOUNTS[3].address


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(devnet):
    async with client_of(devnet, 0.0, plugins={"managedvault": quoteway_managedvault}) as client:
        yield client


@pytest.fixture
def lie(client, monkeypatch):
    """``lie(change)``: the provider's builds are ``change(build)``."""
    provider = client.api.gateway.registry.get(Capability.VAULT, "managedvault")
    honest = provider.build

    def begin(change):
        async def build(sealed):
            return change(await honest(sealed))

        monkeypatch.setattr(provider, "build", build)

    return begin


async def manage(client, asked):
    vault = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.kind == "managed")
    path = f"/v2/vaults/31337:{vault.address}/manage/action"
    return await client.api.post(path, {"address": OWNER, **asked})


CALLS = [
    ({"action": "pause"}, "setBot(address bot)", [THIEF], "a call to setBot"),
    ({"action": "pause"}, "unpause()", [], "a call to unpause"),
    ({"action": "setBot", "bot": FRIEND}, "setBot(address bot)", [THIEF], "another bot"),
    ({"action": "setCap", "amount": "5"}, "setCap(uint256 cap)", [6], "another amount"),
    ({"action": "setCap", "amount": "5"}, "setCap(uint256 cap)", [2**256 - 1], "another amount"),
    ({"action": "pause"}, "transferOwnership(address to)", [THIEF], "nothing describes the function"),
]


@pytest.mark.parametrize(("asked", "call", "args", "finding"), CALLS)
async def test_a_management_call_that_is_not_the_one_asked_for(client, lie, asked, call, args, finding):
    assert (await manage(client, asked)).status == 201
    lie(lambda build: with_step(build, data=encode_call(call, args)))
    nothing_to_sign(await manage(client, asked), "unsafe_answer", finding)


async def test_a_management_call_to_another_vault(client, lie):
    lie(lambda build: with_step(build, to=client.devnet.chains["devnet"].contracts["ManagedVaultFactory"]))
    nothing_to_sign(await manage(client, {"action": "pause"}), "unsafe_answer")


async def test_a_second_call(client, lie):
    def add(build):
        (step,) = build.steps
        other = replace(step, data=encode_call("setBot(address bot)", [THIEF]))
        return replace(build, steps=(step, other))

    lie(add)
    nothing_to_sign(await manage(client, {"action": "pause"}), "unsafe_answer", "a call to setBot")


async def deployment(client):
    """The request for the action of a deployment that was quoted, which passes."""
    strategy = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.kind == "plain")
    body = {"network": "devnet", "asset": client.token("USDC"), "owner": OWNER, "strategy": strategy.id}
    body["quoteId"] = (await client.ask("/v2/vaults/deploy/quote", body))["quoteId"]
    await client.ask("/v2/vaults/deploy/action", body)
    return body


async def test_a_deployment_to_another_address_than_told(client, lie):
    body = await deployment(client)
    lie(lambda build: replace(build, terms=replace(build.terms, predicted_address=THIEF)))
    nothing_to_sign(await client.api.post("/v2/vaults/deploy/action", body), "unsafe_answer", "another salt")


@pytest.mark.parametrize("member", ["owner", "bot", "asset", "strategy", "salt"])
async def test_a_deployment_for_another_owner_bot_or_asset(client, lie, member):
    chain = client.devnet.chains["devnet"]
    strategy = next(vault for vault in chain.vaults if vault.kind == "plain")
    body = {
        "network": "devnet",
        "asset": chain.token("USDC").address,
        "owner": OWNER,
        "strategy": strategy.id,
    }
    quote = await client.ask("/v2/vaults/deploy/quote", body)
    body["quoteId"] = quote["quoteId"]
    await client.ask("/v2/vaults/deploy/action", body)

    def deploy_another(build):
        terms = build.terms
        salt = bytes.fromhex(terms.salt[2:])
        told = {"asset": terms.asset, "owner": terms.owner, "bot": terms.bot or NATIVE}
        told |= {"strategy": terms.strategy, "salt": salt}
        told[member] = bytes(31) + b"\x07" if member == "salt" else THIEF
        call = "deploy(address asset, address owner, address bot, address strategy, bytes32 salt)"
        return with_step(build, data=encode_call(call, list(told.values())))

    lie(deploy_another)
    answer = await client.api.post("/v2/vaults/deploy/action", body)
    nothing_to_sign(answer, "unsafe_answer", f"another {member} than asked for")
