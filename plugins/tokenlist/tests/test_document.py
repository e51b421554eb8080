"""Reading lists: accepted entries pass the official schema, and no input raises another error."""

import json
from pathlib import Path

import jsonschema
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quoteway_tokenlist.document import EntryError, ListError, parse_entry, parse_list, plain_text

SCHEMA = json.loads((Path(__file__).parent / "data" / "tokenlist.schema.json").read_text())
ENTRY_SCHEMA = jsonschema.Draft7Validator({**SCHEMA, **SCHEMA["definitions"]["TokenInfo"]})

# The four mixed-case examples of EIP-55 itself.
EIP55 = [
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
]


def entry(**changes):
    good = {"chainId": 1, "address": EIP55[0], "decimals": 6, "name": "USD Coin", "symbol": "USDC"}
    return {key: value for key, value in {**good, **changes}.items() if value is not ...}


def document(*entries, **changes):
    good = {
        "name": "Test",
        "timestamp": "2026-01-02T03:04:05.678Z",
        "version": {"major": 1, "minor": 0, "patch": 0},
        "tokens": list(entries),
    }
    return orjson.dumps({key: value for key, value in {**good, **changes}.items() if value is not ...})


def test_a_good_list():
    read = parse_list(
        document(entry(logoURI="https://example.org/a.png", tags=["stablecoin"], extensions={"a": 1}))
    )
    (token,) = read.tokens
    assert (token.chain_id, token.address, token.decimals) == (1, EIP55[0], 6)
    assert (token.symbol, token.name, token.tags) == ("USDC", "USD Coin", ("stablecoin",))
    assert token.logo_uri == "https://example.org/a.png"
    assert token.updated_at == 1767323045
    assert read.skipped == {}


def test_one_bad_token_is_skipped_and_counted():
    bad = [entry(decimals="6"), entry(decimals=256), 7, None]
    read = parse_list(document(*bad[:2], entry(), *bad[2:], entry(address=EIP55[1])))
    assert [token.address for token in read.tokens] == EIP55[:2]
    assert read.skipped == {"bad_decimals": 2, "bad_shape": 2}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"chainId": 0}, "bad_chain_id"),
        ({"chainId": True}, "bad_chain_id"),
        ({"chainId": 1.0}, "bad_chain_id"),
        ({"chainId": "1"}, "bad_chain_id"),
        ({"chainId": ...}, "bad_chain_id"),
        ({"decimals": -1}, "bad_decimals"),
        ({"decimals": False}, "bad_decimals"),
        ({"decimals": 6.0}, "bad_decimals"),
        ({"address": EIP55[0].swapcase()}, "not_evm"),  # 0X...
        ({"address": EIP55[0][:-1]}, "not_evm"),
        ({"address": EIP55[0] + "\n"}, "not_evm"),
        ({"address": EIP55[0].replace("0x5aA", "0x5Aa")}, "bad_checksum"),
        ({"address": "So11111111111111111111111111111111111111112"}, "not_evm"),
        ({"address": "0x" + "0" * 40}, "native_coin"),
        ({"address": "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"}, "native_coin"),
        ({"symbol": ""}, "bad_symbol"),
        ({"symbol": "A" * 21}, "bad_symbol"),
        ({"symbol": "US DC"}, "bad_symbol"),
        ({"symbol": None}, "bad_symbol"),
        ({"name": "N" * 10_000}, "bad_name"),
        ({"name": ...}, "bad_name"),
        ({"tags": "stablecoin"}, "bad_tags"),
        ({"logoURI": 1}, "bad_logo"),
        ({"extensions": []}, "bad_extensions"),
        ({"price": 1}, "bad_shape"),
    ],
)
def test_refused_entries(changes, reason):
    with pytest.raises(EntryError, match=f"^{reason}$"):
        parse_entry(entry(**changes), 0)


