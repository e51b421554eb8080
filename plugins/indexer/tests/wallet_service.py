"""A service over the devnet whose metrics provider answers from a small index."""

from __future__ import annotations

import contextlib

from index_rows import facts
from quoteway import Endpoint, EventRule, EventSource, Network, Token
from quoteway.evm.abi import function
from quoteway.evm.address import checksum
from quoteway.testing.fakes import FakePlugin, HttpRpc, ListedPrices, ListedTokens
from quoteway.testing.serving import served
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_indexer.source_versions import version_of
from quoteway_indexer.store import Commit, Span
from quoteway_indexer.transfer_sources import SOURCE, TRANSFER
from small_index import WalletIndex, fill

CHAIN = 31337
WALLET = ACCOUNTS[6].address
OTHER = ACCOUNTS[7].address
MINT = function("mint(address to, uint256 value)")
PAIR_OF = function("getPair(address a, address b) returns (address)")
SWAP = EventRule(
    "Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, "
    "uint256 amount1Out, address indexed to)",
    "swap",
    {"pool": "@", "amount0": "amount0In - amount0Out", "amount1": "amount1In - amount1Out"},
)


# Four bytes of calldata (decimals) give 6; more (balanceOf) gives the last two bytes of its own address.
STUB = "0x36600414601457" + "61ffff301660005260206000f3" + "5b600660005260206000f3"


def stubs(count, start=0x2000):
    return [checksum(f"0x{0xABCD << 144 | start + n:040x}") for n in range(count)]


class CountingRpc(HttpRpc):
    """Counts the requests by method."""

    def __init__(self, context):
        super().__init__(context)
        self.asked = []

    async def forward(self, network, method, params, *, timeout_s):
        self.asked.append(method)
        return await super().forward(network, method, params, timeout_s=timeout_s)


def pair_of(devnet):
    """Returns the address of the v2 pair of USDC and WETH."""
    manifest = devnet.chains["devnet"]
    call = PAIR_OF.encode([manifest.token("USDC").address, manifest.token("WETH").address])
    with devnet.rpc() as rpc:
        found = rpc(
            "eth_call", {"to": manifest.contracts["UniswapV2Factory"], "data": "0x" + call.hex()}, "latest"
        )
    return PAIR_OF.decode_output(bytes.fromhex(found[2:]))[0]


def of_transfers_and_swaps(devnet, store):
    """Returns a service whose index has transfers, and the swaps of the pair of USDC and WETH."""
    sources = [
        EventSource(SOURCE, CHAIN, 1, (TRANSFER,)),
        EventSource("pairs", CHAIN, 1, (SWAP,), addresses=(pair_of(devnet),)),
    ]
    return WalletService(devnet, store, sources)


class WalletService:
    """The devnet's first chain, its index, and what a test does on it."""

    def __init__(self, devnet, store, sources=None):
        self.devnet, self.store = devnet, store
        self.manifest = devnet.chains["devnet"]
        self.sources = sources or [EventSource(SOURCE, CHAIN, 1, (TRANSFER,))]
        self.index = WalletIndex(store, self.sources)
        self.api = self.rpc = None

    def token(self, symbol):
        """Returns a token of the devnet."""
        row = self.manifest.token(symbol)
        return Token(CHAIN, row.address, row.decimals, row.symbol, row.symbol)

    def send(self, to, data=b"", value=0, sender=WALLET):
        """Sends a transaction and returns its receipt."""
        with self.devnet.rpc() as rpc:
            rpc("anvil_impersonateAccount", sender)
            call = {
                "from": sender,
                "to": to,
                "data": "0x" + data.hex(),
                "value": hex(value),
                "gas": hex(8_000_000),
            }
            identity = rpc("eth_sendTransaction", call)
            receipt = None
            while receipt is None:
                receipt = rpc("eth_getTransactionReceipt", identity)
            assert receipt["status"] == "0x1", receipt
            return receipt

    def give(self, symbol="AIR", name="Air", amount=10**6, to=WALLET):
        """Deploys a token, gives a wallet some of it, and returns its address."""
        address = self.devnet.deploy("MintableToken", "(string,string,uint8)", name, symbol, 6)
        self.send(address, MINT.encode([to, amount]), sender=OTHER)
        return address

    def put(self, code, *addresses):
        """Sets the code of accounts."""
        with self.devnet.rpc() as rpc:
            for at in range(0, len(addresses), 500):
                rpc.batch([("anvil_setCode", [a, code]) for a in addresses[at : at + 500]])
            rpc("evm_mine")

    def fill(self):
        """Reads what is new into the index."""
        with self.devnet.rpc() as rpc:
            return fill(self.store, rpc, self.sources)

    def say_received(self, tokens):
        """Writes into the index that the wallet received these tokens."""
        with self.devnet.rpc() as rpc:
            last = int(rpc("eth_blockNumber"), 16)
        ends = {"sender": bytes.fromhex(OTHER[2:]), "recipient": bytes.fromhex(WALLET[2:]), "amount": 1}
        rows = [
            {"block": 1, "log_index": n, "token": bytes.fromhex(name[2:]), **ends}
            for n, name in enumerate(tokens)
        ]
        made = {"transfer": facts("transfer", *rows)} if rows else {}
        read = () if self.store.spans(CHAIN) else [Span(SOURCE, version_of(self.sources[0]), 0, last)]
        self.store.commit(Commit(CHAIN, facts=made, read=read))

    @contextlib.asynccontextmanager
    async def serving(self, *more, listed=("WETH", "USDC"), usd=None, plugins=None, config=None):
        """Serves the gateway inside; ``more`` are further providers, and ``plugins`` further plugins."""
        networks = [
            Network(
                "devnet",
                CHAIN,
                "Devnet",
                head_poll_s=0.2,
                endpoints=(Endpoint(self.devnet.urls["devnet"]),),
                wrapped_native=self.manifest.contracts["WETH9"],
                contracts=self.manifest.kinds,
            )
        ]

        def rpc(context):
            self.rpc = CountingRpc(context)
            return self.rpc

        tokens = [self.token(each) if isinstance(each, str) else each for each in listed]
        providers = [rpc, ListedTokens(tokens), ListedPrices({CHAIN}, usd or {}), self.index, *more]
        fakes = {"fake": FakePlugin(providers, networks=networks)}
        async with served({**fakes, **(plugins or {})}, config) as self.api:
            await self.api.gateway.runtime.chains[CHAIN].head(fresh=True)
            yield self

    async def get(self, operation, path):
        """Returns the body of an answer after its schema was checked."""
        answer = await self.api.get(path)
        assert answer.status == 200, answer.body
        await self.api.check(operation, answer)
        return answer.body
