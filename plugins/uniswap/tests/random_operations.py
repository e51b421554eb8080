"""Executes random liquidity operations on the devnet and compares moved with quoted amounts, to the unit.

``python random_operations.py --operations 500 --seed 1`` prints a summary and exits with 1 when any
difference is not zero. Operations: add, increase, remove part, remove all and collect, on v2, v3 and v4, with
and without the native coin, with swaps in between. ``--positions 100`` withdraws 100 positions instead.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from execution import Reverted, command_line, started
from liquidity import LiquidityHarness
from quoteway import NATIVE, InvalidRequest
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_uniswap.liquidity_state import read_ranged
from quoteway_uniswap.pool_provider import UniswapPools

FRESH_RECIPIENT = "0x000000000000000000000000000000000000dEaD"
OPERATIONS_PER_STATE = 60


@dataclass
class Report:
    """Executed operations, refusals, differences and reverts."""

    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    reverted: list[str] = field(default_factory=list)
    positions: int = 0
    gas: dict[str, list[int]] = field(default_factory=dict)
    held: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def count(self) -> int:
        return sum(self.done.values())


async def execute_random_operations(
    n: int, seed: int, devnet: Devnet | None = None, slug: str = "devnet"
) -> Report:
    """Executes ``n`` random liquidity operations by several accounts in all pools without transfer taxes."""
    chance, report = random.Random(seed), Report()
    started_at = time.perf_counter()
    async with started(devnet) as running, LiquidityHarness(running, slug) as harness:
        snapshot = harness.rpc("evm_snapshot")
        while report.count < n:
            if report.count and report.count % OPERATIONS_PER_STATE == 0:
                snapshot = harness.rewind(snapshot)
                harness.pools = UniswapPools(harness.context)
                report.held.clear()
            await operate_at_random(harness, chance, report)
        harness.rpc("evm_revert", snapshot)
    report.seconds = time.perf_counter() - started_at
    return report


async def compare_random_positions(n: int, seed: int, devnet: Devnet | None = None) -> Report:
    """Opens ``n`` positions by random operations and swaps, and withdraws each on the same state.

    ``positions`` counts those for which the withdrawal paid principal and fees; ``wrong`` lists the others.
    """
    chance, report = random.Random(seed), Report()
    started_at = time.perf_counter()
    async with started(devnet) as running, LiquidityHarness(running) as harness:
        begin = harness.rpc("evm_snapshot")
        while report.positions + len(report.wrong) < n:
            for _ in range(40):
                await operate_at_random(harness, chance, report)
            before = report.positions
            here = harness.rpc("evm_snapshot")
            for account in ACCOUNTS[1:5]:
                await harness.fresh()
                for position in await harness.pools.positions(account.address, None):
                    await _withdraw(harness, account.address, position, report)
                    here = harness.rewind(here)
            begin = harness.rewind(begin)
            harness.pools = UniswapPools(harness.context)
            report.held.clear()
            if report.positions == before:
                break
    report.seconds = time.perf_counter() - started_at
    return report


async def _withdraw(harness: LiquidityHarness, owner: str, position: Any, report: Report) -> None:
    """Withdraws the whole position and compares what it pays with the position's amounts and fees."""
    pool = next(p for p in harness.manifest.pools if harness.pool_id(p) == position.pool_id)
    more = {} if position.kind == "fungible" else {"position_id": position.position_id}
    worth = {leg.token.address: leg.amount for leg in position.amounts}
    for leg in position.uncollected_fees:
        worth[leg.token.address] += leg.amount
    request = harness.of(pool, "remove", pool.token0, None, sender=owner, recipient=owner, **more)
    try:
        quote, moved = await harness.operate(request)
    except (InvalidRequest, Reverted) as error:
        if any(worth.values()):
            report.wrong.append(f"{position}: {error!r}")
        return
    paid = dict.fromkeys(worth, 0) | {leg.token.address: leg.amount for leg in quote.outputs}
    if moved.exact and paid == worth:
        report.positions += 1
    else:
        report.wrong.append(f"{position}: {paid}, {moved}")


