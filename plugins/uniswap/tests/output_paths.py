"""Random exact outputs through parallel paths: made from the pools of a devnet chain, and executed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from execution import APPROVE, SwapHarness, gas_cost_wei
from flows import BLOCK_TIME_S, STRANGER, FlowMaker
from quoteway import NATIVE, Build, Quote, SwapRequest
from quoteway_amm import BandExceeded, Graph, Hop, Pool
from quoteway_amm.exact_output_paths import OutputPath, one_command_groups
from quoteway_devnet.chains import Devnet
from quoteway_uniswap.candidates import pools_of_pair, sorted_pair
from quoteway_uniswap.exact_output import parts_of
from quoteway_uniswap.exact_output_routing import as_executed
from quoteway_uniswap.quoting import quote_of_route
from quoteway_uniswap.routing import Route

MOST_PARTS = 6
FREED = 4
"""A pool may give this share of what it holds at most."""


@dataclass(frozen=True)
class Exchange:
    """What an exact output took from the sender, gas aside, and paid.

    ``left`` is in the router, and ``fee`` is what the fee's recipient got.
    """

    took: int
    paid: int
    left: dict[str, int]
    gas_used: int = 0
    fee: int = 0


@dataclass(frozen=True)
class Measured:
    """An executed exact output: its hops, what the quote says of its gas, and the receipt's."""

    request: SwapRequest
    hops: tuple[Hop, ...]
    gas_units: int
    gas_used: int


async def execute(
    harness: SwapHarness, request: SwapRequest, quote: Quote, build: Build, data: bytes | None = None
) -> Exchange:
    """Executes a build and returns its exchange; ``data`` is its signed calldata, if any."""
    sides = [(request.sender, request.token_in.address), (request.recipient, request.token_out.address)]
    payee = request.fee.recipient if request.fee is not None else harness.router
    sides.append((payee, request.token_in.address))
    held = {token for path in quote.route for hop in path.hops for token in (hop.token_in, hop.token_out)}
    held |= {NATIVE, harness.network.wrapped_native}
    places = [(harness.router, token) for token in sorted(held)]
    sold_before, bought_before, fee_before = harness.balances(sides)
    receipts = harness.transact(request.sender, build, data)
    gas = gas_cost_wei(receipts)
    sold_after, bought_after, fee_after, *left = harness.balances([*sides, *places])
    took, paid = sold_before - sold_after, bought_after - bought_before
    if request.token_in.address == NATIVE:
        took -= gas
    if request.token_out.address == NATIVE and request.recipient == request.sender:
        paid += gas
    for spend in build.spends:  # some tokens refuse to change what the maximum has left of an allowance
        data = "0x" + APPROVE.encode([spend.spender, 0]).hex()
        harness.rpc("eth_sendTransaction", {"from": request.sender, "to": spend.token, "data": data})
        harness.rpc("evm_mine")
    remains = {token: amount for (_, token), amount in zip(places, left, strict=True) if amount}
    return Exchange(took, paid, remains, int(receipts[-1]["gasUsed"], 16), fee_after - fee_before)


def same_as_quoted(quote: Quote, done: Exchange) -> None:
    """Compares what was taken and paid with the quote, to the unit."""
    (given,), (got,) = quote.inputs, quote.outputs
    assert (done.took, done.paid, done.left) == (given.amount, got.amount, {})
    assert done.fee == (quote.fee_amount or 0)


