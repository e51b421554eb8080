"""``quoteway describe`` finds of the router what this plugin says of it."""

from importlib import resources

import pytest
from quoteway.config.model import Config
from quoteway.evm.abi import function
from quoteway.server.describing.describe import Asked, described
from quoteway_solidly.deployments import Deployment
from quoteway_solidly.executor import COIN_FOR_TOKENS, TOKENS_FOR_COIN, TOKENS_FOR_TOKENS, descriptions

ABI = resources.files("quoteway_devnet") / "artifacts" / "SolidlyExchange.json"
FUTURE = 4_000_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("declaration", "amounts", "value", "path"),
    [
        (TOKENS_FOR_TOKENS, (10**21, 1), 0, "DAI USDC WETH"),
        (TOKENS_FOR_COIN, (10**21, 1), 0, "DAI USDC WETH"),
        (COIN_FOR_TOKENS, (1,), 10**18, "WETH USDC MKR"),
    ],
)
async def test_the_roles_that_this_plugin_names_are_proved(exchange, declaration, amounts, value, path):
    first, middle, last = (exchange.token(symbol).address for symbol in path.split())
    routes = [(first, middle, False, exchange.address), (middle, last, False, exchange.address)]
    data = function(declaration).encode([*amounts, routes, exchange.account, FUTURE])
    config = Config(plugin_sections={"devnet": exchange.sections()["devnet"]})
    call = "devnet", None, exchange.address, "0x" + data.hex(), exchange.account, value
    source, unproved = await described(config, Asked(ABI, *call))
    assert unproved == ()
    found = {}
    exec(source, found)
    (contract,) = found["quoteway_call_descriptions"](None)
    place = Deployment(exchange.address, exchange.address, exchange.weth, ())
    (own,) = descriptions({"aerodrome": {31337: place}})
    assert all(call in own.calls for call in contract.calls)
