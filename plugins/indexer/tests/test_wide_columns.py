"""Integers of 256 bits as DuckDB keeps them."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from quoteway_indexer.stores.wide import joined_values, split_value
from quoteway_indexer.stores.wide_arrow import split_column

SIGNED = st.one_of(st.none(), st.integers(-(2**255), 2**255 - 1), st.integers(-(2**128), 2**128))
UNSIGNED = st.one_of(st.none(), st.integers(0, 2**256 - 1), st.integers(0, 2**128))


def check(values, signed):
    words = [None if value is None else value.to_bytes(32, "big", signed=signed) for value in values]
    decimals, raw = split_column(pa.array(words, pa.binary(32)), signed)
    integers = [None if one is None else int(one) for one in decimals.to_pylist()]
    expected = [(None, None) if value is None else split_value(value, signed) for value in values]
    assert list(zip(integers, raw.to_pylist(), strict=True)) == expected
    assert joined_values(integers, raw.to_pylist(), signed) == values


@given(values=st.lists(SIGNED, max_size=20))
def test_signed_values_are_split_and_joined(values):
    check(values, True)


@given(values=st.lists(UNSIGNED, max_size=20))
def test_unsigned_values_are_split_and_joined(values):
    check(values, False)
