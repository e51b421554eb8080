"""The health of the upstreams of one network: which of them to ask, in which order, and which are out.

A caller's mistake never counts. An upstream that failed is asked last until a probe has shown that it is of
the network and at its head: never is a caller's request the probe. While all upstreams are out, callers are
still answered by whichever can.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from quoteway import Network, UpstreamHealth
from quoteway.evm.methods import METHODS

from quoteway_rpc.cordons import Cordons
from quoteway_rpc.error_rows import Outcome
from quoteway_rpc.outcomes import BLAMES
from quoteway_rpc.probing import Probing
from quoteway_rpc.upstream import Upstream
from quoteway_rpc.upstream_state import FIRST_PAUSE_S, METHOD_MISSING_S, State

HEAD_FRESH_S: Final = 30.0
"""An upstream's head that was seen longer ago says nothing of its lag."""
MAX_LAG_S: Final = 30.0
"""A probed upstream that is further behind the newest head stays out."""
LEAST_LATENCIES: Final = 20
"""Answers of an upstream below which no quantile is given."""
_REMEMBERED_S: Final = 0.05
"""How long an order and a quantile are kept: computing them anew for each call takes some 25 us."""
_MOST_QUANTILES: Final = 256
_ALIVE: Final = frozenset({Outcome.ANSWERED, Outcome.CALLER})
_OF_ITS_TIME: Final = frozenset({Outcome.TIMEOUT, Outcome.NODE_FAULT})
"""Of a request that began before an upstream recovered, these say nothing of the time after."""
_MOST_PROBES: Final = 5
"""About so many probes of one upstream are under way at once when it hangs and they have to hurry."""
_IMPATIENT: Final = 0.8
"""A timeout before this part of ``attempt_timeout_s`` came from the caller's deadline."""


