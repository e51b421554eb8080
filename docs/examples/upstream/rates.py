"""Prices of an HTTP API: GET <url>/prices?chain=1&tokens=0x...,0x... answers {"0x...": 1.0}."""

import asyncio

import aiohttp
import orjson
import quoteway
from marshmallow import Schema, fields
from quoteway import (
    Price,
    PriceSource,
    Reason,
    SecretField,
    UpstreamError,
    check_api_url,
    check_header_secret,
)

TIMEOUT_S, MARGIN_S, RETRY_NEEDS_S = 5.0, 0.05, 0.5
MOST_BYTES = 1 << 20
MOST_USD = 1e15


class Settings(Schema):
    url = fields.String(required=True, validate=check_api_url)
    api_key = SecretField(required=True, validate=check_header_secret)


class RatesApi:
    """Requests with the key, in the time that the caller has. Raises ``UpstreamError`` only."""

    def __init__(self, context):
        self._context = context
        self._url = context.settings["url"].rstrip("/")
        self._limiter = context.limiter(per_s=10, burst=20, most_wait_s=1.0)
        self._held_until = 0

    async def get(self, path, **params):
        """Returns the JSON document at a path."""
        left_s = self._context.time_left_s
        try:
            async with asyncio.timeout(TIMEOUT_S if left_s is None else min(TIMEOUT_S, left_s - MARGIN_S)):
                status, body = await self._ask(path, params)
                left_s = self._context.time_left_s
                if status >= 500 and (left_s is None or left_s > RETRY_NEEDS_S):
                    status, body = await self._ask(path, params)
        except TimeoutError:
            raise failed("did not answer in time", Reason.PROVIDER_TIMEOUT) from None
        except (aiohttp.ClientError, OSError) as error:  # its text may hold the URL
            self._context.log.warning("rates: the request failed: %s", type(error).__name__)
            raise failed("cannot be reached") from None
        if status != 200:
            raise failed(f"answered with status {status}", retryable=status == 429 or status >= 500)
        try:
            return orjson.loads(body)
        except ValueError:
            raise failed("answered with what is no JSON") from None

    async def _ask(self, path, params):
        """Returns the status and the body of one request."""
        if self._context.now() < self._held_until:
            return 429, b""
        await self._limiter.take()
        headers = {"x-api-key": self._context.settings["api_key"].reveal()}
        url, body = f"{self._url}/{path}", bytearray()
        async with self._context.http.get(
            url, params=params, headers=headers, allow_redirects=False
        ) as response:
            if response.status == 429:
                wait = response.headers.get("Retry-After", "")
                wait_s = int(wait) if wait.isascii() and wait.isdigit() and len(wait) < 6 else 30
                self._held_until = self._context.now() + wait_s
            async for chunk in response.content.iter_chunked(1 << 16):
                body += chunk
                if len(body) > MOST_BYTES:
                    raise failed(f"answered with more than {MOST_BYTES} bytes")
            return response.status, bytes(body)


def failed(what, reason=Reason.PROVIDER_ERROR, *, retryable=True):
    """Returns the error, without a word of the upstream, its URL or the key."""
    return UpstreamError(f"The API of rates {what}.", reason=reason, retryable=retryable)


class Rates(PriceSource):
    id = "rates"
    title = "Rates"

    def __init__(self, context):
        self.networks = frozenset(network.chain_id for network in context.networks)
        self._api = RatesApi(context)

    async def prices(self, chain_id, addresses, block):
        found = await self._api.get("prices", chain=chain_id, tokens=",".join(addresses))
        if not isinstance(found, dict):
            raise failed("answered with another document than expected")
        return {
            address: Price(float(found[address]), self.id, block)
            for address in addresses
            if type(found.get(address)) in (int, float) and 0 < found[address] < MOST_USD
        }


@quoteway.hookimpl
def quoteway_settings():
    return Settings


@quoteway.hookimpl
def quoteway_price_sources(context):
    return [Rates(context)]
