"""The exchange of the tutorial "add a liquidity family" on the devnet, and gateways that route through it."""

import sys
from pathlib import Path

from quoteway.config.model import CallsConfig
from quoteway.evm.abi import encode_call
from quoteway.evm.calls.registry import digest_of
from quoteway_devnet.exchange import OwnExchange

FOLDER = Path(__file__).parent.parent / "docs" / "tutorial" / "fee_apart"
sys.path.insert(0, str(FOLDER.parent))


class Exchange(OwnExchange):
    """The exchange on the devnet, with pools of its own."""

    def __init__(self, devnet):
        super().__init__(devnet)
        self.address = self.deploy("FeeApartExchange")

    def add(self, first, second, dollars):
        """Makes a pool at the devnet's prices with so many dollars on each side."""
        tokens, amounts = self.sides(first, second, dollars)
        for token, amount in zip(tokens, amounts, strict=True):
            self.approve(token, self.address, amount)
        self.send(self.address, encode_call("add(address,address,uint256,uint256)", [*tokens, *amounts]))


def plugins():
    """Returns the plugins: the exchange, Uniswap and the router."""
    import fee_apart
    import quoteway_devnet.plugin
    import quoteway_router
    import quoteway_rpc
    import quoteway_uniswap

    return {
        "devnet": quoteway_devnet.plugin,
        "rpc": quoteway_rpc,
        "uniswap": quoteway_uniswap,
        "router": quoteway_router,
        "fee-apart": fee_apart,
    }


def sections(exchange, fee=500):
    """Returns the members of their configuration."""
    from fee_apart.executor import descriptions

    row = {
        "network": "devnet",
        "address": exchange.address,
        "fee": fee,
        "base_tokens": [exchange.token("USDC").address],
    }
    return {
        "calls": CallsConfig(pinned=(digest_of(descriptions({31337: {"address": exchange.address}})),)),
        "plugin_sections": {
            "devnet": exchange.sections()["devnet"],
            "uniswap": {"solver_processes": 0},
            "fee-apart": {"exchanges": [row]},
        },
    }


async def gateway_of(exchange, make_gateway, fee=500, more=None, **others):
    """Returns a gateway with these plugins and ``more``."""
    return await make_gateway({**plugins(), **(more or {})}, **sections(exchange, fee), **others)