class Health:
    """Of one network. ``attempt_timeout_s`` and ``cooldown_s`` are settings of the plugin."""

    def __init__(
        self,
        network: Network,
        upstreams: Sequence[Upstream],
        log: logging.LoggerAdapter[logging.Logger] | logging.Logger,
        *,
        clock: Callable[[], float] = time.monotonic,
        attempt_timeout_s: float = 2.5,
        cooldown_s: float = 10.0,
        cordons: Cordons | None = None,
    ) -> None:
        self.network = network
        self.upstreams = tuple(upstreams)
        self._log = log
        self._clock = clock
        self._attempt_timeout_s = attempt_timeout_s
        self._cooldown_s = cooldown_s
        self._cordons = cordons or Cordons(None, clock)
        self._states = [
            State(upstream, index, tier=upstream.tier, cordoned=upstream.cordoned)
            for index, upstream in enumerate(upstreams)
        ]
        self._of = {id(state.upstream): state for state in self._states}
        self._lied: dict[int, str] = {}
        self._orders: dict[str, tuple[float, list[Upstream]]] = {}
        self._quantiles: dict[tuple[str, float, int], tuple[float, float | None]] = {}
        self._probing = Probing(self, attempt_timeout_s)
        self.on_recovery: Callable[[Upstream, float], None] = lambda upstream, now: None
        """Is called with an upstream that is in use again after a probe, and the time."""

    # --- choosing -------------------------------------------------------------------------------------------

    def candidates(self, method: str, now: float | None = None) -> list[Upstream]:
        """Returns the upstreams to ask for a method, best first.

        Those in use come first: lower tiers, then those that did not just fail, keep up with the head, fail
        rarely and answer fast; among equals the configured order. Those that asked for fewer requests or lack
        the method follow, then those whose breaker is open, for a call that nobody else can answer. None of
        them is cordoned.
        """
        now = self._clock() if now is None else now
        self._heed_cordons()
        self._probing.used(now)
        if len(self._states) == 1:
            return [] if self._states[0].cordoned else [self._states[0].upstream]
        known = self._orders.get(method)
        if known is not None and now < known[0]:
            return known[1].copy()
        newest = self.newest_head(now)
        ordered = sorted(
            (state.order(method, now, self._lag_step(state, newest, now)), state.index)
            for state in self._states
            if not state.cordoned
        )
        found = [self._states[index].upstream for _, index in ordered]
        # A budget is spent between two calls.
        if method in METHODS and all(state.budget.limit is None for state in self._states):
            self._orders[method] = now + _REMEMBERED_S, found
        return found.copy()

    def may_hedge(self, first: Upstream, other: Upstream, now: float | None = None) -> bool:
        """Returns whether ``other`` may be asked while ``first`` has not failed.

        It must be in use, unless ``first`` is out as well, have budget left, and be of no higher tier.
        """
        now = self._clock() if now is None else now
        state, asked = self._of[id(other)], self._of[id(first)]
        used = (asked.out or not state.out) and not state.cordoned and now >= state.limited_until
        return used and not state.budget.spent(now) and state.tier <= asked.tier

    def is_open(self, upstream: Upstream) -> bool:
        """Returns whether the breaker of an upstream is open."""
        return self._of[id(upstream)].open

    def quantile(self, method: str, q: float, upstream: Upstream | None = None) -> float | None:
        """Returns a quantile of the latency of a method in seconds, or None while there are too few answers.

        Without an upstream, it is that of the fastest one in use.
        """
        now, key = self._clock(), (method, q, id(upstream))
        known = self._quantiles.get(key)
        if known is not None and now < known[0]:
            return known[1]
        states = [self._of[id(upstream)]] if upstream is not None else [s for s in self._states if not s.out]
        read = [state.of(method).latencies.quantile(now, q, LEAST_LATENCIES) for state in states]
        found = min((each for each in read if each is not None), default=None)
        if len(self._quantiles) >= _MOST_QUANTILES:
            self._quantiles.clear()
        self._quantiles[key] = now + _REMEMBERED_S, found
        return found

    # --- what happened --------------------------------------------------------------------------------------

    def started(self, upstream: Upstream, method: str) -> None:
        """Is called before each request to an upstream."""
        state = self._of[id(upstream)]
        state.in_flight += 1
        state.budget.started(self._clock())

    def finished(
        self,
        upstream: Upstream,
        method: str,
        outcome: Outcome | None,
        latency_s: float,
        retry_after_s: float | None = None,
        *,
        kind: str = "",
    ) -> None:
        """Is called after each request. ``outcome`` None is an answer; ``kind`` is the word for the log.

        A request that lost a race ends with ``Outcome.CANCELLED``.
        """
        now, state = self._clock(), self._of[id(upstream)]
        outcome = outcome or Outcome.ANSWERED
        impatient = latency_s < _IMPATIENT * self._attempt_timeout_s
        if impatient and outcome is Outcome.TIMEOUT and kind == Outcome.TIMEOUT.value:
            outcome = Outcome.CANCELLED
        calls = state.of(method)
        if outcome not in _ALIVE or state.out:
            self._orders.clear()
        state.in_flight -= 1
        calls.outcomes[outcome] += 1
        if outcome is Outcome.METHOD_MISSING:
            calls.missing_until = now + METHOD_MISSING_S
        is_old = now - latency_s < state.recovered_at
        if outcome in (Outcome.CANCELLED, Outcome.TIMEOUT) and not is_old:
            calls.took_longer(now, latency_s)
        if outcome in _ALIVE:
            calls.took(now, latency_s)
            state.latencies.add(now, latency_s)
            calls.rate.add(now, failed=False)
            state.answered(now)
        elif outcome in BLAMES and not (is_old and outcome in _OF_ITS_TIME):
            if outcome is not Outcome.CAPACITY:  # its budget is what shrinks
                calls.rate.add(now, failed=True)
            self._blame(state, now, method, outcome, retry_after_s, kind or outcome.value)
        if state.out:
            self._probing.wake()

    def head_seen(self, upstream: Upstream, number: int) -> None:
        """Notes a block number that an upstream gave as its head."""
        state = self._of[id(upstream)]
        state.head, state.head_at = number, self._clock()
        self._orders.clear()

    def lag(self, upstream: Upstream) -> int | None:
        """Returns how many blocks an upstream is behind the newest known head; None when it is unknown."""
        now = self._clock()
        return self._lag(self._of[id(upstream)], self.newest_head(now), now)

    def newest_head(self, now: float) -> int | None:
        """Returns the newest head that was seen lately of upstreams that are not out.

        Of three or more, two must have it: else one that invents blocks would leave all others behind.
        """
        heads = [
            s.head
            for s in self._states
            if s.head is not None and now - s.head_at <= HEAD_FRESH_S and not s.cordoned and not s.out
        ]
        heads.sort(reverse=True)
        return heads[1] if len(heads) > 2 else next(iter(heads), None)

    def _blame(
        self,
        state: State,
        now: float,
        method: str,
        outcome: Outcome,
        retry_after_s: float | None,
        kind: str,
    ) -> None:
        was_out = state.out or now < state.limited_until
        if outcome is Outcome.CAPACITY:
            state.limited(now, retry_after_s, self._cooldown_s)
        else:
            state.failed(now, method, outcome, kind, self._cooldown_s)
            if retry_after_s is not None:
                state.limited_until = max(state.limited_until, now + retry_after_s)
        if not was_out:
            self._log.warning("%s of %s failed: %s", state.upstream.label, self.network.slug, kind)

    # --- probes ---------------------------------------------------------------------------------------------

    def due(self) -> list[Upstream]:
        """Returns the upstreams to probe now, and takes their probes as begun."""
        now = self._clock()
        due = [state for state in self._probed() if now >= self._probe_at(state)]
        for state in due:
            state.probe_begins(now, self._probing.timeout_s)
        return [state.upstream for state in due]

    def next_probe_s(self) -> float | None:
        """Returns the seconds until the next probe; None when there is no upstream to probe."""
        times = [self._probe_at(state) for state in self._probed()]
        return max(min(times) - self._clock(), 0.0) if times else None

    def probed(self, upstream: Upstream, head: int) -> None:
        """Notes a probe that was answered. The upstream is in use again unless it is far behind."""
        now, state = self._clock(), self._of[id(upstream)]
        if not state.out:
            return  # another one was answered before
        newest = self.newest_head(now)
        self._orders.clear()
        state.head, state.head_at = head, now
        most = max(math.ceil(MAX_LAG_S / self.network.block_time_s), 3)
        if newest is not None and newest - head > most:
            state.probe_failed(now, "behind", self._cooldown_s)
        else:
            state.recovered(now)
            self.on_recovery(upstream, now)
            self._log.info("%s of %s answers again", upstream.label, self.network.slug)

    def hurry_probes(self) -> None:
        """Probes the upstreams that are out a second after their last probes began, also where those hang: of
        those in use one is slow, and no other one may be asked instead. Else pauses grow to ``cooldown_s``.
        """
        now, pause_s = self._clock(), max(FIRST_PAUSE_S, self._probing.timeout_s / _MOST_PROBES)
        hurried = [state for state in self._probed() if state.hurry(now, pause_s)]
        if hurried:
            self._probing.hurry()

    def probe_failed(self, upstream: Upstream, kind: str, took_s: float = 0.0) -> None:
        """Notes a probe that was not answered for so long. It counts if it began after the last recovery."""
        now, state = self._clock(), self._of[id(upstream)]
        if now - took_s >= state.recovered_at:
            self._orders.clear()
            state.probe_failed(now, kind, self._cooldown_s)

    @property
    def probing(self) -> asyncio.Task[None] | None:
        """Returns the task that probes, or that probed last."""
        return self._probing.task

    async def probe(self) -> None:
        """Probes the upstreams that are due at once, for tests. The background task does it by itself."""
        await self._probing.probe(self.due())

    async def close(self) -> None:
        """Ends the probes."""
        await self._probing.close()

    # --- by hand, and for operators -------------------------------------------------------------------------

    def cordon(self, upstream: Upstream, reason: str) -> None:
        """Asks an upstream nothing any more, until ``uncordon``. ``reason`` is one line for the operator."""
        if id(upstream) not in self._lied:
            self._log.warning("%s of %s is cordoned: %s", upstream.label, self.network.slug, reason)
        self._lied[id(upstream)] = reason
        self._of[id(upstream)].cordoned = reason
        self._orders.clear()

    def uncordon(self, upstream: Upstream) -> None:
        """Takes a cordon of ``cordon`` back. Those of the configuration and the cordon file stay."""
        if self._lied.pop(id(upstream), None) is not None:
            self._heed_cordons(anew=True)

    def is_cordoned(self, upstream: Upstream) -> bool:
        """Returns whether an upstream is not to be asked."""
        self._heed_cordons()
        return bool(self._of[id(upstream)].cordoned)

    @property
    def ok(self) -> bool:
        """Whether an upstream is in use whose breaker is closed."""
        self._heed_cordons()
        return any(not state.open and not state.cordoned for state in self._states)

    def rows(self) -> Iterable[UpstreamHealth]:
        """Yields the health of each upstream."""
        self._heed_cordons()
        now = self._clock()
        newest = self.newest_head(now)
        for state in self._states:
            shown = state.shown(now)
            reason = state.cordoned or (None if shown == "closed" else state.reason)
            yield UpstreamHealth(
                chain_id=self.network.chain_id,
                label=state.upstream.label,
                tier=state.tier,
                state=shown,
                reason=reason,
                p50_s=state.latencies.quantile(now, 0.5),
                p95_s=state.latencies.quantile(now, 0.95),
                error_rate=state.error_rate(now),
                head=state.head,
                lag=self._lag(state, newest, now),
                limit_rps=state.budget.limit,
                calls=state.totals(),
                latencies=state.method_latencies(now),
            )

    def _heed_cordons(self, *, anew: bool = False) -> None:
        if not self._cordons.changed(self.network.slug) and not anew:
            return
        self._orders.clear()
        for state in self._states:
            upstream = state.upstream
            by_file = self._cordons.reason(self.network.slug, upstream.label)
            state.cordoned = by_file or self._lied.get(id(upstream), "") or upstream.cordoned
        self._probing.wake()

    def _probed(self) -> list[State]:
        """Returns the upstreams that are out. One that is cordoned is not even probed."""
        return [state for state in self._states if state.out and not state.cordoned]

    def _probe_at(self, state: State) -> float:
        return max(state.probe_at, state.limited_until)

    def _lag(self, state: State, newest: int | None, now: float) -> int | None:
        if state.head is None or newest is None or now - state.head_at > HEAD_FRESH_S:
            return None
        return max(newest - state.head, 0)

    def _lag_step(self, state: State, newest: int | None, now: float) -> int:
        """Returns the lag in steps of two seconds of blocks: one block more or less changes no order."""
        lag = self._lag(state, newest, now)
        return 0 if lag is None else int(lag / max(2.0 / self.network.block_time_s, 2.0))
