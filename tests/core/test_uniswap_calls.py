"""Calls of Uniswap's Universal Router and position managers: what no quote makes cannot be read."""

from dataclasses import replace

import pytest
from guard_cases import FAR_WRAPPED, SEALED, Provider, check, refused
from quoteway.evm.abi import encode, function
from quoteway.evm.address import address_bytes
from quoteway.evm.calls import position_managers as managers
from quoteway.evm.calls.meaning import CLEARER, Unreadable
from quoteway.evm.calls.registry import CallRegistry
from quoteway.evm.calls.router_commands import ADDRESS_THIS, EXECUTE, OPEN_DELTA, Program, dialect
from quoteway.evm.permit2 import PermitSingle
from quoteway.models import MAX_UINT256, NATIVE, Build, Leg, PoolRequest, Step
from quoteway.networks import Network
from sold_usdc import DAI, GOT, MINIMUM, NOW, ROUTER, SOLD, THIEF, USDC, USER, WETH

LATER = NOW + 1200


def registry(kind, wrapped=WETH.address):
    return CallRegistry(
        [Network("ethereum", 1, "Ethereum", wrapped_native=wrapped, contracts={ROUTER: kind})]
    )


def read(kind, data, value=0, **more):
    return registry(kind, **more).read(Step(ROUTER, data, value, 1), USER)


# --- Universal Router ---------------------------------------------------------------------------------------

UNIVERSAL = "uniswap.universal-router@2.0"
COMMANDS, ACTIONS = dialect("2.0").command, dialect("2.0").action
V3_PATH = address_bytes(USDC.address) + (500).to_bytes(3) + address_bytes(WETH.address)
KEY = (USDC.address, WETH.address, 500, 10, NATIVE)
V4_HOP = (WETH.address, 500, 10, NATIVE, b"")


def program(*commands, names=COMMANDS):
    made = Program(names)
    for name, *args in commands:
        made.add(name, *args)
    return made


def routed(*commands, codes=None):
    made = program(*commands)
    return function(EXECUTE).encode([made.bytes if codes is None else codes, made.inputs, LATER])


def v4(*actions):
    made = program(*actions, names=ACTIONS)
    return "V4_SWAP", made.bytes, made.inputs


V3_SWAP = ("V3_SWAP_EXACT_IN", USER, SOLD, MINIMUM, V3_PATH, True)
V4_SWAP = (
    ("SETTLE", USDC.address, SOLD, True),
    ("SWAP_EXACT_IN", (USDC.address, [V4_HOP], SOLD, MINIMUM)),
    ("TAKE", WETH.address, USER, 0),
)


@pytest.mark.parametrize("commands", [(V3_SWAP,), (v4(*V4_SWAP),)])
def test_a_swap_through_the_router_is_read(commands):
    meaning = read(UNIVERSAL, routed(*commands)).meaning
    (charge,), (payment,) = meaning.charges, meaning.payments
    assert (charge.token, charge.maximum) == (USDC.address, SOLD)
    assert (payment.token, payment.recipient, payment.minimum) == (WETH.address, USER, MINIMUM)


PERMIT = PermitSingle(USDC.address, SOLD, LATER, 0, THIEF, LATER)


@pytest.mark.parametrize(
    ("commands", "finding"),
    [
        ([("PERMIT2_PERMIT", PERMIT.as_args(), bytes(65)), V3_SWAP], "permit is for another spender"),
        ([("V2_SWAP_EXACT_IN", USER, SOLD, MINIMUM, [USDC.address], True)], "path is too short"),
        ([("V3_SWAP_EXACT_IN", USER, SOLD, MINIMUM, V3_PATH[:20], True)], "no path of v3 pools"),
        ([("V3_SWAP_EXACT_IN", USER, SOLD, MINIMUM, V3_PATH + b"\0", True)], "no path of v3 pools"),
        ([v4(("SWAP_EXACT_IN", (USDC.address, [], SOLD, MINIMUM)))], "path is too short"),
        ([v4(*V4_SWAP[:2], ("TAKE", WETH.address, USER, MINIMUM))], "takes a part of a credit"),
    ],
)
def test_a_program_that_no_quote_makes_is_not_read(commands, finding):
    with pytest.raises(Unreadable, match=finding):
        read(UNIVERSAL, routed(*commands))


def test_a_router_wraps_the_coin_of_its_network_alone():
    wrapping = routed(("WRAP_ETH", USER, SOLD))
    assert read(UNIVERSAL, wrapping, SOLD).meaning.payments[0].token == WETH.address
    with pytest.raises(Unreadable, match="no wrapped native coin"):
        read(UNIVERSAL, wrapping, SOLD, wrapped=None)


