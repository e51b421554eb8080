"""Rows of the items of arrays are what ``eth_abi`` decodes; a log whose arrays do not fit makes no row."""

import re

import pytest
from decoded_logs import CONTRACT, log_of, number, rows, signed, source_of, unsigned
from hypothesis import given, settings
from hypothesis import strategies as st
from quoteway import EventRule
from quoteway_indexer.ingest.decoding import compile_source
from quoteway_indexer.ingest.logs import UnreadableLogsError

CHANGED = EventRule(
    "Changed(bytes32 indexed id, address indexed owner, address[] tokens, int256[] deltas, uint256[] fees)",
    "token_liquidity",
    {
        "place": "#",
        "pool": "id",
        "owner": "owner",
        "token": "tokens[]",
        "amount": "deltas[]",
        "protocol_fee": "fees[]",
    },
)
CHANGED_SIGNATURE = "Changed(bytes32,address,address[],int256[],uint256[])"
ADDED = EventRule(
    "Added(address indexed owner, uint256[3] amounts, uint256[3] fees, uint256 left, uint256 supply)",
    "token_liquidity",
    {
        "place": "#",
        "pool": "@",
        "owner": "owner",
        "amount": "-amounts[]",
        "fee": "fees[]",
        "share_supply": "supply",
    },
)
LISTED = EventRule(
    "Listed(address indexed pool, (address token, uint8 kind, bool pays)[] config, uint256 fee)",
    "pool_token",
    {"place": "#", "pool": "pool", "token": "config[].token"},
)
ID, OWNER = b"\x05" * 32, b"\x06" * 20
ADDRESS = st.binary(min_size=20, max_size=20)


def changed(tokens, deltas, fees, index=0):
    data = [("address[]", tokens), ("int256[]", deltas), ("uint256[]", fees)]
    return log_of(CHANGED_SIGNATURE, [("bytes32", ID), ("address", OWNER)], data, index=index)


changes = st.lists(st.tuples(ADDRESS, signed(256), unsigned(256)), max_size=9)


@settings(max_examples=100, deadline=None)
@given(st.lists(changes, min_size=1, max_size=8))
def test_a_log_makes_a_row_of_each_item_as_eth_abi_has_it(logged):
    logs = [
        changed([row[0] for row in log], [row[1] for row in log], [row[2] for row in log], index)
        for index, log in enumerate(logged)
    ]
    facts, skipped = rows(source_of(CHANGED), logs)
    assert not skipped
    found = [
        (row["log_index"], row["place"], row["token"], number(row["amount"]), row["protocol_fee"])
        for row in facts["token_liquidity"]
    ]
    assert found == [
        (index, place, token, delta, fee.to_bytes(32))
        for index, log in enumerate(logged)
        for place, (token, delta, fee) in enumerate(log)
    ]
    assert all(
        (row["pool"], row["owner"], row["fee"], row["block"]) == (ID, OWNER, None, 7)
        for row in facts["token_liquidity"]
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(unsigned(255), min_size=6, max_size=6), unsigned(256))
def test_arrays_of_a_fixed_length_lie_between_other_words(amounts, supply):
    data = [("uint256[3]", amounts[:3]), ("uint256[3]", amounts[3:]), ("uint256", 9), ("uint256", supply)]
    log = log_of("Added(address,uint256[3],uint256[3],uint256,uint256)", [("address", OWNER)], data)
    facts, skipped = rows(source_of(ADDED), [log])
    assert not skipped
    assert [
        (row["place"], number(row["amount"]), int.from_bytes(row["fee"]), int.from_bytes(row["share_supply"]))
        for row in facts["token_liquidity"]
    ] == [(place, -amounts[place], amounts[3 + place], supply) for place in range(3)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(ADDRESS, unsigned(8), st.booleans()), max_size=9))
def test_members_of_an_array_of_structs(config):
    log = log_of(
        "Listed(address,(address,uint8,bool)[],uint256)",
        [("address", OWNER)],
        [("(address,uint8,bool)[]", config), ("uint256", 9)],
    )
    facts, skipped = rows(source_of(LISTED), [log])
    assert not skipped
    assert [(row["place"], row["pool"], row["token"]) for row in facts["pool_token"]] == [
        (place, OWNER, token) for place, (token, _, _) in enumerate(config)
    ]


def test_arrays_of_a_fixed_length_may_be_of_structs():
    rule = EventRule(
        "Paid((address to, int128 sum)[2] payments, uint256[] other, uint8 kind)",
        "token_liquidity",
        {"place": "#", "pool": "@", "owner": "payments[].to", "amount": "payments[].sum", "fee": "kind"},
    )
    data = [("(address,int128)[2]", [(OWNER, -5), (b"\x07" * 20, 6)]), ("uint256[]", [1] * 5), ("uint8", 8)]
    facts, skipped = rows(source_of(rule), [log_of("Paid((address,int128)[2],uint256[],uint8)", [], data)])
    assert not skipped
    assert [
        (row["owner"], number(row["amount"]), number(row["fee"])) for row in facts["token_liquidity"]
    ] == [(OWNER, -5, 8), (b"\x07" * 20, 6, 8)]


