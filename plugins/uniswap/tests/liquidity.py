"""Random liquidity operations executed on the devnet: what moved against what was quoted, to the unit.

``python liquidity.py --operations 500 --seed 1`` prints a summary; its exit code says whether every
difference is zero. Add, increase, remove part, remove all and collect, on v2, v3 and v4, native coin and
not, in pools that are traded in between.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from execution import APPROVE, PERMIT2_APPROVE, Desk, Reverted
from quoteway import NATIVE, Build, Capability, InvalidRequest, PoolRequest, Quote, SealedQuote, UpstreamError
from quoteway.evm.abi import function
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_uniswap.pool_provider import UniswapPools
from quoteway_uniswap.provider import UniswapProvider

ALLOWANCE = function("allowance(address owner, address spender) returns (uint256)")
FRESH_RECIPIENT = "0x000000000000000000000000000000000000dEaD"
OPERATIONS_PER_STATE = 60


@dataclass(frozen=True)
class Moved:
    """What one operation moved: (account, token) to units received minus units quoted, zeros included.

    ``allowances`` are what is left of the allowances it used, less what the quote said may be
    (``amount_max``); ``left`` what the contract holds after.
    """

    differences: dict[tuple[str, str], int]
    allowances: dict[str, int]
    left: dict[str, int]
    gas_used: int

    @property
    def exact(self) -> bool:
        return not any(self.differences.values()) and not any(self.allowances.values()) and not self.left


class LiquidityDesk(Desk):
    """One devnet chain with the pool provider in front of it."""

    async def __aenter__(self) -> LiquidityDesk:
        await super().__aenter__()
        self.pools = UniswapPools(self.context)
        return self

    def pool_id(self, pool: Any) -> str:
        return f"{self.network.chain_id}:{pool.id}"

    def manager(self, pool: Any) -> str:
        names = {
            "uniswap-v2": "UniswapV2Router02",
            "uniswap-v3": "NonfungiblePositionManager",
            "uniswap-v4": "PositionManager",
        }
        return self.manifest.contracts[names[pool.protocol]]

    def of(
        self, pool: Any, action: str, asset: str = NATIVE, amount: int | None = None, **more: Any
    ) -> PoolRequest:
        """A request for a pool of the manifest."""
        made = PoolRequest(
            self.pool_id(pool), self.network.chain_id, action, asset, amount, self.sender, self.sender, 50
        )
        return replace(made, **more)

    async def fresh(self) -> None:
        """The provider sees the newest block, as it does when the core asks it for a request."""
        await self.chain.head(fresh=True)

    async def terms(self, request: PoolRequest) -> Quote:
        await self.fresh()
        quote = await self.pools.quote(request)
        assert quote is not None
        return quote

    def sealed(self, request: PoolRequest, quote: Quote) -> SealedQuote:
        now = quote.block.timestamp
        return SealedQuote(
            Capability.POOL, "uniswap", request, quote.inputs, quote.outputs, quote.slippage_bps, quote.plan,
            quote.block, now, now + 180,
        )  # fmt: skip

    async def operate(self, request: PoolRequest, quote: Quote | None = None) -> tuple[Quote, Moved]:
        """Quote, build, execute, compare. Raises Reverted when a transaction does."""
        quote = quote or await self.terms(request)
        build = await self.pools.build(self.sealed(request, quote))
        return quote, self.run(request, quote, build)

    def run(self, request: PoolRequest, quote: Quote, build: Build) -> Moved:
        (step,) = build.steps
        calls = []
        for spend in build.spends:
            calls.append((spend.token, APPROVE.encode([spend.spender, spend.amount]), 0))
            if spend.permit2_spender is not None:
                grant = [spend.token, spend.permit2_spender, spend.amount, build.deadline]
                calls.append((spend.spender, PERMIT2_APPROVE.encode(grant), 0))
        calls.append((step.to, step.data, step.value))
        tokens = {leg.token.address for leg in (*quote.inputs, *quote.outputs)}
        tokens |= set(quote.plan["tokens"]) | {NATIVE, self.network.wrapped_native}
        watched = [(account, t) for account in {request.sender, request.recipient} for t in sorted(tokens)]
        before = self._balances(watched)
        held = self._balances([(step.to, t) for t in sorted(tokens)])
        nonce = int(self.rpc("eth_getTransactionCount", request.sender, "latest"), 16)
        hashes = self.rpc.batch(
            [
                (
                    "eth_sendTransaction",
                    [
                        {
                            "from": request.sender, "to": to, "data": "0x" + data.hex(), "value": hex(value),
                            "gas": hex(2_000_000), "nonce": hex(nonce + index),
                        }
                    ],
                )
                for index, (to, data, value) in enumerate(calls)
            ]
        )  # fmt: skip
        self.rpc("evm_mine")
        receipts = self.rpc.batch([("eth_getTransactionReceipt", [identity]) for identity in hashes])
        for receipt in receipts:
            if receipt is None or receipt["status"] != "0x1":
                raise Reverted(f"{request}: {quote.plan}")
        gas_wei = sum(int(r["gasUsed"], 16) * int(r["effectiveGasPrice"], 16) for r in receipts)
        after = self._balances(watched)
        expected: Counter[tuple[str, str]] = Counter()
        for leg in quote.inputs:
            expected[leg.account, leg.token.address] -= leg.amount
        for leg in quote.outputs:
            expected[leg.account, leg.token.address] += leg.amount
        differences = {}
        for place, was, is_now in zip(watched, before, after, strict=True):
            gas = gas_wei if place == (request.sender, NATIVE) else 0
            differences[place] = is_now - was + gas - expected[place]
        allowances = {}
        for spend in build.spends:
            data = "0x" + ALLOWANCE.encode([request.sender, spend.spender]).hex()
            rest = int(self.rpc("eth_call", {"to": spend.token, "data": data}, "latest"), 16)
            said = next(
                (leg.amount_max or leg.amount) - leg.amount
                for leg in quote.inputs
                if leg.token.address == spend.token
            )
            allowances[spend.token] = rest - (0 if spend.permit2_spender else said)
        now_held = self._balances([(step.to, t) for t in sorted(tokens)])
        left = {t: b - a for t, a, b in zip(sorted(tokens), held, now_held, strict=True) if b != a}
        return Moved(differences, allowances, left, int(receipts[-1]["gasUsed"], 16))

    def _balances(self, places: Iterable[tuple[str, str]]) -> list[int]:
        return [int(word, 16) for word in self.rpc.batch([self._balance(t, a) for a, t in places])]

    async def trade(self, chance: random.Random, pool: Any, rounds: int = 3) -> None:
        """Swaps back and forth in this very pool, so that its positions earn."""
        for _ in range(rounds):
            sold, bought = chance.sample((pool.token0, pool.token1), 2)
            address = self.network.wrapped_native if sold == NATIVE else sold
            info = next(token for token in self.manifest.tokens if token.address == address)
            usd = pool.depth_usd * 10 ** chance.uniform(-4, -1.5)
            amount = max(int(usd / float(info.price_usd) * 10**info.decimals), 1)
            try:
                await self.swap_in(pool, sold, bought, amount)
            except (LookupError, UpstreamError):
                continue

    async def swap_in(self, pool: Any, sold: str, bought: str, amount: int) -> None:
        """A swap through one pool and no other, whatever it costs."""
        symbols = {token.address: symbol for symbol, token in self.tokens.items()}
        trader = ACCOUNTS[9].address
        request = self.request(
            symbols[sold], symbols[bought], amount, sender=trader, recipient=trader, slippage_bps=5000
        )
        whole, self.provider = self.provider, self._provider_of(pool)
        try:
            await self.swap(request)
        finally:
            self.provider = whole

    def _provider_of(self, pool: Any) -> UniswapProvider:
        kind = pool.protocol[-2:]
        row = self.network.deployments["uniswap"][0]
        only = {name: value for name, value in row.items() if name[:2] not in ("v2", "v3", "v4")}
        only[kind] = {**row[kind], "fees": [[pool.fee, pool.tick_spacing]]} if kind != "v2" else row[kind]
        settings = {"max_hops": 1, "deployments": [{**only, "network": self.network.slug}]}
        return UniswapProvider(replace(self.context, settings=settings))


@dataclass
class Report:
    """All executed operations. There must be no difference and no revert."""

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
    """Execute ``n`` random liquidity operations by all accounts in all plain pools."""
    if devnet is None:
        async with Devnet.start() as started:
            return await execute_random_operations(n, seed, started, slug)
    chance, report = random.Random(seed), Report()
    started_at = time.perf_counter()
    async with LiquidityDesk(devnet, slug) as desk:
        snapshot = desk.rpc("evm_snapshot")
        while report.count < n:
            if report.count and report.count % OPERATIONS_PER_STATE == 0:
                desk.rpc("evm_revert", snapshot)
                snapshot = desk.rpc("evm_snapshot")
                desk.pools = UniswapPools(desk.context)
                report.held.clear()
            await _operate_at_random(desk, chance, report)
        desk.rpc("evm_revert", snapshot)
    report.seconds = time.perf_counter() - started_at
    return report


async def compare_random_positions(n: int, seed: int, devnet: Devnet | None = None) -> Report:
    """Open ``n`` positions by random operations and trading; withdraw each, on the state as it was then.

    ``positions`` counts those whose principal and fees were what the withdrawal paid, ``wrong`` names the
    others.
    """
    if devnet is None:
        async with Devnet.start() as started:
            return await compare_random_positions(n, seed, started)
    chance, report = random.Random(seed), Report()
    started_at = time.perf_counter()
    async with LiquidityDesk(devnet) as desk:
        begin = desk.rpc("evm_snapshot")
        while report.positions + len(report.wrong) < n:
            for _ in range(40):
                await _operate_at_random(desk, chance, report)
            before = report.positions
            here = desk.rpc("evm_snapshot")
            for account in ACCOUNTS[1:5]:
                await desk.fresh()
                for position in await desk.pools.positions(account.address, None):
                    await _withdraw(desk, account.address, position, report)
                    desk.rpc("evm_revert", here)
                    here = desk.rpc("evm_snapshot")
            desk.rpc("evm_revert", begin)
            begin = desk.rpc("evm_snapshot")
            desk.pools = UniswapPools(desk.context)
            report.held.clear()
            if report.positions == before:
                break
    report.seconds = time.perf_counter() - started_at
    return report


async def _withdraw(desk: LiquidityDesk, owner: str, position: Any, report: Report) -> None:
    """The whole position, taken out; anything but its amounts and fees is wrong."""
    pool = next(p for p in desk.manifest.pools if desk.pool_id(p) == position.pool_id)
    more = {} if position.kind == "fungible" else {"position_id": position.position_id}
    worth = {leg.token.address: leg.amount for leg in position.amounts}
    for leg in position.uncollected_fees:
        worth[leg.token.address] += leg.amount
    request = desk.of(pool, "remove", pool.token0, None, sender=owner, recipient=owner, **more)
    try:
        quote, moved = await desk.operate(request)
    except (InvalidRequest, Reverted) as error:
        if any(worth.values()):
            report.wrong.append(f"{position}: {error!r}")
        return
    paid = dict.fromkeys(worth, 0) | {leg.token.address: leg.amount for leg in quote.outputs}
    if moved.exact and paid == worth:
        report.positions += 1
    else:
        report.wrong.append(f"{position}: {paid}, {moved}")


async def _operate_at_random(desk: LiquidityDesk, chance: random.Random, report: Report) -> None:
    tax = desk.manifest.token("TAX").address if desk.network.slug == "devnet" else ""
    pool = chance.choice([p for p in desk.manifest.pools if tax not in (p.token0, p.token1)])
    sender = chance.choice(ACCOUNTS[1:5]).address
    if report.held and chance.random() < 0.75:
        identity, sender = chance.choice(report.held)
        pool = next(p for p in desk.manifest.pools if p.id == identity)
    kind = pool.protocol[-2:]
    recipient = sender if chance.random() < 0.8 else FRESH_RECIPIENT
    if pool.hooks == NATIVE and chance.random() < 0.5:
        await desk.trade(chance, pool, 1)
    await desk.fresh()
    positions = list(await desk.pools.positions(sender, desk.pool_id(pool)))
    verbs = ["add"] + (["increase", "part", "part", "all", "collect", "collect"] if positions else [])
    if kind == "v2":
        verbs = [verb for verb in verbs if verb != "collect"]
    verb = chance.choice(verbs)
    wraps = kind != "v4" and desk.network.wrapped_native in (pool.token0, pool.token1)
    native = wraps and chance.random() < 0.5
    asset = chance.choice((pool.token0, pool.token1))
    more: dict[str, Any] = {
        "sender": sender, "recipient": recipient, "slippage_bps": chance.choice((0, 10, 50, 300)),
        "use_native": native,
    }  # fmt: skip
    position = chance.choice(positions) if positions else None
    if verb in ("add", "increase"):
        amount = _amount(desk, chance, pool, asset)
        if kind != "v2" and verb == "increase":
            more |= {"position_id": position.position_id, "recipient": recipient}
        elif kind != "v2":
            more |= await _random_range(desk, chance, pool)
        request = desk.of(pool, "add", asset, amount, **more)
    elif verb == "collect":
        if kind != "v2":
            more["position_id"] = position.position_id
        request = desk.of(pool, "collect", **more)
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
        request = desk.of(pool, "remove", asset, amount, **more)
    label = f"{kind} {verb}{' native' if native or NATIVE in (pool.token0, pool.token1) else ''}"
    try:
        quote, moved = await desk.operate(request)
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
            got[desk.network.wrapped_native if address == NATIVE and wraps else address] = leg.amount
        if owed != got:
            report.wrong.append(f"{label}: position {owed}, withdrawn {got}")
        report.positions += 1


def _amount(desk: LiquidityDesk, chance: random.Random, pool: Any, asset: str) -> int:
    address = desk.network.wrapped_native if asset == NATIVE else asset
    info = next(token for token in desk.manifest.tokens if token.address == address)
    usd = pool.depth_usd * 10 ** chance.uniform(-7, -1)
    return max(int(usd / float(info.price_usd) * 10**info.decimals), 1)


async def _random_range(desk: LiquidityDesk, chance: random.Random, pool: Any) -> dict[str, int]:
    if chance.random() < 0.25:
        return {}
    row = await desk.pools._find(desk.pool_id(pool))
    from quoteway_uniswap.liquidity_state import read_ranged

    (state,) = await read_ranged(desk.chain, await desk.chain.head(), [row])
    spacing = row.ref.tick_spacing
    lower = (state.tick // spacing - chance.randint(0, 40)) * spacing
    upper = (state.tick // spacing + chance.randint(1, 40)) * spacing
    if chance.random() < 0.2:
        shift = chance.choice((-60, 60)) * spacing
        lower, upper = lower + shift, upper + shift
    return {"tick_lower": lower, "tick_upper": upper}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--positions", type=int, default=0, help="withdraw so many positions instead")
    options = parser.parse_args()
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
