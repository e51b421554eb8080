"""Signatures of webhooks, as Standard Webhooks has them (github.com/standard-webhooks, specification 1.0)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - how all of them begin
CONTENT_TYPE: Final = "application/json"


def shown_secret(key: bytes) -> str:
    """Returns a key as its receiver is told it."""
    return SECRET_PREFIX + base64.b64encode(key).decode()


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """Returns the HMAC-SHA-256 over ``id.timestamp.body``, with its version."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def headers(key: bytes, message_id: str, timestamp: int, body: bytes) -> Mapping[str, str]:
    """Returns the headers of one attempt to send an event. ``timestamp`` is that of the attempt."""
    return {
        "Content-Type": CONTENT_TYPE,
        "User-Agent": "quoteway-webhooks/1",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(key, message_id, timestamp, body),
    }
