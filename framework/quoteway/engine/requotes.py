"""Quotes followed requests again: each request once a block at most, however many follow it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Hashable
from functools import partial
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

from quoteway import models
from quoteway.engine.head_watch import HeadWatch
from quoteway.engine.newest import Newest
from quoteway.engine.provider_sets import ProviderSet, limited_to, provider_set
from quoteway.engine.quoting import QuoteAnswer
from quoteway.engine.refreshing import Refreshing
from quoteway.errors import FieldError, GatewayError, InvalidRequest, ProviderUnavailable, Reason
from quoteway.telemetry.traces import Look, no_look

log = logging.getLogger("quoteway.engine.requotes")

AnswerOrError: TypeAlias = QuoteAnswer | GatewayError
"""The best quote now, or why there is none."""

AT_ONCE: Final = 4
"""How many followed requests are quoted at the same time, so that those of callers are not slowed down."""


class Requotes:
    """Quotes the requests of followed swap quotes at each new head, through the engine of all quotes.

    ``interval_s`` is the least time between two quotes of one request. ``count`` tells how many were made.
    """

    def __init__(
        self, refreshing: Refreshing, heads: HeadWatch, interval_s: float, look: Look = no_look
    ) -> None:
        self._refreshing = refreshing
        self._look = look
        self._heads = heads
        self._interval_s = interval_s
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._of: WeakValueDictionary[Hashable, Newest[AnswerOrError]] = WeakValueDictionary()
        self.count = 0

    def of(self, sealed: models.SealedQuote) -> Newest[AnswerOrError]:
        """Returns the newest quotes of the request of a swap quote. All quotes of one request share them,
        for callers that may use the same providers: those of the current one.

        Raises ``InvalidRequest`` where the token does not hold the whole request, and ``ProviderUnavailable``
        when the network is not served.
        """
        request = sealed.request
        assert isinstance(request, models.SwapRequest)
        if request.routing.omitted:
            text = "was made of a request whose pools do not fit the quote token: it cannot be quoted again"
            refused = FieldError("quotes", Reason.CONFLICT, text)
            raise InvalidRequest(refused.sentence, reason=refused.reason, fields=[refused])
        self._heads.of(request.chain_id)
        providers = provider_set()
        key = (
            request,
            sealed.refresh_terms,
            sealed.acknowledged,
            sealed.deadline,
            bool(sealed.parts),
            providers,
        )
        found = self._of.get(key)
        if found is None:
            source = partial(self._quotes, sealed, providers)
            found = self._of[key] = Newest("stream: quotes of a request", source)
        return found

    async def _quotes(
        self, sealed: models.SealedQuote, providers: ProviderSet
    ) -> AsyncIterator[AnswerOrError]:
        async with contextlib.aclosing(self._heads.of(sealed.request.chain_id).follow()) as heads:
            async for head in heads:
                began = time.monotonic()
                yield head if isinstance(head, GatewayError) else await self._quote(sealed, providers)
                await asyncio.sleep(max(self._interval_s - (time.monotonic() - began), 0))

    async def _quote(self, sealed: models.SealedQuote, providers: ProviderSet) -> AnswerOrError:
        async with self._turn:
            self.count += 1
            try:
                with limited_to(providers), self._look("quotes"):
                    return await self._refreshing.compare(sealed)
            except GatewayError as error:
                return error
            except Exception:  # isolation border: the followers learn that there is no quote
                log.exception("a followed request cannot be quoted")
                return ProviderUnavailable("The service failed to quote the request.", retryable=True)
