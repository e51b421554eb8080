"""Executes random flows on the devnet and compares received with quoted amounts, to the wei.

``python flows.py --flows 1000 --seed 1`` prints a summary and exits with 1 when any difference is not zero,
when the router keeps anything, or when a path of the route is not exact.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from execution import Reverted, SwapHarness, command_line, started
from quoteway import NATIVE, IntegratorFee, Quote, SwapRequest
from quoteway_amm import BandExceeded, Hop, Pool
from quoteway_amm.bound import node_of
from quoteway_amm.flow import Flow
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.chains import Devnet
from quoteway_uniswap.candidates import pools_of_pair, sorted_pair
from quoteway_uniswap.quoting import quote_of_route
from quoteway_uniswap.routing import Route
from quoteway_uniswap.state import PoolStates

FLOWS_PER_STATE = 30
BLOCK_TIME_S = 12
MOST_LEGS = 10
STRANGER = "0x000000000000000000000000000000000000dEaD"
FEES_TO = "0x5555555555555555555555555555555555555555"
FEES_BPS = (1, 7, 25, 100, 999, 1_000)


@dataclass(frozen=True)
class Executed:
    """One flow. ``wei`` is received minus quoted, ``fee_wei`` the same of the fee; ``left`` is what the
    router holds afterwards.
    """

    request: SwapRequest
    hops: tuple[Hop, ...]
    wei: int
    left: dict[str, int]
    gas_used: int
    gas_units: int
    fee_wei: int = 0

    @property
    def shape(self) -> str:
        return " ".join(f"{hop.pool.kind}:{hop.token_in[:6]}>{hop.token_out[:6]}" for hop in self.hops)


@dataclass
class FlowReport:
    """Executed flows, and the reverts among them."""

    flows: list[Executed] = field(default_factory=list)
    reverted: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def wrong(self) -> list[Executed]:
        return [flow for flow in self.flows if flow.wei or flow.fee_wei or flow.left]

    @property
    def legs(self) -> Counter[int]:
        return Counter(len(flow.hops) for flow in self.flows)

    @property
    def mixed(self) -> int:
        """The number of flows with both forms of the native coin at a token in the middle."""
        return sum(_is_mixed(flow) for flow in self.flows)


class FlowMaker:
    """Makes random flows over the pools of a devnet chain; ``fees``: each with an integrator's fee.

    Pools are read anew for each flow, unless they are those of ``states``, at the block known to the chain.
    """

    def __init__(
        self,
        harness: SwapHarness,
        chance: random.Random,
        *,
        fees: bool = False,
        states: PoolStates | None = None,
    ) -> None:
        self.states = states
        self.harness = harness
        self.chance = chance
        self.fees = fees
        self.deployment = harness.provider._deployments[harness.network.chain_id][0]
        self.wrapped = harness.network.wrapped_native
        self.nodes = [t.address for t in harness.manifest.tokens if t.symbol != "TAX"]
        self.prices = {t.address: t for t in harness.manifest.tokens}

    async def flow(self, most_legs: int = MOST_LEGS) -> tuple[SwapRequest, Quote, tuple[Hop, ...]]:
        """Returns the request, quote and hops of a random flow at the newest block."""
        block = await self.harness.chain.head(fresh=self.states is None)
        states = self.states or PoolStates(self.harness.chain)
        while True:
            nodes = self._nodes()
            pools = {}
            for pair in combinations(nodes, 2):
                found = await states.load(block, pools_of_pair(self.deployment, *sorted_pair(*pair)))
                pools[pair] = [pool for pool in found if pool.has_liquidity]
            request = self._request(nodes)
            try:
                hops = self._hops(nodes, pools, request.amount_in, most_legs)
            except BandExceeded:
                continue
            if hops is not None:
                return request, self.quote(request, hops, block), hops

    async def again(self, request: SwapRequest, hops: Sequence[Hop]) -> tuple[Quote, tuple[Hop, ...]] | None:
        """Returns the same flow at the newest block; None when a pool cannot take it."""
        block = await self.harness.chain.head(fresh=True)
        states, held, made = PoolStates(self.harness.chain), Counter[str](), list[Hop]()
        held[node_of(request.token_in.address, self.wrapped)] = request.amount_in
        last = {node_of(hop.token_in, self.wrapped): hop for hop in hops}
        for hop in hops:
            pair = [node_of(token, self.wrapped) for token in (hop.token_in, hop.token_out)]
            refs = pools_of_pair(self.deployment, *sorted_pair(*pair))
            pool = next(pool for pool in await states.load(block, refs) if pool.id == hop.pool.id)
            amount = held[pair[0]] if last[pair[0]] is hop else hop.amount_in
            done = pool.exact_in(hop.zero_for_one, amount) if 0 < amount <= held[pair[0]] else None
            if done is None or done[0] == 0:
                return None
            held[pair[0]] -= amount
            held[pair[1]] += done[0]
            made.append(replace(hop, pool=pool, amount_in=amount, amount_out=done[0], ticks_crossed=done[1]))
        return self.quote(request, tuple(made), block), tuple(made)

    def quote(self, request: SwapRequest, hops: tuple[Hop, ...], block: object) -> Quote:
        end = node_of(request.token_out.address, self.wrapped)
        got = sum(hop.amount_out for hop in hops if node_of(hop.token_out, self.wrapped) == end)
        ends = request.token_in.address, request.token_out.address
        flow = Flow(*ends, hops, request.amount_in, got, 0, 0)
        route = Route(self.deployment, flow, got, 0, 0, None, None)
        return quote_of_route(route, block, request, {}, None)

    def _nodes(self) -> list[str]:
        """Returns input, tokens between and output; the native coin is often one of them."""
        count = self.chance.choice((2, 3, 3, 4, 5))
        nodes = self.chance.sample(self.nodes, count)
        if self.wrapped not in nodes and self.chance.random() < 0.7:
            nodes[self.chance.randrange(count)] = self.wrapped
        return nodes

    def _request(self, nodes: Sequence[str]) -> SwapRequest:
        forms = [
            self.chance.choice((NATIVE, node)) if node == self.wrapped else node
            for node in (nodes[0], nodes[-1])
        ]
        by_address = {token.address: token for token in self.harness.tokens.values()}
        info = self.prices[nodes[0]]
        usd = 10 ** self.chance.uniform(0, 5)
        amount = max(int(usd / float(info.price_usd) * 10**info.decimals), 1)
        sender = self.chance.choice(ACCOUNTS).address
        request = self.harness.request("ETH", "USDC", amount)
        recipient = sender if self.chance.random() < 0.5 else STRANGER
        return replace(
            request,
            token_in=by_address[forms[0]],
            token_out=by_address[forms[1]],
            sender=sender,
            recipient=recipient,
            slippage_bps=self.chance.choice((0, 10, 50)),
            fee=IntegratorFee(self.chance.choice(FEES_BPS), FEES_TO) if self.fees else None,
        )

    def _hops(
        self, nodes: Sequence[str], pools: dict[tuple[str, str], list[Pool]], amount_in: int, most_legs: int
    ) -> tuple[Hop, ...] | None:
        edges = [(pair, pool) for pair, found in pools.items() for pool in found]
        self.chance.shuffle(edges)
        edges = edges[: self.chance.randint(1, most_legs)]
        edges = _connected(edges, nodes)
        if not edges:
            return None
        held, hops = {nodes[0]: amount_in}, []
        left = [*edges]
        while left:
            ready = [e for e in left if not any(other[0][1] == e[0][0] for other in left)]
            pair, pool = self.chance.choice(ready)
            left.remove((pair, pool))
            source, target = pair
            if any(other[0][0] == source for other in left):
                amount = int(held[source] * self.chance.uniform(0.02, 0.7))
            else:
                amount = held[source]
            zero_for_one = node_of(pool.token0, self.wrapped) == source
            done = pool.exact_in(zero_for_one, amount) if amount else None
            if done is None or done[0] == 0:
                return None
            held[source] -= amount
            held[target] = held.get(target, 0) + done[0]
            tokens = (pool.token0, pool.token1) if zero_for_one else (pool.token1, pool.token0)
            hops.append(
                Hop(pool, zero_for_one, *tokens, amount, done[0], pool.swap_fee_pips(zero_for_one), done[1])
            )
        return tuple(hops)


async def execute_random_flows(
    n: int,
    seed: int,
    devnet: Devnet | None = None,
    slug: str = "devnet",
    most_legs: int = MOST_LEGS,
    *,
    fees: bool = False,
) -> FlowReport:
    """Executes ``n`` random flows of up to ``most_legs`` legs; ``fees``: each with an integrator's fee."""
    report, chance = FlowReport(), random.Random(seed)
    started_at = time.perf_counter()
    async with started(devnet) as running, SwapHarness(running, slug) as harness:
        maker = FlowMaker(harness, chance, fees=fees)
        snapshot = harness.rpc("evm_snapshot")
        for index in range(n):
            if index % FLOWS_PER_STATE == FLOWS_PER_STATE - 1:
                snapshot = harness.rewind(snapshot)
            request, quote, hops = await maker.flow(most_legs)
            assert_parts_sum(quote, hops)
            try:
                done = harness.execute(request, quote, await harness.build(request, quote))
            except Reverted as error:
                report.reverted.append(f"{error}: {hops}")
                continue
            wei = done.received - done.quoted
            units = quote.gas.units
            fee_wei = done.fee - (quote.fee_amount or 0)
            report.flows.append(Executed(request, hops, wei, done.left, done.gas_used, units, fee_wei))
        harness.rpc("evm_revert", snapshot)
    report.seconds = time.perf_counter() - started_at
    return report


