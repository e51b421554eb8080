"""The ABI codec: exact, strict, and reversible."""

import pytest
from eth_abi import abi
from hypothesis import assume, given
from hypothesis import strategies as st
from quoteway.evm import permit2
from quoteway.evm.abi import (
    decode,
    encode,
    event_topic,
    function,
    reencode,
    selector,
)
from quoteway.evm.abi_codec import codecs, shape
from quoteway.evm.address import checksum
from quoteway.models import Argument, DecodedCall

VITALIK = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
ROUTER = function("execute(bytes commands, bytes[] inputs, uint256 deadline) payable")
STRUCTS = function(
    "mint((address token, uint24 fee)[2][] pairs, bytes32 id, uint deadline, string note)"
    " external payable returns (uint256 amount, (bool ok, int128 delta) result)"
)
addresses = st.binary(min_size=20, max_size=20).map(lambda raw: checksum("0x" + raw.hex()))
router_calls = st.tuples(
    st.binary(max_size=40), st.lists(st.binary(max_size=70), max_size=4), st.integers(0, (1 << 256) - 1)
)


@pytest.mark.parametrize(
    ("signature", "digits"),
    [
        ("transfer(address,uint256)", "a9059cbb"),
        ("approve(address,uint256)", "095ea7b3"),
        ("execute(bytes,bytes[],uint256)", "3593564c"),
        ("isValidSignature(bytes32,bytes)", "1626ba7e"),
    ],
)
def test_selectors(signature, digits):
    assert selector(signature).hex() == digits


def test_the_transfer_event():
    topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    assert event_topic("Transfer(address,address,uint256)") == topic


def test_a_declaration_gives_its_canonical_form():
    assert STRUCTS.signature == "mint((address,uint24)[2][],bytes32,uint256,string)"
    assert STRUCTS.names == ("pairs", "id", "deadline", "note")
    assert STRUCTS.returns == ("uint256", "(bool,int128)")
    assert function("a()").signature == "a()"
    assert function("function f(uint x) view returns (uint)").returns == ("uint256",)
    assert function("f(address)").names == ("arg0",)
    assert function("f(bytes calldata)").names == ("arg0",)
    assert function("f((uint a, (bool b) c) pair, (int d)[2] two)").names == ("pair", "two")
    assert function("f((uint a), tuple (uint b), tuple(int c)[])").names == ("arg0", "arg1", "arg2")
    assert function("f(tuple(address a, uint[] b)[] pairs, int c)").names == ("pairs", "c")
    assert function("f(tuple(address a, uint[] b)[] pairs, int c)").types == (
        "(address,uint256[])[]",
        "int256",
    )


@pytest.mark.parametrize(
    "declaration",
    [
        "",
        "f",
        "f(",
        "f(address",
        "f(addres a)",
        "f(uint7 a)",
        "f(bytes33 a)",
        "f(uint256 a) nonsense",
        "1f()",
        "f(address a b)",
    ],
)
def test_what_is_no_declaration_is_refused(declaration):
    with pytest.raises(ValueError, match=r"declaration|type"):
        function(declaration).encode([])


def test_the_solidity_documentation_example():
    # Solidity ABI specification, "Examples": sam("dave", true, [1,2,3])
    data = function("sam(bytes,bool,uint256[])").encode([b"dave", True, [1, 2, 3]])
    assert data.hex() == (
        "a5643bf2"
        "0000000000000000000000000000000000000000000000000000000000000060"
        "0000000000000000000000000000000000000000000000000000000000000001"
        "00000000000000000000000000000000000000000000000000000000000000a0"
        "0000000000000000000000000000000000000000000000000000000000000004"
        "6461766500000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000003"
        "0000000000000000000000000000000000000000000000000000000000000001"
        "0000000000000000000000000000000000000000000000000000000000000002"
        "0000000000000000000000000000000000000000000000000000000000000003"
    )
    assert function("sam(bytes,bool,uint256[])").decode(data) == (b"dave", True, (1, 2, 3))


@given(router_calls)
def test_encoding_is_reversible(args):
    data = ROUTER.encode(args)
    commands, inputs, deadline = ROUTER.decode(data)
    assert (commands, list(inputs), deadline) == args
    assert reencode(ROUTER.describe(args)) == data


WORDS = [
    *("address", "bool"),
    *(f"{sign}int{bits}" for sign in ("u", "") for bits in range(8, 257, 8)),
    *(f"bytes{size}" for size in range(1, 33)),
]


NESTED = st.recursive(
    st.sampled_from([*WORDS, "bytes", "string"]),
    lambda inner: (
        st.builds("{}{}".format, inner, st.sampled_from(["[]", "[1]", "[3]"]))
        | st.lists(inner, min_size=1, max_size=3).map(lambda members: f"({','.join(members)})")
    ),
    max_leaves=4,
)


