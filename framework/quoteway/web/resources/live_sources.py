"""The sources of live answers: what each topic reads, when it tells it, and which state is its last."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from quoteway import models
from quoteway.config.stream import StreamConfig
from quoteway.engine.gateway import Gateway
from quoteway.engine.head_watch import HeadWatch
from quoteway.engine.quoting import QuoteAnswer
from quoteway.engine.requotes import AnswerOrError, Requotes
from quoteway.errors import GatewayError, Reason
from quoteway.networks import Network
from quoteway.telemetry.traces import Look, no_look
from quoteway.web.http.middleware import new_request_id
from quoteway.web.resources.live_topics import Key, Publish, Source, Telling, cause_of
from quoteway.web.resources.swaps import SWAPS
from quoteway.web.wire.errors import error_wire
from quoteway.web.wire.live import Head, QuoteChange
from quoteway.web.wire.quotes import ShownQuote, SwapQuote
from quoteway.web.wire.view import Wire


def last_use(sealed: models.SealedQuote) -> int:
    """Returns until when a quote is of use, in Unix seconds: one with refresh terms as long as these."""
    return sealed.expires_at if sealed.refresh_terms is None else sealed.refresh_terms.until


def change_of(sealed: models.SealedQuote, answer: AnswerOrError) -> str:
    """Returns what a fresh answer to the request of a quote means for it."""
    if isinstance(answer, GatewayError):
        return "below_minimum" if answer.reason is Reason.PRICE_MOVED else "unavailable"
    (given,), (got,) = sealed.inputs, sealed.outputs
    (given_now,), (got_now,) = answer.quote.inputs, answer.quote.outputs
    request = sealed.request
    if isinstance(request, models.SwapRequest) and request.side == "exactOut":
        gain, is_out = given.amount - given_now.amount, given_now.amount > given.most
    else:
        gain, is_out = got_now.amount - got.amount, got_now.amount < (got.amount_min or 0)
    if is_out:
        return "below_minimum"
    return "unchanged" if gain == 0 else "improved" if gain > 0 else "worsened"


class LiveSources:
    """Makes the sources of one gateway. The streams of a process share what they read."""

    def __init__(self, gateway: Gateway, config: StreamConfig, look: Look = no_look) -> None:
        self._gateway = gateway
        self._heads = HeadWatch(gateway.runtime)
        self.requotes = Requotes(gateway.refreshing, self._heads, config.quote_interval_s, look)

    def head(self, key: Key, network: Network) -> Source:
        """Tells each newest block of a network. Raises ``ProviderUnavailable`` when it is not served."""
        heads = self._heads.of(network.chain_id)

        async def run(publish: Publish) -> None:
            telling = Telling(key, publish)
            async for head in heads.follow():
                if isinstance(head, GatewayError):
                    telling.fail(head)
                else:
                    telling.tell(
                        "head",
                        head,
                        Head.of(self._gateway.runtime.networks, chain_id=network.chain_id, block=head),
                    )

        return run

    def quote(self, sealed: models.SealedQuote) -> Source:
        """Tells what the best quote now is beside a quote, until that is of no use any more.

        Raises as ``Requotes.of``.
        """
        gateway, until = self._gateway, last_use(sealed)
        left_s = until - gateway.runtime.clock()
        newest = self.requotes.of(sealed) if left_s > 0 else None

        async def run(publish: Publish) -> None:
            while newest is not None and (left_s := until - gateway.runtime.clock()) > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left_s), contextlib.aclosing(newest.follow()) as answers:
                        await self._compare(sealed, answers, publish)
            shown = ShownQuote(sealed, int(gateway.runtime.clock()))
            publish("quote", self._change(sealed, "expired", {"quote": self._rendered(shown)}))

        return run

    async def _compare(
        self, sealed: models.SealedQuote, answers: AsyncIterator[AnswerOrError], publish: Publish
    ) -> None:
        """Tells each answer that is another one for the quote. Returns when the quote has expired."""
        told: Any = None
        async for answer in answers:
            if self._gateway.runtime.clock() >= last_use(sealed):
                return
            change = change_of(sealed, answer)
            state = change, cause_of(answer) if isinstance(answer, GatewayError) else _amounts(answer)
            if state != told:
                told = state
                publish("quote", self._change(sealed, change, await self._outcome(answer)))

    async def _outcome(self, answer: AnswerOrError) -> Wire:
        if isinstance(answer, GatewayError):
            return error_wire(answer, new_request_id())
        return {"quote": await SWAPS.shown(self._gateway, answer)}

    def _change(self, sealed: models.SealedQuote, change: str, outcome: Wire) -> Wire:
        networks = self._gateway.runtime.networks
        return QuoteChange.of(networks, quote_id=sealed.token, change=change) | outcome

    def _rendered(self, shown: ShownQuote) -> Wire:
        return SwapQuote.render(shown, self._gateway.runtime.networks)


def _amounts(answer: QuoteAnswer) -> tuple[int, ...]:
    return tuple(leg.amount for leg in (*answer.quote.inputs, *answer.quote.outputs))