async def measure_gas(
    n: int, seed: int, devnet: Devnet | None = None, *, fees: bool = False
) -> list[Executed]:
    """Returns flows of two to six legs that cross no ticks, executed a second time: on storage in use.

    The second time is a block time later: v2 pairs and v3 pools write their price history once per timestamp.
    """
    measured: list[Executed] = []
    async with started(devnet) as running, SwapHarness(running) as harness:
        maker = FlowMaker(harness, random.Random(seed), fees=fees)
        snapshot = harness.rpc("evm_snapshot")
        while len(measured) < n:
            snapshot = harness.rewind(snapshot)
            request, quote, hops = await maker.flow(9)
            if not 2 <= len(hops) <= 6 or request.recipient == STRANGER:
                continue
            harness.execute(request, quote, await harness.build(request, quote))
            second = await maker.again(request, hops)
            if second is None or any(hop.ticks_crossed for hop in second[1]):
                continue
            quote, hops = second
            harness.rpc("evm_increaseTime", hex(BLOCK_TIME_S))
            done = harness.execute(request, quote, await harness.build(request, quote))
            wei = done.received - done.quoted
            fee_wei = done.fee - (quote.fee_amount or 0)
            used, units = done.gas_used, quote.gas.units
            measured.append(Executed(request, hops, wei, done.left, used, units, fee_wei))
        harness.rpc("evm_revert", snapshot)
    return measured


