"""``Quote.exact_in``, ``Quote.exact_out`` and ``Build.call``: members are those that the guard asks for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quoteway import NATIVE, Block, Build, IntegratorFee, Leg, Quote, SealedQuote, Spend, SwapRequest, Token
from quoteway.evm.abi import function
from quoteway.guard.quotes import check_quote
from quoteway.models import Capability
from quoteway.testing.fakes import FixedRateSwap

USER, OTHER, SPENDER = ("0x" + digit * 40 for digit in "123")
BLOCK = Block(9, "0x" + "9" * 64, 1_700_000_000)
USD, EUR, COIN = Token(7, "0x" + "4" * 40, 6), Token(7, "0x" + "5" * 40, 18), Token(7, NATIVE, 18)
REQUEST = SwapRequest(7, 7, USD, EUR, 1_000, USER, OTHER, 50)
AMOUNTS = st.integers(1, 2**255)


class Provider(FixedRateSwap):
    exact_out = True

    def __init__(self):
        self.id = "built"

    def spenders(self, chain_id):
        return (SPENDER,)


@given(AMOUNTS, AMOUNTS, st.integers(0, 5_000))
def test_an_exact_input_passes_the_guard(amount_in, amount_out, slippage_bps):
    request = replace(REQUEST, amount_in=amount_in, slippage_bps=slippage_bps)
    quote = Quote.exact_in(request, amount_out, BLOCK, spender=SPENDER, plan={"pool": 1})
    check_quote(Provider(), request, quote)
    assert quote.inputs == (Leg(USD, amount_in, USER),)
    (got,) = quote.outputs
    assert (got.account, got.amount) == (OTHER, amount_out)
    # One unit less than slippage allows would be refused; one more would not be needed.
    assert got.amount_min == max(amount_out * (10_000 - slippage_bps) // 10_000, 1)
    assert quote.spends == (Spend(USD.address, amount_in, SPENDER),)


@given(st.integers(2, 2**200), AMOUNTS, st.integers(0, 5_000), st.booleans())
def test_an_exact_output_passes_the_guard(amount_in, amount_out, slippage_bps, charged):
    fee = IntegratorFee(30, OTHER) if charged else None
    request = replace(REQUEST, amount_in=0, amount_out=amount_out, slippage_bps=slippage_bps, fee=fee)
    due = fee.of(amount_in) if charged else None
    quote = Quote.exact_out(request, amount_in + (due or 0), BLOCK, spender=SPENDER, fee_amount=due)
    check_quote(Provider(), request, quote)
    (paid,), (got,) = quote.inputs, quote.outputs
    assert paid.most >= paid.amount == amount_in + (due or 0)
    assert (got.amount, got.amount_min) == (amount_out, amount_out)
    assert quote.spends == (Spend(USD.address, paid.most, SPENDER),)


def test_the_native_coin_needs_no_spender_and_a_token_does():
    assert Quote.exact_in(replace(REQUEST, token_in=COIN), 5, BLOCK).spends == ()
    with pytest.raises(ValueError, match="name the spender"):
        Quote.exact_in(REQUEST, 5, BLOCK)


@pytest.mark.parametrize("amount", [0, -1, 1.5, True, "5", None])
def test_amounts_are_integers_from_one(amount):
    with pytest.raises(ValueError, match="amount_out must be"):
        Quote.exact_in(REQUEST, amount, BLOCK, spender=SPENDER)
    bought = replace(REQUEST, amount_in=0, amount_out=5)
    with pytest.raises(ValueError, match="amount_in must be"):
        Quote.exact_out(bought, amount, BLOCK, spender=SPENDER)


def test_each_side_has_its_own_builder():
    bought = replace(REQUEST, amount_in=0, amount_out=5)
    with pytest.raises(ValueError, match=r"use Quote\.exact_out"):
        Quote.exact_in(bought, 5, BLOCK, spender=SPENDER)
    with pytest.raises(ValueError, match=r"use Quote\.exact_in"):
        Quote.exact_out(REQUEST, 5, BLOCK, spender=SPENDER)


def sealed(request, quote):
    legs = {"inputs": quote.inputs, "outputs": quote.outputs, "slippage_bps": 50, "plan": {}}
    return SealedQuote(
        Capability.SWAP, "built", request, **legs, block=BLOCK, created_at=1, expires_at=2, deadline=None
    )


def test_a_call_spends_what_the_quote_takes_and_no_more():
    swap = function("swap(uint256 amount, uint256 minimum, address to)")
    quote = Quote.exact_in(REQUEST, 5_000, BLOCK, spender=SPENDER)
    build = Build.call(sealed(REQUEST, quote), swap, SPENDER, [1_000, 4_975, OTHER], deadline=77)
    (step,) = build.steps
    assert swap.decode(step.data) == (1_000, 4_975, OTHER)
    assert (step.to, step.value, step.chain_id, build.deadline) == (SPENDER, 0, 7, 77)
    assert build.spends == quote.spends
    assert (build.inputs, build.outputs) == (quote.inputs, quote.outputs)


def test_a_call_sends_the_native_coin_as_its_value():
    request = replace(REQUEST, token_in=COIN)
    quote = Quote.exact_in(request, 5_000, BLOCK)
    build = Build.call(sealed(request, quote), function("deposit()"), SPENDER, [])
    assert (build.steps[0].value, build.spends) == (1_000, ())


def test_spends_can_be_given_and_wrong_arguments_are_named():
    quote, burn = Quote.exact_in(REQUEST, 5_000, BLOCK, spender=SPENDER), function("burn(uint256 shares)")
    assert Build.call(sealed(REQUEST, quote), burn, SPENDER, [1], spends=()).spends == ()
    with pytest.raises(ValueError, match="uint256"):
        Build.call(sealed(REQUEST, quote), burn, SPENDER, [-1])