def fitting(type_):
    """Values that fit a type; addresses with checksums, sequences as tuples."""
    item, members = shape(type_)
    if members is not None:
        return st.tuples(*map(fitting, members))
    if item is not None:
        length = type_[type_.rindex("[") + 1 : -1]
        exact = {"min_size": int(length), "max_size": int(length)} if length else {"max_size": 3}
        return st.lists(fitting(item), **exact).map(tuple)
    if type_ in ("bytes", "string"):
        return st.binary(max_size=70) if type_ == "bytes" else st.text(max_size=40)
    if type_.startswith("bytes"):
        return st.binary(min_size=int(type_[5:]), max_size=int(type_[5:]))
    if type_.startswith(("int", "uint")):
        bits = int(type_.lstrip("uint"))
        least = -(1 << bits - 1) if type_.startswith("int") else 0
        return st.integers(least, least + (1 << bits) - 1)
    return addresses if type_ == "address" else st.booleans()


def values_of(type_):
    """Values of a type, and of wider ones."""
    if type_ == "address":
        return addresses
    if type_ == "bool":
        return st.sampled_from([True, False, 1, 0])
    if type_.startswith("bytes"):
        size = int(type_[5:])
        return st.binary(min_size=max(size - 1, 0), max_size=size + 1) | st.binary(
            min_size=size, max_size=size
        )
    bits = int(type_.lstrip("uint"))
    edges = [edge + near for edge in (0, 1 << bits, 1 << bits - 1, -(1 << bits - 1)) for near in (-1, 0, 1)]
    return st.sampled_from(edges) | st.integers(-(1 << bits), 1 << bits)


def outcome(call, *args):
    try:
        return call(*args)
    except Exception:
        return "refused"


def strictly_decoded(types, data):
    """By eth_abi: canonical encodings only, addresses with checksums."""
    values = abi.decode(types, data)
    assert abi.encode(types, values) == data
    return tuple(with_checksums(t, v) for t, v in zip(types, values, strict=True))


def with_checksums(type_, value):
    item, members = shape(type_)
    if item is not None:
        return tuple(with_checksums(item, each) for each in value)
    if members is not None:
        return tuple(with_checksums(t, v) for t, v in zip(members, value, strict=True))
    return checksum(value) if type_ == "address" else value


@given(st.data())
def test_words_are_encoded_as_eth_abi_encodes_them(data):
    types = data.draw(st.lists(st.sampled_from(WORDS), max_size=4))
    values = [data.draw(values_of(type_)) for type_ in types]
    short = any(
        t.startswith("bytes") and len(v) != int(t[5:]) for t, v in zip(types, values, strict=True)
    )  # eth_abi pads these
    numbers = any(t != "bool" and type(v) is bool for t, v in zip(types, values, strict=True))
    expected = "refused" if short or numbers else outcome(abi.encode, types, values)
    assert outcome(encode, types, values) == expected


@given(st.data())
def test_words_are_decoded_as_eth_abi_decodes_them(data):
    types = data.draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
    padding = st.sampled_from([b"\0", b"\xff", b"\x01"])
    words = [
        data.draw(
            st.binary(min_size=32, max_size=32)
            | st.builds(lambda low, pad: pad * (32 - len(low)) + low, st.binary(max_size=32), padding)
            | st.builds(lambda high, pad: high + pad * (32 - len(high)), st.binary(max_size=32), padding)
        )
        for _ in types
    ]
    encoded = b"".join(words) + data.draw(st.sampled_from([b"", b"", b"\0", bytes(32)]))
    assert outcome(decode, types, encoded) == outcome(strictly_decoded, types, encoded)
    assert outcome(decode, types, b"".join(words)[:-1]) == "refused"


@given(st.data())
def test_nested_types_are_encoded_as_eth_abi_encodes_them(data):
    types = data.draw(st.lists(NESTED, min_size=1, max_size=3))
    values = tuple(data.draw(fitting(type_)) for type_ in types)
    assert codecs(tuple(types)) is not None
    encoded = encode(types, values)
    assert encoded == abi.encode(types, values)
    assert decode(types, encoded) == values


