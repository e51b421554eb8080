"""What two providers can do together and neither alone: a swap, then a transfer of what it surely gives.

The token that is sold is swapped for one that a bridge turns into the token that is bought elsewhere. The
transfer is of exactly the swap's minimum, and so is certain once the swap is; what the swap gives beyond
stays in the wallet, as an output of its own. Each part is a quote of its provider, checked, built and run as
any other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from quoteway.config.model import Config
from quoteway.engine.parts import handover_warnings, joined_legs
from quoteway.engine.ranking import best, rank
from quoteway.errors import GatewayError, UpstreamError
from quoteway.guard.plans import plain_plan
from quoteway.host.lists import ListKind, Lists
from quoteway.host.provider_calls import Outcome
from quoteway.host.refresh import RefreshPolicy
from quoteway.host.registry import Registry
from quoteway.host.runtime import Runtime
from quoteway.host.states import networks_of
from quoteway.models import (
    NATIVE,
    Address,
    BridgeRoute,
    Build,
    Capability,
    Gas,
    Quote,
    QuotePart,
    SealedQuote,
    SwapRequest,
)
from quoteway.providers import Provider, SwapProvider

MAX_MIDDLES = 3
"""So many tokens between the swap and the transfer are tried at once."""
ROUTES_FRESH_S = 60.0
ROUTES_RETRY_S = 10.0
ROUTES_OLD_S = 900.0
"""Until it is this old, a list still serves while it is read anew: no quote waits for one that gets old."""

Ask: TypeAlias = Callable[
    [Sequence[Provider], SwapRequest, float], Awaitable[Sequence[Outcome[Provider, Quote]]]
]
"""Asks providers for quotes of a request, within seconds; every quote is checked."""


class SwapThenBridge(SwapProvider):
    """A built-in provider of swaps between two networks, made of other providers' swaps and transfers.

    It serves a pair of networks as soon as the deployment has a provider of swaps on the one and a bridge to
    the other, unless ``[providers."swap+bridge"]`` disables it.
    """

    id = "swap+bridge"
    title = "A swap, then a transfer"
    cross_chain = True
    joins_providers = True

    def __init__(self, config: Config, runtime: Runtime, registry: Registry, ask: Ask) -> None:
        self._runtime = runtime
        self._registry = registry
        self._ask = ask
        self._timeout_s = config.quotes.competition_timeout_s
        self._routes = ListKind(Capability.BRIDGE, BridgeRoute, lambda bridge, *ends: bridge.routes(*ends))
        policy = RefreshPolicy(
            fresh_s=ROUTES_FRESH_S,
            retry_s=ROUTES_RETRY_S,
            first_wait_s=self._timeout_s / 2,
            old_s=ROUTES_OLD_S,
        )
        self._lists = Lists(registry, runtime.clock, policy)

    @property
    def networks(self) -> frozenset[int]:  # type: ignore[override]
        """The networks that a bridge serves: a swap on one of them may precede the transfer."""
        bridges = self._registry.enabled(Capability.BRIDGE)
        return frozenset[int]().union(*map(networks_of, bridges))

    def serves(self, chain_id: int, to_chain_id: int) -> bool:
        """Whether the deployment has a provider of swaps on the one and a bridge to the other."""
        return chain_id != to_chain_id and bool(
            self._swappers(chain_id) and self._bridges(chain_id, to_chain_id)
        )

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """Those of the providers of swaps: the first part spends through them."""
        return [spender for swapper in self._swappers(chain_id) for spender in swapper.spenders(chain_id)]

    def _swappers(self, chain_id: int) -> list[Provider]:
        found = self._registry.enabled(Capability.SWAP, chain_id)
        return [provider for provider in found if provider is not self]

    def _bridges(self, chain_id: int, to_chain_id: int) -> list[Provider]:
        found = self._registry.enabled(Capability.BRIDGE, chain_id)
        return [bridge for bridge in found if to_chain_id in networks_of(bridge)]

    async def quote(self, request: SwapRequest) -> Quote | None:
        """The best swap and transfer; None where a bridge takes the token itself, or none pays out the other.

        Raises ``GatewayError`` as the providers of the parts do.
        """
        ends_at = time.monotonic() + self._timeout_s
        middles = await self._middles(request)
        if not middles:
            return None

        async def through(middle: Address) -> Quote | None:
            return await self._through(middle, request, ends_at)

        outcomes = await asyncio.gather(*map(through, middles), return_exceptions=True)
        quotes = [outcome for outcome in outcomes if isinstance(outcome, Quote)]
        errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        bugs = [error for error in errors if not isinstance(error, GatewayError)]
        if bugs or (errors and not quotes):
            raise (bugs or errors)[0]
        return max(quotes, key=rank, default=None)

    async def build(self, sealed: SealedQuote) -> Build:
        """Never called: the parts of its quotes are built by their own providers."""
        raise NotImplementedError

    async def _middles(self, request: SwapRequest) -> list[Address]:
        """The tokens that a bridge turns into the one that is bought; not the wrapped coin where the coin
        itself will do, which needs no approval.

        The caller has named none of them: what their money is turned into on the way is not for a bridge's
        list alone to say, so the coin and what the deployment's own catalogs list are all that is considered.
        """
        ends = request.chain_id, request.to_chain_id
        listed = await self._lists.get(self._routes, ends, self._bridges(*ends))
        sources = dict.fromkeys(
            route.from_token.address
            for route in listed.rows
            if route.enabled
            and (route.from_token.chain_id, route.to_token.chain_id) == ends
            and route.to_token.address == request.token_out.address
        )
        if not sources and listed.partial:
            _, reason = listed.partial[0]
            raise UpstreamError("A bridge's routes could not be read.", reason=reason, retryable=True)
        if request.token_in.address in sources:
            return []
        network = self._runtime.networks.by_chain_id(request.chain_id)
        if NATIVE in sources and network is not None and network.wrapped_native is not None:
            sources.pop(network.wrapped_native, None)
        known = await self._runtime.tokens.listed(request.chain_id)
        return [token for token in sources if token == NATIVE or token in known][:MAX_MIDDLES]

    async def close(self) -> None:
        """Ends what is still being read."""
        await self._lists.close()

    async def _through(self, middle: Address, request: SwapRequest, ends_at: float) -> Quote | None:
        token = await self._runtime.tokens.find(request.chain_id, middle)
        if token is None:
            return None
        first = replace(
            request,
            to_chain_id=request.chain_id,
            token_out=token,
            recipient=request.sender,
            # All calls go out as one: a signature could not be put in between.
            permit2_signature=False,
            refund_to=None,
        )
        # Half of the time that is left: a slow provider of swaps must not take the transfer's.
        left_s = ends_at - time.monotonic()
        swapper, swap = best(await self._ask(self._swappers(request.chain_id), first, left_s / 2))
        passed_on = swap.outputs[0].amount_min
        if not passed_on:
            return None
        second = replace(request, token_in=token, amount_in=passed_on, permit2_signature=False)
        bridges = self._bridges(request.chain_id, request.to_chain_id)
        left_s = ends_at - time.monotonic()
        bridge, transfer = best(await self._ask(bridges, second, 0.9 * left_s))
        return _joined(
            QuotePart(Capability.SWAP, swapper.id, first, swap),
            QuotePart(Capability.BRIDGE, bridge.id, second, transfer),
            passed_on,
        )


def _joined(first: QuotePart, second: QuotePart, passed_on: int) -> Quote:
    """The quote of both; ``passed_on`` is what the transfer takes of the swap's output."""
    swap, transfer = first.quote, second.quote
    # One token has to hold both plans: what does not fit must not win and then fail to be sealed.
    plain_plan({"parts": [swap.plan, transfer.plan]})
    inputs, outputs = joined_legs(((swap.inputs, swap.outputs), (transfer.inputs, transfer.outputs)))
    lifetimes = [quote.lifetime_s for quote in (swap, transfer) if quote.lifetime_s is not None]
    return Quote(
        inputs=inputs,
        outputs=outputs,
        block=swap.block,
        plan={},
        spends=(*swap.spends, *transfer.spends),
        slippage_bps=swap.slippage_bps,
        fees=(*swap.fees, *transfer.fees),
        gas=_gas_of_both(swap.gas, transfer.gas),
        route=swap.route,
        price_impact_bps=swap.price_impact_bps,
        issues=(*swap.issues, *transfer.issues),
        warnings=tuple(
            dict.fromkeys(
                (*swap.warnings, *transfer.warnings, *handover_warnings((first.request, second.request)))
            )
        ),
        net_output=_net_output(swap, transfer, passed_on),
        lifetime_s=min(lifetimes, default=None),
        terms=transfer.terms,
        parts=(first, second),
    )


def _net_output(swap: Quote, transfer: Quote, passed_on: int) -> int:
    """The transfer's, less what the swap costs beside its minimum, at the transfer's own rate."""
    costs = 0 if swap.net_output is None else passed_on - swap.net_output
    return rank(transfer) - costs * (transfer.outputs[0].amount_min or 0) // passed_on


def _gas_of_both(one: Gas | None, other: Gas | None) -> Gas | None:
    if one is None or other is None:
        return None

    def both(a: int | None, b: int | None) -> int | None:
        return None if a is None or b is None else a + b

    prices = [gas.max_fee_per_gas_wei for gas in (one, other) if gas.max_fee_per_gas_wei is not None]
    return Gas(
        one.units + other.units,
        one.limit + other.limit,
        max(prices, default=None),
        both(one.l1_fee_wei, other.l1_fee_wei),
        both(one.cost_wei, other.cost_wei),
    )
