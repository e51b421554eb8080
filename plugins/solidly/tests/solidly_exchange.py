"""Our exchange with the interface of Solidly's descendants on the devnet, and gateways that use it."""

from dataclasses import replace

import quoteway_devnet.plugin
import quoteway_router
import quoteway_rpc
import quoteway_solidly
import quoteway_uniswap
from quoteway import RoutingLimits
from quoteway.config.model import CallsConfig, Config, QuotesConfig, ServerConfig
from quoteway.evm.abi import encode_call
from quoteway.evm.calls.registry import digest_of
from quoteway_devnet.exchange import OwnExchange
from quoteway_devnet.transactions import constructor_arguments
from quoteway_solidly.deployments import Deployment
from quoteway_solidly.executor import descriptions

PLUGINS = {
    "devnet": quoteway_devnet.plugin,
    "rpc": quoteway_rpc,
    "uniswap": quoteway_uniswap,
    "router": quoteway_router,
    "solidly": quoteway_solidly,
}
OWN = RoutingLimits(protocols=("aerodrome-routes",))


class Exchange(OwnExchange):
    """The exchange, and pools at the devnet's prices."""

    def __init__(self, devnet):
        super().__init__(devnet)
        self.weth = self.manifest.token("WETH").address
        places = constructor_arguments("(address,address)", [self.deploy("SolidlyMaths"), self.weth])
        self.address = self.deploy("SolidlyExchange", places)

    def add(self, first, second, dollars, stable, fee):
        tokens, amounts = self.sides(first, second, dollars)
        for token, amount in zip(tokens, amounts, strict=True):
            self.approve(token, self.address, amount)
        call = encode_call(
            "add(address,address,bool,uint256,uint256,uint256)", [*tokens, stable, *amounts, fee]
        )
        self.send(self.address, call)

    def remove(self, pool, amount0, amount1):
        call = encode_call("remove(address,uint256,uint256,address)", [pool, amount0, amount1, self.account])
        self.send(self.address, call)

    def claim(self, pool):
        self.send(self.address, encode_call("claim(address,address)", [pool, self.account]))

    def pause(self, paused):
        self.send(self.address, encode_call("setPaused(bool)", [paused]))

    def row(self, **changes):
        base = [self.token(symbol).address for symbol in ("USDC", "DAI")]
        row = {"name": "aerodrome", "network": "devnet", "factory": self.address, "router": self.address}
        return row | {"base_tokens": base} | changes

    def digest(self):
        place = Deployment(self.address, self.address, self.weth, ())
        return digest_of(descriptions({"aerodrome": {31337: place}}))

    def config(self, *rows):
        """Returns the configuration of a server over this exchange."""
        return Config(
            server=replace(ServerConfig(), port=0),
            quotes=QuotesConfig(competition_timeout_s=30.0),
            calls=CallsConfig(pinned=(self.digest(),)),
            plugin_sections={
                **self.sections(),
                "uniswap": {"solver_processes": 0},
                "solidly": {"deployments": list(rows)},
            },
        )

    async def gateway(self, make_gateway, **changes):
        return await make_gateway(PLUGINS, config=self.config(self.row(**changes)))

    async def executed(self, gateway, request, provider="aerodrome-routes", **more):
        """Quotes and executes: what was received is what was quoted. Returns the quote."""
        return await super().executed(gateway, request, provider, **more)
