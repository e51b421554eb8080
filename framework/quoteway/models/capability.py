"""The capabilities of providers."""

from __future__ import annotations

from enum import StrEnum


class Capability(StrEnum):
    """A capability of a provider. Its value is also the audience (``aud``) of its quote tokens."""

    SWAP = "swap"
    BRIDGE = "bridge"
    POOL = "pool"
    VAULT = "vault"
    TOKENS = "tokens"
    METRICS = "metrics"
    PRICES = "prices"
    RPC = "rpc"
    RELAY = "relay"
