"""The makers' contracts of forks on the devnet, and a gateway with rows for them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from math import isqrt
from typing import Any

import pytest
import quoteway_devnet.plugin
import quoteway_router
import quoteway_uniswap
from public_networks import Place
from quoteway.config.model import Config, LimitsConfig, QuotesConfig
from quoteway.config.network import NetworkConfig
from quoteway.evm.abi import encode_call, function
from quoteway.evm.address import address_bytes, checksum, keccak256
from quoteway.testing.serving import served
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_devnet.packages import prepare_forks
from quoteway_devnet.transactions import constructor_arguments, own_init_code

MAKER = ACCOUNTS[3].address
ZERO = "0x" + "00" * 20
FAR = 2**32 - 1


class ForkChain:
    """Deploys forks and makes their pools at the devnet's prices. Its account holds every token."""

    def __init__(self, devnet: Devnet, slug: str = "devnet") -> None:
        self.devnet, self.slug, self.manifest = devnet, slug, devnet.chains[slug]
        self.weth = self.manifest.contracts["WETH9"]
        self.codes = json.loads(prepare_forks().read_text())

    def init_code(self, contract: str) -> bytes:
        code = self.codes.get(contract)
        return own_init_code(contract) if code is None else bytes.fromhex(code[2:])

    def deploy(self, contract: str, types: str = "()", *values: Any) -> str:
        data = self.init_code(contract) + constructor_arguments(types, values)
        return checksum(self.send(None, data)["contractAddress"])

    def construct(self, contract: str, address: str | None, types: str = "()", *values: Any) -> str:
        """Puts a contract at an address of choice, see ``Transactions.construct_at``; None: deploys it."""
        if address is None:
            return self.deploy(contract, types, *values)
        code = self.init_code(contract) + constructor_arguments(types, values)
        with self.devnet.rpc(self.slug) as rpc:
            rpc("anvil_setNonce", address, "0x1")
            rpc("anvil_setCode", address, "0x" + code.hex())
            call = {"from": MAKER, "to": address, "gas": hex(30_000_000)}
            runtime = rpc("eth_call", call, "latest")
            assert rpc.send(call)["status"] == "0x1"
            rpc("anvil_setCode", address, runtime)
        return address

    def send(self, to: str | None, data: bytes, value: int = 0) -> dict[str, Any]:
        sent = {"from": MAKER, "data": "0x" + data.hex(), "gas": hex(30_000_000), "value": hex(value)}
        with self.devnet.rpc(self.slug) as rpc:
            receipt: dict[str, Any] = rpc.send(sent | ({} if to is None else {"to": to}))
        assert receipt["status"] == "0x1", receipt
        return receipt

    def call(self, to: str, signature: str, *values: Any) -> dict[str, Any]:
        return self.send(to, encode_call(signature, list(values)))

    def read(self, to: str, declaration: str, *values: Any) -> tuple[Any, ...]:
        called = function(declaration)
        with self.devnet.rpc(self.slug) as rpc:
            answer = rpc("eth_call", {"to": to, "data": "0x" + called.encode(values).hex()}, "latest")
        return called.decode_output(bytes.fromhex(answer[2:]))

    def sides(self, first: str, second: str, dollars: float) -> list[tuple[str, int]]:
        """Returns both tokens in address order with an amount worth so many dollars."""
        rows = sorted((self.manifest.token(s) for s in (first, second)), key=lambda row: int(row.address, 16))
        return [(row.address, int(dollars / float(row.price_usd) * 10**row.decimals)) for row in rows]

    def approve(self, token: str, spender: str) -> None:
        self.call(token, "approve(address,uint256)", spender, 2**256 - 1)


def settle(devnet: Devnet) -> None:
    """Mines a block a minute later than the last one."""
    with devnet.rpc("devnet") as rpc:
        rpc("evm_increaseTime", 60)
        rpc("evm_mine")


class V2Fork:
    """A factory and its router. ``maker`` is the prefix of the contracts' names."""

    def __init__(self, chain: ForkChain, maker: str, fee: tuple[int, int]) -> None:
        self.chain, self.maker, self.fee = chain, maker, fee
        self.factory = chain.deploy(f"{maker}Factory", "(address)", MAKER)
        self.router = chain.deploy(f"{maker}Router", "(address,address)", self.factory, chain.weth)

    def add(self, first: str, second: str, dollars: float) -> None:
        (token0, amount0), (token1, amount1) = self.chain.sides(first, second, dollars)
        for token in (token0, token1):
            self.chain.approve(token, self.router)
        signature = "addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)"
        self.chain.call(self.router, signature, token0, token1, amount0, amount1, 0, 0, MAKER, FAR)
        (pair,) = self.chain.read(
            self.factory, "getPair(address token0, address token1) returns (address)", token0, token1
        )
        settle(self.chain.devnet)
        self.chain.call(pair, "sync()")

    def row(self, protocol: str, **more: Any) -> dict[str, Any]:
        pair_hash = "0x" + keccak256(self.chain.init_code(f"{self.maker}Pair")).hex()
        v2 = {"factory": self.factory, "init_code_hash": pair_hash, "fee": list(self.fee)}
        bases = [self.chain.manifest.token("USDC").address]
        row = {"protocol": protocol, "router_kind": "v2-router02", "router": self.router}
        return row | {"base_tokens": bases, "v2": v2} | more


