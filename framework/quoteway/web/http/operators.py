"""Who is an operator: who may see what a server does, and read its recordings.

An operator has an API key of the tier ``operator``, or ``[server] capture_key``, as a Bearer token. Other API
keys, which callers have, do not open it. In the embedded default, without ``capture_key``, programs and pages
of this machine are operators. There a request that a proxy passes on is none of this machine, though the
proxy's connection is.
"""

from __future__ import annotations

import hmac
import ipaddress
from typing import Final

from aiohttp import web

from quoteway.config.keys import OPERATOR_TIER
from quoteway.config.model import Config
from quoteway.errors import Unauthorized
from quoteway.web.http.limits import Counted
from quoteway.web.http.middleware import MIDDLEWARE, without_key
from quoteway.web.http.origins import is_local

PATH: Final = "/operator/"
_OF_PROXIES: Final = (
    *("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"),
    *("X-Forwarded-Server", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP"),
)
"""The headers by which proxies say that they pass a request on."""


async def check_operator(config: Config, request: web.Request) -> None:
    """Raises ``Unauthorized`` for all but operators. Counts wrong keys against ``limits.wrong_keys``."""
    middleware, key = request.app[MIDDLEWARE], config.server.capture_key
    named = middleware.keys.find(request.headers)
    if named is not None and named.tier == OPERATOR_TIER and not named.is_over:
        return
    if key is None and is_local(config) and _is_of_this_machine(request):
        return
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    expected = b"" if key is None else key.reveal().encode()
    is_right = hmac.compare_digest(expected, given.strip().encode("utf-8", "surrogateescape"))
    if key is not None and is_right and scheme.lower() == "bearer":
        return
    if middleware.limiter is not None:
        await Counted(middleware.limiter, "wrong_keys", middleware.callers.of(request)).take()
    if named is not None and named.tier == OPERATOR_TIER:
        raise without_key(named)
    raise Unauthorized(
        "Send a key of operators, an API key of the tier operator or server.capture_key: "
        "Authorization: Bearer <key>.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _is_of_this_machine(request: web.Request) -> bool:
    """Whether a program or page of this machine sent the request itself."""
    try:
        is_near = ipaddress.ip_address((request.remote or "").split("%")[0]).is_loopback
    except ValueError:
        return False
    return is_near and not any(name in request.headers for name in _OF_PROXIES)
