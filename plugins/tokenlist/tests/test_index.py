"""Ids: deterministic, unique on each network, the same asset under one id across networks."""

from hypothesis import given
from hypothesis import strategies as st
from quoteway import NATIVE, Network
from quoteway_tokenlist.document import ListedToken, TokenList
from quoteway_tokenlist.index import Index

ETHEREUM = Network("ethereum", 1, "Ethereum")
BASE = Network("base", 8453, "Base")
BNB = Network("bnb", 56, "BNB Chain", native_symbol="BNB", native_name="BNB")
NETWORKS = [ETHEREUM, BNB, BASE]


def address(number):
    return f"0x{number:040x}"  # digits only, or lower case: this module never looks at the case


def listed(symbol, number, chain_id=1, **changes):
    facts = {"decimals": 18, "name": symbol, "logo_uri": None, "tags": (), "updated_at": 100, **changes}
    return ListedToken(chain_id=chain_id, address=address(number), symbol=symbol, **facts)


def as_list(tokens):
    return TokenList.of(tokens, {}, repr(tokens))


def snapshot(*lists, decimals=None):
    return Index(NETWORKS, 50).update([as_list(tokens) for tokens in lists], decimals or {})


def test_natives_come_first_and_share_an_id():
    found = snapshot()
    assert [profile.id for profile in found.profiles] == ["eth", "bnb"]
    assert [(c.chain_id, c.address) for c in found.by_id("eth").contracts] == [(1, NATIVE), (8453, NATIVE)]


def test_one_asset_on_many_networks():
    found = snapshot([listed("USDC", 1), listed("USDC", 2, chain_id=8453, updated_at=200)])
    profile = found.by_id("usdc")
    assert [(c.chain_id, c.address) for c in profile.contracts] == [(1, address(1)), (8453, address(2))]
    assert profile.updated_at == 200
    (on_base,) = [p for p in found.of_chain(8453) if p.id == "usdc"]
    assert [c.chain_id for c in on_base.contracts] == [8453]


def test_a_second_token_of_the_same_symbol_gets_its_address_in_its_id():
    found = snapshot([listed("USDC", 0xA1 << 136)], [listed("usdc", 0xABCDEF << 136)])
    assert found.profile((1, address(0xA1 << 136))).id == "usdc"
    assert found.profile((1, address(0xABCDEF << 136))).id == "usdc-abcdef"


def test_a_token_of_another_list_is_no_contract_of_an_asset():
    found = snapshot([listed("USDC", 1)], [listed("USDC", 0xABCDEF << 136, chain_id=8453)])
    assert [c.chain_id for c in found.by_id("usdc").contracts] == [1]
    assert found.by_id("usdc-abcdef").contracts[0].address == address(0xABCDEF << 136)


def test_a_list_cannot_take_the_native_coins_id():
    found = snapshot([listed("ETH", 0x1234567 << 132)])
    assert found.by_id("eth").contracts[0].address == NATIVE
    assert found.profile((1, address(0x1234567 << 132))).id == "eth-123456"


def test_symbols_of_another_form_never_get_the_plain_slug():
    ids = {p.symbol: p.id for p in snapshot([listed(s, i << 140) for i, s in enumerate(SYMBOLS, 1)]).profiles}
    assert {symbol: ids[symbol].rpartition("-")[0] for symbol in SYMBOLS} == {
        "$USDC": "usdc",
        "USDC!": "usdc",
        "USDC..e": "usdc-e",
        "USD\u20ae0": "usd-0",
        "+": "token",
    }


SYMBOLS = ["$USDC", "USDC!", "USDC..e", "USD\u20ae0", "+"]


def test_joiners_become_dashes():
    assert snapshot([listed("USDC.e", 1)]).profile((1, address(1))).id == "usdc-e"
    assert snapshot([listed("PT_A-B", 1)]).profile((1, address(1))).id == "pt-a-b"


def test_a_symbol_written_like_an_id_cannot_take_it():
    forged = listed("USDC-abcdef", 7)
    real = [listed("USDC", 8), listed("USDC", 0xABCDEF << 136)]
    found = snapshot([forged, *real])
    assert found.profile((1, address(0xABCDEF << 136))).id == "usdc-abcdef000000"
    other_chain = snapshot([listed("USDC-abcdef", 7, chain_id=8453), *real])
    assert other_chain.profile((1, address(0xABCDEF << 136))).id == "usdc-abcdef000000"


