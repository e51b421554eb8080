"""Warnings about tokens: they come from memory."""

from dataclasses import replace

import pytest
from quoteway.models import NATIVE, Capability, SwapRequest, Token
from quoteway.networks import Network
from quoteway.testing.fakes import FAKE_CALLS, FakePlugin, FixedRateSwap, ListedTokens, MemoryRpc

USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USD = Token(7, "0x" + "1" * 40, 6, "USD")
OTHER = Token(7, "0x" + "2" * 40, 6, "USD")
SEVEN = Network("seven", 7, "Seven")


async def quoted(make_gateway, token, *providers):
    """The warnings of a warm quote, and the methods that it asked a node for."""
    chain = MemoryRpc({7}, tokens=[token])
    plugin = FakePlugin([chain, FixedRateSwap, *providers], networks=[SEVEN], calls=[FAKE_CALLS])
    gateway = await make_gateway({"fake": plugin})
    for _ in range(2):
        chain.calls.clear()
        found = await gateway.tokens.find_all(7, [token.address, NATIVE])
        request = SwapRequest(7, 7, found[NATIVE], found[token.address], 10**6, USER, USER, 50)
        answer = await gateway.quoting.quote(Capability.SWAP, request)
    assert gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token).warnings == answer.sealed.warnings
    return codes_of(answer), [method for method, _ in chain.calls]


def codes_of(answer):
    """The codes of the warnings behind the first: these chains without contracts simulate nothing."""
    first, *codes = (warning.code for warning in answer.sealed.warnings)
    assert first == "not_simulated"
    return codes


@pytest.mark.parametrize("symbol", ["USD", "ETH", "\u0415TH"])
async def test_a_warm_quote_of_an_unlisted_token_reads_no_more_than_one_of_a_listed_token(
    make_gateway, symbol
):
    token = replace(USD, symbol=symbol)
    warnings, asked = await quoted(make_gateway, token)
    listed_warnings, listed_asked = await quoted(make_gateway, token, ListedTokens([token]))
    assert asked == listed_asked
    assert warnings == ["unlisted_token"] + ["symbol_clash"] * (symbol != "USD")
    assert listed_warnings == ["symbol_clash"] * (symbol == "ETH")


@pytest.mark.parametrize(("symbol", "clashes"), [("USD", True), ("usd", True), ("U5D", False)])
async def test_of_two_listed_tokens_the_first_of_a_list_has_the_symbol(make_gateway, symbol, clashes):
    second = replace(OTHER, symbol=symbol)
    catalog = ListedTokens([USD, second])
    assert (await quoted(make_gateway, USD, catalog))[0] == []
    assert (await quoted(make_gateway, second, catalog))[0] == ["symbol_clash"] * clashes


async def test_tokens_of_two_lists_with_one_symbol_both_clash(make_gateway):
    catalogs = [ListedTokens([USD]), ListedTokens([OTHER], provider_id="other")]
    for token in (USD, OTHER):
        assert (await quoted(make_gateway, token, *catalogs))[0] == ["symbol_clash"]


async def test_a_row_with_other_decimals_than_the_contract_s_does_not_make_a_token_listed(make_gateway):
    warnings, _ = await quoted(make_gateway, USD, ListedTokens([replace(USD, decimals=18)]))
    assert warnings == ["unlisted_token"]


async def test_a_refused_row_has_no_symbol_that_others_could_clash_with(make_gateway):
    liar = ListedTokens([replace(OTHER, decimals=18)], provider_id="a-liar")
    plugin = FakePlugin(
        [MemoryRpc({7}, tokens=[USD, OTHER]), FixedRateSwap, liar, ListedTokens([USD])], networks=[SEVEN]
    )
    gateway = await make_gateway({"fake": plugin})
    token = await gateway.tokens.find(7, USD.address)
    assert (await gateway.tokens.look_alike(token)).address == OTHER.address, "nobody knows better yet"
    assert not (await gateway.tokens.find(7, OTHER.address)).listed
    assert await gateway.tokens.look_alike(token) is None


@pytest.mark.parametrize("symbol", ["USD, sent to you. 1", "<b>USD</b>", "U" * 21, "US\u0414"])
async def test_a_catalog_s_symbol_that_is_a_sentence_gives_way_to_the_contract_s(make_gateway, symbol):
    catalog = ListedTokens([replace(USD, symbol=symbol)])
    plugin = FakePlugin([MemoryRpc({7}, tokens=[USD]), catalog], networks=[SEVEN])
    gateway = await make_gateway({"fake": plugin})
    token = await gateway.tokens.find(7, USD.address)
    assert (token.symbol, token.listed) == ("USD", True)


async def test_a_provider_s_symbols_and_names_are_not_used(make_gateway):
    class Renaming(FixedRateSwap):
        async def quote(self, request):
            quote = await super().quote(request)
            (got,) = quote.outputs
            renamed = replace(got.token, symbol="DAI", name="Dai", listed=True)
            return replace(quote, outputs=(replace(got, token=renamed),))

    chain = MemoryRpc({7}, tokens=[USD])
    plugin = FakePlugin([chain, Renaming], networks=[SEVEN], calls=[FAKE_CALLS])
    gateway = await make_gateway({"fake": plugin})
    found = await gateway.tokens.find_all(7, [USD.address, NATIVE])
    request = SwapRequest(7, 7, found[NATIVE], found[USD.address], 10**6, USER, USER, 50)
    answer = await gateway.quoting.quote(Capability.SWAP, request)
    assert answer.quote.outputs[0].token == answer.sealed.outputs[0].token == USD
    assert codes_of(answer) == ["unlisted_token"]
