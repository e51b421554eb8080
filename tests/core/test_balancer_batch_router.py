"""Swaps of Balancer v3's BatchRouter as the core reads them, and calldata that leaves something open."""

import random
from dataclasses import replace

import pytest
from guard_cases import SEALED, built, check, refused, trade_of
from quoteway.evm.abi import function
from quoteway.evm.calls.balancer_batch_router import SWAP_EXACT_IN
from quoteway.evm.calls.registry import CallRegistry
from quoteway.guard.findings import UnsafeAnswer
from quoteway.networks import Network
from sold_usdc import DAI, ETHER, MINIMUM, NOW, ROUTER, SOLD, THIEF, USDC, USER, WETH

KIND = {ROUTER: "balancer.batch-router"}
CALLS = CallRegistry([Network("ethereum", 1, "Ethereum", wrapped_native=WETH.address, contracts=KIND)])
POOLS = [f"0x{at:040x}" for at in range(1, 6)]
UNTIL = NOW + 1200
FIRST, SECOND = SOLD // 3, SOLD - SOLD // 3
LEAST, REST = MINIMUM // 3, MINIMUM - MINIMUM // 3


def step(pool, token, is_buffer=False):
    return POOLS[pool], token.address, is_buffer


ONE = ((USDC.address, (step(0, WETH),), SOLD, MINIMUM),)
TWO = (
    (USDC.address, (step(0, WETH),), FIRST, LEAST),
    (USDC.address, (step(1, DAI), step(2, WETH)), SECOND, REST),
)


def call(paths=TWO, until=UNTIL, of_coin=False, data=b""):
    return function(SWAP_EXACT_IN).encode([paths, until, of_coin, data])


def test_the_selector_is_that_of_the_router():
    assert function(SWAP_EXACT_IN).selector.hex() == "286f580d"


@pytest.mark.parametrize("paths", [ONE, TWO, TWO[::-1]])
def test_an_honest_swap_is_read(paths):
    (reading,) = check(built(call(paths)), calls=CALLS)
    ((charge,), (payment,)) = reading.meaning.charges, reading.meaning.payments
    assert (charge.token, charge.maximum) == (USDC.address, SOLD)
    assert (payment.token, payment.recipient, payment.minimum) == (WETH.address, USER, MINIMUM)
    assert reading.meaning.deadline == UNTIL


def test_the_native_coin_is_the_value_of_the_transaction():
    sold, legs = trade_of(ETHER, DAI)
    data = call(((WETH.address, (step(0, DAI),), SOLD, MINIMUM),), of_coin=True)
    (reading,) = check(built(data, SOLD, spends=(), **legs), sold, calls=CALLS)
    assert [(each.token, each.maximum) for each in reading.meaning.charges] == [(ETHER.address, SOLD)]
    for value in (0, SOLD - 1):
        refused(built(data, value, spends=(), **legs), "its value is not", sold, calls=CALLS)
    refused(built(data, SOLD + 1, spends=(), **legs), "", sold, calls=CALLS)
    bought, legs = trade_of(USDC, ETHER)
    (reading,) = check(built(call(of_coin=True), **legs), bought, calls=CALLS)
    assert [each.token for each in reading.meaning.payments] == [ETHER.address]
    # The wrapped coin instead of the coin.
    refused(built(call(), **legs), "does not pay", bought, calls=CALLS)


def test_the_coin_is_named_only_where_it_is_traded():
    swap, legs = trade_of(USDC, DAI)
    paths = ((USDC.address, (step(0, DAI),), SOLD, MINIMUM),)
    assert check(built(call(paths), **legs), swap, calls=CALLS)
    refused(built(call(paths, of_coin=True), **legs), "says that it takes or pays", swap, calls=CALLS)


def test_another_recipient_is_not_paid():
    request = replace(SEALED.request, recipient=THIEF)
    outputs = (replace(SEALED.outputs[0], account=THIEF),)
    sealed = replace(SEALED, request=request, outputs=outputs)
    refused(built(call(), outputs=outputs), "", sealed, calls=CALLS)


def path(*steps, sold=USDC, amount=SOLD, least=MINIMUM):
    return {"paths": ((sold.address, steps, amount, least),)}


LIES = {
    "a lower minimum": (path(step(0, WETH), least=MINIMUM - 1), "less than quoted"),
    "a lower minimum of one path": ({"paths": (TWO[0], (*TWO[1][:3], REST - 1))}, "less than quoted"),
    "more sold": (path(step(0, WETH), amount=SOLD + 1), "takes more"),
    "another token sold": (path(step(0, WETH), sold=DAI), "takes more"),
    "another token bought": (path(step(0, DAI)), "does not pay"),
    "two tokens sold": ({"paths": (TWO[0], (DAI.address, *TWO[1][1:]))}, "do not all sell one token"),
    "two tokens bought": (
        {"paths": (TWO[0], (USDC.address, (step(1, DAI),), *TWO[1][2:]))},
        "do not all sell",
    ),
    "no paths": ({"paths": ()}, "do not all sell one token"),
    "a path without steps": ({"paths": (TWO[0], (USDC.address, (), *TWO[1][2:]))}, "do not all sell"),
    "a buffer": (path(step(0, WETH, True)), "no swap in a pool"),
    "a pool's token sold": (path((USDC.address, WETH.address, False)), "no swap in a pool"),
    "a pool's token bought": (path((WETH.address, WETH.address, False)), "no swap in a pool"),
    "a pool's token on the way": (
        path(step(0, DAI), (DAI.address, WETH.address, False)),
        "no swap in a pool",
    ),
    "what is sold, bought on the way": (path(step(0, USDC), step(1, WETH)), "passes one of its ends"),
    "what is bought, on the way": (
        path(step(0, WETH), step(1, DAI), step(2, WETH)),
        "passes one of its ends",
    ),
    "data for pools": ({"data": b"\0"}, "gives data to pools"),
    "the coin for a token": ({"of_coin": True}, "does not pay"),
    "too late": ({"until": NOW}, "deadline"),
    "any time": ({"until": 2**256 - 1}, "deadline"),
    "another time": ({"until": UNTIL + 1}, "not the one"),
}


@pytest.mark.parametrize(("change", "finding"), LIES.values(), ids=LIES)
def test_a_lie_is_refused(change, finding):
    refused(built(call(**change)), finding, calls=CALLS)


def harmless(reading):
    """Asserts that a call takes no more, pays no less, and pays the same account in the same token."""
    ((charge,), (payment,)) = reading.meaning.charges, reading.meaning.payments
    assert (charge.token, payment.token, payment.recipient) == (USDC.address, WETH.address, USER)
    assert charge.maximum <= SOLD
    assert payment.minimum >= MINIMUM
    assert reading.meaning.deadline == UNTIL


@pytest.mark.parametrize("paths", [ONE, TWO])
def test_no_changed_byte_harms(paths):
    rng, passed, data = random.Random(11), 0, call(paths)
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ rng.randrange(1, 256)]) + data[place + 1 :]
        try:
            (reading,) = check(built(changed), calls=CALLS)
        except UnsafeAnswer:
            continue
        passed += 1
        harmless(reading)
    # Pools, tokens on the way, a lower input and a higher minimum.
    assert 0 < passed < 200


def test_words_that_change_places_do_not_harm():
    data, rng = call(), random.Random(12)
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
        harmless(reading)


def test_calldata_with_more_or_fewer_bytes_is_refused():
    data = call()
    for changed in (data + b"\0", data + bytes(32), data[:-1], data[:-32], data[:4]):
        refused(built(changed), "cannot be read", calls=CALLS)