@pytest.mark.parametrize(
    "text",
    [
        "USD\u0421",  # Cyrillic ES
        "\u0555SDC",  # Armenian
        "USD\u0243",
        "\uff35SDC",  # full width
        "\U0001d414SDC",  # mathematical bold
        "US\u200bDC",  # zero width space
        "\u202eCDSU",  # right-to-left override
        "USDC\u0332",  # combining line
        "\ua4f4SDC",  # Lisu, category Lo, drawn as a Latin capital
        "USD\u00adC",  # soft hyphen
        "USDC\x00",
        "USDC\x7f",
        "USDC\u2028",
        "USDC\ufe0f",
        "\U0001f1fa\U0001f1f8DC",  # regional indicators
    ],
)
def test_look_alikes_are_skipped(text):
    with pytest.raises(EntryError, match="look_alike"):
        parse_entry(entry(symbol=text), 0)
    with pytest.raises(EntryError, match="look_alike"):
        parse_entry(entry(name=text), 0)
    assert plain_text(text, 100) is None


def test_tethers_tugrik_sign_is_accepted():
    assert parse_entry(entry(symbol="USD\u20ae0", name="USD\u20ae0"), 0).symbol == "USD\u20ae0"


@pytest.mark.parametrize(
    "logo", ["javascript:alert(1)", "data:image/png;base64,AA", "https://a b", "", "https://" + "x" * 3000]
)
def test_a_bad_logo_does_not_skip_the_token(logo):
    assert parse_entry(entry(logoURI=logo), 0).logo_uri is None


def test_a_bad_tag_does_not_skip_the_token():
    assert parse_entry(entry(tags=["a", "has space", "elevenchars", ["x"], "a"]), 0).tags == ("a",)
    assert len(parse_entry(entry(tags=[f"t{i}" for i in range(1000)]), 0).tags) == 10


def test_the_tag_unlisted_is_reserved():
    assert parse_entry(entry(tags=["unlisted", "a"]), 0).tags == ("a",)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"tokens": NaN}',
        b"[" * 100_000,
        document(),
        document(entry(), name=...),
        document(entry(), version={"major": 1}),
        document(entry(), version={"major": True, "minor": 0, "patch": 0}),
        document(entry(), timestamp="yesterday"),
        document(entry(), timestamp=1),
        document(entry(), tokens={}),
        document(*[entry()] * 10_001),
        document(entry(decimals=-1), 1),
    ],
)
def test_refused_lists(body):
    with pytest.raises(ListError):
        parse_list(body)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(max_size=70),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
near_entries = st.builds(
    lambda base, changes: {**base, **changes},
    st.just(entry()),
    st.fixed_dictionaries(
        {},
        optional={
            "chainId": st.integers(-1, 10) | json_values,
            "address": st.sampled_from(EIP55)
            | st.from_regex(r"0x[0-9a-f]{39,41}", fullmatch=True)
            | json_values,
            "decimals": st.integers(-2, 258) | json_values,
            "name": st.text(max_size=70) | json_values,
            "symbol": st.text(max_size=24) | st.text("USDCe.$ ", max_size=24) | json_values,
            "logoURI": st.just("https://example.org/x.png") | json_values,
            "tags": st.lists(st.text("abc_ -", max_size=12), max_size=12) | json_values,
            "other": json_values,
        },
    ),
)


@pytest.mark.slow
@given(near_entries)
def test_accepted_entries_pass_the_official_schema(candidate):
    try:
        token = parse_entry(candidate, 0)
    except EntryError:
        return
    ENTRY_SCHEMA.validate({**candidate, "tags": list(token.tags)})
    assert token.address.lower() == candidate["address"].lower()
    assert token.symbol.isascii() or "\u20ae" in token.symbol


@pytest.mark.slow
@given(json_values | st.lists(near_entries | json_values, max_size=4))
def test_any_json_is_read_or_refused(value):
    for body in (orjson.dumps(value), document(value), document(entry(), tokens=value)):
        try:
            parse_list(body)
        except ListError:
            continue


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body):
    with pytest.raises(ListError):
        parse_list(body)
