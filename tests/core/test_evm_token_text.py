"""Symbols and names of tokens: what is shown, and what looks alike."""

import pytest
from quoteway.evm.token_text import display_name, shown_name, shown_symbol, skeleton
from quoteway.models import Token

ADDRESS = "0x7Ac5ac45e8C9e4A7B8F8a2e4d1e2C6b7E4D3b5A1"


@pytest.mark.parametrize(
    "symbol", ["USDC", "USDC.e", "USD\u20ae0", "stETH", "$WIF", "1INCH", "A-b_c+", "N" * 16]
)
def test_symbols_that_are_shown(symbol):
    assert shown_symbol(symbol) == symbol


@pytest.mark.parametrize(
    "symbol",
    [
        None,
        "",
        "N" * 17,
        "USDC, sent to you. 1",
        "<b>USDC</b>",
        "USD C",
        "USDC\n",
        "USDC)",
        '"USDC"',
        "a/b",
        "x.io/claim",
        "USD\u0421",
        "USD\u200bC",
        "\u202eCDSU",
        "\uff35\uff33\uff24\uff23",
        "\U0001d414SDC",
        "\U0001f4b5",
    ],
    ids=ascii,
)
def test_symbols_that_are_not_shown(symbol):
    assert shown_symbol(symbol) is None


@pytest.mark.parametrize("name", ["USD Coin", "Wrapped Ether (PoS)", "USD\u20ae0", "O'Token & Co."])
def test_names_that_are_shown(name):
    assert shown_name(f" {name} ") == name


@pytest.mark.parametrize(
    "name", [None, "", "  ", "N" * 129, "<i>USD", "https://x.io", "[USD](x)", "a\nb", "US\u0414"], ids=ascii
)
def test_names_that_are_not_shown(name):
    assert shown_name(name) is None


@pytest.mark.parametrize(
    "symbol",
    [
        "usdc",
        "$USDC",
        "U5DC",
        "USDC.",
        " USDC ",
        "U\u0405DC",
        "USD\u0421",
        "\u00dbSDC",
        "USD\u200bC",
        "\uff35\uff33\uff24\uff23",
        "\U0001d414SDC",
        "\u24ca\u24c8\u24b9\u24b8",
    ],
    ids=ascii,
)
def test_symbols_that_look_like_usdc(symbol):
    assert skeleton(symbol) == "usdc"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("DAI", "DAl"),
        ("USDT", "USD\u20ae"),
        ("WBTC", "W8TC"),
        ("ETH", "\u0395\u03a4\u0397"),
        ("LINK", "L1NK"),
    ],
)
def test_symbols_that_look_alike(one, other):
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize(
    ("one", "other"), [("USDC", "USDC.e"), ("USDC", "USDT"), ("ETH", "WETH"), ("$", "+-")]
)
def test_symbols_that_do_not_look_alike(one, other):
    assert skeleton(one) != skeleton(other) or not skeleton(one)


def test_a_listed_token_is_called_by_its_symbol_and_another_by_its_address_too():
    token = Token(1, ADDRESS, 6, "USDC")
    assert display_name(Token(1, ADDRESS, 6, "USDC", listed=True)) == "USDC"
    assert display_name(token) == f'"USDC" ({ADDRESS})'
    for symbol in (None, "USDC, sent to you. 1", "<b>USDC</b>"):
        for listed in (True, False):
            assert display_name(Token(1, ADDRESS, 6, symbol, listed=listed)) == ADDRESS
