"""A swap joined with a transfer by the core: exact on both chains."""

import asyncio
from dataclasses import replace

import pytest
from quoteway import Capability, Leg, RoutingLimits, UpstreamError

for plugin in ("devnet", "rpc", "tokenlist", "uniswap", "across"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

from crossings import RECIPIENT, SENDER, cross_at_random  # noqa: E402
from quoteway_across.spoke_pool import DEPOSIT  # noqa: E402


@pytest.mark.slow
async def test_random_crossings_are_to_the_wei(harness):
    """``python tests/crossings.py`` runs hundreds."""
    report = await cross_at_random(harness, 12, seed=20_261_121)
    assert report.done == 12
    assert not report.wrong


async def test_each_part_states_its_minimum_and_the_next_takes_exactly_that(harness):
    request = harness.request("WETH", "USDC", 10**18)
    quoted = await harness.quote(request)
    swap, transfer = quoted.sealed.parts
    assert (quoted.sealed.provider, swap.provider, transfer.provider) == ("swap+bridge", "uniswap", "across")
    assert (swap.capability, transfer.capability) == (Capability.SWAP, Capability.BRIDGE)
    (between,), (passed_on,), (arrives,) = swap.outputs, transfer.inputs, transfer.outputs
    assert (between.account, passed_on.account) == (SENDER, SENDER)
    assert between.amount_min == between.amount * 9950 // 10_000 == passed_on.amount
    assert arrives.amount == arrives.amount_min
    first, surplus = quoted.quote.outputs
    assert first == arrives
    assert surplus == Leg(between.token, between.amount - between.amount_min, SENDER, 0)
    assert {notice.code for notice in quoted.quote.warnings} >= {"not_atomic", "surplus_kept"}
    assert [fee.kind for fee in quoted.quote.fees][-1] == "bridge"
    action = await harness.action(quoted)
    assert [part.steps for part in action.parts] == [3, 2]
    said = dict(zip(DEPOSIT.names, DEPOSIT.decode(action.steps[-1].data), strict=True))
    assert (said["inputAmount"], said["outputAmount"]) == (passed_on.amount, arrives.amount)
    assert (said["depositor"], said["recipient"]) == (SENDER, RECIPIENT)
    assert action.terms.bridge == "across"
    assert action.warnings == quoted.sealed.warnings
    assert await harness.action(quoted) == action, "the same token at the same block gives the same bytes"


async def test_limits_on_the_route_hold_for_the_swap_and_not_for_the_transfer(harness):
    limits = RoutingLimits(protocols=("uniswap-v2",), max_hops=1, gas_price_wei=0)
    request = harness.request("WETH", "USDC", 10**18, routing=limits)
    quoted, _, _, wrong = await harness.cross(request)
    assert not wrong
    swap, transfer = quoted.sealed.parts
    assert (swap.request.routing, transfer.request.routing) == (limits, RoutingLimits(gas_price_wei=0))
    assert [hop.protocol for path in quoted.quote.route for hop in path.hops] == ["uniswap-v2"]
    assert quoted.quote.gas.cost_wei == 0
    attempts = {attempt.provider: (attempt.outcome, attempt.reason) for attempt in quoted.attempts}
    assert attempts == {"swap+bridge": ("quoted", None), "across": ("not_asked", "unsupported_limit")}
    with pytest.raises(UpstreamError) as refused:
        await harness.quote(replace(request, routing=RoutingLimits(pools=("31337:0x" + "ab" * 32,))))
    assert refused.value.reason == "no_route"


async def test_without_slippage_nothing_is_left_over(harness):
    quoted = await harness.quote(harness.request(slippage_bps=0))
    assert len(quoted.quote.outputs) == 1
    _, _, _, wrong = await harness.cross(harness.request(slippage_bps=0))
    assert not wrong


async def test_the_coin_is_passed_on_without_an_approval(harness):
    quoted, action, _, wrong = await harness.cross(harness.request("USDC", "ETH", 10**9))
    assert not wrong
    assert quoted.sealed.parts[1].request.token_in.is_native
    assert action.steps[-1].value == quoted.sealed.parts[1].request.amount_in
    assert [step.kind for step in action.steps][-2:] == ["swap", "transfer"]


async def test_a_left_over_allowance_of_the_token_between_is_reset_where_it_must_be(harness):
    usdt, pool = harness.token("USDT"), harness.devnet.chains["devnet"].contracts["SpokePool"]
    await harness.allow(usdt, pool, 5)
    _, action, _, wrong = await harness.cross(harness.request("WETH", "USDT"))
    assert not wrong
    assert [step.kind for step in action.steps][-3:] == ["approval_reset", "approval", "transfer"]


async def test_warm_quotes_read_the_head_once_and_nothing_else(harness, monkeypatch):
    request = harness.request()
    await harness.quote(request)
    chains = harness.gateway.runtime.chains.values()
    await asyncio.gather(*(chain.head() for chain in chains))
    asked = []

    def recording(forward):
        async def forwarded(method, params, timeout_s):
            asked.append(method)
            return await forward(method, params, timeout_s)

        return forwarded

    for chain in chains:
        monkeypatch.setattr(chain, "forward", recording(chain.forward))
    for _ in range(5):
        await harness.quote(request)
    # The head for each quote, the heads that are polled meanwhile, and nothing else.
    assert set(asked) <= {"eth_getBlockByNumber"}


async def test_what_the_wallet_lacks_is_told_and_what_comes_on_the_way_is_not_missed(harness):
    poor = "0x00000000000000000000000000000000000000A1"
    quoted = await harness.quote(harness.request("DAI", "USDC", 10**21, sender=poor))
    assert quoted.issues[0].code == "insufficient_balance"
    action = await harness.action(quoted)
    dai = harness.token("DAI").address
    assert action.simulation.status == "success"
    assert action.simulation.assumptions == (f"balance:{dai}",)
    assert [issue.token for issue in action.issues if issue.code == "insufficient_balance"] == [dai]
