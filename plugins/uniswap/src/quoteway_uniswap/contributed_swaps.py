"""Routes over the pools that other plugins contribute, for one executor: the same search as for our own.

Each executor gets a swap provider of its own, which competes with the others. So pools that are not what they
say cost the quotes of this provider alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from cachetools import LRUCache
from quoteway import (
    NATIVE,
    Address,
    Block,
    Build,
    Context,
    Executor,
    FlowLeg,
    FlowOrder,
    InvalidRequest,
    Leg,
    Notice,
    PoolsFound,
    Quote,
    Reason,
    SealedQuote,
    Spend,
    SwapProvider,
    SwapRequest,
    UpstreamError,
)
from quoteway.evm.address import parse_address
from quoteway.models import LIMITS
from quoteway_amm import BandsExceeded, GasModel, GasPrice, Graph, Hop, HopGas, NoPath, Pool

from quoteway_uniswap.building import deadline_of
from quoteway_uniswap.deployments import PRIORITY_FEE_WEI
from quoteway_uniswap.flow import amounts_of
from quoteway_uniswap.flow_routes import price_impact_bps, route_legs, route_paths
from quoteway_uniswap.provider import REFUSALS, configured_deployments
from quoteway_uniswap.quoting import gas_of, impact_issues, lp_fee, minimum_out
from quoteway_uniswap.routing import gas_price_in, hops_allowed, is_wrapping, network_gas_price, settled_path
from quoteway_uniswap.shared import shared_by
from quoteway_uniswap.splitting import Split

PLAN_VERSION = 1
MOST_LEGS = 12
"""The most pools of a flow: a plan names each by an id of up to 66 characters."""
_GRAPHS_KEPT = 64
_FREE = GasPrice(0)


@dataclass(frozen=True, slots=True)
class _Venue:
    """The pools of one executor on one network, see ``deployments.Venue``."""

    provider: str
    wrapped_native: Address
    priority_fee_wei: int = PRIORITY_FEE_WEI

    def label(self, kind: str) -> str:
        return kind


class ContributedSwaps(SwapProvider):
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
        self._max_hops: int = context.settings.get("max_hops", 3)
        self._lifetime_s: int | None = context.settings.get("lifetime_s")
        self._rows = configured_deployments(context)
        self._shared = shared_by(context)
        legs = {kind: HopGas(section=0, hop=units) for kind, units in executor.leg_gas.items()}
        self._gas = GasModel(executor.transaction_gas, pull=0, wrap=0, unwrap=0, hops=legs)
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
        block = await self._context.chain(request.chain_id).head()
        if await self._taxed(request, block):
            return None
        found = await self._context.liquidity.pools(self._executor, request.chain_id, *ends, block)
        venue = _Venue(self.id, parse_address(network.wrapped_native))
        return await self._quote(venue, block, request, found)

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
            deadline=deadline,
        )

    async def _quote(
        self, venue: _Venue, block: Block, request: SwapRequest, found: PoolsFound
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
        price = gas_price_in(priced, request.token_out.address, wei, self._gas)
        most_legs = min(executor.most_legs, MOST_LEGS)
        hops_most = min(hops_allowed(request, self._max_hops), most_legs)
        ends = request.token_in.address, request.token_out.address
        path, unknown = settled_path(
            graph, *ends, request.amount_in, price or _FREE, hops_most, self._gas, last=True
        )
        if isinstance(path, NoPath):
            if path.reason == "no_pool":
                return None
            message, reason = REFUSALS[path.reason]
            raise UpstreamError(message, reason=reason)
        split = Split(path)
        if executor.splits:
            legs_most = min(limits.max_legs or most_legs, most_legs)
            try:
                split = await self._shared.contributed.improve(
                    path, graph, request.chain_id, block, price or _FREE, hops_most, legs_most, self._gas
                )
            except BandsExceeded as error:
                split, unknown = error.settled, True
        flow = split.flow
        amount_min = minimum_out(flow.amount_out, request.slippage_bps)
        told = {
            "gas_exceeds_output": flow.gas_cost >= flow.amount_out,
            "pool_not_known_far_enough": unknown,
            "pools_not_searched": found.missing,
        }
        tokens = {token.address: token for token in (request.token_in, request.token_out)}
        impact_bps = price_impact_bps(venue, flow.legs)
        net = None if price is None else max(amount_min - flow.gas_cost, 0)
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
            optimality=split.optimality,
        )

    def _graph(self, venue: _Venue, block: Block, pools: tuple[Pool, ...]) -> Graph:
        """Returns the graph of pools, the same one for the same pools of a block."""
        key = block.hash, tuple(map(id, pools))
        graph = self._graphs.get(key)
        if graph is None:
            graph = self._graphs[key] = Graph(pools, venue.wrapped_native)
        return graph

    async def _taxed(self, request: SwapRequest, block: Block) -> bool:
        """Returns whether a token is known to tax its transfers: executors pay out what the pools say."""
        rows = self._rows.get(request.chain_id)
        if not rows:
            return False
        taxes = self._shared.chain(request.chain_id, rows).taxes
        sold, bought = await taxes.of(request.token_in, block), await taxes.of(request.token_out, block)
        return bool(sold.to_pool_bps or bought.from_pool_bps)

    def _spends(self, request: SwapRequest) -> tuple[Spend, ...]:
        if request.token_in.address == NATIVE:
            return ()
        spenders = self._executor.spenders(request.chain_id)
        if not spenders:
            raise UpstreamError("The executor names no spender.", reason=Reason.PROVIDER_ERROR)
        return (Spend(request.token_in.address, request.amount_in, spenders[0]),)


def plan_of(hops: Sequence[Hop], wrapped_native: Address) -> dict[str, Any]:
    """Returns the plan of a flow: ``{"tokens": [...], "families": [...], "legs": [leg, ...]}``.

    A leg is ``[family, pool, in, out, fee, amount]``: the index of its family, the pool's id, the indexes of
    its tokens, the fee in pips, and the amount, 0 for the last leg out of each token.
    """
    tokens = [*dict.fromkeys(token for hop in hops for token in (hop.token_in, hop.token_out))]
    families = [*dict.fromkeys(hop.pool.kind for hop in hops)]
    legs = [
        [
            families.index(hop.pool.kind),
            hop.pool.id,
            tokens.index(hop.token_in),
            tokens.index(hop.token_out),
            hop.fee_pips,
            amount,
        ]
        for hop, amount in zip(hops, amounts_of(hops, wrapped_native), strict=True)
    ]
    return {"tokens": tokens, "families": families, "legs": legs}


def legs_of_plan(plan: Mapping[str, Any]) -> tuple[FlowLeg, ...]:
    """Returns the legs of a plan made by ``plan_of``. Raises InvalidRequest for any other value."""
    try:
        tokens = [parse_address(token) for token in plan["tokens"]]
        return tuple(
            FlowLeg(plan["families"][kind], pool, tokens[sold], tokens[bought], fee, amount)
            for kind, pool, sold, bought, fee, amount in plan["legs"]
        )
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise InvalidRequest(
            f"The plan of this quote cannot be read ({error}): request a new quote.",
            reason=Reason.QUOTE_INVALID,
        ) from None
