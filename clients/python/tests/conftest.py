"""The real gateway over the devnet, served on a socket, and an account that signs."""

import asyncio
import contextlib
import queue
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")
for plugin in ("rpc", "tokenlist", "uniswap", "across", "erc4626"):
    pytest.importorskip(f"quoteway_{plugin}", reason="this is about these plugins together")

import quoteway_across  # noqa: E402
import quoteway_devnet.plugin  # noqa: E402
import quoteway_erc4626  # noqa: E402
import quoteway_rpc  # noqa: E402
import quoteway_tokenlist  # noqa: E402
import quoteway_uniswap  # noqa: E402
from eth_account import Account  # noqa: E402
from quoteway.config.model import Config, LimitsConfig, QuotesConfig, ServerConfig  # noqa: E402
from quoteway.evm.abi import encode, encode_call  # noqa: E402
from quoteway.evm.address import checksum  # noqa: E402
from quoteway.testing.serving import served  # noqa: E402
from quoteway_client import AsyncQuoteway, Quoteway  # noqa: E402
from quoteway_devnet.accounts import ACCOUNTS  # noqa: E402
from quoteway_devnet.relayer import Relayer  # noqa: E402
from quoteway_devnet.transactions import own_init_code  # noqa: E402

PLUGINS = {
    "devnet": quoteway_devnet.plugin,
    "rpc": quoteway_rpc,
    "tokenlist": quoteway_tokenlist,
    "across": quoteway_across,
    "uniswap": quoteway_uniswap,
    "erc4626": quoteway_erc4626,
}
USER = Account.from_key(ACCOUNTS[0].private_key)


@dataclass
class Chain:
    """The devnet, and a gateway over it with both clients."""

    url: str
    devnet: Any
    sync: Quoteway
    client: AsyncQuoteway
    account: Any = field(default_factory=lambda: USER)

    @property
    def node_url(self):
        return self.devnet.urls["devnet"]

    def token(self, symbol, slug="devnet"):
        return self.devnet.chains[slug].token(symbol).address

    def balance(self, token, owner=USER.address, slug="devnet"):
        """By the node's newest state; of the coin for ``"ETH"``."""
        with self.devnet.rpc(slug) as rpc:
            if token == "ETH":
                return int(rpc("eth_getBalance", owner, "latest"), 16)
            data = "0x70a08231" + owner[2:].rjust(64, "0")
            return int(rpc("eth_call", {"to": self.token(token, slug), "data": data}, "latest"), 16)

    def swap(self, sold="USDC", bought="WETH", amount=10**9, **more):
        """The request of a swap."""
        tokens = [symbol if symbol == "native" else self.token(symbol) for symbol in (sold, bought)]
        body = {"network": "devnet", "from_token": tokens[0], "to_token": tokens[1], "amount": amount}
        return body | {"address": USER.address} | more


@contextlib.asynccontextmanager
async def served_over(devnet, relayer_port, sections):
    ports = {"port": devnet.ports["devnet"], "l2_port": devnet.ports["devnet-l2"]}
    config = Config(
        server=replace(ServerConfig(), port=0),
        limits=LimitsConfig(enabled=False),
        quotes=QuotesConfig(competition_timeout_s=30.0),
        plugin_sections={
            "devnet": {"enabled": True, "start": False, "relayer_port": relayer_port, **ports},
            "across": {"api_timeout_s": 10.0},
            "uniswap": {"solver_processes": 0},
        },
    )
    async with served(PLUGINS, replace(config, **sections)) as api:
        ends_at = time.monotonic() + 120
        while not all([await api.gateway.tokens.listed(chain_id) for chain_id in (31337, 31338)]):
            assert time.monotonic() < ends_at
            await asyncio.sleep(0.01)
        yield api.url


@contextlib.contextmanager
def gateway_over(devnet, relayer_port=1, **sections):
    """The URL of a gateway in a thread of its own, so that blocking clients can be called in tests."""
    started, ended = queue.Queue(), threading.Event()

    async def serve():
        async with served_over(devnet, relayer_port, sections) as url:
            started.put(url)
            await asyncio.to_thread(ended.wait)

    def run():
        try:
            asyncio.run(serve())
        except BaseException as error:
            started.put(error)
            raise

    thread = threading.Thread(target=run)
    thread.start()
    try:
        url = started.get(timeout=150)
        if isinstance(url, BaseException):
            raise url
        yield url
    finally:
        ended.set()
        thread.join()


@pytest.fixture(scope="module")
def module_devnet(devnet):
    """The devnet, restored after the module to its state before."""
    with devnet.restored():
        yield devnet


@pytest.fixture(scope="module")
def gateway_url(module_devnet):
    with Relayer.running(module_devnet) as relayer, gateway_over(module_devnet, relayer.port) as url:
        yield url


@pytest.fixture
async def chain(gateway_url, module_devnet):
    with Quoteway(gateway_url) as sync:
        async with AsyncQuoteway(gateway_url) as client:
            yield Chain(gateway_url, module_devnet, sync, client)


@pytest.fixture(scope="module")
def permit_token(module_devnet):
    """A token with EIP-2612 permits, of the user, in a Uniswap v2 pool with USDC."""
    with module_devnet.rpc() as rpc:

        def send(to, data):
            call = {"from": USER.address, "data": "0x" + data.hex(), "gas": hex(6_000_000)}
            receipt = rpc.send(call | ({} if to is None else {"to": to}))
            assert receipt["status"] == "0x1", receipt
            return receipt

        devnet = module_devnet.chains["devnet"]
        usdc, router = devnet.token("USDC").address, devnet.contracts["UniswapV2Router02"]
        values = encode(["string", "string", "uint8"], ["Permit Token", "PMT", 18])
        token = checksum(send(None, own_init_code("PermitToken") + values)["contractAddress"])
        for each, amount in ((token, 10**24), (usdc, 10**12)):
            send(each, encode_call("mint(address,uint256)", [USER.address, 2 * amount]))
            send(each, encode_call("approve(address,uint256)", [router, amount]))
        added = [token, usdc, 10**24, 10**12, 0, 0, USER.address, 2**40]
        liquidity = "addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)"
        send(router, encode_call(liquidity, added))
        return token


@pytest.fixture(scope="session")
def gateway_of():
    return gateway_over
