"""A chain with traffic that an index is kept of, and indexes of it in this process."""

import asyncio
import contextlib
import logging
import pathlib
import random
import subprocess
import sys
import time

import quoteway_rpc
from eth_abi import encode
from eth_utils import keccak
from quoteway import ChildContracts, Endpoint, EventRule, EventSource, Network, hookimpl
from quoteway.config.model import Config
from quoteway.engine.gateway import Gateway
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_indexer.ingest.chain_index import ChainIndex
from quoteway_indexer.ingest.sources import compile_sources
from quoteway_indexer.store import Condition, Select
from quoteway_indexer.stores import open_store
from quoteway_indexer.stores.duckdb import DuckDBStore
from quoteway_indexer.tables import FACTS
from quoteway_indexer.writing import Writer

CHAIN_ID = 31337
TRANSFER = "Transfer(address indexed from, address indexed to, uint256 value)"
MOVED = {"sender": "from", "recipient": "to", "amount": "value"}
PAIR_CREATED = "PairCreated(address indexed token0, address indexed token1, address pair, uint256 count)"


def sources_of(manifest):
    """A source of any contract, and one of the contracts that a factory makes."""
    factory = manifest.contracts["UniswapV2Factory"]
    created = EventRule(
        PAIR_CREATED, "pool_created", {"pool": "pair", "token0": "token0", "token1": "token1"}
    )
    pairs = (created, EventRule(TRANSFER, "share_transfer", {"pool": "@", **MOVED}))
    return (
        EventSource("transfers", CHAIN_ID, 1, (EventRule(TRANSFER, "transfer", {"token": "@", **MOVED}),)),
        EventSource(
            "pairs",
            CHAIN_ID,
            1,
            pairs,
            addresses=(factory,),
            children=ChildContracts((factory,), PAIR_CREATED, "pair"),
        ),
    )


def only_pairs(manifest):
    return sources_of(manifest)[1:]


def call(signature, kinds, values):
    return "0x" + (keccak(text=signature)[:4] + encode(kinds, values)).hex()


class Traffic:
    """Random transactions of a chain: transfers of tokens, new pairs, and transfers of their shares."""

    def __init__(self, devnet, seed):
        devnet.diverge()
        self.rpc = devnet.rpc("devnet")
        manifest = devnet.chains["devnet"]
        self.factory = manifest.contracts["UniswapV2Factory"]
        self.tokens = [token.address for token in manifest.tokens]
        self.chance = random.Random(seed)
        # The node names impersonated accounts too, which other tests leave without a balance.
        self.accounts = [each.address for each in ACCOUNTS]

    def transaction(self):
        chance = self.chance
        sender = chance.choice(self.accounts)
        kind = chance.random()
        pairs = self.pairs()
        to = "0x" + chance.randbytes(20).hex()
        if kind < 0.25:
            one, other = ("0x" + chance.randbytes(20).hex() for _ in range(2))
            data = call("createPair(address,address)", ["address", "address"], [one, other])
            return {"from": sender, "to": self.factory, "data": data, "gas": hex(5_000_000)}
        target = chance.choice(pairs) if kind < 0.6 and pairs else chance.choice(self.tokens)
        data = call("transfer(address,uint256)", ["address", "uint256"], [to, 0])
        return {"from": sender, "to": target, "data": data, "gas": hex(200_000)}

    def pairs(self):
        count = int(self.rpc("eth_call", {"to": self.factory, "data": "0x574f2ba3"}, "latest"), 16)
        if not count:
            return []
        words = [
            (
                "eth_call",
                [{"to": self.factory, "data": call("allPairs(uint256)", ["uint256"], [at])}, "latest"],
            )
            for at in range(max(0, count - 5), count)
        ]
        return ["0x" + word[-40:] for word in self.rpc.batch(words)]

    def mine(self, blocks, most=3):
        """Mines so many blocks with up to ``most`` transactions each."""
        self.rpc("evm_setAutomine", False)
        try:
            for _ in range(blocks):
                for _ in range(self.chance.randint(0, most)):
                    self.rpc("eth_sendTransaction", self.transaction())
                self.rpc("evm_mine")
        finally:
            self.rpc("evm_setAutomine", True)

    def reorganise(self, depth):
        """Replaces the last ``depth`` blocks with others, which have other transactions."""
        count = self.chance.randint(0, 6)
        placed = sorted(self.chance.randrange(depth) for _ in range(count))
        self.rpc("anvil_reorg", depth, [[self.transaction(), at] for at in placed])

    def close(self):
        self.rpc.__exit__(None, None, None)


class _Chains:
    def __init__(self, network):
        self._network = network

    @hookimpl
    def quoteway_networks(self):
        return [self._network]


