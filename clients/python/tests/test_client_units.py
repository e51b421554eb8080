"""Decimal text and base units."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quoteway_client import from_units, to_units


@pytest.mark.parametrize(
    ("text", "decimals", "units"),
    [
        ("1.5", 18, 15 * 10**17),
        ("0.000001", 6, 1),
        ("1.50", 1, 15),
        (7, 0, 7),
        ("-2.5", 2, -250),
        ("1", 255, 10**255),
        ("007", 0, 7),
    ],
)
def test_text_is_base_units(text, decimals, units):
    assert to_units(text, decimals) == units


@settings(max_examples=40)
@given(st.integers(-(2**256), 2**256), st.integers(0, 77))
def test_there_and_back_nothing_is_lost(units, decimals):
    assert to_units(from_units(units, decimals), decimals) == units


@pytest.mark.parametrize(
    "bad", ["", ".5", "5.", "1e18", "1,5", " 1", "0x10", "１", "NaN", "--1", "+1", "1.5.2"]
)
def test_what_is_no_decimal_number_is_refused(bad):
    with pytest.raises(ValueError, match="no decimal number"):
        to_units(bad, 18)


def test_more_digits_than_the_token_has_are_refused():
    with pytest.raises(ValueError, match="7 digits after the point, and the token has 6 decimals"):
        to_units("0.0000001", 6)


@pytest.mark.parametrize("bad", [1.5, True, None, b"1"])
def test_floats_are_refused(bad):
    with pytest.raises(TypeError, match="write it as"):
        to_units(bad, 18)


def test_decimals_are_an_integer_in_range():
    with pytest.raises(TypeError):
        to_units("1", 18.0)
    with pytest.raises(ValueError, match="from 0 to 255"):
        from_units(1, 256)
    with pytest.raises(TypeError, match="base units are an int"):
        from_units("1", 6)