def assert_parts_sum(quote: Quote, hops: Sequence[Hop]) -> None:
    """Compares the paths and legs of a route with the flow."""
    given, got = Counter[str](), Counter[str]()
    for path in quote.route:
        for before, after in zip(path.hops, path.hops[1:], strict=False):
            assert before.amount_out == after.amount_in
        for hop in path.hops:
            given[hop.pool] += hop.amount_in
            got[hop.pool] += hop.amount_out
    assert given == {hop.pool.id: hop.amount_in for hop in hops}
    assert got == {hop.pool.id: hop.amount_out for hop in hops}
    assert sum(path.bps for path in quote.route) == 10_000
    assert len(quote.route) <= len(hops)
    assert [(leg.pool, leg.amount_in, leg.amount_out) for leg in quote.route_legs] == [
        (hop.pool.id, hop.amount_in, hop.amount_out) for hop in hops
    ]


def _connected(
    edges: Sequence[tuple[tuple[str, str], Pool]], nodes: Sequence[str]
) -> list[tuple[tuple[str, str], Pool]]:
    """Returns the edges on a path from the first to the last node."""
    kept = [*edges]
    while True:
        entered = {nodes[0], *(pair[1] for pair, _ in kept)}
        left = {nodes[-1], *(pair[0] for pair, _ in kept)}
        good = [edge for edge in kept if edge[0][0] in entered and edge[0][1] in left]
        if len(good) == len(kept):
            return good
        kept = good


def _is_mixed(flow: Executed) -> bool:
    ends = {flow.request.token_in.address, flow.request.token_out.address}
    tokens = {token for hop in flow.hops for token in (hop.token_in, hop.token_out)}
    wrapped = {t for hop in flow.hops if hop.pool.kind != "v4" for t in (hop.token_in, hop.token_out)}
    return NATIVE in tokens and NATIVE not in ends and not wrapped.isdisjoint(tokens)


def main() -> None:
    """Runs the command line."""
    options = command_line(__doc__, flows=1000, seed=1, legs=MOST_LEGS)
    report = asyncio.run(execute_random_flows(options.flows, options.seed, most_legs=options.legs))
    print(f"{len(report.flows)} flows executed, seed {options.seed}, {report.seconds:.1f} s")
    print(f"legs: {dict(sorted(report.legs.items()))}; both forms of the coin: {report.mixed}")
    print(f"received minus quoted is not 0 wei, or the router keeps something, in {len(report.wrong)}")
    for line in [*report.reverted[:5], *(f"{w.shape} {w.wei} {w.left}" for w in report.wrong[:10])]:
        print(line)
    sys.exit(bool(report.wrong or report.reverted))


if __name__ == "__main__":
    main()
