"""The URLs and headers of an endpoint, with credentials in headers alone."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from quoteway import ConfigError, Endpoint
from yarl import URL


def request_parts(endpoint: Endpoint) -> tuple[URL, Mapping[str, str]]:
    """Moves the URL's user part to the headers: in the URL it would appear in exception texts."""
    try:
        url = URL(endpoint.url)
    except ValueError:
        url = URL()
    if url.scheme not in ("http", "https") or not url.host:
        # Without the ValueError, which quotes the URL.
        raise ConfigError(
            f"endpoint {endpoint.name or '(unnamed)'!r} needs an http(s) URL: correct its url"
        ) from None
    headers = {"Content-Type": "application/json", "Accept": "application/json", **endpoint.headers}
    if url.user is not None:
        headers["Authorization"] = _basic(url)
        url = url.with_user(None)
    return url, headers


def websocket_parts(endpoint: Endpoint) -> tuple[URL, Mapping[str, str]] | None:
    """Returns the URL of the WebSocket without its user part, and its headers."""
    if not endpoint.ws:
        return None
    try:
        url = URL(endpoint.ws)
    except ValueError:
        url = URL()
    if url.scheme not in ("ws", "wss") or not url.host:
        raise ConfigError(
            f"endpoint {endpoint.name or '(unnamed)'!r} needs a ws(s) URL: correct its ws"
        ) from None
    own = dict(endpoint.headers)
    if url.user is not None:
        own["Authorization"] = _basic(url)
        url = url.with_user(None)
    return url, own


def _basic(url: URL) -> str:
    """RFC 7617."""
    return "Basic " + base64.b64encode(f"{url.user}:{url.password or ''}".encode()).decode()
