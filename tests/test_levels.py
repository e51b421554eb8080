"""The checks of the levels: an honest provider passes, and wrong behaviours are found by name."""

import pytest
from quoteway.config.model import Config, QuotesConfig
from quoteway.engine.gateway import Gateway
from quoteway.models import Capability, Token
from quoteway.networks import Endpoint, Network
from quoteway.testing.fakes import FakePlugin, HttpRpc, ListedPrices, ListedTokens
from quoteway.testing.levels import CHECKS, Examination
from wrong_behaviours import table
from wrong_behaviours.honest import KEY, Honest

pytestmark = pytest.mark.slow

HONEST = {
    Capability.SWAP: Honest,
    Capability.TOKENS: ListedTokens,
    Capability.PRICES: ListedPrices,
    Capability.RPC: HttpRpc,
}
IDS = {
    Capability.SWAP: "router",
    Capability.TOKENS: "listed-tokens",
    Capability.PRICES: "listed-prices",
    Capability.RPC: "http-rpc",
}
ROWS = [row for row in table.ROWS if row[0] in HONEST]


@pytest.fixture
def examined(fresh_devnet):
    """``await examined(capability, kind, name)`` runs one check of a provider of this class."""
    chain = fresh_devnet.chains["devnet"]
    endpoint = Endpoint(fresh_devnet.urls["devnet"])
    network = Network("devnet", 31337, "Devnet", endpoints=(endpoint,), contracts=chain.kinds)
    tokens = [
        Token(31337, each.address, each.decimals, each.symbol, each.symbol, listed=True)
        for each in chain.tokens[:3]
    ]
    usd = {each.address: 2_000.0 if each.symbol == "WETH" else 1.0 for each in chain.tokens}

    def made(capability, kind):
        return {
            Capability.SWAP: lambda context: kind(context, 31337, chain.contracts["UniswapV2Router02"]),
            Capability.TOKENS: lambda context: kind(tokens),
            Capability.PRICES: lambda context: kind({31337}, usd),
            Capability.RPC: lambda context: kind(context),
        }[capability]

    async def examine(capability, kind, name):
        provider = made(capability, kind)
        providers = [provider] if capability is Capability.RPC else [HttpRpc, provider]

        def start():
            plugin = FakePlugin(providers, networks=[network])
            config = Config(quotes=QuotesConfig(competition_timeout_s=30.0))
            return Gateway(config, plugins={"fake": plugin}, discover=False).running()

        (check,) = (each for each in CHECKS if each.name == name and capability in each.capabilities)
        examination = Examination(fresh_devnet, start, "fake", CHECKS, secrets=(KEY,))
        result = await examination.run(check, capability, IDS[capability])
        return check, result

    return examine


@pytest.mark.parametrize(
    ("capability", "kind", "name"), ROWS, ids=[f"{name}-{kind.__name__}" for _, kind, name in ROWS]
)
async def test_a_wrong_behaviour_is_found_by_its_check(examined, capability, kind, name):
    check, result = await examined(capability, kind, name)
    finding = result.finding
    assert finding is not None
    assert (finding.check, finding.level) == (name, check.level)
    assert finding.remedy


@pytest.mark.parametrize(("capability", "name"), sorted({(row[0], row[2]) for row in ROWS}))
async def test_an_honest_provider_passes_that_check(examined, capability, name):
    _, result = await examined(capability, HONEST[capability], name)
    assert result.finding is None


def test_each_wrong_behaviour_says_what_is_wrong_once():
    sentences = [kind.__doc__ for _, kind, _ in table.ROWS]
    assert all(sentences)
    assert len(set(sentences)) == len(sentences)
    assert len(sentences) >= 111
