"""A swap joined with a transfer whose providers lie: each part answers for itself."""

import asyncio
import random
from dataclasses import replace

import pytest
from quoteway import BridgeRoute, Capability, Leg, UpstreamError
from quoteway.guard.findings import UnsafeAnswer
from quoteway.testing.fakes import FakePlugin, ListedRoutes

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from crossings import RECIPIENT, SENDER, THIEF  # noqa: E402
from quoteway_across.spoke_pool import DEPOSIT  # noqa: E402


async def test_a_swap_that_pays_nothing_is_not_covered_by_what_the_wallet_holds(harness, monkeypatch):
    """The sender holds the token between the parts already: a swap that pays somebody else shows all the
    same, since its own part of the run is looked at."""
    assert await harness.balance(harness.token("USDC"), SENDER) > 10**10
    quoted = await harness.quote(harness.request("WETH", "USDC", 10**18))
    uniswap = harness.gateway.registry.get(Capability.SWAP, "uniswap")
    honest = uniswap.build

    async def lying(sealed):
        crooked = replace(
            sealed,
            request=replace(sealed.request, recipient=THIEF),
            outputs=tuple(replace(leg, account=THIEF) for leg in sealed.outputs),
        )
        return replace(await honest(crooked), outputs=sealed.outputs)

    monkeypatch.setattr(uniswap, "build", lying)
    with pytest.raises(UnsafeAnswer, match="provider uniswap") as refusal:
        await harness.action(quoted)
    assert "another account" in refusal.value.finding


async def test_a_transfer_takes_what_was_passed_on_and_no_unit_more(harness, monkeypatch):
    quoted = await harness.quote(harness.request("WETH", "USDC", 10**18))
    across = harness.gateway.registry.get(Capability.BRIDGE, "across")
    honest = across.build

    async def greedy(sealed):
        more = replace(
            sealed,
            request=replace(sealed.request, amount_in=sealed.request.amount_in + 1),
            inputs=tuple(replace(leg, amount=leg.amount + 1) for leg in sealed.inputs),
        )
        build = await honest(more)
        return replace(build, inputs=sealed.inputs, spends=(await honest(sealed)).spends)

    monkeypatch.setattr(across, "build", greedy)
    with pytest.raises(UnsafeAnswer, match="provider across") as refusal:
        await harness.action(quoted)
    assert "takes more of" in refusal.value.finding


async def test_a_transfer_cannot_help_itself_to_what_is_sold(harness, monkeypatch):
    """Of the swap's token nothing may move in the transfer's part of the run, whatever was granted for it."""
    quoted = await harness.quote(harness.request("WETH", "USDC", 10**18))
    across = harness.gateway.registry.get(Capability.BRIDGE, "across")
    honest = across.build
    weth, pool = harness.token("WETH"), harness.devnet.chains["devnet"].contracts["SpokePool"]

    async def thieving(sealed):
        build = await honest(sealed)
        deposit = build.steps[0]
        args = list(DEPOSIT.decode(deposit.data))
        args[2], args[3], args[4] = weth.address, weth.address, 10**15
        extra = replace(deposit, data=DEPOSIT.encode(args))
        return replace(build, steps=(deposit, extra))

    monkeypatch.setattr(across, "build", thieving)
    await harness.allow(weth, pool, 10**18)
    with pytest.raises(UnsafeAnswer, match="provider across") as refusal:
        await harness.action(quoted)
    assert weth.address in refusal.value.finding


def tempt(harness, monkeypatch):
    """Makes the bridge offer the best price for an odd token in between; the token."""
    bridge = harness.gateway.registry.get(Capability.BRIDGE, "across")
    odd, far = harness.token("PEPE"), harness.token("USDC", "devnet-l2")
    honest_routes, honest_quote = bridge.routes, bridge.quote

    async def routes(*ends):
        return [BridgeRoute(31337, 31338, odd, far, "across", True), *await honest_routes(*ends)]

    async def quote(request):
        if request.token_in.address != odd.address:
            return await honest_quote(request)
        terms = await honest_quote(replace(request, token_in=harness.token("USDC"), amount_in=10**9))
        return replace(
            terms,
            inputs=(Leg(odd, request.amount_in, SENDER),),
            outputs=(Leg(far, 10**12, RECIPIENT, 10**12),),
            plan={**terms.plan, "in": odd.address},
            spends=(replace(terms.spends[0], token=odd.address, amount=request.amount_in),),
        )

    monkeypatch.setattr(bridge, "routes", routes)
    monkeypatch.setattr(bridge, "quote", quote)
    return odd


