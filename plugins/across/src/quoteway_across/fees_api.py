"""The bridge's HTTP API: routes, their limits, and suggested fees for one deposit.

``GET /available-routes``, ``GET /limits`` and ``GET /suggested-fees`` as app.across.to/api documents them.
Its answers are not trusted: each member is read by itself, ``terms`` checks them against the request and our
registry, and none of their text is passed on.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
from quoteway import MAX_UINT256, NATIVE, Address, Context, Reason, UpstreamError
from quoteway.evm.address import parse_address
from yarl import URL

_MAX_BYTES = 4 * 1024 * 1024
_ROUTES_KEPT_S = 300.0
_AMOUNT = re.compile(r"0|[1-9][0-9]{0,77}", re.ASCII)
_NO_ROUTE = frozenset({"ROUTE_NOT_ENABLED", "INVALID_PARAM"})
_REASONS: Mapping[str, tuple[str, Reason]] = {
    "AMOUNT_TOO_LOW": ("The amount is too low for the bridge's fees.", Reason.AMOUNT_TOO_LOW),
    "AMOUNT_TOO_HIGH": ("The amount is above what the bridge can fill now.", Reason.AMOUNT_TOO_HIGH),
}

Route = tuple[int, Address, int, Address]
"""Origin chain id and token, destination chain id and token; native coins by their wrapped form."""


@dataclass(frozen=True, slots=True)
class SuggestedFees:
    """Terms for one deposit, as suggested. Amounts in base units, times in Unix seconds."""

    amount_out: int
    quote_timestamp: int
    fill_deadline: int
    exclusive_relayer: Address
    exclusivity: int
    spoke_pool: Address
    estimated_seconds: int
    amount_too_low: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """The smallest and largest deposit, in base units. ``max_deposit`` 0: none can be made now."""

    min_deposit: int
    max_deposit: int


class FeesApi:
    """One API's base URL; shared by the networks whose rows name it."""

    def __init__(self, context: Context, base: URL, timeout_s: float) -> None:
        self._context = context
        self._base = base
        self._timeout_s = timeout_s
        self._routes: dict[Route, bool] = {}
        self._routes_until = float("-inf")
        self._reading: asyncio.Task[dict[Route, bool]] | None = None
        self.healthy: bool | None = None

    async def routes(self) -> Mapping[Route, bool]:
        """Returns every route, and whether the API lists it for the native coin too; cached for five minutes.

        Raises UpstreamError.
        """
        if time.monotonic() < self._routes_until:
            return self._routes
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read_routes())
            # Retrieves the failure, which asyncio would log when every waiter has been cancelled.
            self._reading.add_done_callback(lambda task: task.cancelled() or task.exception())
        # One request serves all waiters; the cancellation of one does not cancel it for the others.
        return await asyncio.shield(self._reading)

    async def _read_routes(self) -> dict[Route, bool]:
        answer = await self._get("available-routes", {})
        if not isinstance(answer, list):
            raise _unusable("its routes are not a list")
        routes: dict[Route, bool] = {}
        for row in answer:
            try:
                route = (
                    _integer(row, "originChainId"),
                    _address(row, "originToken"),
                    _integer(row, "destinationChainId"),
                    _address(row, "destinationToken"),
                )
                native = row.get("isNative") is True
            except UpstreamError:
                continue  # the tokens of a chain without EVM addresses
            routes[route] = routes.get(route, False) or native
        self._routes, self._routes_until = routes, time.monotonic() + _ROUTES_KEPT_S
        return routes

    async def suggested_fees(self, route: Route, amount: int, recipient: Address) -> SuggestedFees | None:
        """Returns the terms for ``amount`` on ``route``; None when the API has no such route.

        Raises UpstreamError: amount_too_low, amount_too_high, provider_timeout, provider_error.
        """
        query = {"amount": str(amount), "recipient": recipient}
        answer = await self._get("suggested-fees", _ends(route) | query)
        if answer is None:
            return None
        exclusive = answer.get("exclusiveRelayer") if isinstance(answer, dict) else None
        return SuggestedFees(
            amount_out=_integer(answer, "outputAmount"),
            quote_timestamp=_integer(answer, "timestamp"),
            fill_deadline=_integer(answer, "fillDeadline"),
            exclusive_relayer=NATIVE if exclusive is None else _address(answer, "exclusiveRelayer"),
            exclusivity=_integer(answer, "exclusivityDeadline", missing=0),
            spoke_pool=_address(answer, "spokePoolAddress"),
            estimated_seconds=_integer(answer, "estimatedFillTimeSec", missing=0),
            amount_too_low=answer.get("isAmountTooLow") is True,
        )

    async def limits(self, route: Route) -> Limits | None:
        """Returns the limits of ``route``; None when they cannot be read, whatever the cause.

        A list of routes is useful without them: a failure here does not change ``healthy``.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                status, body = await self._exchange("limits", _ends(route))
            return _limits(orjson.loads(body)) if status == 200 else None
        except (aiohttp.ClientError, OSError, ValueError, UpstreamError):
            return None

    async def _get(self, path: str, query: Mapping[str, str]) -> Any:
        """Returns the answer's JSON; None when it says that there is no route. Raises UpstreamError."""
        try:
            async with asyncio.timeout(self._timeout_s):
                status, body = await self._exchange(path, query)
        except TimeoutError:
            self.healthy = False
            raise UpstreamError(
                "The bridge's fee service did not answer in time.",
                reason=Reason.PROVIDER_TIMEOUT,
                retryable=True,
            ) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            self.healthy = False
            # The exception's text may hold the URL: only its type is logged.
            self._context.log.warning("the fee service failed: %s", type(error).__name__)
            raise UpstreamError(
                "The bridge's fee service did not answer.", reason=Reason.PROVIDER_ERROR, retryable=True
            ) from None
        try:
            answer = orjson.loads(body)
        except ValueError:
            answer = None
        code = answer.get("code") if isinstance(answer, dict) else None
        self.healthy = status == 200 or isinstance(code, str)
        if status == 200 and isinstance(answer, (dict, list)):
            return answer
        if status in (400, 404) and isinstance(code, str):
            if code in _NO_ROUTE:
                return None
            if code in _REASONS:
                message, reason = _REASONS[code]
                raise UpstreamError(message, reason=reason, retryable=False)
        raise UpstreamError(
            "The bridge's fee service gave no usable answer.",
            reason=Reason.PROVIDER_ERROR,
            retryable=status == 429 or status >= 500,
        )

    async def _exchange(self, path: str, query: Mapping[str, str]) -> tuple[int, bytes]:
        url = self._base / path
        headers = {"Accept": "application/json"}
        async with self._context.http.get(
            url, params=query, headers=headers, allow_redirects=False
        ) as response:
            body = bytearray()
            async for chunk in response.content.iter_chunked(1 << 16):
                body += chunk
                if len(body) > _MAX_BYTES:
                    raise ValueError("too large")
            return response.status, bytes(body)


