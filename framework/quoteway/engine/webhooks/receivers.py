"""Requests to the receivers of webhooks, which cannot reach private networks.

A caller chooses the URL, and the owner of its name decides where it leads: DNS may answer with a private
address, also a second later. Therefore each attempt resolves the name once, every address is checked, and the
connection goes to one of the checked addresses; the name is used for the Host header and TLS. Redirects are
not followed, and nothing of an answer is read but its status and headers, which are bounded.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final, TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from quoteway.config.webhooks import WebhooksConfig
from quoteway.public_addresses import is_public_address

MAX_URL_CHARS: Final = 2_048
MAX_ADDRESSES: Final = 4
AT_ONCE: Final = 16
"""How many requests are under way at the same time."""
_LOOKUP_S: Final = 5.0
_MAX_LINE: Final = 8_190

Address: TypeAlias = IPv4Address | IPv6Address
Lookup: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host, as text. Raises ``OSError``."""


class ReceiverRefusedError(OSError):
    """The host of a receiver is not where receivers may be."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver answered. ``status`` 0: nothing, and ``cause`` says why, without address or URL."""

    status: int
    cause: str | None = None
    retry_after_s: float = 0.0

    @property
    def is_taken(self) -> bool:
        """Whether the receiver has the event."""
        return 200 <= self.status < 300

    @property
    def failure(self) -> str | None:
        """Why it has not; None when it has."""
        if self.is_taken:
            return None
        if self.cause is not None:
            return self.cause
        return "redirect" if 300 <= self.status < 400 else f"status {self.status}"


async def system_lookup(host: str, port: int) -> Sequence[str]:
    """Asks the resolver of the system."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(row[4][0]) for row in found]


class _CheckedResolver(AbstractResolver):
    """Gives the connector the addresses of a host, all of which it has checked."""

    def __init__(self, check: Callable[[str, int], Awaitable[Sequence[Address]]]) -> None:
        self._check = check

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self._check(host, port)
        ]

    async def close(self) -> None:
        """Nothing is open."""


class Receivers:
    """Sends requests to receivers. ``lookup`` resolves names."""

    def __init__(self, config: WebhooksConfig, lookup: Lookup = system_lookup) -> None:
        self._config = config
        self._lookup = lookup
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._sessions: dict[str, aiohttp.ClientSession] = {}

    def refusal(self, url: str) -> str | None:
        """Returns what is wrong with the URL of a receiver, as the end of a sentence; None: nothing is.

        Its name is not resolved: ``check`` does that.
        """
        try:
            parts = URL(url)
            port = parts.port
        except ValueError:
            return "must be a URL such as https://example.com/hook"
        schemes = ("https", "http") if self._config.private_networks else ("https",)
        if len(url) > MAX_URL_CHARS or not url.isascii() or not url.isprintable() or " " in url:
            return f"must have at most {MAX_URL_CHARS} printable ASCII characters, without spaces"
        if parts.scheme not in schemes or not parts.host:
            return f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)} and a host"
        if _literal(parts.host) is None and parts.host.replace(".", "").isdigit():
            # The connector takes 127.1 and 2130706433 for addresses, and would not have them checked.
            return "must have a name, or an address in its usual form, as its host"
        if parts.user is not None or parts.password is not None or parts.raw_fragment:
            return "must be without a user, a password and a fragment"
        if port not in self._config.ports:
            return f"must have one of the ports {', '.join(map(str, self._config.ports))}"
        return None

    async def check(self, url: str) -> str | None:
        """Returns what is wrong with a URL or its addresses at the moment; None: nothing is."""
        if (refusal := self.refusal(url)) is not None:
            return refusal
        parts = URL(url)
        assert parts.host is not None
        try:
            await self._checked(parts.host, parts.port or 0, parts.scheme)
        except ReceiverRefusedError as error:
            return str(error)
        except (OSError, TimeoutError):
            return "must have a host whose name can be resolved"
        return None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Sends a request, and waits for its answer within ``timeout_s``. Raises nothing."""
        if self.refusal(url) is not None:
            return Answer(0, "not_allowed")
        async with self._turn:
            try:
                async with asyncio.timeout(self._config.timeout_s):
                    return await self._post(URL(url, encoded=True), body, headers)
            except TimeoutError:
                return Answer(0, "timeout")
            except ReceiverRefusedError:
                return Answer(0, "not_allowed")
            except aiohttp.ClientSSLError:
                return Answer(0, "tls")
            except (aiohttp.ClientError, OSError, ValueError) as error:
                refused = isinstance(error.__cause__, ReceiverRefusedError)
                return Answer(0, "not_allowed" if refused else "connection")

    async def _post(self, url: URL, body: bytes, headers: Mapping[str, str]) -> Answer:
        assert url.host is not None
        if _literal(url.host) is not None:  # the connector resolves names only
            await self._checked(url.host, url.port or 0, url.scheme)
        async with self._session(url.scheme).post(
            url, data=body, headers=headers, allow_redirects=False
        ) as response:
            answer = Answer(response.status, None, _retry_after_s(response.headers.get("Retry-After")))
            response.close()  # its body is not read, however long it is
            return answer

    async def _checked(self, host: str, port: int, scheme: str) -> Sequence[Address]:
        """Returns the addresses of a host. Raises ``ReceiverRefusedError`` when one is not allowed."""
        literal = _literal(host)
        if literal is not None:
            found = [literal]
        else:
            async with asyncio.timeout(_LOOKUP_S):
                texts = await self._lookup(host, port)
            found = list(dict.fromkeys(ipaddress.ip_address(text.partition("%")[0]) for text in texts))
        if not found:
            raise OSError("the host has no address")
        for address in found:
            plain = address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
            is_own = self._config.is_allowed(plain)
            if scheme == "http" and not is_own:
                raise ReceiverRefusedError(
                    "must begin with https://: its host is in no private network of this one"
                )
            if not is_own and not is_public_address(address):
                raise ReceiverRefusedError("must have a host on the public internet")
        return found[:MAX_ADDRESSES]

    def _session(self, scheme: str) -> aiohttp.ClientSession:
        found = self._sessions.get(scheme)
        if found is None:

            async def check(host: str, port: int) -> Sequence[Address]:
                return await self._checked(host, port, scheme)

            connector = aiohttp.TCPConnector(
                resolver=_CheckedResolver(check),
                use_dns_cache=False,  # each attempt resolves and checks
                force_close=True,
                limit=AT_ONCE,
                ssl=ssl.create_default_context(),
            )
            found = self._sessions[scheme] = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                max_line_size=_MAX_LINE,
                max_field_size=_MAX_LINE,
                trust_env=False,  # a proxy would connect to addresses that were not checked
            )
        return found

    async def close(self) -> None:
        """Closes the connections."""
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _retry_after_s(value: str | None) -> float:
    """Returns the seconds of a ``Retry-After``; 0 without one, and for a date."""
    text = (value or "").strip()
    return float(text[:9]) if text.isascii() and text.isdigit() else 0.0
