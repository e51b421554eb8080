"""The suite for swap providers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from quoteway import (
    Capability,
    IntegratorFee,
    InvalidRequest,
    Quote,
    RoutingLimits,
    SwapRequest,
    UpstreamError,
)
from quoteway.guard.acknowledgements import CODES
from quoteway.guard.quotes import check_quote
from quoteway.guard.routes import check_route
from quoteway.models import ROUTE_LIMITS
from quoteway.testing.conformance.movement import MovementConformance
from quoteway.testing.conformance.provider import STRANGER
from quoteway.testing.execution import LocalChains, execute

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway


_REFRESHABLE_S = 3_600
_FEE_BPS = 30
"""Of the fee that every case is quoted with."""


class SwapConformance(MovementConformance):
    """Fixtures: ``gateway``, ``cases`` (``SwapRequest``), ``unknown`` (a pair without a route)."""

    capability: ClassVar[Capability] = Capability.SWAP

    async def test_exact_outputs_take_what_their_quotes_say(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Any, cases: Sequence[SwapRequest]
    ) -> None:
        """Buys what each case sells for, where the provider quotes exact outputs."""
        if not provider.exact_out:
            return
        asked = bought = 0
        for case in cases:
            if case.amount_out is not None or case.is_cross_chain:
                continue
            likely = await provider.quote(case)
            assert likely is not None, f"no quote for {case}"
            request = replace(case, amount_in=0, amount_out=likely.outputs[0].amount)
            asked += 1
            if await provider.quote(request) is None:
                continue  # it has no route for this output
            bought += 1
            quote, sealed = await self.sealed(gateway, request)
            check_quote(provider, request, quote)
            action = await gateway.building.action(sealed, acknowledged=CODES)
            self._simulated(quote, action, request)
            await self._executed(fresh_devnet, gateway, quote, action, request)
        assert bought or not asked, "it says that it quotes exact outputs, and quotes none"

    async def test_refreshed_quotes_are_built_within_their_terms(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Any, cases: Sequence[SwapRequest]
    ) -> None:
        """Refreshes a case within the narrowest terms, which allow no other amount than the quoted one."""
        case = next((each for each in cases if not each.is_cross_chain), None)
        if case is None:
            return
        asked = [case]
        if provider.exact_out and case.amount_out is None:
            likely = await provider.quote(case)
            assert likely is not None, f"no quote for {case}"
            asked.append(replace(case, amount_in=0, amount_out=likely.outputs[0].amount))
        for request in asked:
            until = gateway.runtime.now() + _REFRESHABLE_S
            first = await gateway.quoting.quote(
                self.capability, request, provider=self.provider_id, refreshable_until=until
            )
            if first.quote.is_estimate:
                return
            (given,), (got,), terms = first.quote.inputs, first.quote.outputs, first.sealed.refresh_terms
            assert terms is not None
            narrowest = replace(terms, amount_out_min=got.amount, amount_in_max=given.amount)
            again = await gateway.refreshing.refresh(replace(first.sealed, refresh_terms=narrowest))
            (given,), (got,) = again.sealed.inputs, again.sealed.outputs
            assert given.most == given.amount
            assert request.amount_out is not None or got.amount_min == got.amount
            action = await gateway.building.action(again.sealed, acknowledged=CODES)
            self._simulated(again.quote, action, request)
            await self._executed(fresh_devnet, gateway, again.quote, action, request)

    async def test_limits_that_it_honours_are_kept(
        self, gateway: Gateway, provider: Any, cases: Sequence[SwapRequest]
    ) -> None:
        if not set(provider.honours) & set(ROUTE_LIMITS):
            return
        for request in cases:
            wrapped = gateway.runtime.chain(request.chain_id).network.wrapped_native
            free = await provider.quote(request)
            assert free is not None, f"no quote for {request}"
            for limits in _limits_for(provider, request, free):
                limited = replace(request, routing=limits)
                try:
                    quote = await provider.quote(limited)
                except (InvalidRequest, UpstreamError):
                    continue  # it has no route within the limits
                if quote is not None:
                    check_route(provider, limited, quote, wrapped)

    async def test_the_fee_that_it_enforces_is_paid(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Any, cases: Sequence[SwapRequest]
    ) -> None:
        if not provider.enforces_fees:
            return
        paid = 0
        for request in cases:
            if request.amount_out is not None:
                continue
            charged = replace(request, fee=IntegratorFee(_FEE_BPS, STRANGER))
            try:
                quote, sealed = await self.sealed(gateway, charged)
            except InvalidRequest:
                continue  # no fee can be charged on it, such as on wrapping
            (got,), unit = quote.outputs, request.token_out.address
            assert quote.fee_amount == (got.amount + (quote.fee_amount or 0)) * _FEE_BPS // 10_000
            done = await execute(fresh_devnet, await gateway.building.action(sealed), [(STRANGER, unit)])
            assert done.deltas[request.recipient, unit] == got.amount
            assert done.deltas[STRANGER, unit] == quote.fee_amount
            paid += 1
        assert paid or not cases, "no case is quoted with a fee"

    async def test_the_fee_beside_an_exact_output_is_paid(
        self, fresh_devnet: LocalChains, gateway: Gateway, provider: Any, cases: Sequence[SwapRequest]
    ) -> None:
        """Buys what each case sells for, with a fee, where the provider does both."""
        if not (provider.enforces_fees and provider.exact_out):
            return
        paid = 0
        for case in cases:
            if case.amount_out is not None or case.is_cross_chain:
                continue
            likely = await provider.quote(case)
            assert likely is not None, f"no quote for {case}"
            fee = IntegratorFee(_FEE_BPS, STRANGER)
            request = replace(case, amount_in=0, amount_out=likely.outputs[0].amount, fee=fee)
            if await provider.quote(replace(request, fee=None)) is None:
                continue  # it has no route for this output
            try:
                quote, sealed = await self.sealed(gateway, request)
            except InvalidRequest:
                continue  # no fee can be charged on it, such as on wrapping
            (given,), unit = quote.inputs, request.token_in.address
            assert quote.fee_amount == (given.amount - (quote.fee_amount or 0)) * _FEE_BPS // 10_000
            done = await execute(fresh_devnet, await gateway.building.action(sealed), [(STRANGER, unit)])
            assert done.deltas[request.sender, unit] == -given.amount
            assert done.deltas[STRANGER, unit] == quote.fee_amount
            paid += 1
        assert paid or not cases, "no case is quoted with a fee"


def _limits_for(provider: Any, request: SwapRequest, free: Quote) -> Iterator[RoutingLimits]:
    """Yields each limit that a provider honours, so that it excludes something of its ``free`` route."""
    hops = [hop for path in free.route or () for hop in path.hops]
    pools = tuple(dict.fromkeys(f"{request.chain_id}:{hop.pool}" for hop in hops))
    for limits in (
        RoutingLimits(max_hops=1),
        RoutingLimits(max_legs=1),
        RoutingLimits(pools=pools[:1]),
        RoutingLimits(exclude_pools=pools),
        RoutingLimits(protocols=(provider.id,)),
        *(RoutingLimits(protocols=(protocol,)) for protocol in provider.protocols),
        *(RoutingLimits(exclude_protocols=(hop.protocol,)) for hop in hops),
    ):
        if limits.given and set(limits.given) <= set(provider.honours):
            yield limits
