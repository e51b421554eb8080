"""``quoteway describe`` finds of the router what this plugin says, and of a pool what nobody may say."""

from importlib import resources

import pytest
from quoteway import NATIVE
from quoteway.config.model import Config
from quoteway.evm.abi import function
from quoteway.server.describing.describe import Asked, described
from quoteway_curve.deployments import Deployment
from quoteway_curve.executor import EXCHANGE, descriptions

FOLDER = resources.files("quoteway_devnet") / "artifacts"


async def found(exchange, contract, to, data):
    """Returns the described calls, and what is not proved."""
    config = Config(plugin_sections={"devnet": exchange.sections()["devnet"]})
    call = "devnet", None, to, "0x" + data.hex(), exchange.account
    source, unproved = await described(config, Asked(FOLDER / f"{contract}.json", *call))
    module = {}
    exec(source, module)
    (described_contract,) = module["quoteway_call_descriptions"](None)
    return described_contract.calls, unproved


@pytest.mark.slow
async def test_the_roles_that_this_plugin_names_are_proved(exchange):
    dai, usdc, gho = (exchange.address(symbol) for symbol in ("DAI", "USDC", "GHO"))
    route = [dai, exchange.pools["three"], usdc, exchange.pools["ng"], gho] + [NATIVE] * 6
    params = [[0, 1, 1, 1, 3], [0, 1, 1, 10, 2]] + [[0] * 5] * 3
    data = function(EXCHANGE).encode([route, params, 10**21, 1, [NATIVE] * 5, exchange.account])
    calls, unproved = await found(exchange, "StableSwapRouter", exchange.router, data)
    assert unproved == ()
    (own,) = descriptions({31337: Deployment(exchange.router, 10, exchange.weth, ())})
    for proved, named in zip(calls, own.calls, strict=True):
        assert (proved.action, proved.spends, proved.pays) == (named.action, named.spends, named.pays)


@pytest.mark.slow
async def test_coins_that_are_chosen_by_number_are_not_proved(exchange):
    swap = function("exchange(int128 i, int128 j, uint256 dx, uint256 minDy)")
    (call,), unproved = await found(
        exchange, "StableSwapPool", exchange.pools["three"], swap.encode([0, 1, 10**21, 1])
    )
    assert (call.spends, call.pays) == ((), ())
    assert {(each.path, each.role) for each in unproved} == {("#.i, #.j", "token")}