def test_the_first_list_counts_and_later_ones_add_missing_members():
    found = snapshot(
        [listed("USDC", 1, decimals=6, tags=("a",))],
        [listed("EVIL", 1, decimals=18, tags=("b",), logo_uri="https://example.org/x.png", updated_at=300)],
    )
    profile = found.profile((1, address(1)))
    assert (profile.symbol, profile.contracts[0].decimals, profile.tags) == ("USDC", 6, ("a", "b"))
    assert (profile.logo_uri, profile.updated_at) == ("https://example.org/x.png", 300)
    assert found.by_id("evil") is None


def test_tokens_of_networks_not_served_are_left_out():
    assert snapshot([listed("USDC", 1, chain_id=10)]).profile((10, address(1))) is None


def test_the_chains_decimals_replace_the_lists():
    assert snapshot([listed("A", 1)], decimals={(1, address(1)): 6}).by_id("a").contracts[0].decimals == 6


def test_the_revision_follows_the_data():
    one, same, other = snapshot([listed("A", 1)]), snapshot([listed("A", 1)]), snapshot([listed("A", 2)])
    assert one.revision == same.revision != other.revision


def test_a_list_that_changes_moves_the_ids_of_others():
    index = Index(NETWORKS, 50)
    first, second = as_list([listed("USDC", 1 << 140)]), as_list([listed("USDC", 2 << 140), listed("A", 7)])
    found = index.update([None, second], {})
    assert found.profile((1, address(2 << 140))).id == "usdc"
    found = index.update([first, second], {})
    assert found.profile((1, address(1 << 140))).id == "usdc"
    assert found.profile((1, address(2 << 140))).id == "usdc-000020"
    again = as_list([listed("B", 1 << 140), listed("C", 7)])  # which describes a token of the second too
    found = index.update([again, second], {(1, address(7)): 6})
    assert [found.profile((1, address(number))).id for number in (1 << 140, 2 << 140, 7)] == [
        "b",
        "usdc",
        "c",
    ]
    assert found.profile((1, address(7))).contracts[0].decimals == 6
    assert found.by_id("a") is None


symbols = st.text("USDC.-_$e0", min_size=1, max_size=6)
numbers = st.one_of(st.integers(1, 4), st.integers(1, 1 << 159))
tokens = st.builds(
    listed, symbols, numbers, st.sampled_from([1, 56, 8453]), decimals=st.sampled_from([6, 18])
)
lists_of_tokens = st.lists(st.lists(tokens, max_size=8), min_size=3, max_size=3)


@given(lists_of_tokens)
def test_every_token_has_one_id_and_no_network_has_an_id_twice(lists):
    found = snapshot(*lists)
    keys = {(token.chain_id, token.address) for tokens in lists for token in tokens}
    assert all(found.profile(key) for key in keys)
    for chain_id in (1, 56, 8453):
        profiles = list(found.of_chain(chain_id))
        assert len({profile.id for profile in profiles}) == len(profiles)
        assert all(contract.chain_id == chain_id for p in profiles for contract in p.contracts)
    assert all(found.by_id(profile.id) == profile for profile in found.profiles)
    assert len({profile.id for profile in found.profiles}) == len(found.profiles)
    assert sum(len(profile.contracts) for profile in found.profiles) == len(keys) + len(NETWORKS)


@given(st.lists(lists_of_tokens, min_size=1, max_size=4), st.sets(numbers, max_size=3))
def test_lists_merged_one_after_another_are_as_if_merged_at_once(states, corrected):
    index = Index(NETWORKS, 50)
    decimals = {}
    for lists in states:
        decimals = {} if decimals else {(1, address(number)): 9 for number in corrected}
        found = index.update([as_list(tokens) for tokens in lists], decimals)
        assert found == snapshot(*lists, decimals=decimals)
        assert list(found.of_chain(1)) == list(snapshot(*lists, decimals=decimals).of_chain(1))