@contextlib.asynccontextmanager
async def chain_at(*urls, rpc=None, **facts):
    """The reader of the chain at nodes. ``rpc`` is the section of the RPC plugin."""
    facts = {"block_time_s": 1.0, "head_poll_s": 0.02, **facts}
    network = Network("local", CHAIN_ID, "Local", endpoints=tuple(map(Endpoint, urls)), **facts)
    plugins = {"rpc": quoteway_rpc, "chains": _Chains(network)}
    config = Config(plugin_sections={"rpc": rpc or {}})
    async with Gateway(config, plugins=plugins, discover=False).reading() as gateway:
        yield gateway.runtime.chain(CHAIN_ID)


class Index:
    """An index of a chain, in a file of DuckDB or where settings say."""

    def __init__(
        self, chain, declared, place, *, computations=(), finality_blocks=64, wrap=lambda store: store
    ):
        is_file = isinstance(place, pathlib.Path)
        self.store = DuckDBStore(place, memory_mb=256, threads=1) if is_file else open_store(place)
        self.store.migrate()
        self.writer = Writer(wrap(self.store))
        self.chain_index = ChainIndex(
            chain,
            compile_sources(declared),
            self.writer,
            computations,
            logging.getLogger("test"),
            finality_blocks=finality_blocks,
        )

    async def once(self):
        async with asyncio.timeout(120):
            await self.chain_index.run(once=True)

    @contextlib.asynccontextmanager
    async def running(self):
        task = asyncio.create_task(self.chain_index.run())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def reaches(self, block_hash):
        """Waits until a block is the newest one that is indexed, and the history is complete."""
        wanted = bytes.fromhex(block_hash[2:])
        async with asyncio.timeout(60):
            while True:
                tip, note = self.chain_index.state.tip, self.chain_index.note()
                if tip is not None and tip.hash == wanted and note.done_blocks == note.total_blocks:
                    return
                await asyncio.sleep(0.01)

    def contents(self):
        """All facts, spans and the hashes of the blocks that have facts: what a clean index has too."""
        return contents(self.store)

    async def close(self):
        await self.writer.close()


def contents(store, chain_id=CHAIN_ID):
    facts = {}
    for table in FACTS.values():
        names = tuple(column.name for column in table.columns)
        rows = store.fetch(Select(table.name, names, (Condition("chain_id", "=", chain_id),)))
        facts[table.name] = sorted(rows, key=repr)
    numbers = {row[2] for rows in facts.values() for row in rows}
    hashes = {
        block.number: (block.hash, block.timestamp)
        for block in store.blocks(chain_id, 0, 1 << 40)
        if block.number in numbers
    }
    assert numbers == set(hashes)
    spans = sorted((span.source, span.version, span.first, span.last) for span in store.spans(chain_id))
    return facts, hashes, spans


async def clean_contents(chain, declared, place):
    """What an index has that is made, or completed, at once."""
    index = Index(chain, declared, place)
    try:
        await index.once()
        return index.contents()
    finally:
        await index.close()


def head_hash(rpc):
    return rpc("eth_getBlockByNumber", "latest", False)["hash"]


# --- killed indexes ----------------------------------------------------------------------------------------


def kill_trials(devnet, folder, trials, seed=1):
    """Kills processes that index a chain while it grows and is reorganised, each at a random time.

    Returns how many were killed. Fails unless the index is in the end that of a clean one.
    """
    chance, killed = random.Random(seed), 0
    url, path = devnet.urls["devnet"], folder / "killed.duckdb"
    traffic = Traffic(devnet, seed)
    try:
        traffic.mine(120, most=4)
        for _ in range(trials):
            traffic.mine(chance.randint(1, 6))
            if chance.random() < 0.3:
                traffic.reorganise(chance.randint(1, 9))
            process = subprocess.Popen(
                [sys.executable, __file__, url, str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
            )
            with process:
                assert process.stdout.readline() == b"begins\n"
                time.sleep(chance.uniform(0, 0.3))  # when it is killed is what is random here
                killed += process.poll() is None
                process.kill()
        asyncio.run(_finish(devnet, path, folder / "clean.duckdb"))
    finally:
        traffic.close()
    return killed


async def _finish(devnet, path, clean):
    declared = sources_of(devnet.chains["devnet"])
    async with chain_at(devnet.urls["devnet"]) as chain:
        assert await clean_contents(chain, declared, path) == await clean_contents(chain, declared, clean)


async def _index_until_killed(url, path):
    from quoteway_devnet.manifest import chain_manifests

    async with chain_at(url) as chain:
        index = Index(chain, sources_of(chain_manifests()["devnet"]), pathlib.Path(path))
        print("begins", flush=True)
        await index.chain_index.run()


if __name__ == "__main__":
    asyncio.run(_index_until_killed(*sys.argv[1:]))
