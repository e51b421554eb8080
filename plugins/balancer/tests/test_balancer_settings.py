"""The rows of the configuration: what they mean, and which are refused."""

import pytest
import quoteway_balancer
from quoteway import ConfigError, Network
from quoteway.testing.fakes import FakePlugin, MemoryRpc
from quoteway_balancer.deployments import VAULT, VAULT_V3, configured_deployments, configured_v3

FACTORY, OTHER = "0x5Dd94Da3644DDD055fcf6B3E1aa310Bb7801EB8b", "0xdba127fBc23fb20F5929C546af220A991b5C6e01"
WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
POOL = "0x5C6ee304399dbdb9c8ef030ab642b10820db8f56000200000000000000000014"
ROUTER = "0x136f1EFcC3f8f88516B9E94110D56FDBfB1778d1"
ROW_V3 = {
    "network": "mainnet",
    "version": 3,
    "batch_router": ROUTER,
    "factories": {FACTORY: "weighted"},
    "since_block": 21332121,
}
ROW = {"network": "mainnet", "factories": {FACTORY: "weighted"}, "pools": [POOL]}


class Context:
    def __init__(self, *rows, network=None, wrapped=WETH):
        deployments = {} if network is None else {"balancer": network}
        from quoteway.networks import Networks

        made = Network("mainnet", 1, "Ethereum", wrapped_native=wrapped, deployments=deployments)
        self.networks, self.settings = Networks([made]), {"deployments": rows}


def test_a_row_has_the_public_vault_unless_it_names_another():
    (found,) = configured_deployments(Context(ROW)).values()
    assert (found.chain_id, found.vault, found.wrapped_native) == (1, VAULT, WETH)
    assert found.factories == {FACTORY: "weighted"}
    assert (found.pools, found.since_block) == ((POOL.lower(),), None)
    (found,) = configured_deployments(Context(ROW | {"vault": OTHER, "since_block": 7})).values()
    assert (found.vault, found.since_block) == (OTHER, 7)


def test_a_configured_row_replaces_the_networks_own():
    own = {"factories": {OTHER: "composable-stable"}}
    (found,) = configured_deployments(Context(network=(own,))).values()
    assert found.factories == {OTHER: "composable-stable"}
    (found,) = configured_deployments(Context(ROW, network=(own,))).values()
    assert found.factories == {FACTORY: "weighted"}
    assert configured_deployments(Context()) == {}


@pytest.mark.parametrize(
    ("rows", "finding"),
    [
        ([ROW | {"network": "nowhere"}], "network must be one of mainnet"),
        ([ROW | {"network": 1}], "network must be one of mainnet"),
        ([ROW, ROW], "has two rows of v2"),
        ([ROW, ROW | {"version": 2}], "has two rows of v2"),
        ([ROW_V3, ROW_V3], "has two rows of v3"),
        ([ROW | {"version": 4}], "version must be 2 or 3, got 4"),
        ([ROW | {"version": "3"}], "version must be 2 or 3, got '3'"),
        ([ROW | {"batch_router": ROUTER}], "unknown member 'batch_router'"),
        ([{"network": "mainnet"}], "factories must be a table"),
        ([ROW | {"factories": {}}], "factories must be a table"),
        ([ROW | {"factories": [FACTORY]}], "factories must be a table"),
        ([ROW | {"factories": {FACTORY: "linear"}}], "'linear' is no family; known: weighted"),
        ([ROW | {"factories": {"0x5": "weighted"}}], "40 hexadecimal digits"),
        ([ROW | {"factories": {FACTORY[:-1] + "B": "weighted"}}], "checksum"),
        ([ROW | {"vault": 5}], "an address is text"),
        ([ROW | {"pools": [POOL[:42]]}], "no id of 0x and 64 hex digits"),
        ([ROW | {"pools": [5]}], "no id of 0x and 64 hex digits"),
        ([ROW | {"pools": 5}], "mainnet"),
        ([ROW | {"since_block": -1}], "since_block must be a block number"),
        ([ROW | {"since_block": True}], "since_block must be a block number"),
        ([ROW | {"since_block": "7"}], "since_block must be a block number"),
        ([ROW | {"vaults": VAULT}], "unknown member 'vaults'"),
    ],
)
def test_a_wrong_row_is_refused_with_what_is_wrong(rows, finding):
    with pytest.raises(ConfigError) as refusal:
        configured_deployments(Context(*rows))
    assert finding in str(refusal.value)


def test_a_network_may_have_a_row_of_each_version():
    context = Context(ROW, ROW_V3 | {"pools": [OTHER]})
    assert configured_deployments(context) == configured_deployments(Context(ROW))
    (found,) = configured_v3(context).values()
    assert (found.chain_id, found.vault, found.batch_router) == (1, VAULT_V3, ROUTER)
    assert (found.wrapped_native, found.listed, found.since_block) == (WETH, (OTHER,), 21332121)
    (found,) = configured_v3(Context(ROW_V3 | {"vault": OTHER})).values()
    assert found.vault == OTHER


@pytest.mark.parametrize(
    ("row", "finding"),
    [
        ({name: ROW_V3[name] for name in ("network", "version", "factories")}, "batch_router is missing"),
        (ROW_V3 | {"batch_router": None}, "an address is text"),
        (ROW_V3 | {"factories": {FACTORY: "composable-stable"}}, "is no family; known: weighted"),
        (ROW_V3 | {"pools": [POOL]}, "40 hexadecimal digits"),
        (ROW_V3 | {"routers": ROUTER}, "unknown member 'routers'"),
    ],
)
def test_a_wrong_row_of_v3_is_refused_with_what_is_wrong(row, finding):
    with pytest.raises(ConfigError) as refusal:
        configured_v3(Context(row))
    assert finding in str(refusal.value)


def test_a_network_without_a_wrapped_coin_cannot_have_the_vault():
    with pytest.raises(ConfigError) as refusal:
        configured_deployments(Context(ROW, wrapped=None))
    assert "no wrapped_native" in str(refusal.value)


async def test_without_rows_the_plugin_serves_nothing(make_gateway):
    chain = FakePlugin([MemoryRpc({1})], networks=[Network("mainnet", 1, "Ethereum", wrapped_native=WETH)])
    gateway = await make_gateway({"chain": chain, "balancer": quoteway_balancer})
    mine = [entry for entry in gateway.registry.providers if entry.provider.id == "balancer"]
    assert {entry.provider.networks for entry in mine} == {frozenset()}
    wrong = {"balancer": {"deployments": [ROW | {"factories": {FACTORY: "linear"}}]}}
    gateway = await make_gateway({"chain": chain, "balancer": quoteway_balancer}, plugin_sections=wrong)
    (entry,) = [entry for entry in gateway.registry.plugins if entry.name == "balancer"]
    assert entry.reason == "config_invalid"
