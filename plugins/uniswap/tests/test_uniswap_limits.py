"""Limits on the route, kept by the search and by the core, and executed on the devnet."""

from dataclasses import replace

import pytest
from quoteway import NATIVE, Capability, RoutingLimits, SwapRequest, Token, UpstreamError
from quoteway.engine.indicating import SELLER, indicate, ladder
from quoteway.evm.arrivals import request_arrival
from quoteway.testing.execution import execute
from quoteway_devnet.accounts import ACCOUNTS

RECIPIENT = "0x3333333333333333333333333333333333333333"


@pytest.fixture
def ask(gateway, fresh_devnet):
    manifest = fresh_devnet.chains["devnet"]

    def token(symbol):
        if symbol == "ETH":
            return Token(31337, NATIVE, 18, "ETH")
        row = manifest.token(symbol)
        return Token(31337, row.address, row.decimals, symbol)

    async def quote(sold="ETH", bought="USDC", amount=10**18, **limits):
        ends, routing = (token(sold), token(bought)), RoutingLimits(**limits)
        request = SwapRequest(31337, 31337, *ends, amount, ACCOUNTS[5].address, RECIPIENT, 50)
        request = replace(request, routing=routing)
        return await gateway.quoting.quote(Capability.SWAP, request, acknowledged=["high_price_impact"])

    return quote


def pools(answer):
    return [f"31337:{hop.pool}" for path in answer.quote.route for hop in path.hops]


def protocols(answer):
    return {hop.protocol for path in answer.quote.route for hop in path.hops}


async def pays_what_it_says(gateway, devnet, answer):
    sealed = gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)
    assert sealed.request.routing == answer.sealed.request.routing
    executed = await execute(devnet, await gateway.building.action(sealed))
    assert not executed.reverted
    (leg,) = answer.quote.outputs
    assert executed.deltas[RECIPIENT, leg.token.address] == leg.amount > 0


@pytest.mark.slow
async def test_each_limit_is_kept_and_the_rest_pays_exactly(gateway, fresh_devnet, ask):
    free = await ask("LINK", "PEPE", 10**18)
    assert len(pools(free)) > 1
    best = await ask()
    for kind in ("v2", "v3", "v4"):
        answer = await ask(protocols=(f"uniswap-{kind}",))
        assert protocols(answer) == {f"uniswap-{kind}"}
        assert answer.quote.outputs[0].amount <= best.quote.outputs[0].amount
        await pays_what_it_says(gateway, fresh_devnet, answer)
        assert f"uniswap-{kind}" not in protocols(await ask(exclude_protocols=(f"uniswap-{kind}",)))
    best = await ask()
    other = await ask(exclude_pools=tuple(pools(best)))
    assert not set(pools(best)) & set(pools(other))
    await pays_what_it_says(gateway, fresh_devnet, other)
    again = await ask(pools=tuple(pools(other)))
    assert pools(again) == pools(other)
    await pays_what_it_says(gateway, fresh_devnet, again)
    assert len(pools(await ask(max_hops=1))) == 1
    assert len(pools(await ask(max_legs=1))) == 1


@pytest.mark.parametrize("uniswap_section", [{"solver_processes": 0, "max_hops": 3}])
async def test_more_hops_than_the_deployment_looks_for_are_capped_and_told(ask):
    assert "max_hops_capped" in {notice.code for notice in (await ask(max_hops=4)).sealed.warnings}
    assert "max_hops_capped" not in {notice.code for notice in (await ask(max_hops=3)).sealed.warnings}


async def test_the_callers_price_of_gas_counts(ask):
    free, dear = await ask(gas_price_wei=0), await ask(gas_price_wei=10**13)
    assert (free.quote.gas.price_wei, free.quote.gas.cost_wei) == (0, 0)
    assert dear.quote.gas.cost_wei == dear.quote.gas.units * 10**13
    assert free.quote.net_output == free.quote.outputs[0].amount_min
    assert dear.quote.net_output < free.quote.net_output
    # Where only a pool of other tokens may be used, gas has its price in the output all the same.
    (pool,) = pools(await ask("USDC", "USDT", 10**9, max_hops=1))
    assert (await ask("USDC", "USDT", 10**9, pools=(pool,))).quote.net_output


@pytest.mark.parametrize(
    ("limits", "reason", "words"),
    [
        (
            {"amount": 400 * 10**18, "max_price_impact_bps": 1},
            "price_impact_too_high",
            "bps (provider uniswap)",
        ),
        ({"pools": ("31337:0x" + "ab" * 32,)}, "no_route", "keeps the limits"),
        ({"bought": "WETH", "protocols": ("uniswap-v3",)}, "no_route", "No provider has a route"),
    ],
)
async def test_without_a_route_within_the_limits_it_says_so(ask, limits, reason, words):
    with pytest.raises(UpstreamError) as refused:
        await ask(**limits)
    assert refused.value.reason == reason
    assert words in refused.value.message


async def test_wrapping_is_a_hop_of_its_own(ask, gateway, fresh_devnet):
    answer = await ask(bought="WETH", protocols=("wrapped-native",), max_hops=1)
    await pays_what_it_says(gateway, fresh_devnet, answer)


async def test_a_route_that_the_transactions_do_not_take_is_refused(ask, gateway, monkeypatch):
    """The calldata swaps in an excluded pool while the quote shows another one."""
    own = gateway.registry.get(Capability.SWAP, "uniswap").own
    honest, (used,) = type(own).quote, pools(await ask(max_hops=1))

    async def lie(self, request):
        quote = await honest(self, replace(request, routing=RoutingLimits(max_hops=1)))
        (path,) = quote.route
        shown = replace(path.hops[0], pool="0x" + "ab" * 32)
        return replace(quote, route=(replace(path, hops=(shown,)),))

    monkeypatch.setattr(type(own), "quote", lie)
    for limits in ({"exclude_pools": (used,)}, {"max_legs": 1}, {"protocols": ("uniswap-v3",)}):
        with pytest.raises(UpstreamError) as refused:
            await ask(**limits)
        assert refused.value.reason == "unsafe_answer"
        assert refused.value.finding.startswith(("its run swaps", "its route uses the protocol"))


async def test_prices_and_ladders_say_what_a_swap_pays(gateway, fresh_devnet, ask):
    """An indicative price is that of a quote at its block, which an executed swap pays."""
    asked = (await ask()).quote
    (token_in, token_out), amounts = (asked.inputs[0].token, asked.outputs[0].token), [10**17, 10**18, 10**19]
    request = SwapRequest(31337, 31337, token_in, token_out, 10**18, SELLER, SELLER, 0)
    price = await indicate(gateway.quoting, request)
    assert (price.provider, price.quote.block) == ("uniswap", asked.block)
    assert price.outputs[0].amount == asked.outputs[0].amount
    with request_arrival():
        rungs = await ladder(gateway.quoting, request, amounts)
    assert len({rung.found.quote.block for rung in rungs}) == 1
    for rung in rungs:
        answer = await ask(amount=rung.amount_in)
        assert answer.quote.block == rung.found.quote.block
        assert rung.found.outputs[0].amount == answer.quote.outputs[0].amount
    impacts = [rung.found.quote.price_impact_bps for rung in rungs]
    assert impacts == sorted(impacts)
    await pays_what_it_says(gateway, fresh_devnet, await ask())
