"""The rows of families: one place for each fact, and a clear refusal of any other family."""

from dataclasses import replace

import pytest
from quoteway import InvalidRequest
from quoteway_amm import UNISWAP_GAS, UnknownFamily
from quoteway_uniswap import lens
from quoteway_uniswap.candidates import PoolRef
from quoteway_uniswap.families import BY_NUMBER, FAMILIES, family_of
from quoteway_uniswap.plans import hops_of_plan

A, B = (f"0x{digit * 40}" for digit in "12")


def test_every_family_has_gas_and_a_number_of_its_own():
    assert set(FAMILIES) == set(UNISWAP_GAS.hops)
    assert len(BY_NUMBER) == len(FAMILIES)
    assert all(family_of(kind).kind == kind for kind in FAMILIES)


def test_another_family_is_refused_by_its_name():
    ref = PoolRef("curve", A, A, A, B, 500)
    for refused in (lambda: family_of("curve"), lens.first_look(ref).packed):
        with pytest.raises(UnknownFamily, match="known are algebra, v2, v3, v4"):
            refused()
    assert lens.first_look(replace(ref, kind="v2")).packed()[0] == 2


def test_a_plan_with_another_family_cannot_be_read():
    with pytest.raises(InvalidRequest, match="request a new quote"):
        hops_of_plan({"tokens": [A, B], "legs": [[9, 0, 1, 500, 10, 0]]})
