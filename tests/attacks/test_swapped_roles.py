"""Attack: a plugin describes the calls of a contract with the roles of two arguments exchanged.

What it calls the minimum is the deadline, who it says is paid is not. Its descriptions count only when the
operator has pinned them, never for a contract that the core knows, and the run decides on who is paid.
"""

import asyncio
from dataclasses import replace

import pytest
from quoteway import CallDescription, ContractDescription, DeployedAt, PaymentRoles, SpendRoles
from quoteway.evm.address import keccak256
from quoteway.testing.fakes import FakePlugin
from thieves import PROXY, TARGET, THIEF, Elsewhere, Unread, Victim, chain_plugin, put, upgrade


class Cheats(Elsewhere):
    """Builds the call with other arguments than quoted."""

    minimum, recipient = None, None

    async def build(self, sealed):
        build = await super().build(sealed)
        (step,) = build.steps
        amount, minimum, path, to, until = self.SWAP.decode(step.data)
        args = [amount, self.minimum or minimum, path, self.recipient or to, until]
        return replace(build, steps=(replace(step, data=self.SWAP.encode(args)),))


class EnforcesNothing(Cheats):
    minimum = 1


class PaysTheThief(Cheats):
    recipient = THIEF


def description(
    at, minimum="#.amountOutMin", deadline="#.deadline", recipient="#.to", sold=0, bought=-1, code_hash=None
):
    call = CallDescription(
        Elsewhere.SWAP.declaration,
        "swap",
        spends=(SpendRoles(f"#.path.[{sold}]", "#.amountIn"),),
        pays=(PaymentRoles(f"#.path.[{bought}]", recipient, minimum),),
        deadline=deadline,
    )
    return ContractDescription("router", (call,), (DeployedAt(31337, at, code_hash),))


SWAPPED = {
    "minimum and deadline": (EnforcesNothing, {"minimum": "#.deadline", "deadline": "#.amountOutMin"}),
    "recipient and sender": (PaysTheThief, {"recipient": "@.from"}),
    "sold and bought": (Elsewhere, {"sold": -1, "bought": 0}),
}
"""By the roles that are exchanged: what uses it, and the roles."""


@pytest.fixture
def victim(fresh_devnet, serve_app):
    """``await victim(case)``. The contract is the router if ``known``, else a proxy that nobody knows."""
    real = fresh_devnet.chains["devnet"].contracts["UniswapV2Router02"]
    put(fresh_devnet, PROXY)
    upgrade(fresh_devnet, real)

    async def make(case, known=False, wrap=lambda plugin: plugin):
        cls, roles = SWAPPED[case]
        target = real if known else TARGET
        fake = FakePlugin([lambda context: cls(context, real, target)], calls=[description(target, **roles)])
        return Victim(
            fresh_devnet, await serve_app({"chain": chain_plugin(fresh_devnet), "fake": wrap(fake)})
        )

    return make


@pytest.mark.parametrize("case", SWAPPED)
async def test_descriptions_that_nobody_pinned_disable_their_plugin(victim, refused, case):
    here = await victim(case, wrap=Unread)
    refused(await here.quote(), 503, "provider_unavailable")
    (row,) = [row for row in (await here.api.get("/v2/providers")).body["data"] if row["plugin"] == "fake"]
    assert (row["enabled"], row["reason"]) == (False, "unpinned_descriptions")


@pytest.mark.parametrize("case", [case for case in SWAPPED if case != "sold and bought"])
async def test_what_the_core_knows_of_a_contract_is_not_replaced(victim, refused, case):
    answer = await (await victim(case, known=True)).quote()
    refused(answer, 502, "upstream_error", "unsafe_answer")
    assert (
        "enforces a minimum of 1 of" if "minimum" in case else f"pays {THIEF}, another account"
    ) in answer.body["error"]["message"]


@pytest.mark.parametrize("case", [case for case in SWAPPED if case != "minimum and deadline"])
async def test_a_pinned_description_does_not_get_the_thief_paid(victim, refused, case):
    """Of a contract that only the plugin describes, the operator's reading is the check, then the run."""
    refused(await (await victim(case)).quote(), 502, "upstream_error", "unsafe_answer")


@pytest.mark.parametrize("honest", [True, False])
async def test_a_description_is_of_the_code_that_it_names(fresh_devnet, serve_app, refused, honest):
    real = fresh_devnet.chains["devnet"].contracts["UniswapV2Router02"]
    put(fresh_devnet, PROXY)
    upgrade(fresh_devnet, real)
    with fresh_devnet.rpc() as rpc:
        code = await asyncio.to_thread(rpc, "eth_getCode", TARGET if honest else real, "latest")
    named = description(TARGET, code_hash="0x" + keccak256(bytes.fromhex(code[2:])).hex())
    fake = FakePlugin([lambda context: Elsewhere(context, real, TARGET)], calls=[named])
    api = await serve_app({"chain": chain_plugin(fresh_devnet), "fake": fake})
    answer = await Victim(fresh_devnet, api).quote()
    if honest:
        assert answer.status == 200, answer.body
        return
    refused(answer, 502, "upstream_error", "unsafe_answer")
    assert "has other code than its description names" in answer.body["error"]["message"]


@pytest.mark.parametrize(
    "roles",
    [
        {"deadline": "#.amountOutMin"},
        {"minimum": "#.to"},
        {"minimum": "#.amountIn", "recipient": "#.amountIn"},
    ],
    ids=str,
)
async def test_one_argument_has_one_role(fresh_devnet, serve_app, roles):
    fake = FakePlugin(calls=[description(TARGET, **roles)])
    api = await serve_app({"chain": chain_plugin(fresh_devnet), "fake": fake})
    reasons = {entry.name: entry.reason for entry in api.gateway.registry.plugins}
    assert reasons == {"chain": None, "fake": "incomplete"}
