"""Cross-chain swaps from two providers: a swap to an intermediate token, then a bridge transfer.

The input token is swapped for a token that a bridge converts to the output token on the other chain. The
transfer sends exactly the minimum output of the swap, so a swap that succeeds always covers it. The surplus
stays in the wallet and is a separate output. Each part is a quote of its own provider, and is checked, built
and simulated like any other quote.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from quoteway import models
from quoteway.engine.limits import able, nobody_able
from quoteway.engine.parts import total_gas, total_legs, warnings_between
from quoteway.engine.provider_sets import usable
from quoteway.engine.quoting import Quoting
from quoteway.engine.ranking import best, rank
from quoteway.errors import GatewayError, UpstreamError
from quoteway.guard.quotes import plain_plan
from quoteway.host.checked_provider import spenders_of
from quoteway.host.lists import ListKind, Lists
from quoteway.host.refresh import RefreshPolicy
from quoteway.host.states import networks_of
from quoteway.providers import Provider, SwapProvider, TransactionProvider

MAX_INTERMEDIATES = 3
"""The maximum number of intermediate tokens tried at once."""
ROUTES_POLICY = RefreshPolicy(fresh_s=60.0, retry_s=10.0, old_s=900.0)
"""A route list is used up to the age ``old_s`` while it is refreshed in the background."""

ROUTES = ListKind(
    models.Capability.BRIDGE,
    models.BridgeRoute,
    lambda bridge, *ends: bridge.routes(*ends),
    everything=(None, None),
)


class SwapThenBridge(SwapProvider):
    """The built-in provider of cross-chain swaps that combine a swap provider and a bridge.

    It serves a pair of networks when the deployment has a swap provider on the first and a bridge to the
    second, unless ``[providers."swap+bridge"]`` disables it.
    """

    id = "swap+bridge"
    title = "A swap, then a transfer"
    cross_chain = True
    joins_providers = True
    honours = models.LIMITS
    """On the route of the swap; the transfer has none."""

    def __init__(self, quoting: Quoting) -> None:
        self._quoting = quoting
        self._timeout_s = quoting.config.competition_timeout_s
        policy = replace(ROUTES_POLICY, first_wait_s=self._timeout_s / 2)
        self._lists = Lists(quoting.registry, quoting.runtime.clock, policy)

    @property
    def networks(self) -> frozenset[int]:  # type: ignore[override]
        """The networks that the bridges serve."""
        bridges = self._quoting.registry.enabled(models.Capability.BRIDGE)
        return frozenset[int]().union(*map(networks_of, bridges))

    @property
    def protocols(self) -> tuple[str, ...]:  # type: ignore[override]
        """The protocols and ids of the swap providers."""
        found = [
            name
            for swapper in self._quoting.registry.enabled(models.Capability.SWAP)
            if swapper is not self and isinstance(swapper, SwapProvider)
            for name in (swapper.id, *swapper.protocols)
        ]
        return tuple(dict.fromkeys(found))

    def serves(self, chain_id: int, to_chain_id: int) -> bool:
        """Returns whether there is a swap provider on the first network and a bridge to the second."""
        return chain_id != to_chain_id and bool(
            self._swappers(chain_id) and self._bridges(chain_id, to_chain_id)
        )

    def spenders(self, chain_id: int) -> Sequence[models.Address]:
        """Returns the spenders of the swap providers, which the first part uses."""
        return [spender for swapper in self._swappers(chain_id) for spender in spenders_of(swapper, chain_id)]

    def _swappers(self, chain_id: int) -> list[Provider]:
        found = self._quoting.registry.enabled(models.Capability.SWAP, chain_id)
        return usable(provider for provider in found if provider is not self)

    def _bridges(self, chain_id: int, to_chain_id: int) -> list[Provider]:
        found = self._quoting.registry.enabled(models.Capability.BRIDGE, chain_id)
        return usable(bridge for bridge in found if to_chain_id in networks_of(bridge))

    async def quote(self, request: models.SwapRequest) -> models.Quote | None:
        """Returns the best combination of a swap and a transfer.

        Returns None when a bridge takes the input token directly, or no bridge delivers the output token.
        Raises ``GatewayError`` as the providers of the parts do.
        """
        ends_at = time.monotonic() + self._timeout_s
        intermediates = await self._intermediates(request)
        if not intermediates:
            return None

        through = (self._through(token, request, ends_at) for token in intermediates)
        outcomes = await asyncio.gather(*through, return_exceptions=True)
        quotes = [outcome for outcome in outcomes if isinstance(outcome, models.Quote)]
        errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        bugs = [error for error in errors if not isinstance(error, GatewayError)]
        if bugs or (errors and not quotes):
            raise (bugs or errors)[0]
        return max(quotes, key=rank, default=None)

    async def build(self, sealed: models.SealedQuote) -> models.Build:
        """Raises ``ProviderUnavailable``: the provider of each part builds it, and a quote without parts is
        none of this provider's."""
        return await TransactionProvider.build(self, sealed)

    async def _intermediates(self, request: models.SwapRequest) -> list[models.Address]:
        """Returns the intermediate tokens: those that a bridge converts to the output token.

        Prefers the native coin to its wrapped token, because it needs no approval. The caller has not chosen
        these tokens, so only the native coin and tokens of the deployment's catalogs are allowed; a bridge's
        route list is not trusted alone.
        """
        ends = request.chain_id, request.to_chain_id
        listed = await self._lists.get(ROUTES, ends, self._bridges(*ends))
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
        network = self._quoting.runtime.networks.by_chain_id(request.chain_id)
        if models.NATIVE in sources and network is not None and network.wrapped_native is not None:
            sources.pop(network.wrapped_native, None)
        known = await self._quoting.tokens.listed(request.chain_id)
        return [token for token in sources if token == models.NATIVE or token in known][:MAX_INTERMEDIATES]

    async def close(self) -> None:
        """Stops reads in progress."""
        await self._lists.close()

    async def _through(
        self, intermediate: models.Address, request: models.SwapRequest, ends_at: float
    ) -> models.Quote | None:
        token = await self._quoting.tokens.find(request.chain_id, intermediate)
        if token is None or not token.listed:  # its row is refused: the contract has other decimals
            return None
        first = replace(
            request,
            to_chain_id=request.chain_id,
            token_out=token,
            recipient=request.sender,
            # All transactions are built at once: a signature cannot be inserted between the parts.
            permit2_signature=False,
            refund_to=None,
        )
        # Half of the remaining time: slow swap providers must leave time for the transfer.
        left_s = ends_at - time.monotonic()
        swappers, not_asked = able(self._swappers(request.chain_id), request)
        if not swappers:
            raise nobody_able(not_asked)
        swap = best(await self._quoting.ask(swappers, first, left_s / 2))
        passed_on = swap.quote.outputs[0].amount_min
        if not passed_on:
            return None
        priced = models.RoutingLimits(gas_price_wei=request.routing.gas_price_wei)
        second = replace(
            request, token_in=token, amount_in=passed_on, permit2_signature=False, routing=priced
        )
        bridges = self._bridges(request.chain_id, request.to_chain_id)
        left_s = ends_at - time.monotonic()
        transfer = best(await self._quoting.ask(bridges, second, 0.9 * left_s))
        part = models.QuotePart(models.Capability.SWAP, swap.provider.id, first, swap.quote)
        then = models.QuotePart(models.Capability.BRIDGE, transfer.provider.id, second, transfer.quote)
        return _joined(part, then, passed_on)