def word(log, at, value):
    """Returns a log with another word in its data."""
    start = 2 + 64 * at
    return {**log, "data": log["data"][:start] + f"{value:064x}" + log["data"][start + 64 :]}


@pytest.mark.parametrize(
    "change",
    [
        lambda log: changed([OWNER, OWNER], [1], [2, 3], 1),  # arrays of two lengths
        lambda log: word(log, 0, 97),  # an array that begins within a word
        lambda log: word(log, 0, 32 * 12),  # behind the data
        lambda log: word(log, 0, 2**256 - 32),
        lambda log: word(log, 0, 2**63),
        lambda log: word(log, 3, 2**256 - 1),  # a length that no data has
        lambda log: word(log, 3, 2**63),
        lambda log: word(log, 3, 9),
        lambda log: word(log, 5, 1 << 160),  # the second item is no address
        lambda log: {**log, "data": log["data"][:-64]},
        lambda log: {**log, "data": log["data"][:-2]},
        lambda log: {**log, "data": log["data"][: 2 + 64 * 3]},
        lambda log: {**log, "data": "0x"},
    ],
)
def test_a_log_whose_arrays_do_not_fit_makes_no_row_beside_good_ones(change):
    good = [changed([OWNER, b"\x01" * 20], [1, -1], [2, 3], index) for index in range(3)]
    facts, skipped = rows(source_of(CHANGED), [good[0], change(good[1]), good[2]])
    assert skipped == {"test": 1}
    assert [(row["log_index"], row["place"]) for row in facts["token_liquidity"]] == [
        (0, 0),
        (0, 1),
        (2, 0),
        (2, 1),
    ]


def test_an_empty_array_makes_no_row_and_is_not_skipped():
    facts, skipped = rows(source_of(CHANGED), [changed([], [], []), changed([OWNER], [1], [2], 1)])
    assert not skipped
    assert [row["log_index"] for row in facts["token_liquidity"]] == [1]
    facts, skipped = rows(source_of(CHANGED), [changed([], [], [])])
    assert (facts["token_liquidity"], +skipped) == ([], {})


def test_data_that_is_no_hex_is_refused_as_a_whole():
    log = changed([OWNER], [1], [2])
    for at in (4, 2 + 64 * 3, 2 + 64 * 4):  # an offset, a length, an item
        with pytest.raises(UnreadableLogsError):
            rows(source_of(CHANGED), [{**log, "data": log["data"][:at] + "_" + log["data"][at + 1 :]}])


@pytest.mark.parametrize(("place", "expected"), [("0", 0), ("id", 3)])
def test_a_fact_of_items_may_have_one_row_of_a_log(place, expected):
    rule = EventRule(
        "One(int128 id, address token, uint256 amount)",
        "token_liquidity",
        {"place": place, "pool": "@", "token": "token", "amount": "-amount"},
    )
    log = log_of("One(int128,address,uint256)", [], [("int128", 3), ("address", OWNER), ("uint256", 5)])
    (row,) = rows(source_of(rule), [log])[0]["token_liquidity"]
    assert (row["place"], row["token"], number(row["amount"])) == (expected, OWNER, -5)
    assert row["pool"] == bytes.fromhex(CONTRACT[2:])


def rule(event, columns, fact="token_liquidity"):
    return EventRule(event, fact, columns)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (rule("A(uint256[] a)", {"amount": "a"}), "is an array: 'a[]' makes a row of each item"),
        (rule("A((uint8 b)[] a)", {"amount": "a"}), "is an array"),
        (rule("A(uint256[] a)", {"amount": "a[]"}), "column 'place' of fact token_liquidity must be '#'"),
        (rule("A(uint256[] a)", {"place": "0", "amount": "a[]"}), "must be '#'"),
        (rule("A(uint8[] a)", {"place": "a[]", "amount": "a[]"}), "must be '#'"),
        (rule("A(uint256 a)", {"amount": "a"}), "column 'place' of fact token_liquidity must have a value"),
        (rule("A(uint256 a)", {"place": "#", "amount": "a"}), "no column takes an array"),
        (rule("A(uint256 a)", {"pool": "@", "tick": "#"}, "swap"), "no column takes an array"),
        (rule("A(uint256[] a)", {"amount0": "a[]"}, "swap"), "fact swap has one row of each log"),
        (rule("A(uint256[] a)", {"place": "#", "fee": "#"}), "needs a column of int32 or int64"),
        (rule("A(uint256[] indexed a)", {"amount": "a[]"}), "no parameter 'a[]'"),
        (rule("A(uint256[2] indexed a)", {"amount": "a"}), "dynamic type"),
        (rule("A(string[] a)", {"amount": "a"}), "dynamic type"),
        (rule("A(uint256[][] a)", {"amount": "a"}), "dynamic type"),
        (rule("A(uint256[0] a)", {}), "is no type"),
        (rule("A(uint256[1000] a)", {}), "is no type"),
        (rule("A(string[2] a)", {}), "is no type"),
        (rule("A((uint8[] b)[] a)", {}), "types of one word only"),
        (rule("A((uint8 b)[][] a)", {}), "is no name of a struct"),
    ],
)
def test_a_wrong_rule_says_what_is_wrong(wrong, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        compile_source(source_of(wrong))
