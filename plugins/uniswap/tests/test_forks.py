"""Rows of forks: the built-in ones lead to the known pools, and wrong ones are refused with their member."""

from types import SimpleNamespace

import pytest
from quoteway import ConfigError, Network
from quoteway.evm.calls.known_contracts import ADDRESSES
from quoteway.networks import Networks
from quoteway_uniswap.candidates import sorted_pair, v2_pool, v3_pool
from quoteway_uniswap.deployments import deployments_of, rows_of
from quoteway_uniswap.forks import forks_of, parse_fork
from quoteway_uniswap.public_forks import FORK_ROWS

WETH, USDC = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
WBNB, BUSD = "0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c", "0xe9e7CEA3DedcA5984780Bafc599bD69ADd087D56"
USDT = "0x55d398326f99059fF775485246999027B3197955"
KINDS = {"v2-router02": "uniswap.v2-router", "v3-router": "uniswap.v3-router"}
NETWORKS = {1: Network("ethereum", 1, "Ethereum"), 56: Network("bnb", 56, "BNB")}


def fork_of(chain_id, protocol):
    (row,) = [row for row in FORK_ROWS[chain_id] if row["protocol"] == protocol]
    return parse_fork(row, NETWORKS[chain_id])


@pytest.mark.parametrize(
    ("chain_id", "protocol", "tokens", "fee", "pool"),
    [
        (1, "sushiswap-v2", (WETH, USDC), None, "0x397FF1542f962076d0BFE58eA045FfA2d347ACa0"),
        (1, "pancakeswap-v2", (WETH, USDC), None, "0x2E8135bE71230c6B1B4045696d41C09Db0414226"),
        (56, "pancakeswap-v2", (WBNB, BUSD), None, "0x58F876857a02D6762E0101bb5C46A8c1ED44Dc16"),
        (56, "pancakeswap-v3", (WBNB, USDT), 500, "0x36696169C63e42cd08ce11f5deeBbCeBae652050"),
    ],
)
def test_built_in_rows_lead_to_the_known_pools(chain_id, protocol, tokens, fee, pool):
    row, pair = fork_of(chain_id, protocol).deployment, sorted_pair(*tokens)
    if fee is None:
        assert v2_pool(row.v2, *pair).id == pool
    else:
        (spacing,) = [spacing for tier, spacing in row.v3.fee_tiers if tier == fee]
        assert v3_pool(row.v3, *pair, fee, spacing).id == pool


@pytest.mark.parametrize("chain_id", FORK_ROWS)
def test_the_core_knows_the_routers_of_the_built_in_rows(chain_id):
    for row in FORK_ROWS[chain_id]:
        fork = parse_fork(row, NETWORKS[chain_id])
        assert ADDRESSES[chain_id][fork.deployment.router] == KINDS[fork.router_kind]


@pytest.mark.parametrize("factory", ["uniswap", "sushiswap-v2"])
def test_two_rows_with_the_same_pools_are_refused(factory):
    (row,) = [row for row in rows_of(NETWORKS[1]) if row["protocol"] == factory]
    twin = {**FORK_ROWS[1][0], "protocol": "twin", "v2": {"factory": row["v2"]["factory"], "fee": [99, 100]}}
    section = {"deployments": [{**twin, "network": "ethereum"}]}
    context = SimpleNamespace(networks=Networks([NETWORKS[1]]), settings=section)
    with pytest.raises(ConfigError, match=f"rows '{factory}' and 'twin' of network 'ethereum' both have"):
        forks_of(context)


def test_one_protocol_has_one_kind_of_router():
    row = {key: value for key, value in FORK_ROWS[56][1].items() if key != "wrapped_native"}
    mixed = {**row, "protocol": "pancakeswap-v2", "network": "bnb", "wrapped_native": WBNB}
    mixed["v3"] = {**row["v3"], "deployer": USDT}
    context = SimpleNamespace(networks=Networks(NETWORKS.values()), settings={"deployments": [mixed]})
    with pytest.raises(ConfigError, match="pancakeswap-v2 has the routers v2-router02 and v3-router"):
        forks_of(context)


def test_rows_of_forks_are_not_those_of_a_universal_router():
    protocols = {row["protocol"] for row in rows_of(NETWORKS[1])}
    assert {"uniswap", "sushiswap-v2", "pancakeswap-v3"} <= protocols
    assert [row.protocol for row in deployments_of(NETWORKS[1])] == ["uniswap"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"router_kind": "v9"}, "router_kind must be one of"),
        ({"router_version": "2.0"}, "unknown member 'router_version'"),
        ({"v3": {}}, "unknown member 'v3'"),
        ({"v2": {"factory": USDC, "fee": [1001, 1000]}}, "fee must be above 0"),
        ({"router": "0x12"}, "40 hexadecimal digits"),
        ({"v2": None}, "sushiswap"),
        ({"protocol": "v4"}, "none of algebra"),
        ({"protocol": "uniswap"}, "none of algebra"),
        ({"protocol": "Sushi Swap"}, "lower-case letters"),
        ({"protocol": "s" * 57}, "at most 56"),
        ({"router_kind": "v3-router", "v2": None}, "unknown member 'v2'"),
    ],
)
def test_a_wrong_row_is_refused_with_its_member(change, text):
    with pytest.raises(ConfigError, match=text):
        parse_fork({**FORK_ROWS[1][0], **change}, NETWORKS[1])


@pytest.mark.parametrize("member", ["router", "protocol", "router_kind", "v2"])
def test_a_row_without_a_member_is_refused(member):
    row = dict(FORK_ROWS[1][0])
    del row[member]
    with pytest.raises(ConfigError, match=f"{member} is required"):
        parse_fork(row, NETWORKS[1])
