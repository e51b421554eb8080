"""Facts decoded by rules are what ``eth_abi`` decodes, to the unit; a log that does not fit is left out."""

import re

import pytest
from decoded_logs import CONTRACT, log_of, number, rows, signed, source_of, unsigned
from hypothesis import given, settings
from hypothesis import strategies as st
from quoteway import EventRule
from quoteway_indexer.ingest.decoding import compile_source
from quoteway_indexer.ingest.logs import UnreadableLogsError

SWAP = (
    "Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, "
    "uint160 sqrtPriceX96, uint128 liquidity, int24 tick)"
)
SWAP_RULE = EventRule(
    SWAP,
    "swap",
    {
        "pool": "@",
        "sender": "sender",
        "recipient": "recipient",
        "amount0": "amount0",
        "amount1": "-amount1",
        "sqrt_price_x96": "sqrtPriceX96",
        "liquidity": "liquidity",
        "tick": "tick",
        "fee_pips": "3000",
    },
)


swaps = st.tuples(
    st.binary(min_size=20, max_size=20),
    st.binary(min_size=20, max_size=20),
    signed(256),
    signed(256).filter(lambda each: each != -(1 << 255)),
    unsigned(160),
    unsigned(128),
    signed(24),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(swaps, min_size=1, max_size=20))
def test_every_value_is_that_of_eth_abi(values):
    kinds = ("int256", "int256", "uint160", "uint128", "int24")
    signature = "Swap(address,address,int256,int256,uint160,uint128,int24)"
    logs = [
        log_of(
            signature,
            [("address", sender), ("address", recipient)],
            list(zip(kinds, rest, strict=True)),
            index=index,
        )
        for index, (sender, recipient, *rest) in enumerate(values)
    ]
    facts, skipped = rows(source_of(SWAP_RULE), logs)
    assert not skipped
    for row, log, (sender, recipient, amount0, amount1, price, liquidity, tick) in zip(
        facts["swap"], logs, values, strict=True
    ):
        assert (row["pool"], row["sender"], row["recipient"]) == (bytes.fromhex("ab" * 20), sender, recipient)
        assert (number(row["amount0"]), number(row["amount1"])) == (amount0, -amount1)
        assert int.from_bytes(row["sqrt_price_x96"]) == price
        assert int.from_bytes(row["liquidity"]) == liquidity
        assert (row["tick"], row["fee_pips"], row["in0"]) == (tick, 3000, None)
        assert (row["chain_id"], row["source"], row["block"], row["timestamp"]) == (1, "test", 7, 1_000)
        assert row["log_index"] == int(log["logIndex"], 16)
        assert "0x" + row["transaction_hash"].hex() == log["transactionHash"]


@settings(max_examples=200, deadline=None)
@given(unsigned(256), unsigned(256), signed(256))
def test_differences_are_exact_or_the_log_is_left_out(left, right, delta):
    rule = EventRule(
        "Moved(uint256 a, uint256 b, int256 c)",
        "vault_flow",
        {"vault": "@", "assets": "a - b", "shares": "-c"},
    )
    log = log_of(
        "Moved(uint256,uint256,int256)", [], [("uint256", left), ("uint256", right), ("int256", delta)]
    )
    facts, skipped = rows(source_of(rule), [log])
    fits = -(1 << 255) <= left - right < 1 << 255 and delta != -(1 << 255)
    assert skipped["test"] == (not fits)
    if fits:
        (row,) = facts["vault_flow"]
        assert (number(row["assets"]), number(row["shares"])) == (left - right, -delta)


@settings(max_examples=200, deadline=None)
@given(signed(256), signed(256), unsigned(256))
def test_sums_are_exact_or_the_log_is_left_out(one, other, large):
    columns = {"vault": "@", "assets": "a + b", "shares": "a + c"}
    rule = EventRule("Moved(int256 a, int256 b, uint256 c)", "vault_flow", columns)
    values = [("int256", one), ("int256", other), ("uint256", large)]
    facts, skipped = rows(source_of(rule), [log_of("Moved(int256,int256,uint256)", [], values)])
    sums = one + other, one + large
    fits = all(-(1 << 255) <= each < 1 << 255 for each in sums)
    assert skipped["test"] == (not fits)
    if fits:
        (row,) = facts["vault_flow"]
        assert (number(row["assets"]), number(row["shares"])) == sums


