"""Random calls while chains grow and reorganise: each answer was right between its call and its arrival."""

import asyncio
import json
import random
from collections import Counter
from types import SimpleNamespace

import pytest
from chain_model import ModelChain, calls
from quoteway import Network, RpcError
from quoteway_rpc.asking import Ask
from quoteway_rpc.cache import Cache

CHAINS = (1, 10)


class PushedHeads:
    """The newest block of each chain, pushed in the moment in which it changes."""

    def __init__(self, chains):
        self.heads = {}
        for chain in chains:
            self.push(chain)

    def push(self, chain):
        self.heads[chain.chain_id] = SimpleNamespace(number=chain.head.number, hash=chain.head.hash)

    def newest(self, chain_id):
        return self.heads[chain_id]

    def finalized(self, chain_id):
        return None


class World:
    def __init__(self, seed, pushed, capacity_bytes=1 << 20):
        self.random = random.Random(seed)
        self.chains = {chain_id: ModelChain(chain_id, self.random) for chain_id in CHAINS}
        self.networks = {chain_id: Network(f"chain-{chain_id}", chain_id, "A chain") for chain_id in CHAINS}
        self.heads = PushedHeads(self.chains.values()) if pushed else None
        self.counts, self.sent = Counter(), 0
        self.now = 0.0
        self.open = {}
        self.cache = Cache(
            self.send,
            capacity_bytes=capacity_bytes,
            clock=lambda: self.now,
            count=lambda event, network, amount: self.counts.update({event: amount}),
            heads=self.heads,
        )

    def right(self, chain_id, method, params):
        try:
            return json.dumps(self.chains[chain_id].answer(method, params))
        except LookupError:
            return "error"

    async def send(self, ask):
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)
        self.sent += 1
        try:
            result, error = self.chains[ask.network.chain_id].answer(ask.method, ask.params), None
        except LookupError:
            result, error = None, RpcError(-32000, "header not found")
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)
        if error is not None:
            raise error
        return result

    def change(self):
        chain = self.chains[self.random.choice(CHAINS)]
        chain.change()
        if self.heads is not None:
            self.heads.push(chain)
        self.now += self.random.choice([0.1, 0.1, 1.0, 20.0])
        for chain_id, method, params, allowed in self.open.values():
            if chain_id == chain.chain_id:
                allowed.add(self.right(chain_id, method, params))

    async def call(self, chain_id, method, params, public):
        allowed = {self.right(chain_id, method, params)}
        kept = (
            self.cache.kept(self.networks[chain_id], method, json.dumps(params).encode()) if public else None
        )
        if kept is not None:
            self.counts["kept"] += 1
            assert json.dumps(json.loads(kept)) in allowed, (method, params)
        call = (chain_id, method, params, allowed)
        self.open[id(call)] = call
        ask = Ask(self.networks[chain_id], method, params, self.now + 1e9, public)
        try:
            answer = await self.cache(ask)
        except RpcError:
            found = "error"
        else:
            found = json.dumps(answer)
        del self.open[id(call)]
        assert found in allowed, (method, params, public)

    async def client(self, operations):
        mine = random.Random(self.random.random())
        recent = []
        for _ in range(operations):
            chain_id = mine.choice(CHAINS)
            call = calls(self.chains[chain_id], mine)
            # Others ask the same: some calls are repeated soon.
            if recent and mine.random() < 0.6:
                chain_id, call = mine.choice(recent[-5:])
            recent.append((chain_id, call))
            if mine.random() < 0.05:
                self.change()
            await self.call(chain_id, *call, public=mine.random() < 0.7)


async def run(seed, pushed, operations):
    world = World(seed, pushed)
    await asyncio.gather(*(world.client(operations // 8) for _ in range(8)))
    return world


@pytest.mark.parametrize("pushed", [True, False], ids=["pushed", "polled"])
async def test_no_answer_is_wrong(pushed):
    world = await run(7, pushed, 10_000)
    assert world.sent < 9_000
    assert world.counts["cache_hits_immutable"] > 500
    assert world.counts["cache_hits_numbered"] > 100
    assert (world.counts["cache_hits_head"] > 100) is pushed
    assert world.counts["kept"] > 100
    assert world.cache.entries.size_bytes <= 1 << 20


@pytest.mark.slow
@pytest.mark.parametrize("pushed", [True, False], ids=["pushed", "polled"])
async def test_no_answer_of_a_hundred_thousand_is_wrong(pushed):
    await run(1, pushed, 100_000)
