"""An order that two providers share: it pays more than both alone, and executes as quoted, to the wei."""

import asyncio
import random
import time
from dataclasses import replace
from functools import partial

import pytest
from fee_apart_exchange import Exchange, gateway_of
from quoteway import Capability, NotFound, RoutingLimits, UpstreamError
from quoteway.config.model import ProviderConfig
from quoteway.engine import dividing, quote_tokens, quoting
from quoteway.engine.trade_taxes import TradeTaxes
from quoteway.models import TradeTax
from quoteway.testing.execution import execute

SHARED = "swap+swap"
RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
MILLION = 10**12
"""In base units of USDC."""


@pytest.fixture
def exchange(fresh_devnet):
    made = Exchange(fresh_devnet)
    made.add("USDC", "MKR", 20_000_000)
    made.add("WETH", "UNI", 20_000_000)
    return made


@pytest.fixture
async def gateway(exchange, make_gateway):
    return await gateway_of(exchange, make_gateway)


async def ask(gateway, request, **more):
    more = {"divides": True, "acknowledged": ["high_price_impact"], **more}
    return await gateway.quoting.quote(Capability.SWAP, request, **more)


def outcome(answer):
    """How the division ended; None where none was looked for."""
    found = [each for each in answer.attempts if each.provider == SHARED]
    return (found[0].outcome, found[0].reason) if found else None


def net(quote):
    """What a quote pays, less the gas that it states, in base units of the output."""
    (got,) = quote.outputs
    return got.amount - (got.amount_min - quote.net_output)


def calls_of(gateway, provider_id="fee-apart-routes"):
    provider = gateway.registry.get(Capability.SWAP, provider_id)
    counts = {each.method: sum(each.outcomes.values()) for each in gateway.registry.calls.methods(provider)}
    return counts["quote"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sold", "bought", "amount"),
    [("USDC", "MKR", MILLION), ("UNI", "WETH", 10**23), ("UNI", "MKR", 10**23), ("USDC", "MKR", 10**11 + 1)],
)
async def test_it_pays_more_than_both_alone_and_executes_to_the_wei(gateway, exchange, sold, bought, amount):
    request = replace(exchange.request(sold, bought, amount), recipient=RECIPIENT)
    alone = [
        await ask(gateway, request, provider=name, divides=False) for name in ("uniswap", "fee-apart-routes")
    ]
    answer = await exchange.executed(gateway, request, SHARED, divides=True)
    quote = answer.quote
    assert net(quote) > max(net(each.quote) for each in alone)
    assert outcome(answer) == ("quoted", None)
    parts = answer.sealed.parts
    assert {part.provider for part in parts} == {"uniswap", "fee-apart-routes"}
    assert sum(part.inputs[0].amount for part in parts) == amount == quote.inputs[0].amount
    assert quote.outputs[0].amount_min == sum(part.outputs[0].amount_min for part in parts)
    for part in parts:
        (got,) = part.outputs
        assert (got.account, got.amount_min) == (RECIPIENT, got.amount * 9950 // 10_000)
    assert quote.gas.units == sum(part.quote.gas.units for part in quote.parts)
    assert sum(path.bps for path in quote.route) == 10_000
    assert sum(path.hops[0].amount_in for path in quote.route) == amount
    assert sum(path.hops[-1].amount_out for path in quote.route) == quote.outputs[0].amount
    assert quote.optimality is None
    impacts = [part.quote.price_impact_bps for part in quote.parts]
    assert min(impacts) <= quote.price_impact_bps <= max(impacts)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
async def test_random_orders_are_to_the_wei(gateway, exchange, seed):
    """Each on the state that the ones before have left."""
    chance, shared = random.Random(seed), 0
    for _ in range(6):
        sold, bought = chance.sample(["USDC", "MKR", "WETH", "UNI"], 2)
        row, dollars = exchange.manifest.token(sold), 10 ** chance.uniform(3, 6)
        amount = int(dollars / float(row.price_usd) * 10**row.decimals)
        request = exchange.request(sold, bought, amount)
        single = await ask(gateway, request, divides=False)
        answer = await exchange.executed(gateway, request, divides=True)
        assert answer.quote.outputs[0].amount >= single.quote.outputs[0].amount
        shared += answer.sealed.provider == SHARED
    assert shared


async def test_the_action_has_the_steps_of_both_in_order_and_says_that_they_are_two(gateway, exchange):
    answer = await ask(gateway, exchange.request("USDC", "MKR", MILLION))
    action = await gateway.building.action(answer.sealed)
    assert action.provider == SHARED
    assert [part.provider for part in action.parts] == [part.provider for part in answer.sealed.parts]
    assert [index for part in action.parts for index in part.indices] == list(range(len(action.steps)))
    kinds = [[action.steps[index].kind for index in part.indices] for part in action.parts]
    assert sorted(kinds) == [["approval", "permit2_approval", "swap"], ["approval", "swap"]]
    (spent,), (got,) = action.inputs, action.outputs
    assert (spent.amount, got.amount, got.amount_min) == (
        MILLION,
        answer.quote.outputs[0].amount,
        answer.quote.outputs[0].amount_min,
    )
    assert "not_atomic" in [warning.code for warning in action.warnings]
    assert action.warnings == answer.sealed.warnings
    assert {each.token: each.delta for each in action.simulation.asset_changes if each.delta} == {
        spent.token.address: -MILLION,
        got.token.address: got.amount,
    }
    reopened = gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)
    assert await gateway.building.action(reopened) == action, "the same token gives the same bytes"


