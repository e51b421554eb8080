"""What a provider can do."""

from __future__ import annotations

from enum import StrEnum


class Capability(StrEnum):
    """What a provider can do. The value is also the audience (``aud``) of the quote tokens of that
    capability."""

    SWAP = "swap"
    BRIDGE = "bridge"
    POOL = "pool"
    VAULT = "vault"
    TOKENS = "tokens"
    METRICS = "metrics"
    PRICES = "prices"
    RPC = "rpc"
    RELAY = "relay"
