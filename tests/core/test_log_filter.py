"""Filters of log subscriptions, as eth_subscribe of execution-apis and geth read them."""

import pytest
from quoteway.errors import InvalidRequest
from quoteway.evm.log_bloom import bloom_of
from quoteway.evm.log_filter import MAX_FILTER_ITEMS, LogFilter, read_filter

A, B = "0x" + "a1" * 20, "0x" + "b2" * 20
T, U, V = "0x" + "01" * 32, "0x" + "02" * 32, "0x" + "03" * 32


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, LogFilter()),
        ({}, LogFilter()),
        ({"address": None, "topics": None}, LogFilter()),
        ({"address": A.upper().replace("X", "x")}, LogFilter(frozenset([A]))),
        ({"address": [A, B], "topics": []}, LogFilter(frozenset([A, B]))),
        ({"address": [], "topics": [None, T]}, LogFilter(None, (None, frozenset([T])))),
        ({"topics": [[T, U], []]}, LogFilter(None, (frozenset([T, U]), None))),
        ({"topics": [[T, None]], "fromBlock": "latest"}, LogFilter(None, (None,))),
    ],
)
def test_filters_as_clients_write_them(given, expected):
    assert read_filter(given) == expected


@pytest.mark.parametrize(
    "given",
    [
        [],
        "logs",
        {"address": 5},
        {"address": "0x1"},
        {"address": [None]},
        {"address": {"a": A}},
        {"topics": T},
        {"topics": [5]},
        {"topics": [T[:-2]]},
        {"topics": [[T, 5]]},
        {"topics": [None] * 5},
        {"topics": [[[T]]]},
        {"fromBlock": "0x1"},
        {"blockHash": T},
        {"Address": A},
        {"topics": [["0x" + f"{n:064x}" for n in range(MAX_FILTER_ITEMS + 1)]]},
        {"address": ["0x" + f"{n:040x}" for n in range(MAX_FILTER_ITEMS)], "topics": [T]},
    ],
)
def test_other_filters_are_refused(given):
    with pytest.raises(InvalidRequest):
        read_filter(given)


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        ({}, True),
        ({"address": A}, True),
        ({"address": B}, False),
        ({"topics": [T]}, True),
        ({"topics": [U]}, False),
        ({"topics": [None, U]}, True),
        ({"topics": [T, T]}, False),
        ({"topics": [[V, T], [U, V]]}, True),
        ({"topics": [None, None, None]}, False),
        ({"topics": [T, U, None]}, False),
        ({"address": [A, B], "topics": [T, U]}, True),
    ],
)
def test_matching(wanted, matches):
    log_filter = read_filter(wanted)
    assert log_filter.matches(A, (T, U)) is matches
    bloom = bloom_of((A, T, U))
    assert log_filter.may_match(None)
    if matches:
        assert log_filter.may_match(bloom)
        assert log_filter.may_match(0) is False


def test_a_filter_of_other_items_is_told_by_the_bloom():
    bloom = bloom_of((A, T))
    assert not read_filter({"address": B}).may_match(bloom)
    assert not read_filter({"address": A, "topics": [U]}).may_match(bloom)
