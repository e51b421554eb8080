"""Addresses against the EIPs' own examples, and whatever hypothesis can write down."""

import re

import pytest
from eth_utils import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st
from quoteway.evm.address import (
    checksum,
    create2_address,
    is_native_alias,
    keccak256,
    parse_address,
)

# EIP-55, "Test Cases".
EIP55 = [
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
]
addresses = st.binary(min_size=20, max_size=20).map(lambda raw: "0x" + raw.hex())


@pytest.mark.parametrize("address", EIP55)
def test_the_examples_of_eip_55(address):
    assert checksum(address.lower()) == address
    assert parse_address(address) == address
    assert parse_address(address.lower()) == address
    assert parse_address("0x" + address[2:].upper()) == address


@given(addresses)
def test_checksums_are_those_of_eth_utils(address):
    assert parse_address(address) == to_checksum_address(address)


@given(addresses, st.integers(0, 39))
def test_a_wrong_case_is_a_typing_error(address, at):
    right = checksum(address)
    char = right[2 + at]
    wrong = right[: 2 + at] + char.swapcase() + right[3 + at :]
    digits = wrong[2:]
    if wrong == right or digits in (digits.lower(), digits.upper()):
        return
    with pytest.raises(ValueError, match="checksum"):
        parse_address(wrong)


@given(st.text(max_size=60) | st.from_regex(r"0x[0-9a-fA-F]{30,50}", fullmatch=True))
def test_anything_else_is_refused_without_being_repeated(text):
    if re.fullmatch(r"0x[0-9a-fA-F]{40}", text, re.ASCII):
        return
    with pytest.raises(ValueError, match=r"^an address") as refusal:
        parse_address(text)
    assert len(text) < 4 or text not in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        "0X52908400098527886E0F7030069857D2E4169EE7",
        "52908400098527886E0F7030069857D2E4169EE7",
        "0x52908400098527886E0F7030069857D2E4169EE",
        "0x52908400098527886E0F7030069857D2E4169EE77",
        "0x52908400098527886E0F7030069857D2E4169EE7\n",
        "0x\uff152908400098527886E0F7030069857D2E4169EE7",
        "0x52908400098527886E0F7030069857D2E4169EG7",
        " 0x52908400098527886E0F7030069857D2E4169EE7",
    ],
)
def test_near_misses_are_refused(text):
    with pytest.raises(ValueError, match=r"^an address"):
        parse_address(text)


def test_the_aliases_of_the_native_coin():
    assert is_native_alias("native")
    assert is_native_alias("0x" + "0" * 40)
    assert is_native_alias("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE")
    assert is_native_alias("0x" + "e" * 40)
    assert not is_native_alias("0x" + "0" * 39 + "1")
    assert not is_native_alias("")


@pytest.mark.parametrize(
    ("deployer", "salt", "code", "address"),
    [  # EIP-1014, "Examples"
        ("00" * 20, "00" * 32, "00", "0x4D1A2e2bB4F88F0250f26Ffff098B0b30B26BF38"),
        ("deadbeef" + "00" * 16, "00" * 32, "00", "0xB928f69Bb1D91Cd65274e3c79d8986362984fDA3"),
        (
            "00" * 16 + "deadbeef",
            "00" * 28 + "cafebabe",
            "deadbeef",
            "0x60f3f640a8508fC6a86d45DF051962668E1e8AC7",
        ),
        ("00" * 20, "00" * 32, "", "0xE33C0C7F7df4809055C3ebA6c09CFe4BaF1BD9e0"),
    ],
)
def test_the_examples_of_eip_1014(deployer, salt, code, address):
    hashed = keccak256(bytes.fromhex(code))
    assert create2_address("0x" + deployer, bytes.fromhex(salt), hashed) == address


def test_create2_refuses_a_short_salt():
    with pytest.raises(ValueError, match="32 bytes"):
        create2_address("0x" + "00" * 20, b"\0" * 31, b"\0" * 32)
