"""What several catalogs say of a token is merged by its contracts, member by member, and by nothing else."""

from dataclasses import replace

import pytest
from quoteway.host.token_facts import FILLED, CatalogProfiles, TokenFactsOfCatalogs
from quoteway.models import Token, TokenProfile, TokenRows

ONE, OTHER, THIRD = (f"0x{number:040x}" for number in (1, 2, 3))


def token(address=ONE, chain_id=1, decimals=18):
    return Token(chain_id, address, decimals, "USDX", "Dollars")


def profile(token_id="usdx", *contracts, **more):
    return TokenProfile(token_id, "Dollars", "USDX", 7, contracts or (token(),), **more)


def merged(*catalogs):
    given = [CatalogProfiles(name, TokenRows.of(rows), *lists) for name, rows, *lists in catalogs]
    return list(TokenFactsOfCatalogs(given).listed())


VALUES = dict.fromkeys(FILLED, "text") | {
    "rank": 3,
    "holders": 4,
    "price_change_24h_pct": 1.5,
    "market_cap_usd": 2.5,
    "fdv_usd": 3.5,
    "volume_24h_usd": 4.5,
    "audit_score": 0.5,
    "tags": ("stable",),
    "socials": (("x", "https://x"),),
}


def test_each_member_that_is_missing_is_added_with_its_source():
    (found,) = merged(("lists", [profile()]), ("market", [profile("ucid-9", **VALUES)], False))
    assert found == profile(**VALUES, sources=tuple((member, "market") for member in FILLED))


@pytest.mark.parametrize("member", FILLED)
def test_what_the_first_catalog_says_stays(member):
    value = {str: "mine", int: 1, float: 0.25}.get(type(VALUES[member]), ("mine",))
    own = {member: (("mine", "https://mine"),) if member == "socials" else value}
    (found,) = merged(("lists", [profile(**own)]), ("market", [profile("ucid-9", **VALUES)], False))
    assert getattr(found, member) == own[member]
    assert member not in dict(found.sources)


def test_catalogs_add_in_their_order():
    first = profile("a", website="https://first.example")
    second = profile("b", website="https://second.example", ucid="2")
    (found,) = merged(("lists", [profile()]), ("one", [first], False), ("two", [second], False))
    assert (found.website, found.ucid) == ("https://first.example", "2")
    assert found.sources == (("website", "one"), ("ucid", "two"))


def test_nothing_is_merged_by_symbol_name_or_id():
    spoof = profile("usdx", token(OTHER), ucid="1", website="https://phish.example")
    real = profile("usdx", token(ONE))
    found = merged(("lists", [real]), ("more", [spoof]))
    assert found == [real, spoof]


def test_another_catalog_changes_no_identity_contract_or_price():
    claims = TokenProfile(
        *("evil", "Evil", "EVIL", 9),
        (token(decimals=18), token(OTHER, 10)),
        price_usd=9e9,
        listed=False,
        verified=True,
        look_alike_of="usdx",
        ucid="66",
    )
    found = merged(("lists", [profile()]), ("market", [claims], False))
    assert found == [profile(ucid="66", sources=(("ucid", "market"),))]


def test_a_list_with_other_decimals_is_of_another_token():
    wrong = profile("usdx2", token(decimals=6), ucid="1")
    first, other = merged(("lists", [profile()]), ("more", [wrong]))
    assert first == profile()
    assert (other.id, other.contracts[0].decimals) == ("usdx", 6), "used where the first is refused"
    (found,) = merged(("lists", [profile()]), ("market", [wrong], False))
    assert found.ucid == "1", "a catalog that lists no tokens does not know decimals"


def test_facts_of_an_asset_are_those_of_each_of_its_tokens():
    one, two = profile("usdx", token(ONE, 1)), profile("usdx.b", token(OTHER, 10))
    facts = profile("ucid-9", token(ONE, 1), token(OTHER, 10), ucid="9")
    found = merged(("lists", [one, two]), ("market", [facts], False))
    assert [each.ucid for each in found] == ["9", "9"]
    assert [each.contracts for each in found] == [one.contracts, two.contracts]


def test_of_two_facts_for_one_contract_the_first_counts():
    facts = [profile("ucid-1", ucid="1"), profile("ucid-2", ucid="2", rank=5)]
    (found,) = merged(("lists", [profile()]), ("market", facts, False))
    assert (found.ucid, found.rank) == ("1", 5)


def test_a_catalog_of_facts_alone_lists_nothing():
    assert merged(("market", [profile(ucid="1")], False)) == []
    (found,) = merged(("market", [profile(ucid="1")], False), ("lists", [profile()]))
    assert (found.id, found.ucid) == ("usdx", "1"), "wherever it is configured"


def test_what_nothing_is_added_to_is_not_copied():
    listed = [profile(f"token{number}", token(f"0x{number:040x}")) for number in range(1, 50)]
    rows = TokenRows.of(listed)
    facts = TokenRows.of([profile("x", token(THIRD), ucid="3")])
    catalogs = [CatalogProfiles("lists", rows), CatalogProfiles("market", facts, False)]
    found = TokenFactsOfCatalogs(catalogs).listed()
    assert [each is row for each, row in zip(found.packed, rows.packed, strict=True)] == [
        row.contracts[0].address != THIRD for row in listed
    ]
    assert found[2] == replace(listed[2], ucid="3", sources=(("ucid", "market"),))
