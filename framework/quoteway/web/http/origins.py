"""Which pages may call the service, and for which host names it answers.

A browser runs pages of anybody beside services on the same machine, and lets a page's own host name lead to
127.0.0.1 after it was loaded (DNS rebinding): the page is then of the origin that it asks. The name in
``Host`` tells, since no page can choose it.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from multidict import MultiMapping

from quoteway.config.loading import is_loopback
from quoteway.config.model import Config
from quoteway.errors import MalformedRequest, Reason

_LOCAL_ORIGIN: Final = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?")
_HOST: Final = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::[0-9]{1,5})?")


class HostRefused(MalformedRequest, status=421):
    """The request is for a host name that this service does not answer for."""


class Origins:
    """The origins whose pages may call: those of ``server.cors_origins``, and in the embedded default all of
    this machine.
    """

    def __init__(self, config: Config) -> None:
        self._named = frozenset(config.server.cors_origins)
        self._is_local = is_local(config)
        self.any = "*" in self._named
        self.some = bool(self._named) or self._is_local

    def allow(self, origin: str) -> bool:
        """Whether pages of an origin may call."""
        return (
            self.any
            or origin in self._named
            or (self._is_local and _LOCAL_ORIGIN.fullmatch(origin) is not None)
        )


class Hosts:
    """The host names that requests may be for: those of ``server.allowed_hosts``, with loopback ones. Without
    the setting a deployment answers for every name, and the embedded default for loopback ones.
    """

    def __init__(self, config: Config) -> None:
        named = config.server.allowed_hosts
        self._names = frozenset(named) if named or is_local(config) else None

    def serve(self, headers: MultiMapping[str]) -> bool:
        """Whether a request may be answered. A program may leave ``Host`` out; browsers always send it."""
        if self._names is None:
            return True
        given = headers.getall("Host", ())
        return all(_serves(self._names, host) for host in given)

    def check(self, headers: MultiMapping[str]) -> None:
        """Raises ``HostRefused`` for another host name."""
        if not self.serve(headers):
            raise HostRefused(
                "The request is for a host name that is not served here. Ask localhost or 127.0.0.1, or have "
                "the operator add the name to server.allowed_hosts.",
                reason=Reason.CONFLICT,
            )


def same_host(origin: str, headers: MultiMapping[str]) -> bool:
    """Whether a page is of the host that it asks."""
    return urlsplit(origin).netloc.lower() == headers.get("Host", "").lower()


def is_local(config: Config) -> bool:
    """Whether this is the embedded default, which only programs and pages of this machine reach."""
    return config.embedded and is_loopback(config.server.host)


@lru_cache(256)
def _serves(names: frozenset[str], given: str) -> bool:
    found = _HOST.fullmatch(given.strip().lower())
    if found is None:
        return False
    name = found[1].rstrip(".")
    if name == "localhost" or name in names:
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
