"""What two providers can do together and neither alone: a swap, then a transfer of what it surely gives.

The token that is sold is swapped for one that a bridge turns into the token that is bought elsewhere. The
transfer is of exactly the swap's minimum, and so is certain once the swap is; what the swap gives beyond
stays in the wallet, as an output of its own. Each part is a quote of its provider, checked, built and run as
any other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from cachetools import TTLCache

from quoteway.config.model import Config
from quoteway.engine.approvals import named
from quoteway.engine.ranking import rank
from quoteway.errors import GatewayError, Reason, UpstreamError
from quoteway.evm.units import readable_units
from quoteway.guard.findings import check_form
from quoteway.guard.outcome import balances_needed
from quoteway.guard.plans import plain_plan
from quoteway.host.registry import Registry, networks_of
from quoteway.host.runtime import Runtime
from quoteway.models import (
    NATIVE,
    Address,
    BridgeRoute,
    Build,
    Capability,
    Gas,
    Leg,
    Notice,
    Quote,
    Request,
    SwapRequest,
)
from quoteway.providers import BridgeProvider, Provider

MAX_MIDDLES = 3
"""So many tokens between the swap and the transfer are tried at once."""
ROUTES_GOOD_S = 60.0
ROUTES_GOOD_AFTER_FAILURE_S = 10.0
ROUTES_KEPT_S = 900.0
"""So long an older list still serves, while it is read anew."""

Compete: TypeAlias = Callable[[Sequence[Provider], SwapRequest, float], Awaitable[tuple[Provider, Quote]]]
"""Asks providers for a request's best quote, within seconds. Raises ``GatewayError``."""


@dataclass(frozen=True, slots=True)
class QuotePart:
    """One provider's part of a joined quote."""

    capability: Capability
    provider: str
    request: SwapRequest
    quote: Quote


@dataclass(frozen=True, slots=True)
class JoinedQuote(Quote):
    """The quote of the whole, and its parts in the order in which they are carried out."""

    parts: tuple[QuotePart, ...] = ()


@dataclass(frozen=True, slots=True)
class _Routes:
    """What the bridges between two chains list; ``failed`` is why one of them did not. ``good_until`` by
    ``time.monotonic``."""

    routes: Sequence[BridgeRoute]
    failed: Reason | None
    good_until: float