@settings(max_examples=200, deadline=None)
@given(unsigned(256), signed(256))
def test_integers_that_do_not_fit_their_column_are_left_out_and_never_wrapped(large, small):
    rule = EventRule(
        "Fee(uint256 a, int256 b)", "protocol_fee", {"pool": "@", "setting0": "a", "setting1": "b"}
    )
    facts, skipped = rows(
        source_of(rule), [log_of("Fee(uint256,int256)", [], [("uint256", large), ("int256", small)])]
    )
    fits = large < 1 << 31 and -(1 << 31) <= small < 1 << 31
    assert skipped["test"] == (not fits)
    if fits:
        assert (facts["protocol_fee"][0]["setting0"], facts["protocol_fee"][0]["setting1"]) == (large, small)


@pytest.mark.parametrize("number", [-(1 << 31), -1, 0, (1 << 31) - 1])
def test_small_integers_keep_their_sign(number):
    rule = EventRule("Fee(int256 b)", "protocol_fee", {"pool": "@", "setting1": "b"})
    facts, _ = rows(source_of(rule), [log_of("Fee(int256)", [], [("int256", number)])])
    assert facts["protocol_fee"][0]["setting1"] == number


TRANSFER = EventRule(
    "Transfer(address indexed from, address indexed to, uint256 value)",
    "transfer",
    {"token": "@", "sender": "from", "recipient": "to", "amount": "value"},
)
NFT_TRANSFER = EventRule(
    "Transfer(address indexed from, address indexed to, uint256 indexed id)",
    "nft_transfer",
    {"collection": "@", "sender": "from", "recipient": "to", "token_id": "id"},
)
SIGNATURE = "Transfer(address,address,uint256)"
TWO = [("address", b"\x01" * 20), ("address", b"\x02" * 20)]


def test_events_with_one_topic_0_are_told_apart_by_the_number_of_topics():
    logs = [
        log_of(SIGNATURE, TWO, [("uint256", 5)]),
        log_of(SIGNATURE, [*TWO, ("uint256", 6)], [], index=1),
        log_of(SIGNATURE, TWO[:1], [("address", b"\x02" * 20), ("uint256", 7)], index=2),
    ]
    facts, skipped = rows(source_of(TRANSFER, NFT_TRANSFER), logs)
    assert [int.from_bytes(row["amount"]) for row in facts["transfer"]] == [5]
    assert [int.from_bytes(row["token_id"]) for row in facts["nft_transfer"]] == [6]
    assert skipped == {"test": 1}


def dirty(log, at, text):
    return {**log, "data": log["data"][:at] + text + log["data"][at + len(text) :]}


@pytest.mark.parametrize(
    "change",
    [
        lambda log: {**log, "data": log["data"] + "00"},
        lambda log: {**log, "data": "0x"},
        lambda log: {**log, "data": log["data"][:-2]},
        lambda log: dirty(log, 2 + 64 * 4, "01"),  # a tick of 24 bits with a bit above them
        lambda log: dirty(log, 2 + 64 * 2, "01"),  # a price of 160 bits with a bit above them
        lambda log: {**log, "topics": [log["topics"][0], "0x01" + log["topics"][1][4:], log["topics"][2]]},
    ],
)
def test_a_log_with_another_layout_is_left_out_beside_good_ones(change):
    values = [("int256", 1), ("int256", -1), ("uint160", 2), ("uint128", 3), ("int24", -4)]
    signature = "Swap(address,address,int256,int256,uint160,uint128,int24)"
    good = [log_of(signature, TWO, values, index=index) for index in range(3)]
    facts, skipped = rows(source_of(SWAP_RULE), [good[0], change(good[1]), good[2]])
    assert [row["log_index"] for row in facts["swap"]] == [0, 2]
    assert skipped == {"test": 1}


def test_only_the_contracts_of_a_source_count():
    other = "0x" + "cd" * 20
    logs = [log_of(SIGNATURE, TWO, [("uint256", 1)]), log_of(SIGNATURE, TWO, [], index=1, contract=other)]
    facts, skipped = rows(source_of(TRANSFER), logs, {CONTRACT})
    assert len(facts["transfer"]) == 1
    assert not skipped


def test_dynamic_parameters_that_no_column_takes_are_passed_over():
    rule = EventRule(
        "Sent(bytes32 token, uint256 amount, string note)",
        "bridge_event",
        {"bridge": "example", "kind": "sent", "token_in": "token", "amount_in": "amount", "sender": "@"},
    )
    data = [("bytes32", b"\x07" * 32), ("uint256", 9), ("string", "hello" * 20)]
    facts, skipped = rows(source_of(rule), [log_of("Sent(bytes32,uint256,string)", [], data)])
    (row,) = facts["bridge_event"]
    assert not skipped
    assert (row["bridge"], row["kind"], row["token_in"]) == ("example", "sent", b"\x07" * 32)
    assert row["sender"] == bytes(12) + bytes.fromhex("ab" * 20)
    assert int.from_bytes(row["amount_in"]) == 9


