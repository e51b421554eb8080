"""The packed rows of a catalog are checked as its profiles are."""

import dataclasses

import msgspec
import pytest
from quoteway.guard.findings import UnsafeAnswer
from quoteway.guard.packed_tokens import check_rows, row_flaw
from quoteway.models import Token, TokenProfile, TokenRows
from quoteway.testing.fakes import ListedTokens

USDC = TokenProfile(
    "usdc", "USD Coin", "USDC", 1_700_000_000, (Token(1, "0x" + "a1" * 20, 6, "USDC", "USD Coin"),)
)
ROW = TokenRows.pack(USDC)
CATALOG = ListedTokens([])


def refused(answer, most_rows=10):
    with pytest.raises(UnsafeAnswer) as caught:
        check_rows(CATALOG, answer, most_rows)
    return str(caught.value)


def test_packed_rows_are_a_tuple():
    assert "tuple" in refused(TokenRows([ROW]))


def test_a_list_has_a_longest_length():
    assert check_rows(CATALOG, TokenRows((ROW,) * 2), 2).packed == (ROW, ROW)
    assert "more than 2 rows" in refused(TokenRows((ROW,) * 3), 2)


@pytest.mark.parametrize(
    "row",
    [
        "usdc",
        b"",
        b"\xc0",
        bytearray(ROW),
        ROW + b"\0",
        TokenRows.pack(dataclasses.replace(USDC, symbol="US\nDC")),
        TokenRows.pack(dataclasses.replace(USDC, tags=("a\u202eb",))),
        TokenRows.pack(dataclasses.replace(USDC, name="n" * 5_000)),
        TokenRows.pack(dataclasses.replace(USDC, rank="first")),
        TokenRows.pack(
            dataclasses.replace(USDC, contracts=(dataclasses.replace(USDC.contracts[0], decimals=256),))
        ),
        msgspec.msgpack.encode(["usdc", "USD Coin", "USDC", 1, [], None, [], {"unknown": 1}]),
    ],
    ids=range(11),
)
def test_a_row_that_is_no_profile_is_refused_without_its_content(row):
    found = row_flaw(row)
    assert found is not None
    answer = refused(TokenRows((ROW, row)))
    assert "row 1 of the list" in answer
    assert "USD Coin" not in answer


def test_a_row_that_was_checked_before_is_not_decoded_again():
    odd = b"kept"
    assert check_rows(CATALOG, TokenRows((odd,)), 10, {odd}).packed == (odd,)
