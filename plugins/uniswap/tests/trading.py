"""Compares ``trade_history`` with the swap loop and the contracts after random swaps and operations.

``python trading.py --swaps 20000`` computes each swap again by the swap loop on the pool's state one block
earlier, and compares protocol fees with what the contracts owe. It exits with 1 when any difference is not
zero.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from eth_abi import encode
from eth_utils import keccak
from execution import Reverted, command_line, started
from liquidity import LiquidityHarness
from quoteway import NATIVE, UpstreamError
from quoteway_amm import swap_exact_in
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_router.logs import Logs
from quoteway_uniswap.pool_value import whole_pool
from quoteway_uniswap.state import PoolStates
from quoteway_uniswap.trade_history import TradeHistory
from random_operations import Report, operate_at_random

PER_STATE = 100
"""Number of swaps between two comparisons: nodes keep the state of some hundred blocks."""


@dataclass
class Comparison:
    """The number of compared trades by version and fee switch, and the differences."""

    compared: Counter[str] = field(default_factory=Counter)
    inexact: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0


def calldata(signature, *values):
    types = signature[signature.index("(") + 1 : -1]
    inner = ["(address,address,uint24,int24,address)", "uint24"] if "((" in signature else types.split(",")
    return "0x" + (keccak(text=signature)[:4] + encode([t for t in inner if t], values)).hex()


def set_protocol_fees(harness, chance, on):
    """Sets the protocol fees of all versions: v2 feeTo, v3 feeProtocol and v4 protocolFee of every pool."""
    rpc, contracts = harness.rpc, harness.manifest.contracts
    sent = []

    def owner_of(contract, getter):
        word = rpc("eth_call", {"to": contract, "data": calldata(getter)}, "latest")
        owner = "0x" + word[-40:]
        rpc("anvil_impersonateAccount", owner)
        rpc("anvil_setBalance", owner, hex(10**20))
        return owner

    def send(sender, to, data):
        sent.append(rpc("eth_sendTransaction", {"from": sender, "to": to, "data": data, "gas": hex(150_000)}))

    factory2, factory3, manager = (
        contracts[name] for name in ("UniswapV2Factory", "UniswapV3Factory", "PoolManager")
    )
    setter = owner_of(factory2, "feeToSetter()")
    send(setter, factory2, calldata("setFeeTo(address)", ACCOUNTS[8].address if on else NATIVE))
    owner3, owner4 = owner_of(factory3, "owner()"), owner_of(manager, "owner()")
    send(owner4, manager, calldata("setProtocolFeeController(address)", owner4))
    for pool in harness.manifest.pools:
        if pool.protocol == "uniswap-v3":
            shares = (chance.randint(4, 10), chance.randint(4, 10)) if on else (0, 0)
            send(owner3, pool.id, calldata("setFeeProtocol(uint8,uint8)", *shares))
        elif pool.protocol == "uniswap-v4":
            fee = chance.randint(1, 1000) << 12 | chance.randint(1, 1000) if on else 0
            key = (pool.token0, pool.token1, pool.fee, pool.tick_spacing, pool.hooks)
            signature = "setProtocolFee((address,address,uint24,int24,address),uint24)"
            send(owner4, manager, calldata(signature, key, fee))
    rpc("evm_mine")
    for identity in sent:
        assert rpc("eth_getTransactionReceipt", identity)["status"] == "0x1"


def owed_to_protocol(harness):
    """Returns what v3 pools and the v4 PoolManager owe: (pool or manager, token) to base units."""
    owed, asked = {}, []
    manager = harness.manifest.contracts["PoolManager"]
    for pool in harness.manifest.pools:
        if pool.protocol == "uniswap-v3":
            asked.append(
                ((pool.id, pool.token0), (pool.id, pool.token1), pool.id, calldata("protocolFees()"))
            )
        elif pool.protocol == "uniswap-v4":
            for token in (pool.token0, pool.token1):
                place = (manager, token)
                asked.append((place, None, manager, calldata("protocolFeesAccrued(address)", token)))
    answers = harness.rpc.batch(
        [("eth_call", [{"to": to, "data": data}, "latest"]) for _, _, to, data in asked]
    )
    for (first, second, _, _), answer in zip(asked, answers, strict=True):
        owed[first] = int(answer[2:66], 16)
        if second:
            owed[second] = int(answer[66:130], 16)
    return owed


def new_history(harness):
    return TradeHistory(harness.chain, Logs(harness.chain), PoolStates(harness.chain))


async def compare(harness, first, before, comparison, label, kept):
    """Compares every trade since block ``first`` with the swap loop and what the contracts owe.

    ``kept``, the history that is extended from block to block, must have what one read at once has.
    """
    await harness.fresh()
    head = await harness.chain.head()
    paid = Counter()
    for pool in harness.manifest.pools:
        known = await harness.pools._find(harness.pool_id(pool))
        found = await new_history(harness).since(known, first, head)
        extended = await kept.since(known, first, head)
        assert found.first == extended.first == first
        comparison.inexact += found.inexact
        kind = known.ref.kind
        trades = [
            (block, side, found.total("volume", block, block + 1)[side])
            for block in range(first, head.number + 1)
            for side in (0, 1)
        ]
        for block, side, amount_in in trades:
            lp_fee, protocol_fee = (found.total(part, block, block + 1)[side] for part in ("lp", "protocol"))
            for part, amount in (("volume", amount_in), ("lp", lp_fee), ("protocol", protocol_fee)):
                if extended.total(part, block, block + 1)[side] != amount:
                    comparison.wrong.append(
                        f"{kind} {pool.pair}: {part} of block {block} differs if extended"
                    )
            if not amount_in:
                continue
            token = (pool.token0, pool.token1)[side]
            place = (harness.manifest.contracts["PoolManager"] if kind == "v4" else pool.id, token)
            paid[place] += protocol_fee
            comparison.compared[f"{kind} {label}"] += 1
            earlier = await harness.chain.block(block - 1)
            state = await whole_pool(PoolStates(harness.chain), earlier, known.ref)
            if kind == "v2":
                fee = amount_in * 3 // 1000
                expected = fee if label == "off" else fee - fee // 6
                same = (lp_fee, lp_fee + protocol_fee) == (expected, fee)
            else:
                done = swap_exact_in(state, side == 0, amount_in)
                same = done.complete and done.fee_amount == lp_fee + protocol_fee
            if not same:
                comparison.wrong.append(f"{kind} {label} {pool.pair}: {amount_in} {lp_fee} {protocol_fee}")
        if found.inexact:
            comparison.wrong.append(f"{kind} {label} {pool.pair}: {found.inexact} trades are inexact")
    after = owed_to_protocol(harness)
    for place, owed in after.items():
        if owed - before[place] != paid[place]:
            comparison.wrong.append(
                f"{label} {place}: contracts owe {owed - before[place]}, computed {paid[place]}"
            )


async def compare_random_swaps(
    n: int, seed: int, devnet: Devnet | None = None, operations: bool = True
) -> Comparison:
    """Executes ``n`` swaps with the fee switch off and on in turns, and compares them."""
    chance, comparison = random.Random(seed), Comparison()
    started_at = time.perf_counter()
    async with started(devnet) as running, LiquidityHarness(running) as harness:
        snapshot = harness.rpc("evm_snapshot")
        pools = [p for p in harness.manifest.pools if p.hooks == NATIVE and "TAX" not in p.pair]
        turn, done, kept = 0, 0, new_history(harness)
        while done < n:
            on = turn % 2 == 1
            set_protocol_fees(harness, chance, on)
            await harness.fresh()
            first = (await harness.chain.head()).number + 1
            before, report = owed_to_protocol(harness), Report()
            for step in range(min(PER_STATE, n - done)):
                if operations and step % 10 == 9:
                    await operate_at_random(harness, chance, report)
                try:
                    await harness.trade(chance, chance.choice(pools), 1)
                except (Reverted, UpstreamError) as error:
                    comparison.wrong.append(str(error))
                done += 1
                if chance.random() < 0.1:
                    await harness.fresh()
                    looked_at = await harness.pools._find(harness.pool_id(chance.choice(pools)))
                    await kept.since(looked_at, first, await harness.chain.head())
            await compare(harness, first, before, comparison, "on" if on else "off", kept)
            comparison.wrong += report.wrong + report.reverted
            turn += 1
            if turn % 4 == 0:
                snapshot = harness.rewind(snapshot)
                harness.pools = type(harness.pools)(harness.context)
        harness.rpc("evm_revert", snapshot)
    comparison.seconds = time.perf_counter() - started_at
    return comparison


def main() -> None:
    """Runs the command line."""
    options = command_line(__doc__, swaps=2000, seed=1)
    comparison = asyncio.run(compare_random_swaps(options.swaps, options.seed))
    print(f"{sum(comparison.compared.values())} pool swaps compared in {comparison.seconds:.1f} s")
    print(f"{dict(sorted(comparison.compared.items()))}; state before not known: {comparison.inexact}")
    print(f"differences: {len(comparison.wrong)}")
    for line in comparison.wrong[:10]:
        print(line)
    sys.exit(bool(comparison.wrong))


if __name__ == "__main__":
    main()