async def test_nothing_is_divided_and_nobody_asked_again_where_the_wallet_sends_one_by_one(gateway, exchange):
    request = exchange.request("USDC", "MKR", MILLION)
    answer = await ask(gateway, request, divides=False)
    assert answer.sealed.provider == "fee-apart-routes"
    assert (calls_of(gateway), outcome(answer)) == (1, None)


async def test_an_order_too_small_for_two_transactions_costs_one_further_quote_each(gateway, exchange):
    dear = RoutingLimits(gas_price_wei=10**11)
    answer = await ask(gateway, exchange.request("USDC", "MKR", 10**9, routing=dear))
    assert answer.sealed.provider == "fee-apart-routes"
    assert (calls_of(gateway), calls_of(gateway, "uniswap")) == (2, 2)
    assert outcome(answer) == ("no_route", "no_route")


@pytest.mark.parametrize("amount", [1, 2, 3, 10**6, (1 << 256) - 1])
async def test_extremes_are_answered_as_without_a_division(gateway, exchange, amount):
    told = []
    for divides in (False, True):
        try:
            answer = await ask(gateway, exchange.request("USDC", "MKR", amount), divides=divides)
            told.append((answer.sealed.provider, answer.quote.outputs))
        except UpstreamError as error:
            told.append(error.reason)
    assert told[0] == told[1]


async def test_few_quotes_are_enough(gateway, exchange):
    await ask(gateway, exchange.request("USDC", "MKR", 5 * MILLION))
    assert calls_of(gateway) <= 1 + dividing.MAX_TRIALS


async def test_orders_that_cannot_be_divided(gateway, exchange):
    request = exchange.request("USDC", "MKR", MILLION)
    signed = await ask(gateway, replace(request, permit2_signature=True))
    assert outcome(signed) is None
    assert outcome(await ask(gateway, request, provider="uniswap")) is None
    exact_out = await ask(gateway, replace(request, amount_in=0, amount_out=10**20))
    assert outcome(exact_out) is None
    assert outcome(await ask(gateway, exchange.request("USDC", "MKR", 1))) is None


