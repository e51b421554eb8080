"""Attack: an allowance for more than is sold, or for somebody else than the contract that is called.

The approvals are the first transactions that a wallet signs, and a client may grant what a quote asks for
before there is an action. They must be for the exact amount and for the contract that takes it, also where no
node can simulate what they lead to.
"""

import asyncio
import json
from dataclasses import replace

import pytest
import pytest_asyncio
from cheating import AMOUNT, THIEF, attempt, client_with_a_cheat, nothing_to_sign, wanted
from direct_client import USER, FarNode
from quoteway import MAX_UINT256, Capability, Step
from quoteway.evm import erc20, permit2
from quoteway.evm.abi import encode_call

pytestmark = pytest.mark.asyncio(loop_scope="module")
PLENTY = 10**12


class MaySimulate(FarNode):
    """Simulates while a test wants it to."""

    simulates = True

    async def answer(self, body, session):
        if body["method"] == "eth_simulateV1" and not self.simulates:
            error = {"code": -32601, "message": "the method does not exist"}
            return json.dumps({"jsonrpc": "2.0", "id": body["id"], "error": error}).encode()
        return await super().answer(body, session)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(devnet):
    """The router already has an allowance, so that an action with another one would not revert."""
    with devnet.restored():
        async with client_with_a_cheat(devnet, node=MaySimulate(devnet.urls["devnet"])) as client:
            await client.approve(client.token("USDC"), client.cheat.router, PLENTY)
            yield client


@pytest.fixture(params=[True, False], ids=["simulated", "not simulated"])
def client(served, request):
    served.node.simulates = request.param
    yield served
    served.node.simulates = True
    served.cheat.honest()


def spending(**changes):
    """A lie about what is spent, in a quote or a build."""

    def lie(*answer):
        *_, told = answer
        return replace(told, spends=tuple(replace(spend, **changes) for spend in told.spends))

    return lie


LIES = {
    "another spender": {"spender": THIEF},
    "more than is sold": {"amount": AMOUNT + 1},
    "without a limit": {"amount": MAX_UINT256},
    "Permit2 for another spender": {"spender": permit2.ADDRESS, "permit2_spender": THIEF},
    "Permit2 for nobody": {"spender": permit2.ADDRESS},
    "no address": {"spender": THIEF.swapcase()},
}


@pytest.mark.parametrize("where", ["quote", "build of the quote", "build of the action"])
@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
async def test_an_allowance_that_the_swap_does_not_use(client, where, lie):
    cheat = client.cheat
    cheat.trusted = (THIEF, THIEF.swapcase(), permit2.ADDRESS)
    if where == "quote":
        cheat.quote_lie = spending(**lie)
    else:
        cheat.build_lie, cheat.honest_builds = spending(**lie), int(where == "build of the action")
    nothing_to_sign(await attempt(client), "unsafe_answer")


OWN_STEPS = {
    "approve(address spender, uint256 amount)": [THIEF, MAX_UINT256],
    "increaseAllowance(address spender, uint256 more)": [THIEF, MAX_UINT256],
    "increaseApproval(address spender, uint256 more)": [THIEF, MAX_UINT256],
    "setApprovalForAll(address operator, bool approved)": [THIEF, True],
    "permit(address owner, address to, uint256 n, uint256 until, uint8 v, bytes32 r, bytes32 s)": [
        *(USER, THIEF, MAX_UINT256, 2**40),
        *(27, b"\1" * 32, b"\1" * 32),
    ],
    "transfer(address to, uint256 amount)": [THIEF, AMOUNT],
}


@pytest.mark.parametrize("call", OWN_STEPS)
async def test_a_provider_s_own_approval(client, call):
    token = client.token("USDC")
    client.cheat.named = {token: "USD Coin"}

    def lie(sealed, build):
        own = Step(token, encode_call(call, OWN_STEPS[call]), 0, 31337)
        return replace(build, steps=(own, *build.steps))

    client.cheat.build_lie = lie
    nothing_to_sign(await attempt(client), "unsafe_answer", call.partition("(")[0])


FORWARD = "5f3560601c 601436036014 5f37 5f5f 60143603 5f5f 85 5af1 5f5f3e"
"""Code that calls the address in the first 20 bytes of its calldata with the rest of it."""


