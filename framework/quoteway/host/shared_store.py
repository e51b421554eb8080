"""The Valkey or Redis that the replicas of a deployment share: ``limits.store``."""

from __future__ import annotations

from typing import Any, Final

STORE_TIMEOUT_S: Final = 1.0
"""How long a request waits for it. Shorter, and a busy moment would count as a failure."""


def shared_store(url: str) -> Any:
    """Returns a client that connects at its first command. Raises ``ImportError`` without its package."""
    from valkey.asyncio import Valkey

    scheme, rest = url.split("://", 1)
    # Redis and Valkey speak one protocol; the valkey client serves both.
    return Valkey.from_url(
        f"{scheme.replace('redis', 'valkey')}://{rest}",
        socket_timeout=STORE_TIMEOUT_S,
        socket_connect_timeout=STORE_TIMEOUT_S,
    )
