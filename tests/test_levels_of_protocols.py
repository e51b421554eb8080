"""The checks on both chains: providers of the repository pass, wrong ones are found by name."""

import pytest
import quoteway_uniswap
from quoteway.config.model import Config, QuotesConfig
from quoteway.engine.gateway import Gateway
from quoteway.models import Capability
from quoteway.testing.fakes import FakePlugin, HttpRpc, NodeRelay
from quoteway.testing.levels import CHECKS, Examination
from quoteway_across.provider import AcrossBridge
from quoteway_across.transfers import Transfers
from quoteway_devnet.networks import devnet_networks
from quoteway_devnet.relayer import Relayer
from quoteway_erc4626.provider import Erc4626Provider
from quoteway_uniswap.pool_provider import UniswapPools
from wrong_behaviours import table
from wrong_behaviours.series import VaultSeries

pytestmark = pytest.mark.slow

EXECUTIONS = 12
HONEST = {
    Capability.VAULT: Erc4626Provider,
    Capability.POOL: UniswapPools,
    Capability.BRIDGE: AcrossBridge,
    Capability.RELAY: NodeRelay,
    Capability.METRICS: VaultSeries,
}
IDS = {
    Capability.VAULT: "erc4626",
    Capability.POOL: "uniswap",
    Capability.BRIDGE: "across",
    Capability.RELAY: "node-relay",
    Capability.METRICS: "vault-series",
}
ROWS = [row for row in table.ROWS if row[0] in HONEST]


@pytest.fixture(scope="module")
def relayer(devnet):
    with Relayer.running(devnet) as relayer:
        yield relayer


@pytest.fixture
def examining(fresh_devnet, relayer):
    """``examining(capability, kind)`` returns the examination of a provider of this class."""
    networks = devnet_networks(fresh_devnet.ports, f"http://127.0.0.1:{relayer.port}/api")

    def examination(capability, kind):
        bridges = capability is Capability.BRIDGE

        def made(context):
            return kind(context, Transfers(context)) if bridges else kind(context)

        def start():
            lifespan = quoteway_uniswap.quoteway_lifespan if capability is Capability.POOL else None
            plugin = FakePlugin([HttpRpc, made], networks=networks, lifespan=lifespan)
            config = Config(quotes=QuotesConfig(competition_timeout_s=30.0))
            return Gateway(config, plugins={"fake": plugin}, discover=False).running()

        return Examination(fresh_devnet, start, "fake", CHECKS, EXECUTIONS)

    return examination


def check_of(capability, name):
    (check,) = (each for each in CHECKS if each.name == name and capability in each.capabilities)
    return check


@pytest.mark.parametrize(
    ("capability", "kind", "name"), ROWS, ids=[f"{name}-{kind.__name__}" for _, kind, name in ROWS]
)
async def test_a_wrong_behaviour_is_found_by_its_check(examining, capability, kind, name):
    check = check_of(capability, name)
    finding = (await examining(capability, kind).run(check, capability, IDS[capability])).finding
    assert finding is not None
    assert (finding.check, finding.level) == (name, check.level)
    assert finding.remedy


@pytest.mark.parametrize("capability", HONEST)
async def test_an_honest_provider_passes_those_checks(examining, capability):
    examination = examining(capability, HONEST[capability])
    for name in sorted({row[2] for row in ROWS if row[0] is capability}):
        result = await examination.run(check_of(capability, name), capability, IDS[capability])
        assert result.finding is None
        assert result.not_applicable is None
