"""Swaps of Balancer v2's Vault as the core reads them, and calldata that steals or leaves something open."""

import random
from dataclasses import replace

import pytest
from guard_cases import built, check, refused, trade_of
from quoteway.evm.abi import function
from quoteway.evm.calls.balancer_vault import BATCH_SWAP, SWAP
from quoteway.evm.calls.registry import CallRegistry
from quoteway.guard.findings import UnsafeAnswer
from quoteway.models import NATIVE, Leg
from quoteway.networks import Network
from sold_usdc import DAI, ETHER, GOT, MINIMUM, NOW, ROUTER, SOLD, THIEF, USDC, USER, WETH

KIND = {ROUTER: "balancer.vault"}
CALLS = CallRegistry([Network("ethereum", 1, "Ethereum", wrapped_native=WETH.address, contracts=KIND)])
POOLS = [bytes([at]) * 32 for at in range(1, 6)]
FUNDS = (USER, False, USER, False)
UNTIL = NOW + 1200
FIRST, SECOND = SOLD // 3, SOLD - SOLD // 3

ASSETS = [USDC.address, WETH.address, DAI.address]
LIMITS = [SOLD, -MINIMUM, 0]
STEPS = (
    (POOLS[0], 0, 1, FIRST, b""),
    (POOLS[1], 0, 2, SECOND, b""),
    (POOLS[2], 2, 1, 0, b""),
)


def single(kind=0, sold=USDC.address, bought=WETH.address, amount=SOLD, data=b"", **more):
    given = {"funds": FUNDS, "limit": MINIMUM, "until": UNTIL} | more
    return function(SWAP).encode([(POOLS[0], kind, sold, bought, amount, data), *given.values()])


def batch(kind=0, steps=STEPS, assets=ASSETS, funds=FUNDS, limits=LIMITS, until=UNTIL):
    return function(BATCH_SWAP).encode([kind, steps, assets, funds, limits, until])


def test_the_selectors_are_those_of_the_vault():
    assert function(SWAP).selector.hex() == "52bbbe29"
    assert function(BATCH_SWAP).selector.hex() == "945bcec9"


@pytest.mark.parametrize("data", [single(), batch(), batch(steps=(STEPS[1], STEPS[2], STEPS[0]))])
def test_an_honest_swap_is_read(data):
    (reading,) = check(built(data), calls=CALLS)
    ((charge,), (payment,)) = reading.meaning.charges, reading.meaning.payments
    assert (charge.token, charge.maximum) == (USDC.address, SOLD)
    assert (payment.token, payment.recipient, payment.minimum) == (WETH.address, USER, MINIMUM)
    assert (reading.meaning.deadline, reading.meaning.owner) == (UNTIL, USER)


def coin_in(place):
    return [NATIVE if at == place else asset for at, asset in enumerate(ASSETS)]


def test_the_native_coin_is_the_value_of_the_transaction():
    sold, legs = trade_of(ETHER, WETH)
    sold = replace(sold, request=replace(sold.request, token_out=DAI))
    legs["outputs"] = (Leg(DAI, GOT, USER, amount_min=MINIMUM),)
    sold = replace(sold, **legs)
    for data in (
        single(sold=NATIVE, bought=DAI.address),
        batch(steps=((POOLS[0], 0, 1, SOLD, b""),), assets=[NATIVE, DAI.address], limits=LIMITS[:2]),
    ):
        (reading,) = check(built(data, SOLD, spends=(), **legs), sold, calls=CALLS)
        assert [(each.token, each.maximum) for each in reading.meaning.charges] == [(NATIVE, SOLD)]
        for value in (0, SOLD - 1):
            refused(built(data, value, spends=(), **legs), "its value is not", sold, calls=CALLS)
        refused(built(data, SOLD + 1, spends=(), **legs), "", sold, calls=CALLS)
    bought, legs = trade_of(USDC, ETHER)
    for data in (single(bought=NATIVE), batch(assets=coin_in(1))):
        (reading,) = check(built(data, **legs), bought, calls=CALLS)
        assert [each.token for each in reading.meaning.payments] == [NATIVE]
    for data in (single(), batch()):  # the wrapped coin instead of the coin
        refused(built(data, **legs), "does not pay", bought, calls=CALLS)