async def test_tokens_that_tax_transfers_are_not_divided(gateway, exchange, monkeypatch):
    request = exchange.request("USDC", "MKR", MILLION)

    async def taxed(self, quote):
        return (TradeTax(request.token_out.address, 100, None, None),)

    monkeypatch.setattr(TradeTaxes, "of", taxed)
    answer = await ask(gateway, request)
    assert (answer.sealed.provider, outcome(answer)) == ("fee-apart-routes", None)
    assert calls_of(gateway) == 1


async def test_an_operator_can_switch_it_off(exchange, make_gateway):
    off = {SHARED: ProviderConfig(enabled=False)}
    gateway = await gateway_of(exchange, make_gateway, providers=off)
    answer = await ask(gateway, exchange.request("USDC", "MKR", MILLION))
    assert (answer.sealed.provider, outcome(answer)) == ("fee-apart-routes", None)


async def test_limits_on_the_route_hold_for_both_parts_together(gateway, exchange):
    request = exchange.request("USDC", "MKR", MILLION)

    async def asked(**limits):
        return await ask(gateway, replace(request, routing=RoutingLimits(**limits)))

    answer = await asked(max_legs=3)
    assert answer.sealed.provider == SHARED
    assert len({hop.pool for path in answer.quote.route for hop in path.hops}) == 3
    assert (await asked(max_legs=2)).sealed.provider == "fee-apart-routes"
    assert (await asked(max_hops=2)).sealed.provider == SHARED
    capped = await asked(max_price_impact_bps=2_000)
    assert capped.sealed.provider == SHARED
    assert capped.quote.price_impact_bps <= 2_000


async def test_a_slippage_that_the_gateway_chooses_is_that_of_both_parts(gateway, exchange):
    answer = await ask(gateway, exchange.request("USDC", "MKR", MILLION), chooses_slippage=True)
    assert answer.sealed.provider == SHARED
    chosen = {part.slippage_bps for part in answer.sealed.parts}
    assert chosen == {answer.quote.slippage_bps} == {answer.sealed.request.slippage_bps}
    assert "auto_slippage" in [warning.code for warning in answer.sealed.warnings]


def soon_over(*args, seconds):
    """Divides with so much time for further quotes."""
    *others, _ = args
    return dividing.Dividing(*others, time.monotonic() + seconds)


# --- several faults ---------------------------------------------------------------------------------------