class SwapThenBridge(Provider):
    """Competes for requests across two chains beside the providers that serve such by themselves.

    Not of any plugin and nowhere listed: it is there as soon as a deployment has a provider of swaps on the
    one chain and a bridge to the other, unless ``[providers."swap+bridge"]`` says otherwise.
    """

    id = "swap+bridge"
    title = "A swap, then a transfer"
    capability = Capability.SWAP

    def __init__(self, config: Config, runtime: Runtime, registry: Registry, compete: Compete) -> None:
        self._runtime = runtime
        self._registry = registry
        self._compete = compete
        self._timeout_s = config.quotes.competition_timeout_s
        settings = config.providers.get(self.id)
        self._enabled = settings is None or settings.enabled
        self._known: TTLCache[tuple[int, int], _Routes] = TTLCache(256, ROUTES_KEPT_S)
        self._reading: dict[tuple[int, int], asyncio.Task[_Routes]] = {}

    def serves(self, chain_id: int, to_chain_id: int) -> bool:
        """Whether the deployment has both halves, and wants them joined."""
        return self._enabled and bool(self.swappers(chain_id) and self._bridges(chain_id, to_chain_id))

    def swappers(self, chain_id: int) -> list[Provider]:
        """Who is asked for the swap."""
        return self._registry.enabled(Capability.SWAP, chain_id)

    def _bridges(self, chain_id: int, to_chain_id: int) -> list[Provider]:
        found = self._registry.enabled(Capability.BRIDGE, chain_id)
        return [bridge for bridge in found if to_chain_id in networks_of(bridge)]

    async def quote(self, request: SwapRequest) -> JoinedQuote | None:
        """The best swap and transfer; None where a bridge takes the token itself, or none pays out the other.

        Raises ``GatewayError`` as the providers of the parts do.
        """
        ends_at = time.monotonic() + self._timeout_s
        middles = await self._middles(request)
        if not middles:
            return None

        async def through(middle: Address) -> JoinedQuote | None:
            return await self._through(middle, request, ends_at)

        outcomes = await asyncio.gather(*map(through, middles), return_exceptions=True)
        quotes = [outcome for outcome in outcomes if isinstance(outcome, JoinedQuote)]
        errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        bugs = [error for error in errors if not isinstance(error, GatewayError)]
        if bugs or (errors and not quotes):
            raise (bugs or errors)[0]
        return max(quotes, key=rank, default=None)

    async def _middles(self, request: SwapRequest) -> list[Address]:
        """The tokens that a bridge turns into the one that is bought; not the wrapped coin where the coin
        itself will do, which needs no approval.

        The caller has named none of them: what their money is turned into on the way is not for a bridge's
        list alone to say, so the coin and what the deployment's own catalogs list are all that is considered.
        """
        listed = await self._listed(request.chain_id, request.to_chain_id)
        sources = dict.fromkeys(
            route.from_token.address
            for route in listed.routes
            if route.enabled and route.to_token.address == request.token_out.address
        )
        if not sources and listed.failed is not None:
            raise UpstreamError("A bridge's routes could not be read.", reason=listed.failed, retryable=True)
        if request.token_in.address in sources:
            return []
        network = self._runtime.networks.by_chain_id(request.chain_id)
        if NATIVE in sources and network is not None and network.wrapped_native is not None:
            sources.pop(network.wrapped_native, None)
        known = await self._runtime.tokens.listed(request.chain_id)
        return [token for token in sources if token == NATIVE or token in known][:MAX_MIDDLES]

    async def _listed(self, chain_id: int, to_chain_id: int) -> _Routes:
        """From memory, but for the first time: no quote waits for a list that is only getting old.

        One that could not be read is none: whoever comes after its time waits for the next.
        """
        key = chain_id, to_chain_id
        known = self._known.get(key)
        if known is not None and time.monotonic() < known.good_until:
            return known
        reading = self._reading.get(key)
        if reading is None or reading.done():
            reading = self._reading[key] = asyncio.create_task(self._read(key))
        if known is not None and (known.routes or known.failed is None):
            return known
        return await asyncio.shield(reading)

    async def _read(self, key: tuple[int, int]) -> _Routes:
        outcomes = await self._registry.calls.ask_all(
            self._bridges(*key),
            lambda bridge: _routes_of(cast(BridgeProvider, bridge), *key),
            verb="routes",
            timeout_s=self._timeout_s / 2,
        )
        routes = [route for outcome in outcomes for route in outcome.value or ()]
        failed = next((outcome.reason for outcome in outcomes if outcome.kind != "quoted"), None)
        good_s = ROUTES_GOOD_S if failed is None else ROUTES_GOOD_AFTER_FAILURE_S
        listed = self._known[key] = _Routes(routes, failed, time.monotonic() + good_s)
        return listed

    async def close(self) -> None:
        """Ends what is still being read."""
        for reading in self._reading.values():
            reading.cancel()
        if self._reading:
            await asyncio.wait(self._reading.values(), timeout=1.0)

    async def _through(self, middle: Address, request: SwapRequest, ends_at: float) -> JoinedQuote | None:
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
        swapper, swap = await self._compete(self.swappers(request.chain_id), first, left_s / 2)
        passed_on = swap.outputs[0].amount_min
        if not passed_on:
            return None
        second = replace(request, token_in=token, amount_in=passed_on, permit2_signature=False)
        bridges = self._bridges(request.chain_id, request.to_chain_id)
        left_s = ends_at - time.monotonic()
        bridge, transfer = await self._compete(bridges, second, 0.9 * left_s)
        return _joined(
            QuotePart(Capability.SWAP, swapper.id, first, swap),
            QuotePart(Capability.BRIDGE, bridge.id, second, transfer),
        )


