"""Asks the upstreams of a network until one gives a usable answer or the deadline is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from quoteway import Network, ProviderUnavailable, Reason, RpcError

from quoteway_rpc.asking import Ask
from quoteway_rpc.attempts import Attempts
from quoteway_rpc.bulkhead import Bulkhead, Lane
from quoteway_rpc.error_rows import Outcome
from quoteway_rpc.health import Health
from quoteway_rpc.hedging import HedgeBudget, HedgeDelays
from quoteway_rpc.upstream import Unusable, Upstream


@dataclass(frozen=True, slots=True)
class RaceLimits:
    """The settings of the race, times in seconds. See ``settings.py``."""

    attempt_timeout_s: float
    hedge_share: float
    hedge_floor_s: float
    hedge_unknown_s: float
    most_requests: int


@dataclass(frozen=True, slots=True)
class NetworkRace:
    """What the calls of one network share."""

    health: Health
    bulkhead: Bulkhead
    lanes: Mapping[Upstream, Lane]
    budget: HedgeBudget
    delays: HedgeDelays
    count: Callable[[str], None]
    lacks: Callable[[Ask, Upstream], bool]


HEDGE_BURST = 10.0
"""Hedges that may happen at once before any calls have earned them: for the first calls to a hanging node."""


class Race:
    """The stage that chooses upstreams, the last one of all.

    An attempt that fails is followed by one at the next upstream, in rounds with growing pauses, until the
    deadline. One that is slow for its method is hedged: a second upstream is asked, and the first usable
    answer wins. A node's application error (a revert, bad parameters) is an answer: it is passed on and no
    other upstream is tried.
    """

    def __init__(
        self,
        healths: Mapping[int, Health],
        upstreams: Mapping[int, Sequence[Upstream]],
        *,
        clock: Callable[[], float],
        limits: RaceLimits,
        count: Callable[[str, Network, int], None] = lambda event, network, amount: None,
        lacks: Callable[[Ask, Upstream], bool] = lambda ask, upstream: False,
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._networks: dict[int, NetworkRace] = {}
        for chain_id, some in upstreams.items():
            bulkhead = Bulkhead.of(some, limits.most_requests)
            lanes = {lane.upstream: lane for lane in bulkhead.lanes}
            healths[chain_id].on_recovery = partial(_recovered, lanes)
            self._networks[chain_id] = NetworkRace(
                healths[chain_id],
                bulkhead,
                lanes,
                HedgeBudget(limits.hedge_share, HEDGE_BURST),
                HedgeDelays(healths[chain_id], limits.hedge_floor_s, limits.hedge_unknown_s),
                partial(_count_of, count, healths[chain_id].network),
                lacks,
            )

    async def __call__(self, ask: Ask) -> Any:
        """Returns the first usable answer."""
        network = self._networks.get(ask.network.chain_id)
        if network is None:
            raise ProviderUnavailable(
                f"No RPC endpoint is configured for {ask.network.name}: set networks.{ask.network.slug}.rpc.",
                reason=Reason.CAPABILITY_DISABLED,
            )
        network.budget.earn()
        return await Attempts(ask, network, self._clock, self._limits).answer()

    def candidates(self, ask: Ask) -> Sequence[Upstream]:
        """Returns the upstreams that may be asked, the preferred ones first, without those cordoned off."""
        network = self._networks.get(ask.network.chain_id)
        if network is None:
            return ()
        found = network.health.candidates(ask.method, self._clock())
        return sorted(found, key=lambda upstream: network.lacks(ask, upstream))

    async def one(self, ask: Ask, upstream: Upstream, limit_s: float) -> Any:
        """Returns the answer of this very upstream. Raises ``RpcError`` for its error, or ``Unusable``."""
        network = self._networks[ask.network.chain_id]
        lane, ends_at = network.lanes[upstream], self._clock() + limit_s
        if not lane.has_room(public=ask.public):
            await self._place(network.bulkhead, lane, ask, limit_s)
        else:
            lane.take(public=ask.public)
        began, outcome, kind, retry_after_s = self._clock(), Outcome.CANCELLED, "", None
        network.health.started(upstream, ask.method)
        try:
            answer = await upstream.ask(ask.method, ask.params, timeout_s=max(ends_at - began, 0.0))
            outcome = Outcome.ANSWERED
            return answer
        except RpcError:
            outcome = Outcome.CALLER
            raise
        except Unusable as failure:
            outcome, kind, retry_after_s = failure.outcome, failure.kind, failure.retry_after_s
            if outcome is Outcome.TOO_LARGE and failure.error is not None:
                raise failure.error from None
            raise
        finally:
            network.bulkhead.give_back(lane, public=ask.public)
            took_s = self._clock() - began
            network.health.finished(upstream, ask.method, outcome, took_s, retry_after_s, kind=kind)

    async def _place(self, bulkhead: Bulkhead, lane: Lane, ask: Ask, limit_s: float) -> None:
        """Waits for a place at an upstream."""
        waiter = bulkhead.wait([lane], public=ask.public)
        try:
            async with asyncio.timeout(limit_s):
                await asyncio.shield(waiter.place)
        except TimeoutError:
            bulkhead.leave(waiter)
            raise Unusable("timeout", outcome=Outcome.CAPACITY) from None
        except asyncio.CancelledError:
            bulkhead.leave(waiter)
            raise


def _recovered(lanes: Mapping[Upstream, Lane], upstream: Upstream, now: float) -> None:
    lanes[upstream].recovered(now)


def _count_of(count: Callable[[str, Network, int], None], network: Network, event: str) -> None:
    count(event, network, 1)