@pytest.mark.parametrize("trusted", [(), (THIEF,)], ids=["called", "called and approved"])
async def test_a_contract_that_makes_any_call_for_anybody(client, trusted):
    """Whoever calls it takes what is left of every allowance that it has."""

    def put():
        with client.devnet.rpc() as rpc:
            rpc("anvil_setCode", THIEF, "0x" + FORWARD.replace(" ", ""))

    await asyncio.to_thread(put)
    client.cheat.named, client.cheat.trusted = {THIEF: "Multicall"}, trusted

    def lie(sealed, build):
        (step,) = build.steps
        spends = tuple(replace(spend, spender=THIEF) for spend in build.spends) if trusted else build.spends
        forwarded = replace(step, to=THIEF, data=bytes.fromhex(step.to[2:]) + step.data)
        return replace(build, steps=(forwarded,), spends=spends)

    client.cheat.build_lie = lie
    nothing_to_sign(await attempt(client), "unsafe_answer")


PERMITS = {
    "another spender": {"spender": THIEF},
    "without a limit": {"amount": permit2.MAX_AMOUNT},
    "more than is sold": {"amount": AMOUNT + 1},
    "for years": {"expiration": 2**40},
}


@pytest.mark.parametrize("lie", PERMITS.values(), ids=PERMITS.keys())
async def test_a_signed_allowance(client, lie, monkeypatch):
    """Typed data for Permit2, beside an honest swap through the Universal Router."""
    provider = client.api.gateway.registry.get(Capability.SWAP, "uniswap")
    honest = provider.build

    async def build(sealed):
        made = await honest(sealed)
        (signature,) = made.signatures
        said = signature.typed_data["message"]
        details = said["details"]
        permit = permit2.PermitSingle(
            details["token"],
            *(int(details[name]) for name in ("amount", "expiration", "nonce")),
            said["spender"],
            int(said["sigDeadline"]),
        )
        typed = replace(permit, **lie).typed_data(31337)
        return replace(made, signatures=(replace(signature, typed_data=typed),))

    monkeypatch.setattr(provider, "build", build)
    answer = await attempt(client, provider="uniswap", approvalMode="permit2-signature")
    nothing_to_sign(answer, "unsafe_answer", "typed data")


async def test_a_quote_that_is_not_built_before_it_is_given(served, monkeypatch):
    """The calldata of a deposit comes with its action; a client may grant the allowance before."""
    provider = served.api.gateway.registry.get(Capability.VAULT, "erc4626")
    honest, spenders = provider.quote, provider.spenders
    vault = next(vault for vault in served.devnet.chains["devnet"].vaults if vault.id == "steady-usdc")
    body = {"action": "deposit", "amount": str(AMOUNT), "asset": served.token("USDC"), "address": USER}
    path = f"/v2/vaults/31337:{vault.address}/quote"
    assert (await served.ask(path, body))["approvals"][0]["spender"] == vault.address

    async def quote(request):
        return spending(spender=THIEF)(await honest(request))

    monkeypatch.setattr(provider, "quote", quote)
    monkeypatch.setattr(provider, "spenders", lambda chain_id: (*spenders(chain_id), THIEF))
    nothing_to_sign(await served.api.post(path, body), "unsafe_answer")


@pytest.mark.parametrize("provider", ["cheat", "uniswap"])
async def test_honest_approvals_are_for_the_exact_amount_and_used_up(served, provider):
    token, router = served.token("USDC"), served.cheat.router
    await served.approve(token, router, 0)
    quote = await served.ask("/v2/swaps/quote", wanted(served, provider=provider))
    action = await served.act(quote)
    (asked,), granted = quote["approvals"], [step["approval"] for step in action["steps"] if step["approval"]]
    assert {int(asked["required"]), *(int(each["required"]) for each in granted)} == {AMOUNT}
    assert granted[0]["spender"] == asked["spender"]
    await served.send(*action["transactions"])
    with served.devnet.rpc() as rpc:
        for owner, spender in ((USER, router), (USER, permit2.ADDRESS)):
            data = "0x" + erc20.ALLOWANCE.encode([owner, spender]).hex()
            assert int(rpc("eth_call", {"to": token, "data": data}, "latest"), 16) == 0
    await served.approve(token, router, PLENTY)
