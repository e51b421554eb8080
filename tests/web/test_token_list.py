"""``GET /v2/tokens``: searched and paged in memory, over catalogs that change, fail, list forged tokens."""

import asyncio
from dataclasses import replace

import pytest
from quoteway import Network, Token, TokenCatalog, TokenProfile
from quoteway.testing.fakes import FakePlugin, MemoryRpc


def token(number, symbol, chain_id=7, name=None):
    return Token(chain_id, f"0x{number:040d}", 18, symbol, name or f"{symbol} Coin")


def profile(*contracts, rank=None):
    first = contracts[0]
    return TokenProfile(first.symbol.lower().strip("$"), first.name, first.symbol, 5, contracts, rank=rank)


class Listing(TokenCatalog):
    """Lists ``profiles``, by their number as revision."""

    title = "Listing"
    networks = frozenset({7, 8})

    def __init__(self, name, *profiles):
        self.id = name
        self.profiles = list(profiles)
        self.reads = 0
        self.fails = False

    async def tokens(self, chain_id):
        self.reads += 1
        if self.fails:
            raise ValueError
        return tuple(self.profiles)

    def revision(self):
        return f"{len(self.profiles)}"

    async def profile(self, token_id):
        return next((each for each in self.profiles if each.id == token_id), None)

    async def token(self, chain_id, address):
        return None


EARTH = profile(token(1, "EARTH"), replace(token(2, "EARTH.e", 8), name="Earth on Eight"))
MARS = profile(token(3, "MARS"), rank=9)
FORGED = replace(profile(token(4, "$EARTH")), id="earth-4")
MANY = [profile(token(100 + at, f"T{at:03d}")) for at in range(120)]


@pytest.fixture
def serve(serve_app):
    async def serve(*catalogs):
        networks = [Network("seven", 7, "Seven"), Network("eight", 8, "Eight")]
        plugins = {each.id: FakePlugin([each]) for each in catalogs}
        return await serve_app({"node": FakePlugin([MemoryRpc({7, 8})], networks=networks), **plugins})

    return serve


async def ids(api, query=""):
    page = (await api.get(f"/v2/tokens?{query}")).body
    return [row["id"] for row in page["data"]], page


async def test_the_best_match_is_first_and_forged_tokens_are_last_and_marked(serve, contract):
    api = await serve(Listing("a", FORGED, EARTH, MARS))
    page = contract.check("listTokens", await api.get("/v2/tokens?query=earth"))
    found = [(row["id"], row["lookAlikeOf"]) for row in page["data"]]
    assert found == [("earth", "earth-4"), ("earth-4", None)]
    api = await serve(Listing("a", EARTH, MARS), Listing("b", FORGED))
    rows = (await api.get("/v2/tokens?query=earth")).body["data"]
    assert [(row["id"], row["lookAlikeOf"]) for row in rows] == [("earth", None), ("earth-4", "earth")]
    shown = contract.check("getToken", await api.get("/v2/tokens/earth-4"))
    assert shown["lookAlikeOf"] == "earth"
    assert (await ids(api, "query=erath"))[0] == ["earth", "earth-4"]
    assert (await ids(api))[0] == ["mars", "earth", "earth-4"]


async def test_of_one_network_a_token_has_the_contract_and_the_names_of_there(serve):
    api = await serve(Listing("a", EARTH, MARS))
    found, page = await ids(api, "network=eight")
    (row,) = page["data"]
    assert (found, row["symbol"], row["name"], page["total"]) == (["earth"], "EARTH.e", "Earth on Eight", 1)
    assert [contract["chainId"] for contract in row["contracts"]] == [8]
    assert (await ids(api, "network=eight&query=mars"))[0] == []


@pytest.mark.parametrize("query", ["", "query=t", "sort=symbol", "sort=-symbol", "query=coin&sort=-rank"])
async def test_pages_join_without_gap_or_double(serve, query):
    api = await serve(Listing("a", *MANY, MARS))
    seen, cursor = [], ""
    while True:
        rows, page = await ids(api, f"{query}&limit=50{cursor}")
        seen += rows
        assert page["total"] == 120 + (query != "query=t")
        if page["nextCursor"] is None:
            break
        assert len(rows) == 50
        cursor = f"&cursor={page['nextCursor']}"
    assert len(seen) == len(set(seen)) == page["total"]
    if "symbol" in query:
        assert seen == sorted(seen, reverse="-" in query)


async def test_a_page_begins_after_the_row_of_its_cursor_wherever_that_is_now(serve):
    catalog = Listing("a", *MANY)
    api = await serve(catalog)
    rows, page = await ids(api, "limit=10")
    catalog.profiles.insert(0, EARTH)
    async with asyncio.timeout(20):
        while (await ids(api, "limit=1&query=earth"))[0] != ["earth"]:
            await asyncio.sleep(0.05)
    following = (await ids(api, f"limit=3&cursor={page['nextCursor']}"))[0]
    assert (rows[-1], following) == ("t009", ["t010", "t011", "t012"])


async def test_a_catalog_is_read_once_for_each_revision_and_one_that_fails_is_named(serve):
    good, bad = Listing("good", EARTH), Listing("bad", MARS)
    api = await serve(good, bad)
    limits = iter(range(2, 200))
    for _ in range(5):
        assert sorted((await ids(api, f"limit={next(limits)}"))[0]) == ["earth", "mars"]
    assert (good.reads, bad.reads) == (1, 1)
    bad.fails = True
    bad.profiles.append(EARTH)
    async with asyncio.timeout(20):
        while bad.reads == 1:
            await ids(api, f"limit={next(limits)}")
    rows, page = await ids(api, f"limit={next(limits)}")
    assert (sorted(rows), page["partial"]) == (
        ["earth", "mars"],
        [{"provider": "bad", "reason": "provider_error"}],
    )
    assert good.reads == 1


async def test_a_catalog_that_changes_at_each_request_is_not_read_at_each(serve):
    class Restless(Listing):
        def revision(self):
            self.asked = getattr(self, "asked", 0) + 1
            return str(self.asked)

        async def tokens(self, chain_id):
            await asyncio.sleep(0.1)
            return await super().tokens(chain_id)

    catalog = Restless("a", *MANY)
    api = await serve(catalog)
    began = asyncio.get_running_loop().time()
    for at in range(120):
        assert (await ids(api, f"limit={at + 1}"))[1]["total"] == 120
    taken_s = asyncio.get_running_loop().time() - began
    assert catalog.reads <= 2 + taken_s, "a read of 0.1 s, and then 1 s without"


async def test_without_any_answer_the_list_fails_instead_of_being_empty(serve, refused):
    bad = Listing("bad", MARS)
    bad.fails = True
    refused(await (await serve(bad)).get("/v2/tokens"), 502, "upstream_error", "provider_error")


@pytest.mark.parametrize("cursor", ["x", "bnVsbA", "WyJhIiwtMV0"])
async def test_a_cursor_of_nothing_is_refused(serve, refused, cursor):
    api = await serve(Listing("a", EARTH))
    refused(await api.get(f"/v2/tokens?cursor={cursor}"), 422, "validation_error", "invalid_format")
