"""An HTTP GET with limits of size and time that cannot reach private networks or another host.

An operator configures the URL, but the owner of its name decides where it leads: DNS may answer with a
private address, also a second later, and a redirect may point to one. Therefore the name is resolved here,
every address is checked, and the connection goes to a checked address; the name is used for the Host header
and TLS.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

import aiohttp
from quoteway import is_public_address
from yarl import URL

from quoteway_tokenlist.document import ListError

MAX_REDIRECTS = 3
MAX_ADDRESSES = 4
MAX_ETAG = 512

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Fetched:
    """A body and its ETag. ``body`` is None when it has not changed since the ETag that was sent."""

    body: bytes | None
    etag: str | None


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a fetch. ``allow_private`` permits loopback, link-local and private addresses."""

    max_bytes: int
    timeout_s: float
    allow_private: bool


async def fetch(
    session: aiohttp.ClientSession, url: URL, limits: Limits, *, etag: str | None = None
) -> Fetched:
    """Fetches ``url``. Raises ``ListError``, whose message has no path, query or address."""
    try:
        async with asyncio.timeout(limits.timeout_s):
            return await _follow(session, url, limits, etag)
    except TimeoutError as error:
        raise ListError(f"no full answer within {limits.timeout_s:g} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise ListError(f"the request failed ({type(error).__name__})") from error


async def _follow(session: aiohttp.ClientSession, url: URL, limits: Limits, etag: str | None) -> Fetched:
    origin = url.origin()
    for _ in range(MAX_REDIRECTS + 1):
        answer = await _get(session, url, limits, etag)
        if isinstance(answer, Fetched):
            return answer
        if answer.origin() != origin:
            raise ListError("it redirects to another host or scheme")
        url = answer
    raise ListError(f"more than {MAX_REDIRECTS} redirects")


async def _get(session: aiohttp.ClientSession, url: URL, limits: Limits, etag: str | None) -> Fetched | URL:
    """Requests the first address that accepts the connection; returns the answer or the redirect's target."""
    last: Exception | None = None
    for address in await _addresses(url, allow_private=limits.allow_private):
        headers = {"Host": _authority(url), "Accept": "application/json"}
        if etag is not None:
            headers["If-None-Match"] = etag
        try:
            async with session.get(
                url.with_host(str(address)),
                headers=headers,
                allow_redirects=False,
                server_hostname=url.host if url.scheme == "https" else None,
                timeout=aiohttp.ClientTimeout(total=limits.timeout_s),
            ) as response:
                return await _read(response, url, limits.max_bytes, etag)
        except aiohttp.ClientConnectorError as error:
            last = error
    raise last or ListError("its host has no address")


async def _read(
    response: aiohttp.ClientResponse, url: URL, max_bytes: int, etag: str | None
) -> Fetched | URL:
    if response.status == 304 and etag is not None:
        return Fetched(None, etag)
    if response.status in _REDIRECTS and "Location" in response.headers:
        return url.join(URL(response.headers["Location"]))
    if response.status != 200:
        raise ListError(f"its host answered {response.status}")
    body = bytearray()
    # Chunks are decompressed: the limit also holds for a compressed body.
    async for chunk in response.content.iter_chunked(1 << 16):
        body += chunk
        if len(body) > max_bytes:
            raise ListError(f"it is larger than {max_bytes} bytes")
    new_etag = response.headers.get("ETag")
    return Fetched(bytes(body), new_etag if new_etag and len(new_etag) <= MAX_ETAG else None)


async def _addresses(url: URL, *, allow_private: bool) -> list[IPv4Address | IPv6Address]:
    """Returns the addresses of the URL's host. Raises ``ListError`` when one of them is private."""
    if url.host is None:
        raise ListError("its URL has no host")
    found = await asyncio.get_running_loop().getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in found))
    if not allow_private and not all(map(is_public_address, addresses)):
        raise ListError("its host is in a private network (allow_private = true permits it)")
    return addresses[:MAX_ADDRESSES]


def _authority(url: URL) -> str:
    return url.authority.rpartition("@")[2] if not url.is_default_port() else (url.host_subcomponent or "")
