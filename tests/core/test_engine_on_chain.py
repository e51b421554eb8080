"""Quotes and actions on the devnet: what the engine gives does what it says."""

from dataclasses import replace

import pytest
from devnet_gateway import THIEF, USER
from quoteway.errors import InvalidRequest, NotFound, Reason, UpstreamError
from quoteway.models import Capability
from quoteway.testing.fakes import RouterSwap


@pytest.mark.parametrize(
    ("sold", "got", "amount"),
    [("USDC", "WETH", 10**9), ("USDT", "USDC", 7 * 10**6), ("WETH", "PEPE", 10**15)],
)
async def test_an_action_pays_what_the_quote_said_to_the_wei(open_gateway, router, sold, got, amount):
    here = await open_gateway()
    request = here.request(sold, got, amount)
    answer = await here.gateway.quoting.quote(Capability.SWAP, request)
    (approval,) = answer.approvals
    assert (approval.token, approval.spender, approval.required) == (request.token_in.address, router, amount)
    assert (approval.current, approval.needed) == (0, True)
    assert [issue.code for issue in answer.issues] == ["insufficient_allowance"]
    action = await here.gateway.building.action(
        here.gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)
    )
    assert [step.kind for step in action.steps] == ["approval", "swap"]
    assert action.simulation.status == "success"
    deltas = {(c.account, c.token): c.delta for c in action.simulation.asset_changes}
    quoted = answer.quote.outputs[0].amount
    assert deltas[USER, request.token_in.address] == -amount
    assert deltas[USER, request.token_out.address] == quoted
    before = await here.balance(request.token_out)
    for step in action.steps:
        receipt = await here.send(step.to, step.data, step.value)
        assert int(receipt["gasUsed"], 16) <= step.gas_limit
    assert await here.balance(request.token_out) - before == quoted
    assert await here.allowance(request.token_in, router) == 0


async def test_the_same_token_at_the_same_block_gives_the_same_bytes_and_ids(open_gateway):
    here = await open_gateway()
    answer = await here.gateway.quoting.quote(Capability.SWAP, here.request("USDT", "USDC", 10**6))
    sealed = here.gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)
    one, two = await here.gateway.building.action(sealed), await here.gateway.building.action(sealed)
    assert one == two
    assert one.action_id == two.action_id
    ids = [step.tx_id for step in one.steps]
    assert ids == [step.tx_id for step in two.steps]
    commitment = here.gateway.quote_tokens.open_transaction(ids[0])
    assert (commitment.to, commitment.sender, commitment.index) == (one.steps[0].to, USER, 0)
    with pytest.raises(NotFound):
        here.gateway.quote_tokens.open_transaction(answer.sealed.token)


async def test_another_recipient_is_paid(open_gateway):
    here = await open_gateway()
    request = here.request(recipient=THIEF)
    action = await here.action(request)
    for step in action.steps:
        await here.send(step.to, step.data, step.value)
    assert await here.balance(request.token_out, THIEF) >= action.outputs[0].amount_min


async def test_a_wallet_that_lacks_the_tokens_is_told_and_the_run_says_what_it_assumed(open_gateway):
    here = await open_gateway()
    request = here.request(sender=THIEF, recipient=THIEF)
    action = await here.action(request)
    assert f"balance:{request.token_in.address}" in action.simulation.assumptions
    assert "insufficient_balance" in [issue.code for issue in action.issues]


async def test_a_price_that_moved_is_refused_and_the_minimum_stands(open_gateway, router):
    here = await open_gateway()
    request = here.request("USDC", "USDT", 10**9)
    answer = await here.gateway.quoting.quote(Capability.SWAP, request)
    usdc = here.token("USDC")
    await here.approve(usdc, router, 10**12)
    path = [usdc.address, request.token_out.address]
    await here.send(router, RouterSwap.SWAP.encode([10**11, 0, path, USER, 2**40]))
    await here.approve(usdc, router, 0)
    with pytest.raises(UpstreamError) as refusal:
        await here.gateway.building.action(answer.sealed)
    assert refusal.value.reason is Reason.PRICE_MOVED
    assert refusal.value.revert_reason


async def test_an_action_may_pin_a_quote_but_only_for_the_same_request(open_gateway):
    here = await open_gateway()
    request = here.request()
    pin = here.gateway.quote_tokens.open(
        Capability.SWAP, (await here.gateway.quoting.quote(Capability.SWAP, request)).sealed.token
    )
    named = replace(request, token_in=replace(request.token_in, name="USD Coin", price_usd=1.0))
    action = await here.gateway.building.direct(Capability.SWAP, named, pin=pin)
    assert action.quote_token == pin.token
    for other in (
        replace(request, amount_in=5),
        replace(request, sender=THIEF),
        replace(request, slippage_bps=51),
    ):
        with pytest.raises(InvalidRequest) as refusal:
            await here.gateway.building.direct(Capability.SWAP, other, pin=pin)
        assert refusal.value.reason is Reason.CONFLICT
    standalone = await here.gateway.building.direct(Capability.SWAP, request)
    assert standalone.quote_token


async def test_a_warm_quote_asks_the_node_for_nothing_of_the_wallet(open_gateway):
    here = await open_gateway()
    await here.gateway.quoting.quote(Capability.SWAP, here.request())
    asked = here.chain.requests
    for _ in range(3):
        await here.gateway.quoting.quote(Capability.SWAP, here.request())
    # Each reads the head, the fake provider its price, and the best quote is simulated; nothing else is read
    # but heads that are polled.
    assert here.chain.requests - asked <= 3 * 3 + 2


class NoKey(RouterSwap):
    """As a dataclass is that says nothing of it, and worse."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("not to be compared")


async def test_providers_need_be_no_keys_of_anything(open_gateway):
    here = await open_gateway(NoKey)
    action = await here.action()
    assert action.simulation.status == "success"
    assert here.gateway.quote_tokens.open_transaction(action.steps[0].tx_id)