@given(st.data())
def test_changed_data_of_nested_types_are_decoded_as_eth_abi_decodes_them(data):
    types = data.draw(st.lists(NESTED, min_size=1, max_size=3))
    changed = bytearray(encode(types, [data.draw(fitting(type_)) for type_ in types]))
    for _ in range(data.draw(st.integers(1, 3))):
        # Mostly whole words: offsets and lengths are small numbers in their last bytes.
        at = 32 * data.draw(st.integers(0, len(changed) // 32)) + data.draw(st.sampled_from([31, 31, 30, 0]))
        if at < len(changed):
            changed[at] = data.draw(st.sampled_from([0, 1, 2, 31, 32, 64, 96, 128, 255]))
    data_end = data.draw(st.sampled_from([0, 0, 0, 1, 32]))
    changed = bytes(changed[: len(changed) - data_end]) + data.draw(st.sampled_from([b"", b"", bytes(32)]))
    assert outcome(decode, types, changed) == outcome(strictly_decoded, types, changed)


@pytest.mark.parametrize("type_", ["fixed128x18", "function", "uint256[257]", "(bool,fixed128x18)[]"])
def test_seldom_types_are_left_to_eth_abi(type_):
    assert codecs(("bool", type_)) is None


def test_an_array_of_more_items_than_the_data_have_is_refused_at_once():
    for length in (2, 1 << 40, (1 << 256) - 1):
        with pytest.raises(ValueError, match="encoding"):
            decode(["uint256[]"], (32).to_bytes(32) + length.to_bytes(32) + bytes(32))


@given(
    st.lists(
        st.tuples(st.tuples(addresses, st.integers(0, 2**24 - 1)), st.tuples(addresses, st.just(0))),
        max_size=3,
    )
)
def test_structs_are_reversible_through_their_description(pairs):
    args = (pairs, b"\x11" * 32, 7, "note")
    data = STRUCTS.encode(args)
    assert STRUCTS.decode(data) == (tuple(pairs), *args[1:])
    assert reencode(STRUCTS.describe(args)) == data
    assert STRUCTS.describe_decoded(STRUCTS.decode(data)) == STRUCTS.describe(args)


@given(router_calls, st.data())
def test_a_flipped_byte_never_decodes_to_the_same_call(args, data):
    call = bytearray(ROUTER.encode(args))
    at = data.draw(st.integers(0, len(call) - 1))
    call[at] ^= data.draw(st.integers(1, 255))
    try:
        changed = ROUTER.decode(bytes(call))
    except ValueError:
        return
    # What still decodes says something else, and says it exactly.
    assert changed != (args[0], tuple(args[1]), args[2])
    assert ROUTER.encode(changed) == bytes(call)


@given(router_calls, st.binary(min_size=1, max_size=64))
def test_trailing_bytes_are_refused(args, tail):
    with pytest.raises(ValueError, match="encoding"):
        ROUTER.decode(ROUTER.encode(args) + tail)


@given(router_calls, st.integers(1, 40))
def test_a_truncated_call_is_refused(args, cut):
    data = ROUTER.encode(args)
    with pytest.raises(ValueError, match=r"encoding|selector"):
        ROUTER.decode(data[:-cut])


@given(st.binary(min_size=20, max_size=20), st.integers(0, 11), st.integers(1, 255))
def test_dirty_padding_of_an_address_is_refused(raw, at, dirt):
    word = bytearray(12) + raw
    word[at] = dirt
    with pytest.raises(ValueError, match="encoding"):
        decode(["address"], bytes(word))


def test_dirty_padding_of_bytes_is_refused():
    data = bytearray(encode(["bytes"], [b"dave"]))
    data[-1] = 1
    with pytest.raises(ValueError, match="encoding"):
        decode(["bytes"], bytes(data))


def test_overlapping_tails_are_refused():
    head = (64).to_bytes(32, "big") * 2
    with pytest.raises(ValueError, match="encoding"):
        decode(["bytes", "bytes"], head + encode(["uint256"], [4]) + b"dave" + bytes(28))


@given(st.binary(max_size=400))
def test_no_data_makes_the_decoder_fail_otherwise(data):
    try:
        decode(["(address,bytes[])[]", "string", "bool"], data)
    except ValueError:
        return


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("address", VITALIK.lower().replace("d8da", "D8da")),
        ("address", "0x1234"),
        ("address", b"\0" * 20),
        ("uint256", -1),
        ("uint256", 1 << 256),
        ("uint256", True),
        ("uint256", 1.0),
        ("uint256", "5"),
        ("uint8", 256),
        ("int8", -129),
        ("bytes32", b"\1" * 31),
        ("bytes32", "0x" + "11" * 33),
        ("bytes", "abc"),
        ("bytes", "0xabc"),
        ("bool", 1),
        ("string", b"x"),
        ("uint256[2]", [1]),
        ("(uint256,bool)", [1]),
        ("uint256[]", 5),
    ],
)
def test_values_that_do_not_fit_are_refused(type_, value):
    with pytest.raises(ValueError, match=r".+"):
        encode([type_], [value])


def test_addresses_are_decoded_in_eip_55():
    assert decode(
        ["address", "(address)[]"], encode(["address", "(address)[]"], [VITALIK.lower(), [(VITALIK,)]])
    ) == (
        VITALIK,
        ((VITALIK,),),
    )


def test_a_description_of_another_function_is_refused():
    described = permit2.APPROVE.describe([VITALIK, VITALIK, 5, 6])
    assert reencode(described) == permit2.APPROVE.encode([VITALIK, VITALIK, 5, 6])
    for changed in (
        DecodedCall(described.signature, described.args[:-1]),
        DecodedCall("approve(address, address, uint160, uint48)", described.args),
        DecodedCall(described.signature, (Argument("token", "uint256", 5), *described.args[1:])),
    ):
        with pytest.raises(ValueError, match="decoded"):
            reencode(changed)


@given(st.data())
def test_a_changed_argument_never_reencodes_to_the_same_calldata(data):
    args = [VITALIK, VITALIK, 5, 6]
    described = permit2.APPROVE.describe(args)
    amount = data.draw(st.integers(0, (1 << 160) - 1))
    assume(amount != 5)
    changed = DecodedCall(
        described.signature,
        (*described.args[:2], Argument("amount", "uint160", amount), described.args[3]),
    )
    assert reencode(changed) != permit2.APPROVE.encode(args)
