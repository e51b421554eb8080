"""A gateway with every provider on the devnet, whose providers can be made to answer something else."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import quoteway_across
import quoteway_devnet.plugin
import quoteway_erc4626
import quoteway_lifi
import quoteway_managedvault
import quoteway_rpc
import quoteway_tokenlist
import quoteway_uniswap
from quoteway import Capability, Token
from quoteway.config.model import Config, QuotesConfig
from quoteway.config.network import NetworkConfig
from quoteway.engine.gateway import Gateway
from quoteway.evm import erc20, permit2
from quoteway.evm.address import checksum
from quoteway.testing.execution import execute
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_devnet.relayer import Relayer

_LIFI_TESTS = Path(__file__).parents[2] / "plugins" / "lifi" / "tests"
if str(_LIFI_TESTS) not in sys.path:
    sys.path.append(str(_LIFI_TESTS))

from devnet_lifi import DevnetLifi  # noqa: E402
from fake_lifi import FakeLifi  # noqa: E402

PLUGINS = {
    "devnet": quoteway_devnet.plugin,
    "rpc": quoteway_rpc,
    "tokenlist": quoteway_tokenlist,
    "uniswap": quoteway_uniswap,
    "across": quoteway_across,
    "lifi": quoteway_lifi,
    "erc4626": quoteway_erc4626,
    "managedvault": quoteway_managedvault,
}
SLUG, CHAIN_ID, FAR_CHAIN_ID = "devnet", 31337, 31338
OWNER, BOT, USER = (ACCOUNTS[index].address for index in (0, 1, 3))
"""The managed vault's owner and bot, and the sender of everything else."""
USER_KEY = ACCOUNTS[3].private_key
WHALE = ACCOUNTS[8].address
"""Moves prices against the user."""
FRIEND = "0x3333333333333333333333333333333333333333"
THIEF = checksum("0x" + "7e" * 20)
COPIED = (
    "UniversalRouter",
    "UniswapV2Router02",
    "NonfungiblePositionManager",
    "PositionManager",
    "SpokePool",
)
"""Contracts of which the thief has a copy at an address of its own."""


class StandIn:
    """Answers in the place of a provider: what ``quotes`` and ``builds`` give, or else what it gives itself.

    The gateway keeps using the provider for everything else.
    """

    def __init__(self, provider: Any) -> None:
        self.provider = provider
        self.true_quote, self.true_build = provider.quote, provider.build
        self.quotes: Callable[[Any], Any] | None = None
        self.builds: Callable[[Any], Any] | None = None
        provider.quote, provider.build = self._quote, self._build

    async def _quote(self, request: Any) -> Any:
        return await self.true_quote(request) if self.quotes is None else self.quotes(request)

    async def _build(self, sealed: Any) -> Any:
        return await self.true_build(sealed) if self.builds is None else self.builds(sealed)


class Clock:
    """The gateway's time. It stops at the first ``stop``, so that no deadline passes during the cases."""

    def __init__(self) -> None:
        self._at: float | None = None

    def __call__(self) -> float:
        return time.time() if self._at is None else self._at

    def stop(self) -> None:
        self._at = time.time()


