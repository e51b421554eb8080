"""Deployment rows: built-in rows give well-known pools, wrong rows raise an error."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from quoteway import NATIVE, ConfigError, Network, RoutingLimits, SwapRequest, Token
from quoteway.evm.calls.router_commands import dialect
from quoteway_uniswap.candidates import (
    PoolRef,
    PoolRefs,
    candidate_pools,
    hooked_pools,
    pool_id,
    pools_of_pair,
    sorted_pair,
)
from quoteway_uniswap.deployments import PoolKey, deployments_of, parse_deployment
from quoteway_uniswap.public_networks import ROWS
from quoteway_uniswap.routing import permitted
from quoteway_uniswap.settings import UniswapSettings

ETHEREUM = Network("ethereum", 1, "Ethereum")
WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"


def test_well_known_pools_of_ethereum():
    (deployment,) = deployments_of(ETHEREUM)
    refs = {
        (ref.kind, ref.fee, ref.token0): ref.id for ref in pools_of_pair(deployment, *sorted_pair(WETH, USDC))
    }
    assert refs["v2", 3000, USDC] == "0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc"
    assert refs["v3", 500, USDC] == "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640"
    assert refs["v3", 3000, USDC] == "0x8ad599c3A0ff1De082011EFDDc58f1908eb6e6D8"
    assert refs["v4", 500, NATIVE] == "0x21c67e77068de97969ba93d4aab21826d33ca12bb9f565d8496e8fda8a82ca27"


def test_a_well_known_pool_of_base():
    (deployment,) = deployments_of(Network("base", 8453, "Base"))
    weth, usdc = deployment.wrapped_native, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
    ids = {ref.id for ref in pools_of_pair(deployment, *sorted_pair(weth, usdc))}
    assert "0xd0b53D9277642d899DF5C87A3966A349A798F224" in ids


@pytest.mark.parametrize("chain_id", sorted(ROWS))
def test_every_built_in_row_is_complete(chain_id):
    (deployment,) = deployments_of(Network("n", chain_id, "N"))
    assert deployment.v2
    assert deployment.v3
    assert deployment.v4
    assert not dialect(deployment.router_version).hop_limits
    assert len(set(deployment.pass_through)) == len(deployment.base_tokens) + 1


def test_candidates_are_the_same_for_both_forms_of_the_native_coin():
    (deployment,) = deployments_of(ETHEREUM)
    shib = "0x95aD61b0a150d79219dCF64E1E6Cc01f0B64C4cE"
    refs = candidate_pools(deployment, NATIVE, shib)
    assert refs == candidate_pools(deployment, WETH, shib)
    assert len(set(refs)) == len(refs)
    # 15 pairs of 6 tokens with 9 pools each, and 4 native pools per pair with the wrapped coin.
    assert len(refs) == 15 * 9 + 5 * 4
    assert refs[: 10 * 9 + 4 * 4] == candidate_pools(deployment, WETH, USDC)


def test_the_candidates_of_a_pair_are_computed_and_hashed_once(monkeypatch):
    (deployment,) = deployments_of(ETHEREUM)
    hashed = []
    monkeypatch.setattr(PoolRef, "__hash__", lambda ref: hashed.append(ref) or hash(ref.id))
    refs = PoolRefs(candidate_pools(deployment, WETH, USDC))
    assert hash(refs) == hash(refs) == hash(tuple(refs))
    assert len(hashed) == 2 * len(refs)  # of these pools, and of the tuple
    assert {refs: 1}[PoolRefs(refs)] == 1
    assert refs != PoolRefs(refs[1:])
    assert candidate_pools(deployment, WETH, USDC) is candidate_pools(deployment, WETH, USDC)


def test_a_request_without_limits_may_use_the_same_pools():
    (deployment,) = deployments_of(ETHEREUM)
    refs = candidate_pools(deployment, WETH, USDC)
    tokens = (Token(1, WETH, 18, "WETH"), Token(1, USDC, 6, "USDC"))
    request = SwapRequest(1, 1, *tokens, 10**18, USDC, USDC, 50)
    assert permitted(deployment, refs, request) is refs
    for limits, count in (
        (RoutingLimits(max_hops=1, max_legs=2), len(refs)),
        (RoutingLimits(exclude_pools=(f"1:{refs[0].id}",)), len(refs) - 1),
        (RoutingLimits(pools=(f"1:{refs[0].id}",)), 1),
        (RoutingLimits(protocols=("uniswap-v2",)), sum(ref.kind == "v2" for ref in refs)),
        (RoutingLimits(exclude_protocols=("uniswap",)), 0),
    ):
        assert len(permitted(deployment, refs, replace(request, routing=limits))) == count


def test_a_configured_row_replaces_the_built_in_row_or_adds_a_fork():
    fork = {
        "protocol": "fork",
        "router": WETH,
        "router_version": "2.1.1",
        "wrapped_native": WETH,
        "v2": {"factory": USDC, "fee": [9975, 10_000]},
    }
    deployments = deployments_of(ETHEREUM, [fork, {**fork, "protocol": "uniswap"}])
    assert [(d.protocol, d.router_version) for d in deployments] == [("uniswap", "2.1.1"), ("fork", "2.1.1")]
    deployment = deployments_of(ETHEREUM, [fork])[1]
    (ref,) = pools_of_pair(deployment, *sorted_pair(WETH, USDC))
    assert (ref.fee, ref.v2_fee) == (2500, (9975, 10_000))


def test_configured_v4_pools_are_candidates_unless_they_have_hooks():
    row = dict(ROWS[1][0])
    odd = {"currency0": NATIVE, "currency1": USDC, "fee": 777, "tick_spacing": 7}
    row["v4_known_pools"] = [odd, {**odd, "fee": 1, "hooks": WETH}]
    deployment = parse_deployment(row, ETHEREUM)
    ids = {ref.id for ref in pools_of_pair(deployment, *sorted_pair(WETH, USDC))}
    assert pool_id(PoolKey(NATIVE, USDC, 777, 7)) in ids
    hooked = PoolKey(NATIVE, USDC, 1, 7, WETH)
    assert pool_id(hooked) not in ids
    assert hooked_pools(deployment, USDC, WETH) == hooked_pools(deployment, NATIVE, USDC) == (hooked,)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"router": None}, "router"),
        ({"router": "0x12"}, "40 hexadecimal digits"),
        ({"v2": {"factory": WETH, "fees": []}}, "unknown member 'fees'"),
        ({"v3": {"factory": WETH, "init_code_hash": "0x12"}}, "must have 32 bytes, got 1"),
        ({"v4": {"pool_manager": WETH, "fees": [[100, 0]]}}, "tick spacing 0"),
        ({"v2": None, "v3": None, "v4": None}, "one of v2, v3 and v4"),
        ({"rooter": WETH}, "unknown member 'rooter'"),
        ({"router_version": "1.2"}, "1.2"),
        ({"wrapped_native": None}, "wrapped_native"),
    ],
)
def test_a_wrong_row_raises_an_error_with_its_member(change, said):
    row = {name: value for name, value in {**ROWS[1][0], **change}.items() if value is not None}
    with pytest.raises(ConfigError, match=said) as refusal:
        parse_deployment(row, ETHEREUM)
    assert "'ethereum'" in str(refusal.value)


def test_settings_are_validated():
    assert UniswapSettings().load({}) == {
        "max_hops": None,
        "lifetime_s": None,
        "solver_processes": 1,
        "allowed_hooks": {},
        "deployments": [],
    }
    wrong = {"max_hops": 5, "lifetime_s": "60", "solver_processes": -1, "allowed_hooks": ["0x12"]}
    assert set(UniswapSettings().validate(wrong)) == set(wrong)


def test_the_configuration_in_the_readme_is_valid():
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    section = tomllib.loads(re.search(r"```toml\n(.*?)```", readme, re.S)[1])["plugin"]["uniswap"]
    (row,) = UniswapSettings().load(section)["deployments"]
    assert row.pop("network") == "ethereum"
    fork = parse_deployment(row, Network("ethereum", 1, "Ethereum", wrapped_native=WETH))
    assert (fork.v2.fee_numerator, fork.v2.fee_denominator) == (997, 1000)
