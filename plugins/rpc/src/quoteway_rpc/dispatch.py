"""Ordered failover over the upstreams of each network, within one deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from quoteway import Context, Network, ProviderUnavailable, Reason, RpcError, RpcUpstream, UpstreamError

from quoteway_rpc.upstream import Unusable, Upstream


class Dispatcher(RpcUpstream):
    """Sends each request to its network's first upstream, and to the next one without a usable answer.

    An upstream that failed is tried last for ``cooldown_s``. A node's application error (a revert, bad
    parameters) is an answer: it is passed on and no other upstream is tried.
    """

    id = "rpc"
    title = "JSON-RPC upstreams"

    def __init__(self, context: Context, clock: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._clock = clock
        settings = context.settings
        self._attempt_timeout_s: float = settings["attempt_timeout_s"]
        self._total_timeout_s: float = settings["total_timeout_s"]
        self._cooldown_s: float = settings["cooldown_s"]
        self._upstreams: dict[int, list[Upstream]] = {
            network.chain_id: [
                Upstream(endpoint, network.chain_id, index, settings["max_response_bytes"])
                for index, endpoint in enumerate(network.endpoints)
            ]
            for network in context.networks
            if network.endpoints
        }
        self.networks = frozenset(self._upstreams)

    async def healthy(self) -> bool | None:
        """Whether every network has an upstream that is not cooling down after a failure."""
        if not self._upstreams:
            return None
        now = self._clock()
        return all(
            any(not upstream.cooling(now) for upstream in upstreams) for upstreams in self._upstreams.values()
        )

    async def forward(self, network: Network, method: str, params: Sequence[Any], *, timeout_s: float) -> Any:
        """Returns the first upstream's usable answer; see ``RpcUpstream.forward``."""
        upstreams = self._upstreams.get(network.chain_id)
        if not upstreams:
            raise ProviderUnavailable(
                f"No RPC endpoint is configured for {network.name}: set networks.{network.slug}.rpc.",
                reason=Reason.CAPABILITY_DISABLED,
            )
        ends_at = self._clock() + min(timeout_s, self._total_timeout_s)
        outcomes: list[Unusable] = []
        *others, last = self._in_order(upstreams)
        for upstream in (*others, last):
            left_s = ends_at - self._clock()
            if left_s <= 0:
                break
            # After the last upstream nobody else could use the rest of the time.
            limit_s = left_s if upstream is last else min(left_s, self._attempt_timeout_s)
            upstream.probing(self._clock(), self._cooldown_s)
            try:
                result = await upstream.ask(self._context.http, method, params, timeout_s=limit_s)
            except RpcError:
                upstream.succeeded()
                raise
            except Unusable as outcome:
                self._record_failure(network, upstream, outcome)
                outcomes.append(outcome)
                continue
            upstream.succeeded()
            return result
        raise _failure(network, outcomes)

    def _in_order(self, upstreams: Sequence[Upstream]) -> list[Upstream]:
        now = self._clock()
        return sorted(upstreams, key=lambda upstream: upstream.cooling(now))

    def _record_failure(self, network: Network, upstream: Upstream, outcome: Unusable) -> None:
        if not outcome.blames_upstream:
            return
        now = self._clock()
        if not upstream.failing:
            self._context.log.warning("%s of %s failed: %s", upstream.label, network.slug, outcome.kind)
        upstream.failed(now, self._cooldown_s)


def _failure(network: Network, outcomes: Sequence[Unusable]) -> UpstreamError:
    """Returns the error for the client. It names no upstream and quotes none of their texts."""
    if outcomes and not any(outcome.blames_upstream for outcome in outcomes):
        error = outcomes[0].error
        if error is not None:
            return error
    if all(outcome.kind == "timeout" for outcome in outcomes):
        return UpstreamError(
            f"No RPC upstream of {network.name} answered in time.",
            reason=Reason.PROVIDER_TIMEOUT,
            retryable=True,
        )
    return UpstreamError(
        f"No RPC upstream of {network.name} gave a usable answer.", reason=Reason.RPC_ERROR, retryable=True
    )
