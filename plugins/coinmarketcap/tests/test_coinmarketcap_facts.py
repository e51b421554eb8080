"""What is made of CoinMarketCap's answers: by contract alone, bounded, and nothing of rows that lie."""

import json

import msgspec
import pytest
from coinmarketcap_cases import OTHER, SPOOF, USDX, USDX_ON_BASE
from fake_coinmarketcap import info, listing
from quoteway import NATIVE
from quoteway_coinmarketcap.facts import Details, Listing, profile_of, rows_of

SERVED = frozenset({1, 10, 8453})


def raw(*rows):
    return [msgspec.Raw(json.dumps(row).encode()) for row in rows]


def made(row, details=None, platforms=(), served=SERVED):
    (parsed,), bad = rows_of(raw(row), Listing)
    assert bad == 0
    told = None if details is None else rows_of(raw(details), Details)[0][0]
    return profile_of(parsed, told, served, dict(platforms), 1_700_000_000)


def contracts(profile):
    return [(token.chain_id, token.address) for token in profile.contracts]


def test_every_member_is_what_the_documentation_says():
    details = info(3408, ("Base", 27716, USDX_ON_BASE.address), ("Solana", 5426, "EPjFWdd5AufqSSqeM2qN1xzy"))
    found = made(listing(3408, 7, "USDX", USDX.address), details)
    assert contracts(found) == [(1, USDX.address), (8453, USDX_ON_BASE.address)]
    assert (found.id, found.ucid, found.rank) == ("ucid-3408", "3408", 7)
    assert (found.market_cap_usd, found.fdv_usd) == (61240000000.25, 61310000000.75)
    assert (found.volume_24h_usd, found.price_change_24h_pct) == (7155680000.5, -0.25)
    assert (found.total_supply, found.max_supply) == ("61300000000", None)
    assert (found.website, found.whitepaper) == (
        "https://coin.example.org",
        "https://coin.example.org/paper.pdf",
    )
    assert found.description == "A stablecoin of dollars."
    assert found.logo_uri == "https://static.example.org/3408.png"
    assert found.tags == ("stablecoin", "asset-backed")
    assert found.socials == (
        ("twitter", "https://twitter.com/coin"),
        ("reddit", "https://reddit.com/r/coin"),
        ("chat", "https://discord.com/invite/coin"),
    )
    assert found.price_usd is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("61234567890.12345678901234567", "61234567890.12345678901234567"),
        ("21000000.0", "21000000"),
        ("1e15", "1000000000000000"),
        ("0", "0"),
        ("2.50e-3", "0.0025"),
        ("-1", None),
        ("1e5000", None),
        ("1e-5000", None),
        ("null", None),
    ],
)
def test_supplies_are_exact(text, told):
    row = json.dumps(listing(1, 1, "X", USDX.address, max_supply=0)).replace(
        '"max_supply": 0', f'"max_supply": {text}'
    )
    (parsed,), _ = rows_of([msgspec.Raw(row.encode())], Listing)
    assert profile_of(parsed, None, SERVED, {}, 0).max_supply == told


def test_native_coins_are_those_of_the_table():
    assert contracts(made(listing(1027, 2, "ETH"))) == [(1, NATIVE), (10, NATIVE), (8453, NATIVE)]
    # The zero address in an answer is no coin.
    assert made(listing(9, 2, "ETH", NATIVE)) is None


@pytest.mark.parametrize(
    "row",
    [
        listing(1, 1, "BTC"),
        listing(2, 1, "X", "0x12"),
        listing(3, 1, "X", USDX.address.swapcase()),
        listing(4, 1, "X", None, platform={"id": 5426, "name": "Solana", "token_address": USDX.address}),
        listing(-5, 1, "X", USDX.address),
        listing(1 << 80, 1, "X", USDX.address),
    ],
)
def test_what_names_no_contract_on_a_served_network_is_left_out(row):
    assert made(row) is None


def test_platforms_of_the_configuration_are_known_too():
    details = info(5, ("My Chain", 99, OTHER.address))
    assert made(listing(5, 1, "X"), details) is None
    assert contracts(made(listing(5, 1, "X"), details, {"my chain": 10})) == [(10, OTHER.address)]


@pytest.mark.parametrize(
    "row",
    [
        {},
        7,
        None,
        [],
        "row",
        listing("1", 1, "X", USDX.address),
        listing(1, "first", "X", USDX.address),
        {**listing(1, 1, "X", USDX.address), "symbol": None},
        listing(1, 1, "X", USDX.address, quote=[]),
        listing(1, 1, "X", USDX.address, quote={"USD": {"market_cap": "much"}}),
        listing(1, 1, "X", USDX.address, tags=[{}]),
        listing(1, 1, "X", USDX.address, platform=5),
    ],
    ids=range(12),
)
def test_a_row_that_lies_costs_no_other(row):
    good = listing(9, 1, "X", USDX.address)
    found, bad = rows_of(raw(row, good), Listing)
    assert ([each.id for each in found], bad) == ([9], 1)


def test_what_is_shown_is_bounded_and_safe():
    urls = {
        "website": [
            "javascript:alert(1)",
            "https://x/" + "y" * 5_000,
            'https://x/"',
            "https://good.example",
        ],
        "twitter": [f"https://twitter.com/{number}" for number in range(100)],
        "chat": ["https://дом.example", "ftp://x", "\u202ehttps://x"],
    }
    details = info(1, description="a\u202eb\x00c" + "x" * 10_000, urls=urls, logo="data:image/png;base64,AA")
    row = listing(
        1, 1, "S" * 1_000, USDX.address, name="N" * 10_000, tags=["t" * 100, *(f"tag{n}" for n in range(100))]
    )
    found = made(row, details)
    assert found.website == "https://good.example"
    assert found.socials == tuple(("twitter", f"https://twitter.com/{number}") for number in range(4))
    assert found.description.startswith("a b cxxx")
    assert len(found.description) == 2_000
    assert found.logo_uri is None
    assert (len(found.symbol), len(found.name)) == (32, 128)
    assert len(found.tags) < 32
    assert all(len(tag) < 10 for tag in found.tags)
    many = info(1, *(("Ethereum", 1027, f"0x{number:040x}") for number in range(1, 500)))
    assert len(made(listing(1, 1, "X", USDX.address), many).contracts) == 64


def test_numbers_that_cannot_be_are_left_out():
    quote = {
        "market_cap": -1.0,
        "fully_diluted_market_cap": -0.5,
        "volume_24h": -3,
        "percent_change_24h": -99.5,
    }
    found = made(listing(1, -4, "X", USDX.address, quote={"USD": quote, "EUR": {}}, circulating_supply=-1))
    assert (found.market_cap_usd, found.fdv_usd, found.volume_24h_usd) == (None, None, None)
    assert (found.rank, found.circulating_supply, found.price_change_24h_pct) == (None, None, -99.5)
    assert SPOOF.address not in [address for _, address in contracts(found)]