class PancakeFork:
    """PancakeSwap v3: factory, the deployer of its pools, positions and router."""

    TIERS = ((100, 1), (500, 10), (2500, 50), (10000, 200))

    def __init__(self, chain: ForkChain, row: Mapping[str, Any] | None = None) -> None:
        """``row`` says where the contracts are; None: anywhere."""
        self.chain, row = chain, row or {"v3": {}}
        self.deployer = chain.construct("PancakePoolDeployer", row["v3"].get("deployer"))
        self.factory = chain.construct(
            "PancakeV3Factory", row["v3"].get("factory"), "(address)", self.deployer
        )
        chain.call(self.deployer, "setUp(address,bytes)", self.factory, chain.init_code("PancakeV3Pool"))
        places = self.deployer, self.factory, chain.weth
        self.positions = chain.deploy(
            "PancakePositionManager", "(address,address,address,address)", *places, ZERO
        )
        types = "(address,address,address)"
        self.router = chain.construct("PancakeSwapRouter", row.get("router"), types, *places)

    def create(self, first: str, second: str, fee: int) -> str:
        """Makes a pool at the devnet's price without liquidity and returns it."""
        (token0, amount0), (token1, amount1) = self.chain.sides(first, second, 10**9)
        price = isqrt((amount1 << 192) // amount0)
        self.chain.call(self.factory, "createPool(address,address,uint24)", token0, token1, fee)
        found = "getPool(address token0, address token1, uint24 fee) returns (address)"
        (pool,) = self.chain.read(self.factory, found, token0, token1, fee)
        self.chain.call(pool, "initialize(uint160)", price)
        return pool

    def mint(self, first: str, second: str, fee: int, dollars: float, ticks: int) -> None:
        """Adds a position of so many dollars on each side, ``ticks`` wide on each side of the price."""
        (token0, amount0), (token1, amount1) = self.chain.sides(first, second, dollars)
        for token in (token0, token1):
            self.chain.approve(token, self.positions)
        found = "getPool(address token0, address token1, uint24 fee) returns (address)"
        (pool,) = self.chain.read(self.factory, found, token0, token1, fee)
        slot0 = "slot0() returns (uint160, int24, uint16, uint16, uint16, uint32, bool)"
        _, tick, *_ = self.chain.read(pool, slot0)
        spacing = dict(self.TIERS)[fee]
        low, high = ((tick + side) // spacing * spacing for side in (-ticks, ticks))
        call = "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))"
        position = (token0, token1, fee, low, high, amount0, amount1, 0, 0, MAKER, FAR)
        self.chain.call(self.positions, call, position)

    def use(self, first: str, second: str, fee: int) -> None:
        """Swaps some dollars both ways: the first swap of a pool writes new storage for its fees."""
        call = "exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))"
        sides = self.chain.sides(first, second, 20)
        for (sold, amount), (bought, _) in (sides, sides[::-1]):
            self.chain.approve(sold, self.router)
            self.chain.call(self.router, call, (sold, bought, fee, MAKER, FAR, amount, 0, 0))

    def row(self, protocol: str, **more: Any) -> dict[str, Any]:
        code = self.chain.init_code("PancakeV3Pool")
        v3 = {
            "factory": self.factory,
            "deployer": self.deployer,
            "init_code_hash": "0x" + keccak256(code).hex(),
            "fees": [list(tier) for tier in self.TIERS],
        }
        row = {"protocol": protocol, "router_kind": "v3-router", "router": self.router, "v3": v3}
        return row | {"base_tokens": [self.chain.manifest.token("USDC").address]} | more


class AlgebraFork:
    """Algebra Integral: factory, the deployer of its pools, positions and router."""

    def __init__(self, chain: ForkChain) -> None:
        self.chain = chain
        with chain.devnet.rpc("devnet") as rpc:
            nonce = int(rpc("eth_getTransactionCount", MAKER, "latest"), 16)
        self.deployer = chain.deploy("AlgebraPoolDeployer", "(address)", created_address(MAKER, nonce + 1))
        self.factory = chain.deploy("AlgebraFactory", "(address)", self.deployer)
        places = self.factory, chain.weth
        self.positions = chain.deploy(
            "AlgebraPositionManager", "(address,address,address,address)", *places, ZERO, self.deployer
        )
        self.router = chain.deploy("AlgebraSwapRouter", "(address,address,address)", *places, self.deployer)

    def create(self, first: str, second: str, fee: int) -> str:
        """Makes a pool at the devnet's price without liquidity and returns it."""
        (token0, amount0), (token1, amount1) = self.chain.sides(first, second, 10**9)
        self.chain.call(self.factory, "createPool(address,address,bytes)", token0, token1, b"")
        pool = self.pool(first, second)
        self.chain.call(pool, "initialize(uint160)", isqrt((amount1 << 192) // amount0))
        self.chain.call(pool, "setFee(uint16)", fee)
        return pool

    def pool(self, first: str, second: str) -> str:
        tokens = [token for token, _ in self.chain.sides(first, second, 1)]
        found = "poolByPair(address token0, address token1) returns (address)"
        (pool,) = self.chain.read(self.factory, found, *tokens)
        return checksum(pool)

    def mint(self, first: str, second: str, dollars: float, ticks: int, shift: int = 0) -> None:
        """Adds a position of so many dollars on each side, ``ticks`` wide on each side of ``shift`` beyond
        the price."""
        (token0, amount0), (token1, amount1) = self.chain.sides(first, second, dollars)
        for token in (token0, token1):
            self.chain.approve(token, self.positions)
        state = "globalState() returns (uint160, int24, uint16, uint8, uint16, bool)"
        _, tick, *_ = self.chain.read(self.pool(first, second), state)
        low, high = (max(min((tick + shift + side) // 60, 14_787), -14_787) * 60 for side in (-ticks, ticks))
        call = "mint((address,address,address,int24,int24,uint256,uint256,uint256,uint256,address,uint256))"
        position = (token0, token1, ZERO, low, high, amount0, amount1, 0, 0, MAKER, FAR)
        self.chain.call(self.positions, call, position)

    def use(self, first: str, second: str) -> None:
        """Swaps some dollars both ways: the first swap of a pool writes new storage for its fees."""
        call = "exactInputSingle((address,address,address,address,uint256,uint256,uint256,uint160))"
        sides = self.chain.sides(first, second, 20)
        for (sold, amount), (bought, _) in (sides, sides[::-1]):
            self.chain.approve(sold, self.router)
            self.chain.call(self.router, call, (sold, bought, ZERO, MAKER, FAR, amount, 0, 0))

    def row(self, protocol: str, **more: Any) -> dict[str, Any]:
        code = "0x" + keccak256(self.chain.init_code("AlgebraPool")).hex()
        algebra = {"factory": self.factory, "deployer": self.deployer, "init_code_hash": code}
        row = {"protocol": protocol, "router_kind": "algebra-router", "router": self.router}
        bases = [self.chain.manifest.token("USDC").address]
        return row | {"base_tokens": bases, "algebra": algebra} | more


def created_address(sender: str, nonce: int) -> str:
    """Returns the address of the contract that an account creates with a nonce below 128."""
    assert nonce < 128
    return checksum("0x" + keccak256(b"\xd6\x94" + address_bytes(sender) + bytes([nonce or 0x80]))[12:].hex())


def config_of(
    devnet: Devnet, rows: list[dict[str, Any]], kinds: Mapping[str, str], **sections: Any
) -> Config:
    """Returns the configuration of a gateway with these rows. ``kinds`` says what kind each router is."""
    ports = {"port": devnet.ports["devnet"], "l2_port": devnet.ports["devnet-l2"]}
    much = "100000/minute"
    return Config(
        networks={"devnet": NetworkConfig(deployments={"uniswap": tuple(rows)}, contracts=kinds)},
        limits=LimitsConfig(quotes=much, catalog=much, rpc=much),
        quotes=QuotesConfig(competition_timeout_s=30.0),
        plugin_sections={
            "devnet": {"enabled": True, "start": False, **ports},
            "uniswap": {"solver_processes": 0},
            "router": {"solver_processes": 0},
            **sections,
        },
    )


@contextlib.asynccontextmanager
async def serving(
    devnet: Devnet, rows: list[dict[str, Any]], kinds: Mapping[str, str], **sections: Any
) -> AsyncIterator[Place]:
    """Serves a gateway with these rows, see ``config_of``."""
    rpc = pytest.importorskip("quoteway_rpc", reason="needs the quoteway-rpc distribution")
    config = config_of(devnet, rows, kinds, **sections)
    plugins = {
        "devnet": quoteway_devnet.plugin,
        "rpc": rpc,
        "router": quoteway_router,
        "uniswap": quoteway_uniswap,
    }
    async with served(plugins, config) as api:
        yield Place(devnet, api, "devnet")


TRADES = (
    ("ETH", "USDC", 3),
    ("WETH", "USDC", 400),
    ("USDC", "ETH", 20_000),
    ("USDC", "WETH", 900_000),
    ("DAI", "ETH", 9_000),
    ("ETH", "DAI", 2),
    ("LINK", "DAI", 500),
    ("LINK", "ETH", 500),
    ("ETH", "LINK", 3),
)
"""Token sold, token bought, and how many of it."""


async def trade_all(devnet, place, fork):
    """Swaps ``TRADES`` through a fork: each pays what its quote says, for the gas that it says. Returns the
    quotes.
    """
    quotes = []
    for sold, bought, whole in TRADES:
        settle(devnet)
        quote, difference = await place.swap(sold, bought, whole, protocols=[f"{fork}-routes"])
        assert difference == 0, (sold, bought, whole)
        assert quote["provider"] == f"{fork}-routes"
        told = int(quote["gas"]["units"])
        assert abs(told - place.gas_used) <= 0.15 * place.gas_used, (sold, bought, told, place.gas_used)
        quotes.append(quote)
    return quotes
