"""Our pools and router with the interface of Curve's on the devnet, and gateways that use them."""

from dataclasses import replace

import quoteway_curve
import quoteway_devnet.plugin
import quoteway_router
import quoteway_rpc
from quoteway import RoutingLimits
from quoteway.config.model import CallsConfig, Config, QuotesConfig, ServerConfig
from quoteway.evm.abi import encode_call
from quoteway.evm.calls.registry import digest_of
from quoteway_curve.deployments import Deployment
from quoteway_curve.executor import descriptions
from quoteway_devnet.exchange import OwnExchange
from quoteway_devnet.transactions import constructor_arguments

PLUGINS = {
    "devnet": quoteway_devnet.plugin,
    "rpc": quoteway_rpc,
    "router": quoteway_router,
    "curve": quoteway_curve,
}
OWN = RoutingLimits(protocols=("curve-routes",))
RELEASES = ("3pool", "template", "ng")
POOL = "(address,address[],uint8,uint256,uint256,uint256)"


class Exchange(OwnExchange):
    """The router, and pools at the devnet's prices."""

    def __init__(self, devnet):
        super().__init__(devnet)
        self.weth = self.manifest.token("WETH").address
        self.maths = self.deploy("StableSwapMaths")
        self.router = self.deploy("StableSwapRouter")
        self.pools, self.rows = {}, []

    def address(self, symbol):
        return self.token(symbol).address

    def add(self, name, release, symbols, dollars, amplification, fee, multiplier=0):
        coins = [self.address(symbol) for symbol in symbols]
        values = [self.maths, coins, RELEASES.index(release), amplification, fee, multiplier]
        pool = self.pools[name] = self.deploy("StableSwapPool", constructor_arguments(POOL, values))
        amounts = [self.units(symbol, each) for symbol, each in zip(symbols, dollars, strict=True)]
        for coin, amount in zip(coins, amounts, strict=True):
            self.approve(coin, pool, amount)
        self.send(pool, encode_call("add(uint256[])", [amounts]))
        self.rows.append({"network": "devnet", "address": pool, "release": release, "coins": coins})

    def section(self, **changes):
        router = {"network": "devnet", "address": self.router, "release": "1.1"}
        return {"routers": [router], "pools": self.rows} | changes

    def config(self, section=None):
        """Returns the configuration of a server over these pools."""
        place = Deployment(self.router, 10, self.weth, ())
        return Config(
            server=replace(ServerConfig(), port=0),
            quotes=QuotesConfig(competition_timeout_s=30.0),
            calls=CallsConfig(pinned=(digest_of(descriptions({31337: place})),)),
            plugin_sections={
                **self.sections(),
                "curve": self.section() if section is None else section,
            },
        )

    async def gateway(self, make_gateway, **changes):
        return await make_gateway(PLUGINS, config=self.config(self.section(**changes)))

    async def executed(self, gateway, request, provider="curve-routes", **more):
        """Quotes and executes: what was received is what was quoted. Returns the quote."""
        return await super().executed(gateway, request, provider, **more)
