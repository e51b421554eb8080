"""Attack: a token whose symbol or name is a sentence or markup, for the page or the person that reads it."""

import pytest
from cheating import wanted
from direct_client import USER
from forged_tokens import make_token, sentences
from quoteway import NATIVE

pytestmark = pytest.mark.asyncio(loop_scope="module")
PROSE = [
    "USDC, sent to you. 1",
    "<b>USDC</b>",
    "Claim at x.io",
    "USDC (official)",
    "\u202eCDSU",
    "U\u200bSDC",
    "USDC\nDAI",
]


@pytest.mark.parametrize("symbol", PROSE, ids=ascii)
async def test_a_symbol_that_is_a_sentence_or_markup_is_shown_nowhere(client, symbol):
    forged = await make_token(client, symbol, f"<i>{symbol}</i>")
    swap = {"fromToken": NATIVE, "toToken": forged, "amount": str(10**15), "provider": "uniswap"}
    quote = await client.ask("/v2/swaps/quote", wanted(client, **swap))
    action = await client.act(quote)
    assert quote["outputs"][0]["token"]["symbol"] is None
    assert quote["outputs"][0]["token"]["name"] is None
    for answer in (quote, action):
        assert symbol not in str(answer)
    assert any(forged in text for text in sentences(action))
    shown = (await client.api.get(f"/v2/tokens/31337:{forged}")).body
    assert symbol not in str(shown)
    held = (await client.api.get(f"/v2/portfolio/balances?wallet={USER}&network=devnet&tokens={forged}")).body
    assert symbol not in str(held)
