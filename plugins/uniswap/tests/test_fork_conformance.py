"""The framework's conformance suites for swaps and pools, on each kind of router that forks have."""

import pytest
import quoteway_devnet.plugin
import quoteway_router
import quoteway_uniswap
from fork_chain import AlgebraFork, ForkChain, PancakeFork, V2Fork
from quoteway import SwapRequest, Token
from quoteway.config.network import NetworkConfig
from quoteway.testing.conformance import LiquidityConformance, SwapConformance
from test_uniswap_conformance import WALLET, token

pytestmark = pytest.mark.slow


class OfFork:
    """``make`` deploys a fork with a pool of WETH and USDC and one of USDC and DAI."""

    @pytest.fixture
    async def gateway(self, fresh_devnet, make_gateway):
        quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
        fork = self.make(ForkChain(fresh_devnet))
        ports = {"port": fresh_devnet.ports["devnet"], "l2_port": fresh_devnet.ports["devnet-l2"]}
        row, kinds = fork.row(self.protocol), {fork.router: self.kind}
        return await make_gateway(
            {
                "devnet": quoteway_devnet.plugin,
                "rpc": quoteway_rpc,
                "router": quoteway_router,
                "uniswap": quoteway_uniswap,
            },
            networks={"devnet": NetworkConfig(deployments={"uniswap": (row,)}, contracts=kinds)},
            plugin_sections={
                "devnet": {"enabled": True, "start": False, **ports},
                "uniswap": {"solver_processes": 0},
                "router": {"solver_processes": 0},
            },
        )


class Swaps(OfFork):
    @property
    def provider_id(self):
        return f"{self.protocol}-routes"

    @pytest.fixture
    def cases(self, fresh_devnet):
        def case(sold, bought, amount):
            ends = token(fresh_devnet, sold), token(fresh_devnet, bought)
            return SwapRequest(31337, 31337, *ends, amount, WALLET, WALLET, 50)

        return [
            case("USDC", "WETH", 10**9),
            case("ETH", "USDC", 10**18),
            case("DAI", "ETH", 5 * 10**21),
            case("WETH", "DAI", 10**17),
        ]

    @pytest.fixture
    def unknown(self, fresh_devnet):
        nowhere = Token(31337, "0x1111111111111111111111111111111111111111", 18, "NONE")
        return SwapRequest(31337, 31337, token(fresh_devnet, "USDC"), nowhere, 10**6, WALLET, WALLET, 50)


class Pools(OfFork):
    provider_id = "uniswap-forks"

    @pytest.fixture
    def pairs(self, fresh_devnet):
        weth, usdc, dai = (token(fresh_devnet, symbol).address for symbol in ("WETH", "USDC", "DAI"))
        return [(31337, weth, usdc), (31337, usdc, dai), (31337, dai, weth)]


class V2Router:
    protocol, kind = "sushiswap-v2", "uniswap.v2-router"

    def make(self, chain):
        fork = V2Fork(chain, "SushiSwap", (997, 1000))
        for pair in (("WETH", "USDC"), ("USDC", "DAI")):
            fork.add(*pair, 10_000_000)
        return fork


class V3Router:
    protocol, kind = "pancakeswap-v3", "uniswap.v3-router"

    def make(self, chain):
        fork = PancakeFork(chain)
        for first, second, fee, ticks in (("WETH", "USDC", 500, 2_000), ("USDC", "DAI", 100, 50)):
            fork.create(first, second, fee)
            fork.mint(first, second, fee, 10_000_000, ticks)
        return fork


class AlgebraRouter:
    protocol, kind = "someswap", "algebra.router"

    def make(self, chain):
        fork = AlgebraFork(chain)
        for first, second, fee, ticks in (("WETH", "USDC", 500, 2_000), ("USDC", "DAI", 100, 120)):
            fork.create(first, second, fee)
            fork.mint(first, second, 10_000_000, ticks)
        return fork


class TestV2RouterSwaps(V2Router, Swaps, SwapConformance): ...


class TestV2RouterPools(V2Router, Pools, LiquidityConformance): ...


class TestV3RouterSwaps(V3Router, Swaps, SwapConformance): ...


class TestV3RouterPools(V3Router, Pools, LiquidityConformance): ...


class TestAlgebraRouterSwaps(AlgebraRouter, Swaps, SwapConformance): ...


class TestAlgebraRouterPools(AlgebraRouter, Pools, LiquidityConformance): ...
