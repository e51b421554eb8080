"""Checks the route of a swap against the limits of its request: as its quote shows it, and as it was run."""

from __future__ import annotations

from quoteway.guard.findings import Expect
from quoteway.models import NATIVE, ROUTE_LIMITS, Address, Quote, RoutingLimits, SealedQuote, SwapRequest
from quoteway.providers import Provider, SwapProvider
from quoteway.simulation.trace import Trace


def names_of(provider: Provider, protocol: str) -> tuple[str, str]:
    """Returns the names by which a request can mean a protocol of a provider."""
    return provider.id, protocol


def may_serve(provider: Provider, limits: RoutingLimits) -> bool:
    """Returns whether the protocols that a request allows leave any to a provider."""
    own = provider.protocols if isinstance(provider, SwapProvider) else ()
    return any(limits.takes_protocol(names_of(provider, each)) for each in (*own, provider.id))


def check_route(
    provider: Provider, request: SwapRequest, quote: Quote, wrapped_native: Address | None
) -> None:
    """Checks that the route of a quote keeps the limits of its request. Raises ``UnsafeAnswer``.

    With a limit on the route, each path must lead from the token sold to the token bought. The native coin
    and ``wrapped_native`` count as one token, as a router wraps between two pools.
    """
    limits, expect = request.routing, Expect(provider)
    if limits.max_price_impact_bps is not None:
        expect(quote.price_impact_bps is not None, "it states no price impact, which maxPriceImpactBps needs")
    if not any(name in ROUTE_LIMITS for name in limits.given):
        return
    expect(bool(quote.route), "it shows no route, and the request limits the route")
    paths = quote.route or ()

    def node(token: Address) -> Address | None:
        return wrapped_native if token == NATIVE else token

    # A pool of one pair, so one of several tokens counts once for each of its pairs.
    legs = set[tuple[str, str, frozenset[Address | None]]]()
    for path in paths:
        at = node(request.token_in.address)
        for hop in path.hops:
            expect(node(hop.token_in) == at, "its route has a gap")
            at = node(hop.token_out)
            expect(
                limits.takes_protocol(names_of(provider, hop.protocol)),
                f"its route uses the protocol {hop.protocol}, which the request does not allow",
            )
            expect(
                limits.takes_pool(request.chain_id, hop.pool),
                f"its route uses the pool {hop.pool}, which the request does not allow",
            )
            legs.add((hop.protocol, hop.pool, frozenset((node(hop.token_in), at))))
        expect(bool(path.hops) and at == node(request.token_out.address), "its route has a gap")
        most = limits.max_hops
        expect(
            most is None or len(path.hops) <= most, f"its route has {len(path.hops)} hops, more than maxHops"
        )
    expect(
        limits.max_legs is None or len(legs) <= limits.max_legs,
        f"its route has {len(legs)} legs, more than maxLegs",
    )


def check_shown(provider: Provider, request: SwapRequest, quote: Quote, trace: Trace) -> None:
    """Checks that the route of a quote shows every pool that its run swapped in, where the request limits the
    route by more than the provider's id. Raises ``UnsafeAnswer``."""
    limits = request.routing
    given = [name for name in limits.given if name in ROUTE_LIMITS]
    if not given or (given == ["protocols"] and provider.id in limits.protocols):
        return
    expect, shown = Expect(provider), {hop.pool for path in quote.route or () for hop in path.hops}
    for pool in trace.swapped:
        expect(pool in shown, f"its run swaps in the pool {pool}, which its route does not show")


def check_swaps(provider: Provider, sealed: SealedQuote, trace: Trace) -> None:
    """Checks the pools that a run swapped in, by their own logs, against the limits of the request. A route
    that is shown proves nothing of what the transactions do. Raises ``UnsafeAnswer``."""
    request = sealed.request
    if not isinstance(request, SwapRequest):
        return
    limits, expect = request.routing, Expect(provider)
    for pool in trace.swapped:
        expect(
            limits.takes_pool(request.chain_id, pool),
            f"its run swaps in the pool {pool}, which the request does not allow",
        )
    for each in trace.transfers if limits.exclude_pools else ():
        for account in (each.sender, each.recipient):
            excluded = f"{request.chain_id}:{account}" in limits.exclude_pools
            expect(not excluded, f"its run moves tokens of the pool {account}, which the request excludes")
    expect(
        limits.max_legs is None or len(trace.swapped) <= limits.max_legs,
        f"its run swaps in {len(trace.swapped)} pools, more than maxLegs",
    )
