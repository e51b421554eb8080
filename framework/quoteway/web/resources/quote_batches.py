"""Several swap quotes in one answer, all at one block of each network."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from quoteway.errors import GatewayError, MalformedRequest, ProviderUnavailable, Reason, UpstreamError
from quoteway.web.http.fields import Member
from quoteway.web.http.freshness import at_least
from quoteway.web.http.names import with_addresses
from quoteway.web.http.operation import Call, post
from quoteway.web.http.schema import RequestSchema, refuse
from quoteway.web.resources.quote_action import chain_id_of
from quoteway.web.resources.swaps import SWAPS, SwapQuoteBody
from quoteway.web.wire.errors import error_wire
from quoteway.web.wire.quotes import SwapQuotes
from quoteway.web.wire.view import Wire

log = logging.getLogger("quoteway.web")

T = TypeVar("T")

MOST_QUOTES = 20
SHARE_OF_TIMEOUT = 0.9
"""The deadline of all quotes together, as a share of ``[server] request_timeout_s``."""


class QuoteBodies(Member[Sequence[Any]]):
    """Bodies of quotes, which are read one by one: a wrong one is refused in its own result."""

    schema = {
        "type": "array",
        "minItems": 1,
        "maxItems": MOST_QUOTES,
        "items": {"$ref": f"#/components/schemas/{SwapQuoteBody.__name__}"},
    }

    def parse(self, value: Any) -> Sequence[Any]:
        if not isinstance(value, list):
            raise refuse(Reason.INVALID_FORMAT, "must be a list of quote requests")
        if not 1 <= len(value) <= MOST_QUOTES:
            raise refuse(Reason.OUT_OF_RANGE, f"must have 1 to {MOST_QUOTES} items")
        return value


class SwapQuotesBody(RequestSchema):
    quotes = QuoteBodies("Requests, each a body of `POST /v2/swaps/quote`", required=True)


@post(
    "/v2/swaps/quotes",
    "Quote up to 20 swaps at one block",
    SwapQuotes,
    body=SwapQuotesBody,
    group="quotes",
    description="`results` are in the order of `quotes`: each has a quote or the error that it would have "
    "alone. Each counts as one request of the rate limit. They share one deadline.",
)
async def create_swap_quotes(call: Call) -> Wire:
    items: Sequence[Any] = call.body["quotes"]
    await call.count_further(len(items) - 1)
    # What one of them has seen of a network holds for all: so all are at the same block.
    schema = SwapQuoteBody(lambda: call.networks)
    calls = await asyncio.gather(*(_guarded(call, _begun(call, schema, item)) for item in items))
    tasks = {
        asyncio.create_task(_guarded(call, SWAPS.answer(own))): at
        for at, own in enumerate(calls)
        if isinstance(own, Call)
    }
    timeout_s = SHARE_OF_TIMEOUT * call.gateway.config.server.request_timeout_s
    try:
        ended = (await asyncio.wait(tasks, timeout=timeout_s))[0] if tasks else set()
    finally:
        for task in tasks:
            task.cancel()
    late = UpstreamError("No answer in time.", reason=Reason.PROVIDER_TIMEOUT, retryable=True)
    results: list[Wire | GatewayError] = [own if isinstance(own, GatewayError) else late for own in calls]
    for task in ended:
        results[tasks[task]] = task.result()
    return {
        "results": [
            error_wire(result, call.request_id) if isinstance(result, GatewayError) else {"quote": result}
            for result in results
        ]
    }


async def _begun(call: Call, schema: SwapQuoteBody, item: Any) -> Call:
    """Returns the call of one quote, when the nodes have the block that it names. Raises its refusal."""
    if not isinstance(item, Mapping):
        raise MalformedRequest("A quote request must be a JSON object.", reason=Reason.INVALID_FORMAT)
    body = await with_addresses(call.gateway, schema, item, schema.accept(item), {})
    own = replace(call, body=body)
    async with at_least(own.gateway, chain_id_of(own), own.body):
        return own


async def _guarded(call: Call, work: Awaitable[T]) -> T | GatewayError:
    """Returns what ``work`` returns, or its error: one that fails costs no other."""
    try:
        return await work
    except GatewayError as error:
        return error
    except Exception:
        log.exception("unexpected error", extra={"request_id": call.request_id, "route": call.operation.path})
        return ProviderUnavailable("The service failed to answer this request.")


OPERATIONS = (create_swap_quotes,)
