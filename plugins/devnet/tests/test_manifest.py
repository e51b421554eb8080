import json
import re
from collections import Counter

import pytest
from quoteway_devnet.generate import manifest_text, token_list_text
from quoteway_devnet.manifest import chain_manifests, token_list_path
from quoteway_devnet.packages import prepare
from quoteway_devnet.state import build_dumps

ZERO = "0x0000000000000000000000000000000000000000"


@pytest.mark.slow
def test_what_is_built_is_what_is_committed(tmp_path):
    built = build_dumps(prepare(), tmp_path)
    assert token_list_path().read_text() == token_list_text(built)
    assert token_list_path().with_name("manifest.json").read_text() == manifest_text(built)


def test_enough_of_everything():
    chain = chain_manifests()["devnet"]
    assert len(chain.tokens) >= 12
    assert {token.decimals for token in chain.tokens} == {6, 8, 18}
    assert {token.behaviour for token in chain.tokens} == {"plain", "wrapped", "no_return", "fee_on_transfer"}
    assert len(chain.pools) >= 40
    assert len({pool.id for pool in chain.pools}) == len(chain.pools)
    assert {p.fee for p in chain.pools if p.protocol == "uniswap-v3"} == {100, 500, 3000, 10000}
    v4 = [pool for pool in chain.pools if pool.protocol == "uniswap-v4"]
    assert sum(pool.token0 == ZERO for pool in v4) >= 5
    assert sum(pool.token0 != ZERO for pool in v4) >= 5
    assert sum(pool.hooks != ZERO for pool in v4) == 1


def test_some_tokens_trade_against_one_other_only():
    chain = chain_manifests()["devnet"]
    symbols = {token.address: token.symbol for token in chain.tokens} | {ZERO: "WETH"}
    pairs = {frozenset((symbols[p.token0], symbols[p.token1])) for p in chain.pools if p.hooks == ZERO}
    partners = Counter(symbol for pair in pairs for symbol in pair)
    lonely = {symbol for symbol, count in partners.items() if count == 1}
    assert lonely >= {"EURC", "GHO", "MKR", "CRV", "cbBTC", "PEPE"}
    # Three hops are the only way between two tokens whose single partners differ.
    assert {frozenset(("EURC", "USDC")), frozenset(("USDC", "USDT")), frozenset(("GHO", "USDT"))} <= pairs


def test_contracts_and_tokens_have_one_address_on_both_chains():
    first, second = chain_manifests().values()
    assert first.contracts == second.contracts
    assert {token.address for token in second.tokens} <= {token.address for token in first.tokens}


def test_token_list_is_a_token_list():
    document = json.loads(token_list_path().read_text())
    assert re.fullmatch(r"[ \w.'+\-%/À-ÖØ-öø-ÿ:&\[\]()]{1,30}", document["name"])
    assert set(document["version"]) == {"major", "minor", "patch"}
    assert {token["chainId"] for token in document["tokens"]} == {31337, 31338}
    for token in document["tokens"]:
        assert re.fullmatch(r"0x[a-fA-F0-9]{40}", token["address"])
        assert token["address"] != ZERO
        assert 0 <= token["decimals"] <= 255
        assert 0 < len(token["symbol"]) <= 20
        assert set(token.get("tags", [])) <= set(document["tags"])
