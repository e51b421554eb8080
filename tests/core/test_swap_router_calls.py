"""What the core reads in the calls of a v3 SwapRouter, and that no changed byte goes unnoticed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quoteway.evm.abi import function
from quoteway.evm.address import address_bytes
from quoteway.evm.calls.meaning import CLEARER, Charge, Payment
from quoteway.evm.calls.registry import CallRegistry
from quoteway.evm.calls.swap_routers import ALGEBRA_ROUTER, MULTICALL, SWEEP, V3_ROUTER
from quoteway.models import NATIVE, Step
from quoteway.networks import Network

ROUTER, WETH, USDC, DAI, ALGEBRA = ("0x" + digit * 40 for digit in "12347")
SENDER, THIEF = "0x" + "5" * 40, "0x" + "6" * 40
AMOUNT, LEAST, UNTIL = 10**18, 10**9, 1_900_000_000
KINDS = {ROUTER: "uniswap.v3-router", ALGEBRA: "algebra.router"}
REGISTRY = CallRegistry([Network("n", 7, "N", wrapped_native=WETH, contracts=KINDS)])
UNWRAP, REFUND = function(V3_ROUTER.unwrap), function(V3_ROUTER.refund)


def single(sold=WETH, bought=USDC, to=SENDER, amount=AMOUNT, least=LEAST, until=UNTIL, limit=0):
    return function(V3_ROUTER.single).encode([(sold, bought, 500, to, until, amount, least, limit)])


def along(*tokens, to=SENDER, amount=AMOUNT, least=LEAST, until=UNTIL):
    path = address_bytes(tokens[0]) + b"".join(b"\x00\x01\xf4" + address_bytes(each) for each in tokens[1:])
    return function(V3_ROUTER.path).encode([(path, to, until, amount, least)])


def multicall(*calls):
    return function(MULTICALL).encode([list(calls)])


def read(data, value=0):
    reading = REGISTRY.read(Step(ROUTER, data, value, 7), SENDER)
    assert reading is not None
    return reading


def meaning(data, value=0):
    return read(data, value).meaning


@pytest.mark.parametrize("data", [single(DAI), along(DAI, WETH, USDC), multicall(single(DAI))])
def test_a_swap_pays_its_recipient_the_minimum(data):
    found = meaning(data)
    assert found.action == "swap"
    assert found.charges == (Charge(DAI, AMOUNT),)
    assert found.payments == (Payment(USDC, SENDER, LEAST),)
    assert found.deadline == UNTIL


def test_the_native_coin_is_sold_with_a_refund_and_bought_by_unwrapping():
    sold = meaning(multicall(single(), REFUND.encode([])), AMOUNT)
    assert sold.charges == (Charge(NATIVE, AMOUNT),)
    assert sold.payments == (Payment(USDC, SENDER, LEAST),)
    assert sold.clearing == ((ROUTER, REFUND.encode([])),)
    bought = meaning(multicall(along(DAI, USDC, WETH, to=NATIVE), UNWRAP.encode([LEAST - 1, SENDER])))
    assert bought.charges == (Charge(DAI, AMOUNT),)
    assert bought.payments == (Payment(NATIVE, SENDER, LEAST),)
    assert bought.clearing == ((ROUTER, UNWRAP.encode([0, CLEARER])),)


def test_parts_that_the_router_holds_are_paid_with_their_sum():
    parts = single(DAI, to=ROUTER), along(DAI, WETH, USDC, to=NATIVE, least=7, until=UNTIL - 1)
    sweep = function(SWEEP).encode([USDC, LEAST + 100, SENDER])
    found = meaning(multicall(*parts, sweep))
    assert found.charges == (Charge(DAI, AMOUNT), Charge(DAI, AMOUNT))
    assert found.payments == (Payment(USDC, SENDER, LEAST + 100),)
    assert found.deadline == UNTIL - 1
    assert [call.signature.partition("(")[0] for call in read(multicall(*parts, sweep)).decoded.inner] == [
        "exactInputSingle",
        "exactInput",
        "sweepToken",
    ]


SWEEP_CALL = function(SWEEP)
REFUSED = {
    "bought coins stay in the router": (single(DAI, WETH, to=NATIVE), 0),
    "a part stays in the router": (multicall(single(DAI, to=ROUTER), single(DAI)), 0),
    "the rest of the value stays": (single(), AMOUNT),
    "the refund comes before the swap": (multicall(REFUND.encode([]), single()), AMOUNT),
    "the value does not cover the swap": (multicall(single(), REFUND.encode([])), AMOUNT - 1),
    "another token than the value is sold": (multicall(single(DAI), REFUND.encode([])), AMOUNT),
    "nothing was bought of what is swept": (
        multicall(single(DAI), SWEEP_CALL.encode([WETH, 0, SENDER])),
        0,
    ),
    "the router pays itself": (
        multicall(single(DAI, to=ROUTER), SWEEP_CALL.encode([USDC, LEAST, ROUTER])),
        0,
    ),
    "it stops at a price": (single(DAI, limit=1), 0),
    "it refunds without a value": (multicall(single(DAI), REFUND.encode([])), 0),
    "it swaps nothing": (multicall(), 0),
    "it sells what it bought": (
        multicall(single(DAI, to=ROUTER), single(USDC, DAI), SWEEP_CALL.encode([USDC, 0, SENDER])),
        0,
    ),
    "a multicall in a multicall": (multicall(multicall(single(DAI))), 0),
    "a path that is none": (function(V3_ROUTER.path).encode([(bytes(43 + 5), SENDER, UNTIL, 1, 1)]), 0),
    "a path with bytes between its tokens": (
        function(V3_ROUTER.path).encode(
            [(address_bytes(DAI) + bytes(8) + address_bytes(USDC), SENDER, UNTIL, 1, 1)]
        ),
        0,
    ),
    "a path of one token": (along(DAI), 0),
    "a path back to its first token": (along(DAI, WETH, DAI), 0),
    "another function inside": (
        multicall(single(DAI), function("approve(address spender, uint256 amount)").encode([THIEF, 1])),
        0,
    ),
    "bytes behind the arguments": (single(DAI) + b"\0", 0),
    "bytes behind inner arguments": (multicall(single(DAI) + b"\0"), 0),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_quote_needs_is_refused(case):
    data, value = REFUSED[case]
    with pytest.raises(ValueError, match=r"\w"):
        read(data, value)


def test_a_refusal_says_what_is_missing():
    with pytest.raises(ValueError, match="it swaps nothing"):
        read(multicall(REFUND.encode([])), AMOUNT)
    bare = CallRegistry([Network("n", 7, "N", contracts=KINDS)])
    unwrapping = multicall(along(DAI, USDC, WETH, to=NATIVE), UNWRAP.encode([LEAST, SENDER]))
    with pytest.raises(ValueError, match="has no wrapped native coin"):
        bare.read(Step(ROUTER, unwrapping, 0, 7), SENDER)


def test_a_thief_is_named():
    found = meaning(multicall(single(DAI, to=ROUTER), SWEEP_CALL.encode([USDC, LEAST, THIEF])))
    assert found.payments == (Payment(USDC, THIEF, LEAST),)


VALID = [
    (single(DAI), 0),
    (along(DAI, WETH, USDC), 0),
    (multicall(single(), REFUND.encode([])), AMOUNT),
    (multicall(along(DAI, USDC, WETH, to=NATIVE), UNWRAP.encode([LEAST, SENDER])), 0),
    (
        multicall(
            single(DAI, to=ROUTER),
            along(DAI, WETH, USDC, to=ROUTER),
            SWEEP_CALL.encode([USDC, 2 * LEAST, SENDER]),
        ),
        0,
    ),
]


@given(st.sampled_from(VALID), st.data())
def test_each_changed_byte_is_refused_or_changes_the_meaning(case, data):
    calldata, value = case
    at = data.draw(st.integers(0, len(calldata) - 1))
    changed = bytearray(calldata)
    changed[at] ^= data.draw(st.integers(1, 255))
    before = read(calldata, value)
    try:
        reading = REGISTRY.read(Step(ROUTER, bytes(changed), value, 7), SENDER)
    except ValueError:
        return
    if reading is None or reading.meaning != before.meaning:
        return
    # Only the choice of pools is left to the minimum, and the second minimum of what is paid out.
    free = _free(before.decoded), _free(reading.decoded)
    assert free[0] == free[1]


def _free(call):
    """Returns a decoded call without the choice of pools and without minimums that others exceed."""
    args = tuple(replace(arg, value=_bare(arg.value)) for arg in call.args if arg.name != "data")
    if call.signature.startswith(("unwrapWETH9", "sweepToken")):
        args = args[1:] if call.signature.startswith("unwrapWETH9") else (args[0], args[2])
    return call.signature, args, tuple(map(_free, call.inner))


def _bare(value):
    if isinstance(value, tuple) and len(value) == 8:
        return value[:2] + value[3:]
    if isinstance(value, tuple) and len(value) == 5:
        return (value[0][:42], value[0][-40:], len(value[0]), *value[1:])
    return value


def test_routers_of_algebra_name_pools_by_their_deployer():
    def read_algebra(data, value=0):
        return REGISTRY.read(Step(ALGEBRA, data, value, 7), SENDER).meaning

    def path(*tokens, to=SENDER):
        rest = b"".join(bytes(20) + address_bytes(each) for each in tokens[1:])
        params = address_bytes(tokens[0]) + rest, to, UNTIL, AMOUNT, LEAST
        return function(ALGEBRA_ROUTER.path).encode([params])

    swap = function(ALGEBRA_ROUTER.single).encode([(WETH, USDC, NATIVE, SENDER, UNTIL, AMOUNT, LEAST, 0)])
    refund = function(ALGEBRA_ROUTER.refund).encode([])
    assert read_algebra(swap).payments == (Payment(USDC, SENDER, LEAST),)
    assert read_algebra(multicall(swap, refund), AMOUNT).charges == (Charge(NATIVE, AMOUNT),)
    unwrap = function(ALGEBRA_ROUTER.unwrap).encode([LEAST, SENDER])
    sold = read_algebra(multicall(path(DAI, USDC, WETH, to=NATIVE), unwrap))
    assert sold.payments == (Payment(NATIVE, SENDER, LEAST),)
    assert read_algebra(path(DAI, USDC)).charges == (Charge(DAI, AMOUNT),)
    for wrong in (
        along(DAI, USDC),
        multicall(swap, REFUND.encode([])),
        multicall(path(DAI, WETH, to=NATIVE)),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            read_algebra(wrong)
