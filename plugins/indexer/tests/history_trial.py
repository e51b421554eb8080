"""Trades on a devnet for simulated days, and compares the index, an independent replay and the contracts."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from history_contracts import contract_differences
from history_index import HistoryIndex, differences
from history_oracle import Oracle, topic
from history_pools import HOUR, Pair
from history_trader import HistoryTrader
from quoteway.networks import Networks
from quoteway_indexer.store import Commit

FINALITY = 12
"""Blocks until one is final: those of three or four hours where trading is dense."""
EVENTS = {
    topic("Swap(address,uint256,uint256,uint256,uint256,address)"): "v2 swap",
    topic("Mint(address,uint256,uint256)"): "v2 mint",
    topic("Burn(address,uint256,uint256,address)"): "v2 burn",
    topic("Swap(address,address,int256,int256,uint160,uint128,int24)"): "v3 swap",
    topic("Mint(address,address,int24,int24,uint128,uint256,uint256)"): "v3 mint",
    topic("Burn(address,int24,int24,uint128,uint256,uint256)"): "v3 burn",
    topic("Collect(address,address,int24,int24,uint128,uint128)"): "v3 collect",
    topic("Flash(address,address,uint256,uint256,uint256,uint256)"): "v3 flash",
    topic("SetFeeProtocol(uint8,uint8,uint8,uint8)"): "v3 fee switch",
    topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)"): "v4 swap",
    topic("ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)"): "v4 liquidity",
    topic("Donate(bytes32,address,uint256,uint256)"): "v4 donation",
    topic("ProtocolFeeUpdated(bytes32,uint24)"): "v4 fee switch",
}


@dataclass
class Trial:
    """What was compared, and the differences in words."""

    operations: int = 0
    days: float = 0.0
    events: Counter[str] = field(default_factory=Counter)
    pools: int = 0
    buckets: int = 0
    edges: int = 0
    inexact: int = 0
    wrong: list[str] = field(default_factory=list)
    replayed: int = 0
    replay_s: float = 0.0
    seconds: float = 0.0


class HistoryTrial:
    """One chain that is traded on, its index and the oracle."""

    def __init__(self, devnet, folder: Path, seed: int, most_pools: int = 1000) -> None:
        from quoteway_devnet.networks import devnet_networks
        from quoteway_uniswap.event_sources import event_sources

        self.rpc, self.manifest = devnet.rpc("devnet"), devnet.chains["devnet"]
        self.network = next(n for n in devnet_networks(devnet.ports) if n.slug == "devnet")
        contracts = self.manifest.contracts
        places = [contracts[name] for name in ("UniswapV2Factory", "UniswapV3Factory", "PoolManager")]
        context = SimpleNamespace(networks=Networks((self.network,)), settings={})
        self.sources = [s for s in event_sources(context) if set(s.addresses) & set(places)]
        assert len(self.sources) == 3
        self.folder, self.chance = folder, random.Random(seed)
        self.index = HistoryIndex(self.network.chain_id, self.sources, folder / "kept.duckdb")
        self.oracle = Oracle(*places)
        self.trial = Trial()
        self.trader = HistoryTrader(self.rpc, self.manifest, seed, most_pools)
        self.logs: list[dict] = []
        self.read_to = -1
        head = self.rpc("eth_getBlockByNumber", "latest", False)
        self.number, self.now = int(head["number"], 16), int(head["timestamp"], 16)

    async def run(
        self, operations: int, days: float, *, per_block: int = 20, most_s: float = 1e9, say=lambda text: None
    ) -> Trial:
        """Trades for so many days, or until ``most_s`` seconds have passed, and compares everything.

        ``per_block`` is the mean number of operations of a block.
        """
        first = self.now
        trial, chance, started = self.trial, self.chance, time.perf_counter()
        blocks = max(1, operations // per_block)
        switched = False
        for block in range(blocks):
            if time.perf_counter() - started > most_s:
                break
            if block % max(2, blocks // 8) == 1:
                switched = not switched
                await self._pass_to(self.now + 1)
                self.trader.switch_fees(switched, self.now)
            await self._pass_to(self.now + max(1, int(2 * chance.random() * days * 86_400 / blocks)))
            count = operations // blocks + (block < operations % blocks)
            self.trader.mine(self.now, count)
            trial.operations += count
            if block % 100 == 99:
                say(f"{trial.operations} operations, {len(self.oracle.buckets)} hours of pools")
        trial.days = (self.now - first) / 86_400
        end = self.now - self.now % HOUR + HOUR
        await self._end_hours()
        await self.index.advance(self.number, end, self.number)
        self._compare(self.index.hours(), "kept index")
        await self._clean(end)
        trial.pools, trial.buckets = len(self.oracle.pools), len(self.oracle.buckets)
        trial.seconds = time.perf_counter() - started
        await self.index.close()
        self.rpc.__exit__(None, None, None)
        return trial

    async def _pass_to(self, time_: int) -> None:
        """Goes to the next block. Closes the hours that end before, and brings the index up to date."""
        if time_ // HOUR != self.now // HOUR:
            await self._end_hours()
        self.number, self.now = self.number + 1, time_

    async def _end_hours(self) -> None:
        new = self.rpc("eth_getLogs", {"fromBlock": hex(self.read_to + 1), "toBlock": hex(self.number)})
        self.read_to = self.number
        self.trial.events.update(EVENTS[log["topics"][0]] for log in new if log["topics"][0] in EVENTS)
        self.logs += new
        self.oracle.feed(new)
        self._check(self.oracle.touched(self.now - self.now % HOUR + HOUR))
        self.index.add(new)
        final = self.number - FINALITY
        await self.index.advance(self.number, self.now, final)
        roll = self.chance.random()
        if roll < 0.15:
            self.index.reopen()
        elif roll < 0.3:
            await self._reorganise(final)

    async def _reorganise(self, final: int) -> None:
        """Takes blocks of the index back, and gives them again."""
        block = max(final, 0) + self.chance.randrange(FINALITY)
        gone = [log for log in self.logs[-20_000:] if int(log["blockNumber"], 16) > block]
        if not gone or block >= self.number:
            return
        at = int(self.rpc("eth_getBlockByNumber", hex(block), False)["timestamp"], 16)
        rewound = Commit(self.network.chain_id, rewind_to=block, forget_hours_from=at - at % HOUR)
        self.index.store.commit(rewound)
        self.index.replay.rewind(block)
        await self.index.advance(block, at, min(final, block))
        self.index.add(gone)
        await self.index.advance(self.number, self.now, final)

    async def _clean(self, end: int) -> None:
        """Computes all hours at once from the facts, and measures how long that takes."""
        clean = HistoryIndex(self.network.chain_id, self.sources, self.folder / "clean.duckdb")
        for at in range(0, len(self.logs), 20_000):
            clean.add(self.logs[at : at + 20_000])
        started = time.perf_counter()
        await clean.advance(self.number, end, self.number)
        self.trial.replay_s = time.perf_counter() - started
        self.trial.replayed = self.oracle.events
        self._compare(clean.hours(), "clean index")
        await clean.close()

    def _compare(self, hours, name: str) -> None:
        self.trial.wrong += [f"{name}: {each}" for each in differences(hours, self.oracle.buckets)]
        marked = [key for key, row in hours.items() if row["inexact"]]
        self.trial.inexact = len(marked)
        for key in marked:
            # A pair tells the protocol's part of its fees only when it mints it: see ``replay.pair``.
            if not isinstance(self.oracle.pools[key[0]], Pair):
                self.trial.wrong.append(f"{name}: {key} is inexact")

    def _check(self, pools) -> None:
        """Compares what the oracle has at the end of an hour with the contracts."""
        reads, wrong = contract_differences(self.rpc, self.manifest.contracts["PoolManager"], pools)
        self.trial.edges += reads
        self.trial.wrong += wrong