async def test_the_price_of_one_part_moves(gateway, exchange):
    """Each part has its own minimum, enforced by its own calldata: the other part cannot make up for it."""
    request = exchange.request("USDC", "MKR", MILLION)
    answer = await ask(gateway, request)
    action = await gateway.building.action(answer.sealed)
    rival = replace(request, sender=exchange.owner, recipient=exchange.owner, amount_in=MILLION // 2)
    await exchange.executed(gateway, rival, provider="fee-apart-routes")
    with pytest.raises(UpstreamError) as refused:
        await gateway.building.action(answer.sealed)
    assert refused.value.reason == "price_moved"
    done = await execute(exchange.devnet, action)
    statuses = [receipt["status"] for receipt in done.receipts]
    swaps = [status for step, status in zip(action.steps, statuses, strict=True) if step.kind == "swap"]
    assert sorted(swaps) == ["0x0", "0x1"]
    stands = next(part for part in answer.sealed.parts if part.provider == "uniswap")
    assert done.deltas[request.recipient, request.token_out.address] == stands.outputs[0].amount


async def test_a_part_that_is_not_what_was_quoted_is_refused(gateway, exchange, monkeypatch):
    from fee_apart.executor import FeeApartExchange

    answer = await ask(gateway, exchange.request("USDC", "MKR", MILLION))
    encode = FeeApartExchange.encode
    changes = {
        "recipient": RECIPIENT,
        "amount_out_min": 0,
        "amount_in": MILLION,
        "deadline": (1 << 256) - 1,
    }
    for name, value in changes.items():

        async def corrupted(self, order, name=name, value=value):
            return await encode(self, replace(order, **{name: value}))

        monkeypatch.setattr(FeeApartExchange, "encode", corrupted)
        with pytest.raises(UpstreamError) as refused:
            await gateway.building.action(answer.sealed)
        assert refused.value.reason == "unsafe_answer", name


async def test_a_provider_that_promises_too_much_for_parts_only(gateway, exchange, monkeypatch):
    from fee_apart.pool import FeeApartPool

    honest, whole = FeeApartPool.exact_in, MILLION

    def lying(self, zero_for_one, amount_in):
        out, gas = honest(self, zero_for_one, amount_in)
        return (out if amount_in == whole else out * 2), gas

    monkeypatch.setattr(FeeApartPool, "exact_in", lying)
    request = exchange.request("USDC", "MKR", whole)
    answer = await exchange.executed(gateway, request, "fee-apart-routes", divides=True)
    kind, reason = outcome(answer)
    assert kind == "failed"
    assert reason in ("quote_mismatch", "reverted")


@pytest.mark.parametrize("kind", ["fails", "hangs"])
async def test_a_provider_without_a_quote_for_its_part(gateway, exchange, monkeypatch, kind):
    from quoteway_router.swaps import ExecutorSwaps

    quote, asked, never = ExecutorSwaps.quote, [], asyncio.Event()

    async def once(self, request):
        asked.append(request.amount_in)
        if len(asked) > 1 and kind == "hangs":
            await never.wait()
        if len(asked) > 1:
            raise RuntimeError("the pools are gone")
        return await quote(self, request)

    if kind == "hangs":
        soon = partial(soon_over, seconds=1)
        monkeypatch.setattr(quoting, "Dividing", soon)
    monkeypatch.setattr(ExecutorSwaps, "quote", once)
    answer = await ask(gateway, exchange.request("USDC", "MKR", MILLION))
    assert len(asked) <= 2
    assert (answer.sealed.provider, outcome(answer)) == ("fee-apart-routes", ("no_route", "no_route"))


async def test_without_time_for_further_quotes_the_single_one_stays(gateway, exchange, monkeypatch):
    monkeypatch.setattr(quoting, "Dividing", partial(soon_over, seconds=-1))
    answer = await ask(gateway, exchange.request("USDC", "MKR", MILLION))
    assert answer.sealed.provider == "fee-apart-routes"
    assert calls_of(gateway) == 1


async def test_two_plans_that_do_not_fit_one_token_leave_the_single_quote(gateway, exchange, monkeypatch):
    monkeypatch.setattr(quote_tokens, "MAX_TOKEN_CHARS", 1_500)
    answer = await ask(gateway, exchange.request("USDC", "MKR", MILLION))
    assert answer.sealed.provider == "fee-apart-routes"
    assert outcome(answer) == ("failed", "provider_error")
    assert len(answer.sealed.token) <= 1_500
    assert (await gateway.building.action(answer.sealed)).simulation.status == "success"


async def test_a_part_of_a_plugin_that_is_gone_is_no_quote_any_more(exchange, make_gateway):
    gateway = await gateway_of(exchange, make_gateway)
    answer = await ask(gateway, exchange.request("USDC", "MKR", MILLION))
    parts = tuple(replace(part, plan_version=99) for part in answer.sealed.parts)
    with pytest.raises(NotFound) as refused:
        await gateway.building.action(replace(answer.sealed, parts=parts))
    assert refused.value.reason == "quote_expired"


async def test_routes_through_one_pool_are_not_combined(gateway, exchange):
    """Both know the pairs of Uniswap v2, and each quotes their whole depth."""
    only_v2 = RoutingLimits(protocols=("v2", "uniswap-v2"))
    request = exchange.request("DAI", "USDC", 10**24, routing=only_v2)
    answer = await ask(gateway, request)
    quoted = [each.provider for each in answer.attempts if each.outcome == "quoted"]
    assert quoted == ["fee-apart-routes", "uniswap"]
    assert outcome(answer) is None
    await ask(gateway, request, provider="fee-apart-routes")
