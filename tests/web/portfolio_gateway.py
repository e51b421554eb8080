"""A gateway over both chains of the devnet whose lists, prices and node the portfolio tests choose."""

from dataclasses import replace

from quoteway.models import Token
from quoteway.networks import Endpoint, Network
from quoteway.testing.fakes import FakePlugin, HttpRpc, ListedPrices, ListedTokens

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def address(number):
    """A made-up address in the one spelling there is."""
    from quoteway.evm.address import checksum

    return checksum(f"0x{0xABCD << 144 | number:040x}")


class CountingRpc(HttpRpc):
    def __init__(self, context):
        super().__init__(context)
        self.seen = []
        self.dead = set()
        self.refused = set()

    async def forward(self, network, method, params, *, timeout_s):
        from quoteway.errors import UpstreamError

        if network.slug in self.dead or method in self.refused:
            raise UpstreamError("No node answers.")
        if method == "eth_call":
            self.seen.append(params)
        return await super().forward(network, method, params, timeout_s=timeout_s)


class PortfolioGateway:
    """A served gateway over both chains of the devnet. A test may change its tokens' code and its node."""

    def __init__(self, devnet):
        self.devnet = devnet
        self.manifest = devnet.chains["devnet"]
        self.rpc = None

    def token(self, symbol):
        row = self.manifest.token(symbol)
        return Token(31337, row.address, row.decimals, row.symbol, row.symbol)

    def put(self, code, *addresses):
        with self.devnet.rpc() as rpc:
            for at in range(0, len(addresses), 500):
                rpc.batch([("anvil_setCode", [a, code]) for a in addresses[at : at + 500]])
            rpc("evm_mine")

    async def serve(
        self, serve_app, *more, config=None, listed=("WETH", "USDC", "USDT"), usd=None, beside=None
    ):
        networks = [
            Network(
                slug, chain.chain_id, slug, head_poll_s=0.2, endpoints=(Endpoint(self.devnet.urls[slug]),)
            )
            for slug, chain in self.devnet.chains.items()
        ]
        networks[0] = replace(networks[0], wrapped_native=self.manifest.contracts["WETH9"])
        self.prices = ListedPrices({31337}, usd or {})

        def rpc(context):
            self.rpc = CountingRpc(context)
            return self.rpc

        tokens = [self.token(t) if isinstance(t, str) else t for t in listed]
        providers = [rpc, ListedTokens(tokens), self.prices, *more]
        plugins = {"fake": FakePlugin(providers, networks=networks), **(beside or {})}
        api = await serve_app(plugins, config=config)
        for chain in api.gateway.runtime.chains.values():
            await chain.head(fresh=True)
        return api