class World:
    """The running chains and the gateway over them."""

    def __init__(self, devnet: Devnet, gateway: Gateway, clock: Clock) -> None:
        self.devnet, self.gateway, self.clock = devnet, gateway, clock
        self.rpc = devnet.rpc(SLUG)
        self.manifest = devnet.chains[SLUG]
        self.far = devnet.chains["devnet-l2"]
        self.tokens = {row.symbol: devnet.token(row.symbol) for row in self.manifest.tokens}
        self.tokens["ETH"] = devnet.token("ETH")
        self.names = {
            (chain.chain_id, row.address): (row.decimals, row.symbol)
            for chain in devnet.chains.values()
            for row in chain.tokens
        }
        self.symbols = {token.address: symbol for symbol, token in self.tokens.items()}
        self.copies = {name: _numbered(THIEF, index + 1) for index, name in enumerate(COPIED)}
        self.vaults = {vault.id: vault for vault in self.manifest.vaults}
        self.stand_ins = {
            (capability, entry.id): StandIn(entry)
            for capability in (Capability.SWAP, Capability.BRIDGE, Capability.POOL, Capability.VAULT)
            for entry in gateway.registry.enabled(capability)
            if not gateway.registry.is_builtin(entry)
        }

    def token(self, symbol: str, chain_id: int = CHAIN_ID) -> Token:
        return self.devnet.token(symbol, SLUG if chain_id == CHAIN_ID else "devnet-l2")

    def units(self, symbol: str, usd: float) -> int:
        """Returns base units of a token worth some US dollars."""
        row = self.manifest.token("WETH" if symbol == "ETH" else symbol)
        return int(usd / float(row.price_usd) * 10**row.decimals)

    def send(self, sender: str, to: str, data: bytes, value: int = 0) -> None:
        sent = {
            "from": sender,
            "to": to,
            "data": "0x" + data.hex(),
            "value": hex(value),
            "gas": hex(8_000_000),
        }
        receipt = self.rpc.send(sent)
        assert receipt["status"] == "0x1", (to, data.hex())

    async def perform(self, capability: Capability, request: Any, provider: str) -> Any:
        """Quotes, builds and executes a request; returns the action."""
        answer = await self.gateway.quoting.quote(capability, request, provider=provider)
        action = await self.gateway.building.action(answer.sealed)
        executed = await execute(self.devnet, action)
        assert not executed.reverted, request
        return action

    def arm_whale(self) -> None:
        """Gives the whale much of every token, approved for Permit2 and the Universal Router."""
        router = self.manifest.contracts["UniversalRouter"]
        far = (1 << 48) - 1
        self.rpc("anvil_setBalance", WHALE, hex(10**26))
        for symbol, token in self.tokens.items():
            if symbol == "ETH":
                continue
            self.devnet.faucet(symbol, WHALE, self.units(symbol, 2e7))
            approve = erc20.APPROVE.encode([permit2.ADDRESS, (1 << 256) - 1])
            self.send(WHALE, token.address, approve)
            grant = permit2.APPROVE.encode([token.address, router, permit2.MAX_AMOUNT, far])
            self.send(WHALE, permit2.ADDRESS, grant)

    def copy_contracts(self) -> None:
        """Puts the code and the storage-free state of each router at an address of the thief."""
        for name, address in self.copies.items():
            code = self.rpc("eth_getCode", self.manifest.contracts[name], "latest")
            self.rpc("anvil_setCode", address, code)


def _numbered(address: str, number: int) -> str:
    return checksum(f"0x{int(address, 16) + number:040x}")


@contextlib.asynccontextmanager
async def running(devnet: Devnet) -> AsyncIterator[World]:
    """Runs a gateway with all providers over the devnet, and the services of its bridges."""
    clock = Clock()
    async with contextlib.AsyncExitStack() as stack:
        offers = DevnetLifi(devnet)

        async def answer(path: str, query: Any, count: int) -> Any:
            # Of the lists that LI.FI has too, this one has none.
            known = path == "/v1/quote"
            return await offers.answer(path, query, count) if known else {"status": 404, "body": {}}

        fake = await stack.enter_async_context(FakeLifi(answer))
        relayer = await stack.enter_async_context(Relayer.start(devnet))
        ports = {"port": devnet.ports["devnet"], "l2_port": devnet.ports["devnet-l2"]}
        rows = [
            {"network": slug, "address": chain.contracts[name], "label": name}
            for slug, chain in devnet.chains.items()
            for name in ("UniswapV2Router02", "SpokePool")
        ]
        config = Config(
            quotes=QuotesConfig(competition_timeout_s=30.0),
            networks={slug: NetworkConfig(head_poll_s=60.0) for slug in devnet.chains},
            plugin_sections={
                "devnet": {"enabled": True, "start": False, "relayer_port": relayer.port, **ports},
                "across": {"api_timeout_s": 10.0},
                "uniswap": {"solver_processes": 0},
                "lifi": {"enabled": True, "base_url": fake.url, "deployments": rows, "timeout_s": 30.0},
            },
        )
        gateway = Gateway(config, plugins=PLUGINS, discover=False, clock=clock)
        await stack.enter_async_context(gateway.running())
        await _read_lists(gateway, devnet)
        yield World(devnet, gateway, clock)


async def _read_lists(gateway: Gateway, devnet: Devnet) -> None:
    ends_at = time.monotonic() + 120
    while not all([await gateway.tokens.listed(chain.chain_id) for chain in devnet.chains.values()]):
        assert time.monotonic() < ends_at
        await asyncio.sleep(0.01)
