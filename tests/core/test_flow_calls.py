"""A swap that splits and joins in one program of the Universal Router, and programs that steal from it."""

from dataclasses import replace

import pytest
from guard_cases import SEALED, Provider, check, plain, refused
from quoteway.errors import ConfigError
from quoteway.evm import permit2
from quoteway.evm.abi import encode, function
from quoteway.evm.address import address_bytes, create2_address, keccak256
from quoteway.evm.calls.meaning import CLEARER
from quoteway.evm.calls.registry import CallRegistry
from quoteway.evm.calls.router_commands import (
    ADDRESS_THIS,
    CONTRACT_BALANCE,
    EXECUTE,
    OPEN_DELTA,
    Program,
    dialect,
)
from quoteway.models import MAX_UINT256, NATIVE, Leg, Spend
from quoteway.networks import Network
from sold_usdc import DAI, ETHER, GOT, MINIMUM, NOW, ROUTER, SOLD, THIEF, USDC, USER, WETH

WORDS = dialect("2.0")
CALLS = CallRegistry(
    [
        Network(
            "ethereum",
            1,
            "Ethereum",
            wrapped_native=WETH.address,
            contracts={ROUTER: "uniswap.universal-router@2.0"},
        )
    ]
)
DIRECT, THROUGH = SOLD // 3, SOLD // 4
LAST = SOLD - DIRECT - THROUGH
SOME_DAI = 10**20


def path(*tokens):
    return address_bytes(tokens[0].address) + b"".join(
        b"\0\1\xf4" + address_bytes(t.address) for t in tokens[1:]
    )


def v3(sold, bought, amount, by_user, to=ADDRESS_THIS, minimum=0):
    return "V3_SWAP_EXACT_IN", to, amount, minimum, path(sold, bought), by_user


def v2(sold, bought, amount, by_user, to=ADDRESS_THIS, minimum=0):
    return "V2_SWAP_EXACT_IN", to, amount, minimum, [sold.address, bought.address], by_user


def v4(*actions):
    made = Program(WORDS.action)
    for name, *args in actions:
        made.add(name, *args)
    return "V4_SWAP", made.bytes, made.inputs


def sold_on_v4(amount, fee=500, minimum=0):
    key = (USDC.address, WETH.address, fee, 10, NATIVE)
    return "SWAP_EXACT_IN_SINGLE", (key, True, amount, minimum, b"")


