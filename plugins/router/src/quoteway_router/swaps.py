"""Routes over the pools that other plugins contribute, for one executor: the same search as for our own.

Each executor gets a swap provider of its own, which competes with the others. So pools that are not what they
say cost the quotes of this provider alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from cachetools import LRUCache
from quoteway import (
    NATIVE,
    Address,
    Block,
    Build,
    CertificateCheck,
    CertifiedSwap,
    Context,
    DataPrice,
    Executor,
    FlowOrder,
    InvalidRequest,
    Leg,
    Notice,
    Optimality,
    PoolsFound,
    Quote,
    Reason,
    SealedQuote,
    Spend,
    SwapProvider,
    SwapRequest,
    UpstreamError,
)
from quoteway.evm import permit2
from quoteway.evm.address import parse_address
from quoteway.models import LIMITS
from quoteway_amm import GasModel, Graph, HopGas, NoPath, Pool

from quoteway_router.amounts import gas_of, impact_issues, lp_fee, minimum_out
from quoteway_router.certificates import certificate_of_pools
from quoteway_router.flow_routes import price_impact_bps, route_legs, route_paths
from quoteway_router.paths import REFUSALS, flow_hops, path_hops
from quoteway_router.plans import PLAN_VERSION, legs_of_plan, plan_of
from quoteway_router.searching import Search, best_flow
from quoteway_router.splitting import Split, Splitting
from quoteway_router.venue import PRIORITY_FEE_WEI, deadline_of, is_wrapping, network_gas_price
from quoteway_router.verifying import verify_executor_certificate

MOST_LEGS = 12
"""The most pools of a flow: a plan names each by an id of up to 66 characters."""
_GRAPHS_KEPT = 64


@dataclass(frozen=True, slots=True)
class _Venue:
    """The pools of one executor on one network, see ``venue.Venue``."""

    provider: str
    wrapped_native: Address
    priority_fee_wei: int = PRIORITY_FEE_WEI

    def label(self, kind: str) -> str:
        return kind


class ExecutorSwaps(SwapProvider):
    """Quotes the best route through the pools that one executor can execute, net of gas."""

    honours = LIMITS
    plan_version = PLAN_VERSION
    docs = None

    def __init__(self, context: Context, executor: Executor) -> None:
        self.id = f"{executor.id}-routes"[:64]
        self.title = executor.title
        self.protocols = tuple(executor.leg_gas)
        self._context = context
        self._executor = executor
        self._max_hops: int | None = context.settings.get("max_hops")
        self._lifetime_s: int | None = context.settings.get("lifetime_s")
        self._splitting = splitting_of(context)
        legs = {kind: HopGas(section=0, hop=units) for kind, units in executor.leg_gas.items()}
        coin = executor.coin_gas
        self._gas = GasModel(executor.transaction_gas, pull=0, wrap=coin, unwrap=coin, hops=legs)
        self._graphs: LRUCache[Hashable, Graph] = LRUCache(_GRAPHS_KEPT)

    @property
    def networks(self) -> frozenset[int]:  # type: ignore[override]
        """Returns the networks on which the executor and any source are enabled."""
        usable = self._context.liquidity.usable
        return frozenset(
            network.chain_id
            for network in self._context.networks
            if network.wrapped_native is not None and usable(self._executor, network.chain_id)
        )

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns the executor's contracts."""
        return self._executor.contracts(chain_id)

    def expected_contracts(self, chain_id: int) -> Mapping[Address, str]:
        """Returns those that the executor expects."""
        return self._executor.expected_contracts(chain_id)

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """Returns the executor's spender."""
        return self._executor.spenders(chain_id)

    async def quote(self, request: SwapRequest) -> Quote | None:
        """See ``SwapProvider``. Raises UpstreamError with reason insufficient_liquidity or amount_too_low."""
        network = self._context.networks.by_chain_id(request.chain_id)
        ends = request.token_in.address, request.token_out.address
        if request.is_cross_chain or network is None or network.wrapped_native is None:
            return None
        if is_wrapping(request, network.wrapped_native) or (NATIVE in ends and not self._executor.takes_coin):
            return None
        if request.recipient != request.sender and not self._executor.pays_others:
            return None
        block = await self._context.chain(request.chain_id).head()
        tokens = request.token_in, request.token_out
        if await self._context.liquidity.taxed(request.chain_id, tokens, block):
            return None  # the executor pays out what the pools say
        found, data_price = await asyncio.gather(
            self._context.liquidity.pools(self._executor, request.chain_id, *ends, block),
            self._context.data_price(request.chain_id, block),
        )
        venue = _Venue(self.id, parse_address(network.wrapped_native))
        return await self._quote(venue, block, request, found, data_price)

    async def build(self, sealed: SealedQuote) -> Build:
        """See ``SwapProvider``: the executor encodes the legs of the quote."""
        request = sealed.request
        if not isinstance(request, SwapRequest):
            raise InvalidRequest("This quote is not a swap.", reason=Reason.QUOTE_INVALID)
        block = await self._context.chain(request.chain_id).head()
        deadline = deadline_of(self._context, block, sealed)
        (given,), (got,) = sealed.inputs, sealed.outputs
        order = FlowOrder(
            request.chain_id,
            legs_of_plan(sealed.plan),
            given.token.address,
            got.token.address,
            given.amount,
            got.amount_min or got.amount,
            request.sender,
            got.account,
            deadline,
            block,
        )
        step = await self._context.liquidity.encode(self._executor, order)
        return Build(
            steps=(step,),
            spends=self._spends(request),
            inputs=sealed.inputs,
            outputs=sealed.outputs,
            deadline=deadline if self._executor.enforces_deadline else None,
        )

    async def verify(self, swap: CertifiedSwap) -> Sequence[CertificateCheck]:
        """See ``SwapProvider``. The pools are those that the executor's sources give at the block."""
        return await verify_executor_certificate(self._context, self._executor, swap)

    async def _quote(
        self,
        venue: _Venue,
        block: Block,
        request: SwapRequest,
        found: PoolsFound,
        data_price: DataPrice | None,
    ) -> Quote | None:
        limits, executor = request.routing, self._executor
        every = cast("tuple[Pool, ...]", found.pools)
        allowed = tuple(
            pool
            for pool in every
            if limits.takes_protocol((self.id, pool.kind)) and limits.takes_pool(request.chain_id, pool.id)
        )
        graph, priced = (self._graph(venue, block, pools) for pools in (allowed, every))
        wei = limits.gas_price_wei
        wei = network_gas_price(venue, block) if wei is None else wei
        most_legs = min(executor.most_legs, MOST_LEGS)
        search = Search(
            request.chain_id,
            block,
            request.token_in.address,
            request.token_out.address,
            request.amount_in,
            wei,
            min(path_hops(request, self._max_hops), most_legs),
            flow_hops(request, self._max_hops),
            min(limits.max_legs or most_legs, most_legs),
            self._gas,
            splits=executor.splits,
            joins=executor.joins,
            data_price=data_price,
        )
        best = await best_flow(self._splitting, graph, priced, search)
        if isinstance(best, NoPath):
            if best.reason == "no_pool":
                return None
            message, reason = REFUSALS[best.reason]
            raise UpstreamError(message, reason=reason)
        flow = best.split.flow
        amount_min = minimum_out(flow.amount_out, request.slippage_bps)
        told = {
            "gas_exceeds_output": flow.gas_cost >= flow.amount_out,
            "pool_not_known_far_enough": best.unknown,
            "pools_not_searched": found.missing,
        }
        tokens = {token.address: token for token in (request.token_in, request.token_out)}
        impact_bps = price_impact_bps(venue, flow.legs)
        net = None if best.gas_price is None else max(amount_min - flow.gas_cost, 0)
        return Quote(
            inputs=(Leg(request.token_in, request.amount_in, request.sender),),
            outputs=(Leg(request.token_out, flow.amount_out, request.recipient, amount_min=amount_min),),
            block=block,
            plan=plan_of(flow.legs, venue.wrapped_native),
            spends=self._spends(request),
            slippage_bps=request.slippage_bps,
            fees=tuple(lp_fee(tokens[hop.token_in], hop) for hop in flow.legs if hop.token_in in tokens),
            gas=gas_of(venue, flow.gas_units, block, wei),
            route=route_paths(venue, flow.legs),
            price_impact_bps=impact_bps,
            issues=impact_issues(request, impact_bps),
            warnings=tuple(Notice(code) for code, applies in told.items() if applies),
            net_output=net,
            lifetime_s=self._lifetime_s,
            route_legs=route_legs(venue, flow.legs),
            optimality=await self._optimality(venue, request, graph, best.split),
        )

    async def _optimality(
        self, venue: _Venue, request: SwapRequest, graph: Graph, split: Split
    ) -> Optimality | None:
        """Returns how near to the best a flow is, with the certificate where the request asks for it."""
        told = split.optimality
        if told is None or not request.certificate:
            return told
        ends = request.token_in.address, request.token_out.address
        certificate = await certificate_of_pools(
            graph.pools, *ends, request.amount_in, told.bound, split.prices, venue.wrapped_native
        )
        return replace(told, certificate=certificate)

    def _graph(self, venue: _Venue, block: Block, pools: tuple[Pool, ...]) -> Graph:
        """Returns the graph of pools, the same one for the same pools of a block."""
        key = block.hash, tuple(map(id, pools))
        graph = self._graphs.get(key)
        if graph is None:
            graph = self._graphs[key] = Graph(pools, venue.wrapped_native)
        return graph

    def _spends(self, request: SwapRequest) -> tuple[Spend, ...]:
        if request.token_in.address == NATIVE:
            return ()
        token, amount = request.token_in.address, request.amount_in
        spenders = self._executor.spenders(request.chain_id)
        takers = [spender for spender in spenders if spender != permit2.ADDRESS]
        if not takers:
            raise UpstreamError("The executor names no spender.", reason=Reason.PROVIDER_ERROR)
        if permit2.ADDRESS in spenders:
            return (Spend(token, amount, permit2.ADDRESS, permit2_spender=takers[0]),)
        return (Spend(token, amount, takers[0]),)


def splitting_of(context: Context) -> Splitting:
    """Returns the one that the hooks of a gateway share; without processes when there is no executor."""
    if "splitting" not in context.state:
        needed = bool(context.liquidity.executors())
        context.state["splitting"] = Splitting(context.settings.get("solver_processes", 1) if needed else 0)
    splitting: Splitting = context.state["splitting"]
    return splitting
