"""The built-in list, compared with the official schema and the SDK's table."""

import json
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from eth_utils import is_checksum_address
from quoteway_tokenlist.document import parse_list

BODY = resources.files("quoteway_tokenlist").joinpath("builtin.tokenlist.json").read_bytes()
SCHEMA = json.loads((Path(__file__).parent / "data" / "tokenlist.schema.json").read_text())

# WETH9 table of @uniswap/sdk-core 7.19.4, dist/cjs/src/entities/weth9.js.
WRAPPED_NATIVE = {
    1: "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
    10: "0x4200000000000000000000000000000000000006",
    56: "0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c",
    130: "0x4200000000000000000000000000000000000006",
    137: "0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270",
    8453: "0x4200000000000000000000000000000000000006",
    42161: "0x82aF49447D8a07e3bd95BD0d56f35241523fBab1",
}


def test_it_is_a_token_list():
    jsonschema.Draft7Validator(SCHEMA).validate(json.loads(BODY))
    read = parse_list(BODY)
    assert read.skipped == {}
    assert len({(token.chain_id, token.address) for token in read.tokens}) == len(read.tokens)


def test_every_address_has_its_eip55_form():
    for token in json.loads(BODY)["tokens"]:
        assert is_checksum_address(token["address"]), token


@pytest.mark.parametrize(("chain_id", "wrapped_native"), WRAPPED_NATIVE.items())
def test_each_public_network_has_its_wrapped_native_coin_and_a_stablecoin(chain_id, wrapped_native):
    tokens = [token for token in parse_list(BODY).tokens if token.chain_id == chain_id]
    (wrapped,) = [token for token in tokens if token.address == wrapped_native]
    assert wrapped.decimals == 18
    assert any("stablecoin" in token.tags for token in tokens)


def test_stablecoins_of_bnb_chain_have_18_decimals():
    """The one network where they differ; 6 would be wrong by a factor of 10^12."""
    usd = {token.symbol: token.decimals for token in parse_list(BODY).tokens if token.chain_id == 56}
    assert (usd["USDC"], usd["USDT"]) == (18, 18)