def _ends(route: Route) -> dict[str, str]:
    origin, token_in, destination, token_out = route
    return {
        "inputToken": token_in,
        "outputToken": token_out,
        "originChainId": str(origin),
        "destinationChainId": str(destination),
    }


def _limits(answer: Any) -> Limits:
    least, most = _integer(answer, "minDeposit"), _integer(answer, "maxDeposit")
    if max(least, most) > MAX_UINT256:
        raise _unusable("a limit is above 2^256 - 1")
    return Limits(least, most if most >= least else 0)


def _integer(row: Any, member: str, *, missing: int | None = None) -> int:
    """Reads a whole number, given as a JSON number or as text."""
    value = row.get(member) if isinstance(row, dict) else None
    if value is None and missing is not None:
        return missing
    text = str(value) if type(value) is int else value
    if isinstance(text, str) and _AMOUNT.fullmatch(text):
        return int(text)
    raise _unusable(f"{member} is not a whole number")


def _address(row: Any, member: str) -> Address:
    value = row.get(member) if isinstance(row, dict) else None
    try:
        return parse_address(value.lower() if isinstance(value, str) else "")
    except ValueError:
        raise _unusable(f"{member} is not an address") from None


def _unusable(finding: str) -> UpstreamError:
    return UpstreamError(
        f"The bridge's fee service answered with terms that are refused: {finding}.",
        reason=Reason.PROVIDER_ERROR,
        retryable=False,
    )
