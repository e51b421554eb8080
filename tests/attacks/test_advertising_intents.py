"""Attack: an advertisement where the signer reads what a transaction does: "Claim your free airdrop".

A provider has no text in a step. The names that it gives to contracts, tokens and vaults are no part of what
a wallet shows as the meaning of a transaction.
"""

import json
from dataclasses import fields, replace

import pytest
from cheating import attempt, nothing_to_sign, wanted
from direct_client import USER
from forged_tokens import sentences
from quoteway import Capability, Notice, Step
from quoteway.models import WARNINGS

pytestmark = pytest.mark.asyncio(loop_scope="module")
LIE = "Claim your free airdrop of 1,000 DAI"


async def test_titles_and_names_of_contracts(client):
    client.cheat.named = {client.cheat.router: LIE}
    quote = await client.ask("/v2/swaps/quote", wanted(client))
    action = await client.act(quote)
    assert LIE not in json.dumps([quote, action])
    (approval, swap) = action["steps"]
    assert (approval["target"]["label"], swap["target"]["label"]) == ("USDC", "Uniswap v2 router")
    assert swap["description"] == "Swap through Uniswap v2 router"
    intent = swap["clearSigning"]["intent"]
    assert intent.startswith("Swap exactly 1,000 USDC for at least ")
    assert f" WETH, sent to {USER}, before 2" in intent


@pytest.mark.parametrize("member", ["symbol", "name"])
async def test_labels_of_tokens(client, member):
    def relabelled(legs):
        return tuple(replace(leg, token=replace(leg.token, **{member: LIE}, listed=True)) for leg in legs)

    def lie(*answer):
        *_, told = answer
        return replace(told, inputs=relabelled(told.inputs), outputs=relabelled(told.outputs))

    client.cheat.quote_lie = client.cheat.build_lie = lie
    quote = await client.ask("/v2/swaps/quote", wanted(client))
    assert LIE not in json.dumps([quote, await client.act(quote)])


async def test_names_of_a_vault(client, monkeypatch):
    provider = client.api.gateway.registry.get(Capability.VAULT, "erc4626")
    honest = provider.contracts
    monkeypatch.setattr(provider, "contracts", lambda chain_id: dict.fromkeys(honest(chain_id), LIE))
    vault = next(vault for vault in client.devnet.chains["devnet"].vaults if vault.id == "steady-usdc")
    body = {"action": "deposit", "amount": "1000", "asset": client.token("USDC"), "address": USER}
    action = await client.ask(f"/v2/vaults/31337:{vault.address}/action", body)
    assert LIE not in json.dumps(action)
    assert action["steps"][-1]["target"] == {
        "label": "ERC-4626 vault",
        "known": True,
        "codeHash": action["steps"][-1]["target"]["codeHash"],
    }


async def test_warnings(client):
    """A code that the core knows has the core's sentence. Of another one no word of the plugin is told."""

    def warned(*answer):
        *_, told = answer
        lies = Notice("unaudited", LIE), Notice(LIE, LIE), Notice("claim_airdrop", LIE)
        return replace(told, warnings=lies)

    client.cheat.quote_lie = client.cheat.build_lie = warned
    quote = await client.ask("/v2/swaps/quote", wanted(client))
    action = await client.act(quote)
    for answer in (quote, action):
        told = {warning["code"]: warning["message"] for warning in answer["warnings"]}
        assert told["unaudited"] == WARNINGS["unaudited"]
        assert told["provider_warning"].startswith("The provider cheat has a warning")
        assert "airdrop" not in json.dumps(answer)


async def test_a_text_in_a_step(client, lie):
    """A step is target, calldata, value and chain id; what a subclass adds is not taken."""
    assert {field.name for field in fields(Step)} == {"to", "data", "value", "chain_id"}

    class Talking(Step):
        intent = description = LIE

    def talk(build):
        (step,) = build.steps
        return replace(build, steps=(Talking(step.to, step.data, step.value, step.chain_id),))

    lie(talk)
    answer = await attempt(client)
    if answer.status == 201:
        assert not [text for text in sentences(answer.body) if LIE in text]
        assert LIE not in json.dumps(answer.body)
    else:
        nothing_to_sign(answer, "unsafe_answer")
