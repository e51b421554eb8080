"""Uniswap and EIP-4626 vaults in processes of their own, on the devnet: the same answers to the unit."""

import pathlib
import sys

import pytest
from quoteway.config.model import Config, PluginsConfig, QuotesConfig
from quoteway.evm.arrivals import request_arrival
from quoteway.host.checked_provider import plugins_own
from quoteway.models import Capability, VaultRequest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "core"))
from devnet_gateway import USER, DevnetGateway

PLUGINS = ("devnet", "rpc", "uniswap", "erc4626")
ISOLATED = ("uniswap", "erc4626")


@pytest.fixture
async def both(fresh_devnet, make_gateway):
    """A gateway with these plugins isolated, and one without."""
    ports = {"port": fresh_devnet.ports["devnet"], "l2_port": fresh_devnet.ports["devnet-l2"]}
    gateways = []
    for isolate in (ISOLATED, ()):
        config = Config(
            plugins=PluginsConfig(load=PLUGINS, startup_timeout_s=300.0, isolate=isolate),
            quotes=QuotesConfig(competition_timeout_s=30.0),
            plugin_sections={
                "devnet": {"enabled": True, "start": False, **ports},
                "uniswap": {"solver_processes": 0},
            },
        )
        gateways.append(DevnetGateway(fresh_devnet, await make_gateway(config=config, discover=True)))
    return gateways


def provider(env, capability, name):
    return env.gateway.registry.get(capability, name)


@pytest.mark.parametrize(
    ("sold", "got", "amount"),
    [
        ("USDC", "WETH", 10**9),
        pytest.param("WETH", "USDC", 10**18, marks=pytest.mark.slow),
        pytest.param("DAI", "WETH", 10**21, marks=pytest.mark.slow),
    ],
)
async def test_an_isolated_swap_is_quoted_and_built_as_one_in_the_server_and_pays_the_quote(
    both, sold, got, amount
):
    isolated, plain = both
    assert type(plugins_own(provider(isolated, "swap", "uniswap"))).__name__ == "IsolatedSwapProvider"
    assert type(plugins_own(provider(plain, "swap", "uniswap"))).__name__ == "UniswapProvider"
    request = isolated.request(sold, got, amount)
    with request_arrival():
        quotes = [await provider(env, "swap", "uniswap").quote(request) for env in both]
    assert quotes[0] == quotes[1]
    answer = await isolated.gateway.quoting.quote(Capability.SWAP, request)
    sealed = isolated.gateway.quote_tokens.open(Capability.SWAP, answer.sealed.token)
    builds = [await provider(env, "swap", "uniswap").build(sealed) for env in both]
    assert builds[0] == builds[1]
    action = await isolated.gateway.building.action(sealed)
    before = await isolated.balance(isolated.token(got))
    for step in action.steps:
        await isolated.send(step.to, step.data, step.value)
    assert await isolated.balance(isolated.token(got)) - before == sealed.outputs[0].amount


@pytest.mark.slow
async def test_isolated_pools_and_prices_are_those_of_the_server(both):
    pools = [await provider(env, "pool", "uniswap").pools(31337) for env in both]
    assert pools[0]
    assert {pool.id for pool in pools[0]} == {pool.id for pool in pools[1]}
    weth = both[0].token("WETH").address
    block = await both[0].chain.head(fresh=True)
    prices = [await provider(env, "prices", "uniswap").prices(31337, [weth], block) for env in both]
    assert prices[0][weth].usd == prices[1][weth].usd


async def test_an_isolated_vault_takes_a_deposit_as_one_in_the_server(both):
    isolated, plain = both
    vault = (await provider(isolated, "vault", "erc4626").vaults(31337))[0]
    assert vault.id in {each.id for each in await provider(plain, "vault", "erc4626").vaults(31337)}
    amount = 10**vault.asset.decimals
    request = VaultRequest(vault.id, 31337, "deposit", vault.asset.address, amount, USER, USER, 50)
    with request_arrival():
        quotes = [await provider(env, "vault", "erc4626").quote(request) for env in both]
    assert quotes[0] == quotes[1]
    answer = await isolated.gateway.quoting.quote(Capability.VAULT, request)
    sealed = isolated.gateway.quote_tokens.open(Capability.VAULT, answer.sealed.token)
    action = await isolated.gateway.building.action(sealed)
    before = await isolated.balance(vault.share)
    for step in action.steps:
        await isolated.send(step.to, step.data, step.value)
    assert await isolated.balance(vault.share) - before >= sealed.outputs[0].amount_min
