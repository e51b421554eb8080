from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quoteway.evm.units import format_units, readable_units


@pytest.mark.parametrize(
    ("amount", "decimals", "text"),
    [
        (1_500_000, 6, "1.5"),
        (1, 18, "0.000000000000000001"),
        (0, 18, "0"),
        (10**18, 18, "1"),
        (123, 0, "123"),
        (-1_500_000, 6, "-1.5"),
        ((1 << 256) - 1, 0, str((1 << 256) - 1)),
    ],
)
def test_formatting(amount, decimals, text):
    assert format_units(amount, decimals) == text


@given(st.integers(-(1 << 256), 1 << 256), st.integers(0, 77))
def test_readable_text_only_adds_groups(amount, decimals):
    text = readable_units(amount, decimals)
    assert text.replace(",", "") == format_units(amount, decimals)
    assert all(len(group) == 3 for group in text.partition(".")[0].split(",")[1:])


@given(st.integers(0, (1 << 256) - 1), st.integers(0, 77))
def test_text_goes_back_to_the_same_units(amount, decimals):
    text = format_units(amount, decimals)
    assert "e" not in text.lower()
    assert Fraction(text) * 10**decimals == amount
