"""What joined parts come to: legs of the whole, and what must be there before the first."""

from dataclasses import replace

from quoteway.engine.approvals import needs_of
from quoteway.engine.parts import total_legs, warnings_between
from quoteway.models import NATIVE, Build, Leg, Step, SwapRequest, Token
from sold_usdc import DAI, ETHER, USDC, USER

OTHER = "0x00000000000000000000000000000000000000A1"
FAR = Token(10, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85", 6, "USDC")


def build(inputs, outputs, value=0):
    step = Step(OTHER, b"", value, 1)
    return Build((step,), (), tuple(inputs), tuple(outputs))


def test_one_part_is_as_it_is():
    inputs, outputs = (Leg(DAI, 100, USER),), (Leg(USDC, 99, USER, 98),)
    assert total_legs([(inputs, outputs)]) == (inputs, outputs)


def test_what_is_passed_on_is_neither_given_nor_got_and_the_rest_is_an_output():
    swap = ((Leg(DAI, 100, USER),), (Leg(USDC, 99, USER, 98),))
    transfer = ((Leg(USDC, 98, USER),), (Leg(FAR, 97, OTHER, 97),))
    assert total_legs([swap, transfer]) == (
        (Leg(DAI, 100, USER),),
        (Leg(FAR, 97, OTHER, 97), Leg(USDC, 1, USER, 0)),
    )
    exact = ((Leg(DAI, 100, USER),), (Leg(USDC, 98, USER, 98),))
    assert total_legs([exact, transfer]) == ((Leg(DAI, 100, USER),), (Leg(FAR, 97, OTHER, 97),))


def test_what_an_earlier_part_surely_pays_need_not_be_there():
    swap = build([Leg(DAI, 100, USER)], [Leg(USDC, 99, USER, 98)])
    transfer = build([Leg(USDC, 98, USER)], [Leg(FAR, 97, OTHER, 97)])
    assert needs_of([swap, transfer], USER) == {DAI.address: 100}
    more = build([Leg(USDC, 100, USER)], [Leg(FAR, 97, OTHER, 97)])
    assert needs_of([swap, more], USER) == {DAI.address: 100, USDC.address: 2}
    elsewhere = build([Leg(DAI, 100, USER)], [Leg(USDC, 99, OTHER, 98)])
    assert needs_of([elsewhere, transfer], USER) == {DAI.address: 100, USDC.address: 98}
    far = build([Leg(DAI, 100, USER)], [Leg(Token(10, USDC.address, 6), 99, USER, 98)])
    assert needs_of([far, transfer], USER) == {DAI.address: 100, USDC.address: 98}


def test_the_coin_that_a_swap_pays_covers_the_value_of_the_transfer():
    swap = build([Leg(DAI, 100, USER)], [Leg(ETHER, 7, USER, 6)])
    transfer = build([Leg(ETHER, 6, USER)], [Leg(FAR, 5, OTHER, 5)], value=6)
    assert needs_of([swap, transfer], USER) == {DAI.address: 100}
    assert needs_of([transfer], USER) == {NATIVE: 6}


def test_the_passage_is_told_in_words_and_a_name_that_lies_is_not_used():
    request = SwapRequest(1, 10, replace(USDC, listed=True), FAR, 98_000_000, USER, OTHER, 50)
    assert warnings_between([request]) == ()
    batch, rest = warnings_between([request, request])
    assert (batch.code, rest.code) == ("not_atomic", "surplus_kept")
    assert "exactly 98 USDC" in rest.message
    odd = SwapRequest(1, 10, Token(1, USDC.address, 6, "\u202eCDSU"), FAR, 98_000_000, USER, OTHER, 50)
    assert f"exactly 98 {USDC.address}" in warnings_between([odd, odd])[1].message