async def _routes_of(bridge: BridgeProvider, chain_id: int, to_chain_id: int) -> tuple[BridgeRoute, ...]:
    """What a bridge lists between the two chains. Raises whatever reading it does, which is this bridge's
    failure and no other's."""
    routes = tuple(await bridge.routes(chain_id, to_chain_id))
    check_form(bridge, routes, tuple[BridgeRoute, ...])
    ends = chain_id, to_chain_id
    return tuple(route for route in routes if (route.from_token.chain_id, route.to_token.chain_id) == ends)


def _joined(first: QuotePart, second: QuotePart) -> JoinedQuote:
    swap, transfer = first.quote, second.quote
    # One token has to hold both plans: what does not fit must not win and then fail to be sealed.
    plain_plan({"parts": [swap.plan, transfer.plan]})
    inputs, outputs = joined_legs(((swap.inputs, swap.outputs), (transfer.inputs, transfer.outputs)))
    lifetimes = [quote.lifetime_s for quote in (swap, transfer) if quote.lifetime_s is not None]
    return JoinedQuote(
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
        net_output=_net_output(first, second),
        lifetime_s=min(lifetimes, default=None),
        details=transfer.details,
        parts=(first, second),
    )


def _net_output(first: QuotePart, second: QuotePart) -> int:
    """The transfer's, less what the swap costs beside its minimum, at the transfer's own rate."""
    swap, transfer = first.quote, second.quote
    passed_on = second.request.amount_in
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


def handover_warnings(requests: Sequence[Request]) -> tuple[Notice, ...]:
    """What whoever signs must know of the passage from each part to the next, given the parts' requests."""
    warnings: list[Notice] = []
    for request in requests[1:]:
        assert isinstance(request, SwapRequest)
        name = named(request.token_in)
        amount = readable_units(request.amount_in, request.token_in.decimals)
        warnings += (
            Notice(
                "not_atomic",
                "The swap and the transfer are transactions of their own: send all as one batch "
                "(walletSendCalls), or in order. Should the transfer fail after the swap, the "
                f"{name} stays in the wallet.",
            ),
            Notice(
                "surplus_kept",
                f"The transfer is of exactly {amount} {name}, the swap's minimum: what the swap gives beyond "
                "stays in the wallet.",
            ),
        )
    return tuple(warnings)


def joined_legs(
    parts: Iterable[tuple[Sequence[Leg], Sequence[Leg]]],
) -> tuple[tuple[Leg, ...], tuple[Leg, ...]]:
    """Inputs and outputs of the whole, of those of the parts in order.

    What a part gives and the next one takes is neither; what is left of it is an output, without a minimum
    where the next one takes the minimum.
    """
    (inputs, outputs), *rest = parts
    left: list[Leg] = []
    for taken, given in rest:
        takes = {leg.token.address: leg.amount for leg in taken}
        for leg in outputs:
            passed_on = takes.get(leg.token.address, 0)
            if leg.amount > passed_on:
                bound = max((leg.amount_min or 0) - passed_on, 0)
                left.append(replace(leg, amount=leg.amount - passed_on, amount_min=bound))
        outputs = given
    return tuple(inputs), (*outputs, *left)


def needs_of(builds: Iterable[Build], sender: Address) -> dict[Address, int]:
    """The balances that the sender must have before the first build: of what an earlier one surely pays to
    the sender, a later one's part need not be there."""
    needs: dict[Address, int] = {}
    given: dict[Address, int] = {}
    for build in builds:
        for token, amount in balances_needed(build).items():
            covered = min(amount, given.get(token, 0))
            given[token] = given.get(token, 0) - covered
            if amount > covered:
                needs[token] = needs.get(token, 0) + amount - covered
        for leg in build.outputs:
            if leg.account == sender and leg.token.chain_id == build.steps[0].chain_id:
                given[leg.token.address] = given.get(leg.token.address, 0) + (leg.amount_min or 0)
    return needs
