"""Weighted pools of Balancer v3: recorded answers of the makers' contracts, and what pools refuse.

`vectors/balancer_v3_swaps.json` has answers of the Vault's queries, in base units: `other` is the output for
`kind` "in" and the input for "out", null where the Vault reverts. test_balancer_v3_onchain.py asks anew.
"""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from quoteway_amm.balancer_v3 import WeightedV3Pool

ONE = 10**18
SWAPS = json.loads((Path(__file__).parent / "vectors" / "balancer_v3_swaps.json").read_text())
POOL = WeightedV3Pool(
    "0xp",
    ("0xa", "0xb", "0xc"),
    (10**24, 3 * 10**12, 2 * 10**24),
    (1, 10**12, 1),
    (ONE, 11 * ONE // 10, ONE),
    10**15,
    (ONE // 2, ONE // 4, ONE // 4),
    (10**6, 10**12, 10**6),
    10**6,
)


@pytest.mark.parametrize("swap", SWAPS, ids=lambda swap: f"{swap['kind']} {swap['amount']}")
def test_amounts_are_those_of_the_contracts(swap):
    members = {
        name: tuple(swap[name])
        for name in ("balances", "decimal_factors", "rates", "weights", "least_balances")
    }
    tokens = tuple(f"0x{at}" for at in range(len(swap["balances"])))
    pool = WeightedV3Pool("0xp", tokens, swap_fee=swap["swap_fee"], least_trade=10**6, **members)
    answer = pool.exact_in if swap["kind"] == "in" else pool.exact_out
    found = answer(swap["i"], swap["j"], swap["amount"])
    # What is too small gives 0, where the Vault reverts.
    assert found == swap["other"] or (swap["other"], found, swap["kind"]) == (None, 0, "in")


def test_what_the_vault_refuses():
    for refused in (0, -1, 2**128, 2**256):
        assert POOL.exact_in(0, 1, refused) is None
        assert POOL.exact_out(0, 1, refused) is None
    empty = replace(POOL, balances=(10**24, 0, 10**24))
    assert not empty.has_liquidity
    assert empty.mid_price(0, 1) == (0, 1)
    assert empty.exact_in(1, 0, 10**6) is None
    assert empty.exact_out(0, 1, 1) is None


def test_too_small_a_trade_is_refused():
    # After the fee of 0.1 %, rounded up, a million of 18 decimals must be left.
    pool = replace(POOL, balances=(10**12, 10**6, 2 * 10**12))
    assert pool.exact_in(0, 2, 1_001_002) > 0
    assert pool.exact_in(0, 2, 1_001_001) == 0
    assert pool.exact_out(2, 0, 10**6) is not None
    assert pool.exact_out(2, 0, 10**6 - 1) is None
    # What is bought must be as much: a fourth of a millionth is not.
    assert pool.exact_out(0, 2, 10**6) is None


def test_at_most_three_tenths_of_a_balance_are_traded():
    most = (10**24 + 1) * 3 // 10 * 1000 // 999
    assert POOL.exact_in(0, 1, most) is not None
    assert POOL.exact_in(0, 1, most + 2) is None
    assert POOL.exact_out(0, 2, 6 * 10**23) is not None
    assert POOL.exact_out(0, 2, 6 * 10**23 + 1) is None


def test_a_balance_below_the_pools_minimum_is_refused():
    small = replace(POOL, balances=(10**24, 3 * 10**12, 5 * 10**5))
    assert small.exact_in(2, 0, 10**5) == 0
    assert replace(small, least_trade=1).exact_in(2, 0, 10**5) is None
    assert replace(small, least_balances=(0, 0, 0), least_trade=1).exact_in(2, 0, 10**5) > 0


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"balances": (1, 2)}, "a value of each kind"),
        ({"balances": (1, 2, 2**128)}, "must fit uint128"),
        ({"balances": (1, 2**127, 1)}, "must fit uint128"),
        ({"balances": (1, 2, -1)}, "must fit uint128"),
        ({"rates": (ONE, 0, ONE)}, "must be positive"),
        ({"least_trade": -1}, "must be positive"),
        ({"weights": (ONE // 2, ONE // 2, ONE // 2)}, "positive weights"),
        ({"swap_fee": ONE}, "swap fee"),
        ({"tokens": ("0xa", "0xa", "0xb")}, "different tokens"),
    ],
)
def test_a_state_that_cannot_be_is_refused(wrong, why):
    with pytest.raises(ValueError, match=f"pool {POOL.id}: .*{why}"):
        replace(POOL, **wrong)


def test_states_are_pickled_and_hashed():
    assert pickle.loads(pickle.dumps(POOL)) == POOL
    assert hash(pickle.loads(pickle.dumps(POOL))) == hash(POOL)