async def test_a_bridge_does_not_choose_what_the_money_is_turned_into(harness, monkeypatch):
    """The caller names what is sold and what is bought: a token between them that no catalog of the
    deployment lists could be anybody's, its only pool too, and its refund worth nothing."""
    odd, list_tokens = tempt(harness, monkeypatch), harness.gateway.runtime.tokens.listed

    async def listed(chain_id):
        known = await list_tokens(chain_id)
        return {address: token for address, token in known.items() if address != odd.address}

    tempted = await harness.quote(harness.request())
    assert tempted.sealed.parts[1].request.token_in.symbol == "PEPE", "it wins wherever it is listed"
    monkeypatch.setattr(harness.gateway.tokens, "listed", listed)
    quoted = await harness.quote(harness.request())
    assert quoted.sealed.parts[1].request.token_in.symbol == "USDC"


async def test_a_token_that_a_catalog_lists_with_wrong_decimals_is_not_used_in_between(harness, monkeypatch):
    odd = tempt(harness, monkeypatch)
    catalog = harness.gateway.registry.get(Capability.TOKENS, "tokenlist")
    honest_tokens = catalog.tokens

    async def tokens(chain_id):
        rows = [row for row in await honest_tokens(chain_id) if row.symbol != "PEPE"]
        wrong = replace(odd, decimals=odd.decimals + 1)
        return [*rows, replace(rows[0], id="odd", name="Odd", contracts=(wrong,))]

    monkeypatch.setattr(catalog, "tokens", tokens)
    monkeypatch.setattr(catalog, "revision", lambda: "changed")
    # After a read that took long on a busy machine, the changed list is read some seconds later.
    async with asyncio.timeout(60):
        while not await harness.gateway.tokens.named(odd.chain_id, "odd"):
            await asyncio.sleep(0.01)
    quoted = await harness.quote(harness.request())
    assert quoted.sealed.parts[1].request.token_in.symbol == "USDC"


ODD_LISTS = [None, [None], 5, ["x"], "abc", RuntimeError("no"), "elsewhere"]


@pytest.mark.parametrize("listed", ODD_LISTS, ids=repr)
async def test_a_bridge_whose_routes_are_none_does_not_stop_the_others(make_harness, listed):
    odd = ListedRoutes.__new__(ListedRoutes)
    odd.id, odd.networks = "odd", frozenset({31337, 31338})

    async def routes(*ends):
        if isinstance(listed, Exception):
            raise listed
        if listed == "elsewhere":
            ends = harness.token("DAI", "devnet-l2"), harness.token("USDC")
            return [BridgeRoute(31338, 31337, *ends, "odd", True)]
        return listed

    async def none(request):
        return None

    odd.routes, odd.quote = routes, none
    harness = await make_harness(more={"odd": FakePlugin([odd])})
    for _ in range(2):
        quoted = await harness.quote(harness.request())
        assert [part.provider for part in quoted.sealed.parts] == ["uniswap", "across"]


async def test_plans_too_long_for_one_token_do_not_win(harness, monkeypatch):
    """Another provider's quote for the same request must still be had, so it is no failure of the sealing."""
    for capability, provider_id in ((Capability.SWAP, "uniswap"), (Capability.BRIDGE, "across")):
        provider = harness.gateway.registry.get(capability, provider_id)

        async def lengthy(request, honest=provider.quote):
            quote = await honest(request)
            return quote and replace(
                quote, plan={**quote.plan, "more": random.Random(7).randbytes(750).hex()}
            )

        monkeypatch.setattr(provider, "quote", lengthy)
    with pytest.raises(UpstreamError) as refusal:
        await harness.quote(harness.request())
    assert {a.provider: a.outcome for a in refusal.value.attempts}["swap+bridge"] == "failed"


async def test_a_part_cannot_slip_a_signature_between_the_calls_of_a_batch(harness, monkeypatch):
    """With one there is no batch, and the whole run, the other part's too, takes every signature for good."""
    quoted = await harness.quote(harness.request())
    uniswap = harness.gateway.registry.get(Capability.SWAP, "uniswap")
    honest = uniswap.build

    async def signed(sealed):
        return await honest(replace(sealed, request=replace(sealed.request, permit2_signature=True)))

    monkeypatch.setattr(uniswap, "build", signed)
    with pytest.raises(UnsafeAnswer, match="provider uniswap") as refusal:
        await harness.action(quoted)
    assert "asks for a signature" in refusal.value.finding
