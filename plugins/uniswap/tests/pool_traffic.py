"""Busy blocks: random operations and swaps are executed one by one, and again with many in each block.

``python pool_traffic.py --operations 300 --per_block 6`` compares the states that follow from the logs with
the lens after each block, and exits with 1 when one differs.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from execution import command_line, started
from liquidity import LiquidityHarness
from quoteway import NATIVE, Block
from quoteway.evm.abi import function
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_uniswap import lens
from quoteway_uniswap.candidates import PoolRef, v2_pool, v3_pool, v4_pool
from quoteway_uniswap.deployments import PoolKey
from quoteway_uniswap.pool_audit import agree
from quoteway_uniswap.pool_reader import PoolReader
from quoteway_uniswap.state import PoolStates
from random_operations import Report, operate_at_random
from trading import set_protocol_fees

TRANSFER = function("transfer(address to, uint256 amount)")
SYNC, SKIM = function("sync()"), function("skim(address to)")


@dataclass
class Traffic:
    """The number of compared blocks and states, of those that changed by logs, and the differences."""

    blocks: int = 0
    compared: int = 0
    changed: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


class TrafficHarness(LiquidityHarness):
    """Keeps the transactions that it executes, to send them again."""

    async def __aenter__(self) -> TrafficHarness:
        await super().__aenter__()
        self.sent: list[dict[str, Any]] = []
        (self.deployment,) = self.provider._deployments[self.network.chain_id]
        return self

    def transact(self, *arguments: Any) -> list[dict[str, Any]]:
        receipts = super().transact(*arguments)
        asked = [("eth_getTransactionByHash", [receipt["transactionHash"]]) for receipt in receipts]
        for sent, receipt in zip(self.rpc.batch(asked), receipts, strict=True):
            self.sent.append(
                {name: sent[name] for name in ("from", "to", "value")}
                | {"data": sent["input"], "gas": hex(int(receipt["gasUsed"], 16) * 2)}
            )
        return receipts

    def refs(self) -> list[PoolRef]:
        """Returns all pools of the chain, and three that do not exist."""
        v2, v3, v4 = self.deployment.v2, self.deployment.v3, self.deployment.v4
        found = []
        for pool in self.manifest.pools:
            if pool.protocol == "uniswap-v2":
                found.append(v2_pool(v2, pool.token0, pool.token1))
            elif pool.protocol == "uniswap-v3":
                found.append(v3_pool(v3, pool.token0, pool.token1, pool.fee, pool.tick_spacing))
            else:
                key = PoolKey(pool.token0, pool.token1, pool.fee, pool.tick_spacing, pool.hooks)
                found.append(v4_pool(v4, key))
        missing = "0x000000000000000000000000000000000000dEaD"
        ends = missing, "0x" + "99" * 20
        return [*found, v2_pool(v2, *ends), v3_pool(v3, *ends, 500, 10), v4_pool(v4, PoolKey(*ends, 7, 7))]

    def states(self) -> PoolStates:
        """Returns a store of the chain's pools."""
        return PoolStates(self.chain, [self.deployment])

    def send(self, sender: str, to: str, data: bytes, value: int = 0, gas: int = 1_000_000) -> str:
        """Sends a transaction without mining it and returns its hash."""
        sent = {"from": sender, "to": to, "data": "0x" + data.hex(), "value": hex(value), "gas": hex(gas)}
        return str(self.rpc("eth_sendTransaction", sent))

    async def mined(self) -> Any:
        """Mines what was sent and returns the new head."""
        self.rpc("evm_mine")
        return await self.chain.head(fresh=True)


async def differences(
    harness: TrafficHarness, known: Mapping[PoolRef, lens.State], block: Block
) -> list[str]:
    """Returns the states that are not what the lens reads."""
    questions = [lens.same_words(ref, state) for ref, state in known.items()]
    reader = PoolReader(harness.chain)
    read = dict(zip(known, await reader.read(block, questions), strict=True))
    # An answer for many pools may have fewer words.
    again = [question for question in questions if read[question.ref] != known[question.ref]]
    alone = await reader.read_alone(block, again)
    return [
        f"block {block.number}: {known[question.ref]} is {state}"
        for question, state in zip(again, alone, strict=True)
        if not agree(known[question.ref], state)
    ]


async def busy_blocks(
    harness: TrafficHarness, chance: random.Random, operations: int, per_block: int
) -> AsyncIterator[None]:
    """Yields after each block of ``per_block`` transactions that worked one by one."""
    start = harness.rpc("evm_snapshot")
    pools, report = [p for p in harness.manifest.pools if p.hooks == NATIVE], Report()
    for step in range(operations):
        if step % 3:
            await harness.trade(chance, chance.choice([p for p in pools if "TAX" not in p.pair]), 1)
        else:
            await operate_at_random(harness, chance, report)
    harness.rewind(start)
    pairs = [pool for pool in pools if pool.protocol == "uniswap-v2"]
    for at in range(0, len(harness.sent), per_block):
        for sent in harness.sent[at : at + per_block]:
            harness.rpc("eth_sendTransaction", sent)
        pair = chance.choice(pairs)
        donor = ACCOUNTS[0].address
        harness.send(donor, pair.token0, TRANSFER.encode([pair.id, chance.randint(1, 10**6)]))
        harness.send(donor, pair.id, chance.choice((SYNC.encode([]), SKIM.encode([donor]))))
        harness.rpc("evm_mine")
        yield


async def compare(operations: int, per_block: int, seed: int, devnet: Devnet | None = None) -> Traffic:
    """Follows busy blocks by logs and compares each state with the lens."""
    chance, traffic = random.Random(seed), Traffic()
    async with started(devnet) as running, TrafficHarness(running) as harness:
        set_protocol_fees(harness, chance, True)
        states, refs = harness.states(), harness.refs()
        before: dict[PoolRef, lens.State] = {}
        async for _ in busy_blocks(harness, chance, operations, per_block):
            if chance.random() < 0.2:
                set_protocol_fees(harness, chance, chance.random() < 0.5)
            block = await harness.chain.head(fresh=True)
            known = dict((await states.store.at(block)).states)
            traffic.wrong += await differences(harness, known, block)
            traffic.blocks, traffic.compared = traffic.blocks + 1, traffic.compared + len(known)
            traffic.changed.update(ref.kind for ref in known if known[ref] is not before[ref])
            await states.load(block, refs)
            before = dict((await states.store.at(block)).states)
        traffic.counts = states.store.counts
    return traffic


def main() -> None:
    """Runs the command line."""
    options = command_line(__doc__, operations=300, per_block=6, seed=1)
    traffic = asyncio.run(compare(options.operations, options.per_block, options.seed))
    print(f"{traffic.compared} states compared in {traffic.blocks} blocks, {dict(traffic.counts)}")
    print(f"changed by logs: {dict(traffic.changed)}")
    print(f"differences: {len(traffic.wrong)}")
    for line in traffic.wrong[:5]:
        print(line)
    sys.exit(bool(traffic.wrong))


if __name__ == "__main__":
    main()
