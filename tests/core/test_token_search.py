"""What people type finds the token that they mean: the best known first, forged ones last and marked."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quoteway.host.token_search import TokenSearch
from quoteway.models import Token, TokenProfile


def profile(token_id, symbol, name, *numbers, chain_id=1, rank=None):
    contracts = tuple(
        Token(chain_id + at, f"0x{number:040x}", 18, symbol) for at, number in enumerate(numbers)
    )
    return TokenProfile(token_id, name, symbol, 7, contracts, rank=rank)


USDC = profile("usdc", "USDC", "USD Coin", 0xA0B8 << 144, 0xB0B8 << 144)
BRIDGED = profile("usdc-e", "USDC.e", "Bridged USDC", 0xC0 << 144)
WETH = profile("weth", "WETH", "Wrapped Ether", 0xD0 << 144)
UNISWAP = profile("uni", "UNI", "Uniswap", 0xE0 << 144)
FORGED = profile("usdc-f1", "$USDC", "USD Coin", 0xF1 << 144)
COPIED = profile("usdc-f2", "USDC", "USD Coin", 0xF2 << 144, rank=1)
UNICORN = profile("unicorn", "UNICORN", "Unicorn Token", 0xF3 << 144)
LISTED = (FORGED, UNICORN, BRIDGED, USDC, WETH, UNISWAP)


def ids(search, text, chain_id=None, limit=10, offset=0):
    found, total = search.find(text, chain_id, limit, offset)
    return [search.profiles[at].id for at in found], total


@pytest.fixture(scope="module")
def search():
    return TokenSearch((USDC, *LISTED))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        *[(text, "usdc") for text in ("USDC", "usdc", " usdc ", "USD Coin", "usd c", "coin", "usd", "sdc")],
        *[(text, "usdc") for text in ("usddc", "udsc", "usc", "usd coim", "usdcoin", "0xA0b8", "0xa0b800")],
        *[(text, "usdc") for text in ("0xA0B8" + "0" * 36, "0xa0b8" + "0" * 36)],
        *[(text, "usdc-e") for text in ("usdc.e", "USDC-E", "bridged", "Bridged USDC", "brigded usdc")],
        *[(text, "uni") for text in ("uni", "uniswap", "unisw", "uniswpa", "swap")],
        *[(text, "weth") for text in ("wet", "ether", "wrapped ether", "weht", "wraped eter")],
        *[(text, "unicorn") for text in ("unicorn", "nicor", "token unicorn")],
    ],
)  # fmt: skip
def test_what_is_meant_is_first(search, text, first):
    assert ids(search, text)[0][0] == first


@pytest.mark.parametrize("text", ["qqqq", "0x1234", "0x" + "ab" * 20, "us dollar things", "+", "\u0416"])
def test_what_nothing_is_called_finds_nothing(search, text):
    assert ids(search, text) == ([], 0)


def test_without_a_text_all_are_listed_and_the_forged_last(search):
    assert ids(search, "") == (["usdc", "unicorn", "usdc-e", "weth", "uni", "usdc-f1"], 6)
    assert ids(search, "", limit=2, offset=4) == (["uni", "usdc-f1"], 6)
    assert ids(search, "", chain_id=2) == (["usdc"], 1)
    assert ids(search, "usdc", chain_id=2) == (["usdc"], 1)
    assert ids(search, "weth", chain_id=2) == ([], 0)


def test_a_token_whose_symbol_looks_like_that_of_one_listed_before_is_below_it_and_marked(search):
    found, _ = search.find("usdc", None, 10)
    assert [(search.profiles[at].id, search.profiles[at].look_alike_of) for at in found] == [
        ("usdc", None),
        ("usdc-e", None),
        ("usdc-f1", "usdc"),
    ]


def test_the_market_s_rank_comes_before_the_order_of_lists():
    ranked = TokenSearch([replace(USDC, rank=6), WETH, replace(UNISWAP, rank=2), COPIED])
    assert [each.id for each in ranked.profiles] == ["usdc-f2", "uni", "weth", "usdc"]
    assert ranked.by_id("usdc").look_alike_of == "usdc-f2"


def test_a_mark_of_a_catalog_does_not_count():
    said = TokenSearch([replace(USDC, look_alike_of="weth"), replace(FORGED, look_alike_of=None)])
    assert [each.look_alike_of for each in said.profiles] == [None, "usdc"]


def test_of_profiles_with_one_id_the_first_is_found_and_the_others_follow_it():
    other = replace(USDC, name="Dollar")
    search = TokenSearch([USDC, other])
    assert ids(search, "usdc") == (["usdc"], 1)
    assert list(search.described(0)) == [USDC, other]


def test_an_empty_catalog_has_nothing():
    assert ids(TokenSearch(()), "usdc") == ids(TokenSearch(()), "", chain_id=1) == ([], 0)


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=30)


@settings(max_examples=200)
@given(text=words)
def test_any_text_is_answered(search, text):
    found, total = search.find(text, None, 3)
    assert len(found) == min(total, 3)


@given(
    st.lists(st.tuples(st.text("ABC", min_size=1, max_size=3), st.integers(1, 5)), min_size=1, max_size=40)
)
@settings(max_examples=40, deadline=None)
def test_equal_matches_are_in_the_order_of_the_catalog_and_pages_join(listed):
    rows = [profile(f"id{at}", symbol, "x", at + 1, rank=rank) for at, (symbol, rank) in enumerate(listed)]
    search = TokenSearch(rows)
    for text in {symbol for symbol, _ in listed}:
        everything, total = ids(search, text, limit=100)
        assert len(everything) == total
        pages = [ids(search, text, limit=3, offset=at)[0] for at in range(0, total, 3)]
        assert [each for page in pages for each in page] == everything
        exact = [each.id for each in search.profiles if each.symbol == text]
        assert everything[: len(exact)] == exact
