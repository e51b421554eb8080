"""The conformance suites of the framework."""

from dataclasses import replace

import pytest
from quoteway import NATIVE, Capability, PoolRequest, SwapRequest, Token
from quoteway.testing.conformance import LiquidityConformance, PoolConformance, SwapConformance
from quoteway.testing.execution import execute
from quoteway_devnet.accounts import ACCOUNTS

WALLET = ACCOUNTS[2].address


def token(devnet, symbol, slug="devnet"):
    chain = devnet.chains[slug]
    if symbol == "ETH":
        return Token(chain.chain_id, NATIVE, 18, "ETH")
    row = chain.token(symbol)
    return Token(chain.chain_id, row.address, row.decimals, row.symbol)


class OfUniswap:
    provider_id = "uniswap"

    @pytest.fixture
    def gateway(self, gateway):
        return gateway


class TestSwaps(OfUniswap, SwapConformance):
    @pytest.fixture
    def cases(self, fresh_devnet):
        def case(sold, bought, amount, slug="devnet", **more):
            ends = token(fresh_devnet, sold, slug), token(fresh_devnet, bought, slug)
            chain_id = ends[0].chain_id
            return SwapRequest(chain_id, chain_id, *ends, amount, WALLET, WALLET, 50, **more)

        return [
            case("USDC", "WETH", 10**9),
            case("ETH", "USDC", 10**18),
            case("USDT", "ETH", 5 * 10**9),
            case("PEPE", "DAI", 10**26),
            case("WETH", "ETH", 10**17),
            case("USDC", "ETH", 10**9, "devnet-l2"),
            case("ETH", "USDC", 0, amount_out=10**9),
            case("USDC", "ETH", 0, "devnet-l2", amount_out=10**17),
        ]

    @pytest.fixture
    def unknown(self, fresh_devnet):
        nowhere = Token(31337, "0x1111111111111111111111111111111111111111", 18, "NONE")
        return SwapRequest(31337, 31337, token(fresh_devnet, "USDC"), nowhere, 10**6, WALLET, WALLET, 50)


class TestLiquidity(OfUniswap, LiquidityConformance):
    @pytest.fixture
    def pairs(self, fresh_devnet):
        def addresses(slug, *symbols):
            chain = fresh_devnet.chains[slug]
            return (chain.chain_id, *(chain.token(symbol).address for symbol in symbols))

        return [addresses("devnet", "WETH", "USDC"), addresses("devnet-l2", "USDC", "WETH")]


class TestPools(OfUniswap, PoolConformance):
    @pytest.fixture
    async def cases(self, fresh_devnet, gateway):
        """Returns requests of all actions in one pool of each version, with an existing position."""
        usdc = fresh_devnet.chains["devnet"].token("USDC").address
        found = {}
        for pool in fresh_devnet.chains["devnet"].pools:
            if usdc in (pool.token0, pool.token1):
                found.setdefault(pool.protocol, pool.id)
        # A swap pays fees to the position in the pool that it uses.
        ends = token(fresh_devnet, "USDC"), token(fresh_devnet, "ETH")
        swap = SwapRequest(31337, 31337, *ends, 10**11, WALLET, WALLET, 500)
        (path,) = (await gateway.quoting.quote(Capability.SWAP, swap)).quote.route
        traded = path.hops[0].pool
        adds = [
            PoolRequest(f"31337:{pool}", 31337, "add", usdc, 10**9, WALLET, WALLET, 50)
            for pool in dict.fromkeys([*found.values(), traded])
        ]
        for add in adds:
            await execute(fresh_devnet, await gateway.building.direct(Capability.POOL, add))
        await execute(fresh_devnet, await gateway.building.direct(Capability.SWAP, swap))
        # The provider is asked without the core, which would read the head for it.
        await gateway.runtime.chains[31337].head(fresh=True)
        provider = gateway.registry.get(Capability.POOL, "uniswap")
        rest = []
        for add in adds:
            (held,) = await provider.positions(WALLET, add.pool_id)
            here = replace(add, position_id=held.position_id)
            if any(leg.amount for leg in held.uncollected_fees):
                rest.append(replace(here, action="collect", amount=None))
            rest.append(replace(here, action="remove", amount=10**8))
            rest.append(replace(here, action="remove", amount=None))
        assert "collect" in [case.action for case in rest]
        return [*adds, *rest]

    @pytest.fixture
    def unknown(self):
        pool_id = "31337:0x1111111111111111111111111111111111111111"
        return PoolRequest(pool_id, 31337, "add", NATIVE, 10**9, WALLET, WALLET, 50)