LIES = {
    "another sender": ({"funds": (THIEF, False, USER, False)}, "another account"),
    "another recipient": ({"funds": (USER, False, THIEF, False)}, "another account"),
    "the vault as recipient": ({"funds": (USER, False, ROUTER, False)}, "another account"),
    "from inside": ({"funds": (USER, True, USER, False)}, "balances inside the Vault"),
    "to inside": ({"funds": (USER, False, USER, True)}, "balances inside the Vault"),
    "an exact output": ({"kind": 1}, "no swap of a given input"),
    "no kind": ({"kind": 2}, "no swap of a given input"),
    "too late": ({"until": NOW}, "deadline"),
    "any time": ({"until": 2**256 - 1}, "deadline"),
    "another time": ({"until": UNTIL + 1}, "not the one"),
}


@pytest.mark.parametrize("make", [single, batch])
@pytest.mark.parametrize(("change", "finding"), LIES.values(), ids=LIES)
def test_a_lie_in_either_form_is_refused(make, change, finding):
    refused(built(make(**change)), finding, calls=CALLS)


SINGLE_LIES = {
    "a lower minimum": ({"limit": MINIMUM - 1}, "less than quoted"),
    "another token bought": ({"bought": DAI.address}, "does not pay"),
    "another token sold": ({"sold": DAI.address}, "takes more"),
    "more sold": ({"amount": SOLD + 1}, "takes more"),
    "data for the pool": ({"data": b"\1"}, "gives data to a pool"),
    "the coin for a token": ({"sold": NATIVE}, "its value is not"),
}


@pytest.mark.parametrize(("change", "finding"), SINGLE_LIES.values(), ids=SINGLE_LIES)
def test_a_lie_in_a_swap_is_refused(change, finding):
    refused(built(single(**change)), finding, calls=CALLS)


def stepped(place, **changes):
    """The steps with members of one of them changed, by their place."""
    step = [*STEPS[place]]
    for at, value in changes.items():
        step[int(at[1:])] = value
    return {"steps": (*STEPS[:place], tuple(step), *STEPS[place + 1 :])}