async def operate_at_random(harness: LiquidityHarness, chance: random.Random, report: Report) -> None:
    tax = harness.manifest.token("TAX").address if harness.network.slug == "devnet" else ""
    pool = chance.choice([p for p in harness.manifest.pools if tax not in (p.token0, p.token1)])
    sender = chance.choice(ACCOUNTS[1:5]).address
    if report.held and chance.random() < 0.75:
        identity, sender = chance.choice(report.held)
        pool = next(p for p in harness.manifest.pools if p.id == identity)
    kind = pool.protocol[-2:]
    recipient = sender if chance.random() < 0.8 else FRESH_RECIPIENT
    if pool.hooks == NATIVE and chance.random() < 0.5:
        await harness.trade(chance, pool, 1)
    await harness.fresh()
    positions = list(await harness.pools.positions(sender, harness.pool_id(pool)))
    verbs = ["add"] + (["increase", "part", "part", "all", "collect", "collect"] if positions else [])
    if kind == "v2":
        verbs = [verb for verb in verbs if verb != "collect"]
    verb = chance.choice(verbs)
    wraps = kind != "v4" and harness.network.wrapped_native in (pool.token0, pool.token1)
    native = wraps and chance.random() < 0.5
    asset = chance.choice((pool.token0, pool.token1))
    more: dict[str, Any] = {
        "sender": sender, "recipient": recipient, "slippage_bps": chance.choice((0, 10, 50, 300)),
        "use_native": native,
    }  # fmt: skip
    position = chance.choice(positions) if positions else None
    if verb in ("add", "increase"):
        amount = _amount(harness, chance, pool, asset)
        if kind != "v2" and verb == "increase":
            more |= {"position_id": position.position_id, "recipient": recipient}
        elif kind != "v2":
            more |= await _random_range(harness, chance, pool)
        request = harness.of(pool, "add", asset, amount, **more)
    elif verb == "collect":
        if kind != "v2":
            more["position_id"] = position.position_id
        request = harness.of(pool, "collect", **more)
    else:
        if kind != "v2":
            more["position_id"] = position.position_id
        amount = None
        if verb == "part":
            principal = dict(
                zip((pool.token0, pool.token1), (leg.amount for leg in position.amounts), strict=True)
            )
            amount = max(int(principal[asset] * chance.random()), 1)
            if kind == "v2" and chance.random() < 0.3:
                asset, amount = pool.id, max(int(position.liquidity * chance.random()), 1)
        request = harness.of(pool, "remove", asset, amount, **more)
    label = f"{kind} {verb}{' native' if native or NATIVE in (pool.token0, pool.token1) else ''}"
    try:
        quote, moved = await harness.operate(request)
    except InvalidRequest as error:
        report.refused[f"{kind} {verb} {error.reason}"] += 1
        return
    except Reverted as error:
        report.done[label] += 1
        report.reverted.append(str(error))
        return
    report.done[label] += 1
    if verb == "add" and recipient == sender:
        report.held.append((pool.id, sender))
    report.gas.setdefault(f"{kind} {request.action}", []).append(moved.gas_used)
    if not moved.exact:
        report.wrong.append(f"{label}: {moved} {quote.inputs} {quote.outputs} {request}")
    if verb == "all" and position is not None and kind != "v2":
        owed = {leg.token.address: leg.amount for leg in position.amounts}
        for leg in position.uncollected_fees:
            owed[leg.token.address] += leg.amount
        got = {t.address: 0 for t in (leg.token for leg in position.amounts)}
        for leg in quote.outputs:
            address = leg.token.address
            got[harness.network.wrapped_native if address == NATIVE and wraps else address] = leg.amount
        if owed != got:
            report.wrong.append(f"{label}: position {owed}, withdrawn {got}")
        report.positions += 1


def _amount(harness: LiquidityHarness, chance: random.Random, pool: Any, asset: str) -> int:
    address = harness.network.wrapped_native if asset == NATIVE else asset
    info = next(token for token in harness.manifest.tokens if token.address == address)
    usd = pool.depth_usd * 10 ** chance.uniform(-7, -1)
    return max(int(usd / float(info.price_usd) * 10**info.decimals), 1)


async def _random_range(harness: LiquidityHarness, chance: random.Random, pool: Any) -> dict[str, int]:
    if chance.random() < 0.25:
        return {}
    row = await harness.pools._find(harness.pool_id(pool))
    (state,) = await read_ranged(harness.chain, await harness.chain.head(), [row])
    spacing = row.ref.tick_spacing
    lower = (state.tick // spacing - chance.randint(0, 40)) * spacing
    upper = (state.tick // spacing + chance.randint(1, 40)) * spacing
    if chance.random() < 0.2:
        shift = chance.choice((-60, 60)) * spacing
        lower, upper = lower + shift, upper + shift
    return {"tick_lower": lower, "tick_upper": upper}


def main() -> None:
    """Runs the command line."""
    options = command_line(__doc__, operations=500, seed=1, positions=0)
    if options.positions:
        report = asyncio.run(compare_random_positions(options.positions, options.seed))
    else:
        report = asyncio.run(execute_random_operations(options.operations, options.seed))
    print(f"{report.count} operations executed, seed {options.seed}, {report.seconds:.1f} s")
    print(f"{dict(sorted(report.done.items()))}")
    print(f"refused: {dict(report.refused)}; reverted: {len(report.reverted)}")
    for name, gas in sorted(report.gas.items()):
        print(f"gas {name}: {min(gas):,} to {max(gas):,}, mean {sum(gas) // len(gas):,}")
    print(f"positions equal to their withdrawal: {report.positions}")
    print(f"moved minus quoted is not 0 in {len(report.wrong)} of {report.count}")
    for line in [*report.reverted[:5], *report.wrong[:5]]:
        print(line)
    sys.exit(bool(report.wrong or report.reverted))


if __name__ == "__main__":
    main()