def on_v4(settled=LAST, to=ADDRESS_THIS):
    return v4(
        ("SETTLE", USDC.address, settled, True),
        sold_on_v4(LAST // 2),
        sold_on_v4(LAST - LAST // 2, 3000),
        ("TAKE", WETH.address, to, OPEN_DELTA),
    )


SWEEP = ("SWEEP", WETH.address, USER, MINIMUM)
FLOW = (
    v3(USDC, WETH, DIRECT, True),
    v2(USDC, DAI, THROUGH, True),
    on_v4(),
    v2(DAI, WETH, SOME_DAI, False),
    v3(DAI, WETH, CONTRACT_BALANCE, False),
    SWEEP,
)


def built(*commands, value=0, **changes):
    made = Program(WORDS.command)
    for name, *args in commands:
        made.add(name, *args)
    data = function(EXECUTE).encode([made.bytes, made.inputs, NOW + 1200])
    spend = Spend(USDC.address, SOLD, permit2.ADDRESS, permit2_spender=ROUTER)
    build = plain(spends=(spend,), **changes)
    return replace(build, steps=(replace(build.steps[0], data=data, value=value),))


def changed(index, *commands):
    """The flow with other commands in the place of one; a negative index counts from the end."""
    index %= len(FLOW)
    return (*FLOW[:index], *commands, *FLOW[index + 1 :])


def test_an_honest_flow_is_read_with_its_charges_and_its_one_minimum():
    (reading,) = check(built(*FLOW), calls=CALLS)
    meaning = reading.meaning
    assert [(c.token, c.maximum) for c in meaning.charges] == [
        (USDC.address, DIRECT), (USDC.address, THROUGH), (USDC.address, LAST),
    ]  # fmt: skip
    (payment,) = meaning.payments
    assert (payment.token, payment.recipient, payment.minimum) == (WETH.address, USER, MINIMUM)


def sweeps(*tokens):
    """Calls by which anybody clears the router of these tokens."""
    form = WORDS.command("SWEEP")[1]
    inputs = [encode(form.types, [token, CLEARER, 0]) for token in tokens]
    calls = (function(EXECUTE).encode([b"\x04", [each], MAX_UINT256]) for each in inputs)
    return tuple((ROUTER, data) for data in calls)


DAI_USDC, WETH_DAI = (
    "0xAE461cA67B15dc8dc81CE7615e0320dA1A9aB8D5",
    "0xA478c2975Ab1Ea89e8196811F51A7B7Ade33eB11",
)
"""Uniswap's v2 pairs on Ethereum."""


def skims(*pairs):
    """Calls by which anybody takes out of v2 pairs what they hold above their reserves."""
    return tuple((pair, function("skim(address to)").encode([CLEARER])) for pair in pairs)


def test_the_tokens_of_which_a_program_spends_all_can_be_cleared_before():
    def cleared(*commands, value=0):
        step = replace(plain().steps[0], data=built(*commands).steps[0].data, value=value)
        return CALLS.read(step, USER).meaning.clearing

    assert cleared(*FLOW) == (*sweeps(DAI.address, WETH.address), *skims(DAI_USDC, WETH_DAI))
    assert cleared(v3(USDC, WETH, SOLD, True), ("UNWRAP_WETH", USER, MINIMUM)) == sweeps(WETH.address)
    assert cleared(("WRAP_ETH", USER, CONTRACT_BALANCE), value=SOLD) == sweeps(NATIVE)
    assert cleared(v3(USDC, WETH, SOLD, True, USER, MINIMUM)) == ()
    bought = ("V2_SWAP_EXACT_OUT", USER, GOT, SOLD, [USDC.address, DAI.address, WETH.address], True)
    assert cleared(bought) == skims(DAI_USDC, WETH_DAI)


def test_the_pairs_of_every_factory_of_a_network_are_cleared():
    """A router does not tell whose pairs it trades with."""
    other, digest = "0x1111111111111111111111111111111111111111", bytes(range(32))
    step = replace(plain().steps[0], data=built(v2(USDC, DAI, SOLD, True, USER, MINIMUM)).steps[0].data)

    def cleared(kind=None):
        contracts = {ROUTER: "uniswap.universal-router@2.0"} | ({other: kind} if kind else {})
        network = Network("ethereum", 1, "Ethereum", wrapped_native=WETH.address, contracts=contracts)
        return [to for to, _ in CallRegistry([network]).read(step, USER).meaning.clearing]

    tokens = b"".join(sorted((address_bytes(USDC.address), address_bytes(DAI.address))))
    elsewhere = create2_address(other, keccak256(tokens), digest)
    assert cleared() == [DAI_USDC]
    assert cleared(f"uniswap.v2-factory@0x{digest.hex()}") == [DAI_USDC, elsewhere]
    for wrong in ("0x", "uniswap", "00" * 31, "00" * 33):
        with pytest.raises(ConfigError, match="init code hash"):
            cleared(f"uniswap.v2-factory@{wrong}")


BACK = ("SWAP_EXACT_IN_SINGLE", ((USDC.address, WETH.address, 500, 10, NATIVE), False, MINIMUM, 0, b""))
LIES = {
    "a leg pays a thief": (changed(0, v3(USDC, WETH, DIRECT, True, THIEF)), f"pays {THIEF}"),
    "a leg in the middle pays a thief": (
        changed(3, v2(DAI, WETH, SOME_DAI, False, THIEF)),
        f"pays {THIEF}",
    ),
    "a TAKE pays a thief": (changed(2, on_v4(to=THIEF)), f"pays {THIEF}"),
    "a TAKE of what is sold pays a thief": (
        changed(2, v4(
            ("SETTLE", USDC.address, LAST, True), sold_on_v4(LAST // 2),
            ("TAKE", USDC.address, THIEF, OPEN_DELTA), ("TAKE", WETH.address, ADDRESS_THIS, OPEN_DELTA),
        )),
        f"pays {THIEF}",
    ),
    "a TAKE of what is sold pays the router": (
        changed(2, v4(
            ("SETTLE", USDC.address, LAST, True), sold_on_v4(LAST // 2),
            ("TAKE", USDC.address, ADDRESS_THIS, OPEN_DELTA),
            ("TAKE", WETH.address, ADDRESS_THIS, OPEN_DELTA),
        )),
        "may leave",
    ),
    "the SWEEP pays a thief": (changed(-1, ("SWEEP", WETH.address, THIEF, MINIMUM)), f"pays {THIEF}"),
    "the SWEEP pays the router": (changed(-1, ("SWEEP", WETH.address, ADDRESS_THIS, MINIMUM)), "may leave"),
    "the SWEEP enforces nothing": (changed(-1, ("SWEEP", WETH.address, USER, 0)), "enforces a minimum of 0"),
    "the SWEEP enforces less": (
        changed(-1, ("SWEEP", WETH.address, USER, MINIMUM - 1)),
        "less than quoted",
    ),
    "the SWEEP is missing": (FLOW[:-1], "may leave"),
    "the SWEEP is of another token": (changed(-1, ("SWEEP", DAI.address, USER, MINIMUM)), "may leave"),
    "a leg after the SWEEP": ((*FLOW[1:], FLOW[0]), "may leave"),
    "the last leg of a token is missing": (changed(4), "may leave"),
    "the last leg of a token takes a fixed amount": (
        changed(4, v3(DAI, WETH, SOME_DAI, False)),
        "may leave",
    ),
    "a leg takes twice its amount": (changed(0, v3(USDC, WETH, 2 * DIRECT, True)), "takes more of"),
    "a leg is there twice": ((FLOW[0], *FLOW), "takes more of"),
    "v4 takes more than its legs sell": (changed(2, on_v4(settled=LAST + 1)), "takes more of"),
    "v4 takes what it owes": (changed(2, on_v4(settled=OPEN_DELTA)), "does not name"),
    "a minimum that only pays back a debt": (
        (v4(
            ("SETTLE", USDC.address, SOLD, True), BACK, sold_on_v4(SOLD, 3000, MINIMUM),
            ("TAKE", WETH.address, USER, OPEN_DELTA), ("TAKE", USDC.address, USER, OPEN_DELTA),
        ),),
        "which it has sold before",
    ),
    "the router pays for a leg that nobody has paid": (
        changed(0, v3(USDC, WETH, DIRECT, False)),
        "more than the router holds",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("commands", "finding"), LIES.values(), ids=LIES.keys())
def test_a_program_that_steals_from_a_flow_is_refused(commands, finding):
    refused(built(*commands), finding, calls=CALLS, provider=Provider())


def test_a_minimum_of_2_to_the_160_cannot_be_written():
    """The router keeps its lowest 160 bits, and would enforce nothing."""
    build = built(*FLOW)
    data = build.steps[0].data.replace(MINIMUM.to_bytes(32), (1 << 160).to_bytes(32))
    assert data != build.steps[0].data
    refused(replace(build, steps=(replace(build.steps[0], data=data),)), "cannot be read", calls=CALLS)


# --- the native coin ----------------------------------------------------------------------------------------

COIN = replace(
    SEALED,
    request=replace(SEALED.request, token_in=ETHER, token_out=USDC, amount_in=GOT, permit2_signature=False),
    inputs=(Leg(ETHER, GOT, USER),),
    outputs=(Leg(USDC, SOLD, USER, amount_min=SOLD),),
)
HALF = GOT // 2
BY_COIN = v4(
    ("SETTLE", NATIVE, GOT - HALF, False),
    ("SWAP_EXACT_IN_SINGLE", ((NATIVE, USDC.address, 500, 10, NATIVE), True, GOT - HALF, 0, b"")),
    ("TAKE", USDC.address, ADDRESS_THIS, OPEN_DELTA),
)
WRAP = ("WRAP_ETH", ADDRESS_THIS, HALF)
BY_WRAPPED = v3(WETH, USDC, HALF, False)
END = ("SWEEP", USDC.address, USER, SOLD)


def of_coin(*commands):
    return replace(built(*commands, value=GOT), inputs=COIN.inputs, outputs=COIN.outputs, spends=())


def test_a_flow_of_the_coin_wraps_what_its_wrapped_legs_sell():
    (reading,) = check(of_coin(WRAP, BY_WRAPPED, BY_COIN, END), COIN, calls=CALLS)
    assert [(charge.token, charge.maximum) for charge in reading.meaning.charges] == [(NATIVE, GOT)]
    assert [payment.minimum for payment in reading.meaning.payments] == [SOLD]


@pytest.mark.parametrize(
    ("commands", "finding"),
    [
        ((WRAP, BY_WRAPPED, END), f"may leave {NATIVE}"),
        ((BY_COIN, END), f"may leave {NATIVE}"),
        ((WRAP, BY_COIN, END), f"may leave {WETH.address}"),
        ((WRAP, v3(WETH, USDC, HALF - 1, False), BY_COIN, END), f"may leave {WETH.address}"),
        ((("WRAP_ETH", ADDRESS_THIS, HALF - 1), BY_WRAPPED, BY_COIN, END), "more than the router holds"),
        ((("WRAP_ETH", ADDRESS_THIS, HALF + 1), BY_WRAPPED, BY_COIN, END), "more than the router holds"),
        ((("WRAP_ETH", THIEF, HALF), BY_COIN, END), f"pays {THIEF}"),
    ],
)
def test_a_part_of_the_coin_that_stays_in_the_router_is_refused(commands, finding):
    refused(of_coin(*commands), finding, COIN, calls=CALLS)


def test_a_minimum_in_the_coin_is_enforced_by_unwrapping():
    into_coin = replace(
        SEALED,
        request=replace(SEALED.request, token_out=ETHER),
        outputs=(Leg(ETHER, GOT, USER, amount_min=MINIMUM),),
    )
    for least, finding in ((MINIMUM, None), (MINIMUM - 1, "less than quoted")):
        commands = (*FLOW[:-1], ("UNWRAP_WETH", USER, least))
        build = replace(built(*commands), outputs=into_coin.outputs)
        if finding is None:
            check(build, into_coin, calls=CALLS)
        else:
            refused(build, finding, into_coin, calls=CALLS)