def test_each_command_of_a_program_has_its_input_and_is_known():
    for codes, finding in (
        (b"", "need as many inputs"),
        (b"\0\0", "need as many"),
        (b"\x3f", "no command 0x3f"),
    ):
        with pytest.raises(ValueError, match=finding):
            read(UNIVERSAL, routed(V3_SWAP, codes=codes))


# --- position managers --------------------------------------------------------------------------------------

V3, V4 = "uniswap.v3-positions", "uniswap.v4-positions"
ALL = managers.MAX_UINT128
POSITION = 7


def called(declaration, *args):
    return function(declaration).encode([*args])


def multicall(*calls):
    return called(managers.MULTICALL, list(calls))


def increased(position=POSITION, most=(SOLD, GOT), least=(SOLD, MINIMUM)):
    return called(managers.INCREASE, (position, *most, *least, LATER))


def decreased(position=POSITION, least=(SOLD, MINIMUM)):
    return called(managers.DECREASE, (position, 10**6, *least, LATER))


def collected(to=USER, most=(ALL, ALL)):
    return called(managers.COLLECT, (POSITION, to, *most))


@pytest.mark.parametrize(
    ("calls", "finding"),
    [
        ((increased(), increased(8)), "changes more than one position"),
        ((decreased(), decreased(), collected()), "takes liquidity out twice"),
        ((decreased(), called("approve(address a, uint256 b)", THIEF, POSITION)), "is no call of a quote"),
        ((decreased(), collected(to=NATIVE)), "leaves tokens in the contract"),
        ((decreased(), collected(to=ROUTER)), "leaves tokens in the contract"),
        ((decreased(), collected(most=(ALL, ALL - 1))), "collects a part of what is owed"),
    ],
)
def test_a_multicall_that_no_quote_makes_is_not_read(calls, finding):
    with pytest.raises(Unreadable, match=finding):
        read(V3, multicall(*calls))


REFUND = called(managers.REFUND)


def test_coins_that_a_multicall_does_not_use_are_paid_back():
    assert read(V3, multicall(increased(), REFUND), GOT).meaning.action == "add"
    for calls in ((increased(),), (REFUND, increased()), (decreased(), collected())):
        with pytest.raises(Unreadable, match="leaves native coins"):
            read(V3, multicall(*calls), GOT)


def modified(*actions, codes=None, until=LATER):
    forms = {text.partition("(")[0]: (code, function(text)) for code, text in managers.ACTIONS.items()}
    made = [(forms[name][0], encode(forms[name][1].types, args)) for name, *args in actions]
    plan = bytes(code for code, _ in made) if codes is None else codes
    data = encode(("bytes", "bytes[]"), [plan, [params for _, params in made]])
    return called(managers.MODIFY, data, until)


TAKEN_OUT = ("DECREASE_LIQUIDITY", POSITION, 10**6, SOLD, MINIMUM, b"")
PAID_OUT = ("TAKE_PAIR", USDC.address, WETH.address, USER)


@pytest.mark.parametrize(
    ("data", "finding"),
    [
        (modified(TAKEN_OUT, PAID_OUT, codes=b"\x01"), "1 actions have 2 parameters"),
        (modified(TAKEN_OUT, PAID_OUT, codes=b"\x01\x3f"), "0x3f is no action"),
        (
            modified(TAKEN_OUT, ("TAKE", WETH.address, ADDRESS_THIS, 1), PAID_OUT),
            "leaves tokens in the contract",
        ),
        (modified(TAKEN_OUT, ("SWEEP", WETH.address, THIEF), PAID_OUT), "another account than the sender"),
        (modified(TAKEN_OUT, TAKEN_OUT, PAID_OUT), "takes liquidity out twice"),
        (modified(TAKEN_OUT, ("SETTLE", WETH.address, 1, False), PAID_OUT), "is not of a quote"),
    ],
)
def test_actions_that_no_quote_makes_are_not_read(data, finding):
    assert read(V4, modified(TAKEN_OUT, PAID_OUT)).meaning.action == "remove"
    with pytest.raises(Unreadable, match=finding):
        read(V4, data)


OFFER = ("SETTLE", NATIVE, GOT, True)
ADDED = ("INCREASE_LIQUIDITY_FROM_DELTAS", POSITION, GOT, SOLD, b"")