class OutputMaker(FlowMaker):
    """Makes random parallel paths over the pools of a devnet chain."""

    async def output(self, most_parts: int = MOST_PARTS) -> tuple[SwapRequest, Quote, tuple[Hop, ...]]:
        """Returns the request, quote and hops of random paths at the newest block."""
        block = await self.harness.chain.head(fresh=True)
        while True:
            nodes = self._nodes()
            pools = []
            for pair in combinations(nodes, 2):
                refs = pools_of_pair(self.deployment, *sorted_pair(*pair))
                found = await self.harness.state.states.load(block, refs)
                pools += [pool for pool in found if pool.has_liquidity]
            request = self._request(nodes)
            made = self._paths(pools, nodes, most_parts)
            if made is None:
                continue
            hops, amount_out = made
            request = replace(request, amount_in=0, amount_out=amount_out)
            quote = self.quoted(request, hops, block)
            if quote is not None:
                return request, quote, hops

    async def repeated(
        self, request: SwapRequest, hops: Sequence[Hop]
    ) -> tuple[Quote, tuple[Hop, ...]] | None:
        """Returns the same paths for the same amounts at the newest block; None when a pool lacks them."""
        block, made = await self.harness.chain.head(fresh=True), list[Hop]()
        for part in parts_of(hops, self.wrapped):
            amount, path = part[-1].amount_out, list[Hop]()
            for hop in reversed(part):
                refs = pools_of_pair(
                    self.deployment, *sorted_pair(*(self._node(t) for t in (hop.token_in, hop.token_out)))
                )
                found = await self.harness.state.states.load(block, refs)
                pool = next(each for each in found if each.id == hop.pool.id)
                answer = pool.exact_out(hop.zero_for_one, amount)
                if answer is None:
                    return None
                path.append(
                    replace(hop, pool=pool, amount_in=answer[0], amount_out=amount, ticks_crossed=answer[1])
                )
                amount = answer[0]
            made += reversed(path)
        quote = self.quoted(request, made, block)
        return None if quote is None else (quote, tuple(made))

    def quoted(self, request: SwapRequest, hops: Sequence[Hop], block: Any) -> Quote | None:
        """Returns the quote of paths; None when a pair cannot take its input."""
        ends = request.token_in.address, request.token_out.address
        found = as_executed(*ends, self.wrapped, hops)
        if found is None:
            return None
        flow, bought = found
        fee_in = 0 if request.fee is None else request.fee.of(flow.amount_in)
        route = Route(
            self.deployment,
            flow,
            flow.amount_out,
            0,
            0,
            None,
            None,
            gas_cost_in=0,
            bought=bought,
            fee_in=fee_in,
        )
        return quote_of_route(route, block, request, {}, None)

    def _node(self, token: str) -> str:
        return self.wrapped if token == NATIVE else token

    def _paths(
        self, pools: Sequence[Pool], nodes: Sequence[str], most_parts: int
    ) -> tuple[tuple[Hop, ...], int] | None:
        parts, free, wanted = list[tuple[Hop, ...]](), [*pools], self.chance.randint(1, most_parts)
        for _ in range(3 * wanted):
            if len(parts) == wanted:
                break
            groups = one_command_groups(free, self.wrapped)
            path = self._path(self.chance.choice(groups), nodes) if groups else None
            part = None if path is None else self._part(path)
            if part is not None:
                parts.append(part)
                used = {hop.pool.id for hop in part}
                free = [pool for pool in free if pool.id not in used]
        if not parts:
            return None
        return tuple(hop for part in parts for hop in part), sum(part[-1].amount_out for part in parts)

    def _path(self, group: Sequence[Pool], nodes: Sequence[str]) -> OutputPath | None:
        graph, at, edges, seen = Graph(group, self.wrapped), nodes[0], [], {nodes[0]}
        while at != nodes[-1]:
            onward = [node for node in graph.neighbours(at) if node not in seen]
            if not onward:
                return None
            after = (
                nodes[-1]
                if nodes[-1] in onward and self.chance.random() < 0.6
                else self.chance.choice(onward)
            )
            edges.append(self.chance.choice(graph.edges(at, after)))
            at = after
            seen.add(at)
        return OutputPath.of(edges)

    def _part(self, path: OutputPath) -> tuple[Hop, ...] | None:
        """Returns a path's hops for up to 10,000 dollars of the output."""
        info = self.prices[self._node(path.edges[-1].token_out)]
        usd = 10 ** self.chance.uniform(0, 4)
        amount = max(int(usd / float(info.price_usd) * 10**info.decimals), 1)
        try:
            return path.hops(amount) if path.amount_in(amount) else None
        except BandExceeded:
            return None


async def measure_gas(n: int, seed: int, devnet: Devnet, *, fees: bool = False) -> list[Measured]:
    """Returns exact outputs that cross no ticks, executed a second time: on storage in use.

    The second time is a block time later: v2 pairs and v3 pools write their price history once per timestamp.
    """
    measured: list[Measured] = []
    async with SwapHarness(devnet) as harness:
        maker = OutputMaker(harness, random.Random(seed), fees=fees)
        snapshot = harness.rpc("evm_snapshot")
        while len(measured) < n:
            snapshot = harness.rewind(snapshot)
            request, quote, hops = await maker.output()
            if len(hops) > 8 or request.recipient == STRANGER:
                continue
            await execute(harness, request, quote, await harness.build(request, quote))
            second = await maker.repeated(request, hops)
            if second is None or any(hop.ticks_crossed for hop in second[1]):
                continue
            quote, hops = second
            harness.rpc("evm_increaseTime", hex(BLOCK_TIME_S))
            done = await execute(harness, request, quote, await harness.build(request, quote))
            same_as_quoted(quote, done)
            measured.append(Measured(request, hops, quote.gas.units, done.gas_used))
        harness.rpc("evm_revert", snapshot)
    return measured
