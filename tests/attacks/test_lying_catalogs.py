"""Attacks: a token catalog that gives USDC another symbol and 18 decimals, and one that never answers.

Its id sorts before all others, so it is asked first. Decimals are the chain's, and a row that contradicts the
chain loses its labels.
"""

import asyncio

import pytest
from direct_client import USER, client_of
from forged_tokens import sentences
from quoteway import Token, TokenCatalog, TokenProfile
from quoteway.testing.fakes import FakePlugin


class Catalog(TokenCatalog):
    """Lists one token."""

    id, title = "a-catalog", "A catalog"
    networks = frozenset({31337, 31338})

    def __init__(self, token):
        self.listed = token

    async def tokens(self, chain_id):
        if chain_id not in (None, self.listed.chain_id):
            return ()
        return (TokenProfile("usdc", self.listed.name, self.listed.symbol, 1, (self.listed,)),)

    async def profile(self, token_id):
        return (await self.tokens(None))[0]

    async def token(self, chain_id, address):
        return self.listed


class Hanging(Catalog):
    """Answers nothing."""

    async def tokens(self, chain_id):
        await asyncio.Event().wait()

    async def profile(self, token_id):
        await asyncio.Event().wait()

    async def token(self, chain_id, address):
        await asyncio.Event().wait()


@pytest.fixture
def usdc(fresh_devnet):
    return fresh_devnet.chains["devnet"].token("USDC").address


@pytest.fixture
def serve(fresh_devnet, usdc):
    def serve(kind=Catalog, symbol="USDT", decimals=18):
        catalog = kind(Token(31337, usdc, decimals, symbol, "Tether USD", "https://a.example/logo.png"))
        return client_of(fresh_devnet, 0.0, plugins={"a-catalog": FakePlugin([catalog])})

    return serve


async def test_decimals_and_symbol_of_a_lying_catalog_reach_nobody(serve, usdc, caplog):
    async with serve() as client:
        for _ in range(2):
            quote = await client.quote_swap("WETH", "USDC", 10**15)
        (got,) = quote["outputs"]
        assert (got["token"]["decimals"], got["token"]["symbol"], got["token"]["logoUri"]) == (
            6,
            "USDC",
            None,
        )
        assert quote["provider"] == "uniswap"
        assert 1_000 < float(quote["executionPrice"]) < 10_000
        action = await client.act(quote)
        texts = " ".join(sentences(action))
        assert "USDT" not in texts
        least = f"{int(got['amountMin']) // 10**6}.{int(got['amountMin']) % 10**6:06}".rstrip("0")
        assert f"{least} USDC" in texts
        balances = f"/v2/portfolio/balances?wallet={USER}&network=devnet&tokens={usdc}"
        rows = (await client.api.get(balances)).body["data"]
        (held,) = [row["token"] for row in rows if row["token"]["address"] == usdc]
        assert (held["symbol"], held["decimals"]) == ("USDC", 6)
        assert caplog.text.count("the row is refused") == 1


async def test_a_refused_row_is_no_row_of_the_list_and_its_catalog_is_named(serve, usdc):
    async with serve() as client:
        await client.quote_swap("WETH", "USDC", 10**15)
        page = (await client.api.get("/v2/tokens?network=devnet&limit=200")).body
        (row,) = [row for row in page["data"] if row["contracts"][0]["address"] == usdc]
        assert (row["symbol"], row["contracts"][0]["decimals"], row["verified"]) == ("USDC", 6, True)
        assert page["partial"] == [{"provider": "a-catalog", "reason": "unsafe_answer"}]
        shown = (await client.api.get(f"/v2/tokens/31337:{usdc}")).body
        assert (shown["symbol"], shown["contracts"][0]["decimals"]) == ("USDC", 6)
        assert shown["verified"] is True


async def test_rows_are_verified_when_the_chain_was_asked(serve, usdc):
    async with serve(symbol="USDC", decimals=6) as client:

        async def verified():
            page = (await client.api.get(f"/v2/tokens?network=devnet&query={usdc}&limit={next(limits)}")).body
            assert page["partial"] == []
            (row,) = page["data"]
            return row["verified"]

        limits = iter(range(10, 20))  # a page is cached by its query
        await verified()  # the catalog of pools may have read it by now
        await client.quote_swap("WETH", "USDC", 10**15)
        assert await verified() is True


async def test_a_wrong_symbol_with_the_right_decimals_loses_to_the_contract_s_own(serve):
    async with serve(decimals=6) as client:
        quote = await client.quote_swap("WETH", "USDC", 10**15)
        assert quote["outputs"][0]["token"]["symbol"] == "USDC"


async def test_a_catalog_that_hangs_costs_no_provider_its_quote(serve):
    async with serve(Hanging) as client:
        quote = await client.quote_swap("WETH", "USDC", 10**15)
        assert quote["provider"] == "uniswap"
        outcomes = {attempt["provider"]: attempt["outcome"] for attempt in quote["attempts"]}
        assert outcomes["uniswap"] == "quoted"
        assert quote["outputs"][0]["token"]["symbol"] == "USDC"
        action = await client.act(quote)
        assert action["simulation"]["status"] == "success"