@pytest.mark.parametrize("settled", [GOT - 1, GOT + 1, OPEN_DELTA])
def test_coins_that_actions_do_not_use_are_paid_back(settled):
    for actions in ((OFFER, ADDED), (("SETTLE", NATIVE, settled, True), ADDED, ("SWEEP", NATIVE, USER))):
        assert read(V4, modified(*actions), GOT).meaning.action == "add"
    with pytest.raises(Unreadable, match="leaves native coins"):
        read(V4, modified(("SETTLE", NATIVE, settled, True), ADDED), GOT)


def test_what_a_manager_pays_out_whole_can_be_cleared_before():
    cleared = read(V3, multicall(increased(), REFUND), GOT).meaning.clearing
    assert cleared == ((ROUTER, REFUND),)  # it pays who sends it
    paid = called(managers.UNWRAP, 1, USER), called(managers.SWEEP_TOKEN, USDC.address, 1, USER)
    cleared = read(V3, multicall(decreased(), collected(to=NATIVE), *paid)).meaning.clearing
    assert cleared == (
        (ROUTER, called(managers.UNWRAP, 0, CLEARER)),
        (ROUTER, called(managers.SWEEP_TOKEN, USDC.address, 0, CLEARER)),
    )
    (cleared,) = read(V4, modified(OFFER, ADDED, ("SWEEP", NATIVE, USER)), GOT).meaning.clearing
    assert cleared == (ROUTER, modified(("SWEEP", NATIVE, CLEARER), until=MAX_UINT256))
    assert read(V4, modified(TAKEN_OUT, PAID_OUT)).meaning.clearing == ()


# --- positions whose tokens are not in the calldata ---------------------------------------------------------

POOL = PoolRequest(
    "1:" + USDC.address, 1, "add", USDC.address, None, USER, USER, 50, position_id=str(POSITION)
)
PAIR = (Leg(USDC, SOLD, USER, amount_min=SOLD), Leg(WETH, GOT, USER, amount_min=MINIMUM))


def of_position(data, *, inputs=(), outputs=(), kind=V3, **changes):
    """A build of one call for a position, its sealed quote, and the registry."""
    request = replace(POOL, **changes)
    sealed = replace(SEALED, request=request, inputs=inputs, outputs=outputs)
    build = Build((Step(ROUTER, data, 0, 1),), (), inputs, outputs, None)
    return build, sealed, registry(kind)


def lies(made, finding):
    build, sealed, calls = made
    refused(build, finding, sealed, calls=calls, provider=Provider())


def test_amounts_without_a_token_are_those_of_the_pools_tokens_in_order():
    build, sealed, calls = of_position(multicall(increased()), inputs=PAIR)
    check(build, sealed, calls=calls)
    for most in ((SOLD + 1, GOT), (SOLD, GOT + 1)):
        lies(of_position(multicall(increased(most=most)), inputs=PAIR), "takes more of")
    lies(of_position(multicall(increased(), increased()), inputs=PAIR), "takes something that is not quoted")
    lies(
        of_position(multicall(increased()), inputs=(*PAIR, Leg(DAI, 1, USER))), "takes something that is not"
    )


def test_what_a_position_pays_goes_to_the_quoted_account():
    """The sender may be paid, but not instead of the recipient that it named."""
    outputs = tuple(replace(leg, account=FAR_WRAPPED) for leg in PAIR)
    changes = {"action": "remove", "outputs": outputs, "recipient": FAR_WRAPPED}
    build, sealed, calls = of_position(multicall(decreased(), collected(to=FAR_WRAPPED)), **changes)
    check(build, sealed, calls=calls)
    lies(of_position(multicall(decreased(), collected(to=USER)), **changes), f"pays {USER}, another account")


def test_shares_of_a_pair_are_limited_by_what_is_used_of_both_tokens():
    def added(least):
        offer = [USDC.address, WETH.address, SOLD, GOT, *least, USER, LATER]
        return called(
            "addLiquidity(address a, address b, uint256 c, uint256 d, uint256 e, uint256 f, address to,"
            " uint256 until)",
            *offer,
        )

    pair = (Leg(USDC, SOLD, USER), Leg(WETH, GOT, USER))
    shares = (Leg(DAI, 10**6, USER, amount_min=995_000),)
    changes = {"inputs": pair, "outputs": shares, "kind": "uniswap.v2-router", "position_id": None}
    build, sealed, calls = of_position(added((SOLD, MINIMUM)), **changes)
    check(build, sealed, calls=calls)
    for least in ((SOLD, MINIMUM * 99 // 100), (SOLD * 99 // 100, GOT), (0, 0)):
        lies(of_position(added(least), **changes), f"does not enforce the minimum of {DAI.address}")