def _joined(first: models.QuotePart, second: models.QuotePart, passed_on: int) -> models.Quote:
    """Returns the combined quote; ``passed_on`` is the part of the swap output that the transfer spends."""
    swap, transfer = first.quote, second.quote
    # One quote token holds both plans. Raise now: the quote must not win and then fail to be sealed.
    plain_plan({"parts": [swap.plan, transfer.plan]})
    inputs, outputs = total_legs(((swap.inputs, swap.outputs), (transfer.inputs, transfer.outputs)))
    lifetimes = [quote.lifetime_s for quote in (swap, transfer) if quote.lifetime_s is not None]
    return models.Quote(
        inputs=inputs,
        outputs=outputs,
        block=swap.block,
        plan={},
        spends=(*swap.spends, *transfer.spends),
        slippage_bps=swap.slippage_bps,
        fees=(*swap.fees, *transfer.fees),
        gas=total_gas(swap.gas, transfer.gas),
        route=swap.route,
        route_legs=swap.route_legs,
        price_impact_bps=swap.price_impact_bps,
        issues=(*swap.issues, *transfer.issues),
        warnings=tuple(
            dict.fromkeys(
                (*swap.warnings, *transfer.warnings, *warnings_between((first.request, second.request)))
            )
        ),
        net_output=_net_output(swap, transfer, passed_on),
        lifetime_s=min(lifetimes, default=None),
        terms=transfer.terms,
        parts=(first, second),
    )


def _net_output(swap: models.Quote, transfer: models.Quote, passed_on: int) -> int:
    """Returns the net output of the transfer less the costs of the swap, converted at the transfer's rate."""
    costs = 0 if swap.net_output is None else passed_on - swap.net_output
    return rank(transfer) - costs * (transfer.outputs[0].amount_min or 0) // passed_on