def test_members_of_a_struct_stand_in_its_place():
    rule = EventRule(
        "Filled(uint256 amount, (bytes32 recipient, uint256 paid) info, bytes32 token)",
        "bridge_event",
        {
            "amount_in": "amount",
            "amount_out": "info.paid",
            "recipient": "info.recipient",
            "token_in": "token",
        },
    )
    types = [("uint256", 9), ("bytes32", b"\x01" * 32), ("uint256", 8), ("bytes32", b"\x02" * 32)]
    facts, skipped = rows(source_of(rule), [log_of("Filled(uint256,(bytes32,uint256),bytes32)", [], types)])
    (row,) = facts["bridge_event"]
    assert not skipped
    assert [int.from_bytes(row[name]) for name in ("amount_in", "amount_out")] == [9, 8]
    assert (row["recipient"], row["token_in"]) == (b"\x01" * 32, b"\x02" * 32)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (EventRule("Swap(", "swap", {}), "is no declaration of an event"),
        (EventRule("A(uint7 a)", "swap", {}), "'uint7' is no type"),
        (EventRule("A((uint8 b) indexed a)", "swap", {}), "indexed ones cannot be read"),
        (EventRule("A((string b) a)", "swap", {}), "types of one word only"),
        (EventRule("A((uint8 b, (uint8 d) c) a)", "swap", {}), "is no declaration of an event"),
        (EventRule("A(uint8 a,)", "swap", {}), "is no parameter"),
        (EventRule("A(uint8 a, uint8 a)", "swap", {}), "two parameters of one name"),
        (EventRule("A(uint8 a b c)", "swap", {}), "is no parameter"),
        (
            EventRule("A(uint8 indexed a, uint8 indexed b, uint8 indexed c, uint8 indexed d)", "swap", {}),
            "the EVM allows 3",
        ),
        (EventRule("A(uint256 a)", "swops", {}), "no table of facts 'swops'"),
        (EventRule("A(uint256 a)", "swap", {"b": "a"}), "no column 'b'"),
        (EventRule("A(uint256 a)", "swap", {"amount0": "c"}), "no parameter 'c'; it has a"),
        (EventRule("A(string a)", "swap", {"amount0": "a"}), "dynamic type"),
        (EventRule("A(address a)", "swap", {"amount0": "a"}), "has not the type"),
        (EventRule("A(uint256 a)", "swap", {"sender": "a"}), "has not the type"),
        (EventRule("A(uint256 a)", "swap", {"amount0": "@"}), "a contract's address"),
        (EventRule("A(uint256 a)", "swap", {"tick": "2147483648"}), "does not fit"),
        (EventRule("A(uint256 a)", "swap", {"in0": "-1"}), "does not fit"),
        (EventRule("A(uint256 a)", "swap", {"sender": "0"}), "does not fit"),
        (EventRule("A(address a)", "swap", {"sender": "-a"}), "has not the type"),
    ],
)
def test_a_wrong_rule_says_what_is_wrong(rule, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        compile_source(source_of(rule))


@pytest.mark.parametrize(
    "change",
    [
        lambda log: None,
        lambda log: {**log, "address": "0x12"},
        lambda log: {**log, "address": 5},
        lambda log: {**log, "topics": None},
        lambda log: {**log, "topics": [log["topics"][0], "0x", log["topics"][2]]},
        lambda log: {**log, "data": None},
        lambda log: {**log, "data": "0x" + "zz" * 32},
        lambda log: {**log, "data": "0x" + "é" * 64},
        lambda log: {**log, "blockNumber": "7"},
        lambda log: {**log, "blockNumber": hex(1 << 41)},
        lambda log: {**log, "blockHash": "0x"},
        lambda log: {**log, "blockHash": None},
        lambda log: {**log, "logIndex": "0x0"},
        lambda log: {**log, "logIndex": hex(1 << 31)},
        lambda log: {**log, "removed": True},
        lambda log: {**log, "blockTimestamp": hex(1 << 63)},
        lambda log: {**log, "transactionHash": "0x00"},
        lambda log: {**log, "blockHash": "0x" + "00" * 32},
    ],
)
def test_an_answer_that_no_chain_gives_is_refused_as_a_whole(change):
    good = [log_of(SIGNATURE, TWO, [("uint256", 1)], index=index) for index in range(2)]
    with pytest.raises(UnreadableLogsError):
        rows(source_of(TRANSFER), [good[0], change(good[1])])


def test_nothing_is_decoded_of_no_logs():
    facts, skipped = rows(source_of(TRANSFER), [])
    assert facts == {}
    assert not skipped
