import pytest
import quoteway_rpc
from quoteway import Endpoint, Networks
from quoteway.config.model import Config
from quoteway.config.network import NetworkConfig
from quoteway.evm.address import parse_address
from quoteway_rpc.default_networks import DEFAULT_NETWORKS


def test_the_default_networks_are_seven_and_distinct():
    networks = Networks(DEFAULT_NETWORKS)
    assert {network.slug: network.chain_id for network in networks} == {
        "ethereum": 1,
        "optimism": 10,
        "bnb": 56,
        "unichain": 130,
        "polygon": 137,
        "base": 8453,
        "arbitrum": 42161,
    }
    for network in networks:
        assert parse_address(network.wrapped_native) == network.wrapped_native
        assert network.explorer_url.startswith("https://")
        assert not network.endpoints


async def test_only_networks_with_an_endpoint_are_served(make_gateway):
    config = Config(networks={"base": NetworkConfig(rpc=(Endpoint("http://127.0.0.1:9"),))})
    gateway = await make_gateway({"rpc": quoteway_rpc}, config=config)
    assert [network.slug for network in gateway.runtime.networks] == ["base"]
    assert [entry.provider.id for entry in gateway.registry.providers] == ["rpc"]


@pytest.mark.parametrize(
    "member", ["attempt_timeout_s", "total_timeout_s", "cooldown_s", "max_response_bytes", "max_logs"]
)
@pytest.mark.parametrize("value", [-1, "five", True, float("nan"), 10**12])
def test_settings_out_of_range_are_refused(member, value):
    schema = quoteway_rpc.quoteway_settings()()
    assert member in schema.validate({member: value})