BATCH_LIES = {
    "a lower minimum": ({"limits": [SOLD, 1 - MINIMUM, 0]}, "less than quoted"),
    "no minimum": ({"limits": [SOLD, 0, 0]}, "one token sold and one bought"),
    "a maximum instead": ({"limits": [SOLD, MINIMUM, 0]}, "one token sold and one bought"),
    "more sold": ({"limits": [SOLD + 1, -MINIMUM, 0]}, "another amount than its limit"),
    "another token taken too": ({"limits": [SOLD, -MINIMUM, 1]}, "one token sold and one bought"),
    "another token paid too": ({"limits": [SOLD, -MINIMUM, -1]}, "one token sold and one bought"),
    "nothing taken": ({"limits": [0, -MINIMUM, 0]}, "one token sold and one bought"),
    "a limit less": ({"limits": LIMITS[:2]}, "does not give each token a limit"),
    "another token sold": ({"assets": [DAI.address, WETH.address, USDC.address]}, "takes more"),
    "another token bought": ({"assets": [USDC.address, DAI.address, WETH.address]}, "does not pay"),
    "a token twice": ({"assets": [USDC.address, WETH.address, WETH.address]}, "names a token twice"),
    "both forms of the coin": ({"assets": coin_in(2)}, "names a token twice"),
    "a token of no step": (
        {"assets": [*ASSETS, THIEF], "limits": [*LIMITS, 0]},
        "miss a token",
    ),
    "no steps": (
        {"steps": (), "assets": ASSETS[:2], "limits": LIMITS[:2]},
        "another amount than its limit",
    ),
    "a token that is not there": (stepped(1, _2=3), "buys what no path buys"),
    "a token for itself": (stepped(1, _2=0), "buys what no path buys"),
    "what is sold, bought": (stepped(2, _2=0), "buys what no path buys"),
    "more of the amount": (stepped(0, _3=FIRST + 1), "another amount than its limit"),
    "less of the amount": (stepped(0, _3=FIRST - 1), "another amount than its limit"),
    "a path in the middle of another": (
        {"steps": (STEPS[1], STEPS[0], STEPS[2])},
        "begins or ends with another token",
    ),
    "a path that ends early": ({"steps": (STEPS[0], STEPS[1])}, "do not end in what is bought"),
    "a stated amount in the middle": (stepped(2, _3=1), "begins or ends with another token"),
    "a first step without an amount": (stepped(0, _3=0), "what the step before it gave"),
    "a step after the end": (
        {"steps": (STEPS[0], (POOLS[3], 1, 2, 0, b""), STEPS[2], STEPS[1], STEPS[2])},
        "what the step before it gave",
    ),
    "a step that takes another token": (
        {
            "steps": (
                (POOLS[0], 0, 3, FIRST, b""),
                (POOLS[1], 3, 1, 0, b""),
                (POOLS[2], 0, 2, SECOND, b""),
                (POOLS[3], 3, 1, 0, b""),
            ),
            "assets": [*ASSETS, THIEF],
            "limits": [*LIMITS, 0],
        },
        "what the step before it gave",
    ),
    "data for a pool": (stepped(2, _4=b"\0"), "gives data to a pool"),
}


@pytest.mark.parametrize(("change", "finding"), BATCH_LIES.values(), ids=BATCH_LIES)
def test_a_lie_in_a_batch_is_refused(change, finding):
    refused(built(batch(**change)), finding, calls=CALLS)


@pytest.mark.parametrize("data", [single(), batch()])
def test_no_changed_byte_harms(data):
    """What passes takes no more, pays no less, and pays the same account in the same token."""
    rng, passed = random.Random(11), 0
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ rng.randrange(1, 256)]) + data[place + 1 :]
        try:
            (reading,) = check(built(changed), calls=CALLS)
        except UnsafeAnswer:
            continue
        passed += 1
        ((charge,), (payment,)) = reading.meaning.charges, reading.meaning.payments
        assert (charge.token, payment.token, payment.recipient) == (USDC.address, WETH.address, USER)
        assert charge.maximum <= SOLD
        assert payment.minimum >= MINIMUM
        assert (reading.meaning.deadline, reading.meaning.owner) == (UNTIL, USER)
    # The ids of pools, a lower input and a higher minimum.
    assert 0 < passed < 250


def test_words_of_a_batch_that_change_places_do_not_harm():
    data, rng = batch(), random.Random(12)
    words = [data[at : at + 32] for at in range(4, len(data), 32)]
    for _ in range(500):
        changed = [*words]
        for _ in range(rng.randint(1, 2)):
            a, b = rng.randrange(len(words)), rng.randrange(len(words))
            changed[a] = rng.choice([words[b], bytes(32), b"\xff" * 32, (1).to_bytes(32)])
        try:
            (reading,) = check(built(data[:4] + b"".join(changed)), calls=CALLS)
        except UnsafeAnswer:
            continue
        ((charge,), (payment,)) = reading.meaning.charges, reading.meaning.payments
        assert (charge.token, payment.token, payment.recipient) == (USDC.address, WETH.address, USER)
        assert (charge.maximum, reading.meaning.owner) == (SOLD, USER)
        assert payment.minimum >= MINIMUM


def test_calldata_with_more_or_fewer_bytes_is_refused():
    for data in (single(), batch()):
        for changed in (data + b"\0", data + bytes(32), data[:-1], data[:-32], data[:4]):
            refused(built(changed), "cannot be read", calls=CALLS)
