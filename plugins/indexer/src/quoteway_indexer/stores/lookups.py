"""The columns by which rows are looked up beside their key, where a back end has indexes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LOOKUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "pool_created": ("pool",),
    "pool_initialized": ("pool",),
    "swap": ("pool, block",),
    "token_swap": ("pool, block",),
    "pool_token": ("pool",),
    "pool_setting": ("pool, block",),
    "token_liquidity": ("pool, block", "owner"),
    "liquidity": ("pool, block", "owner"),
    "collected": ("pool, block", "owner"),
    "fee": ("pool, block",),
    "flash": ("pool, block",),
    "donation": ("pool, block",),
    "protocol_fee": ("pool, block",),
    "reserves": ("pool, block",),
    "vault_flow": ("vault, block", "owner"),
    "transfer": ("sender", "recipient", "token, block"),
    "nft_transfer": ("sender", "recipient", "collection, token_id"),
    "bridge_event": ("transfer_id",),
    "pool_hour": ("hour",),
    "pool_token_hour": ("hour",),
    "vault_hour": ("hour",),
    "token_hour": ("hour",),
}
"""By table, within a chain. Each item is a list of columns as SQL has it."""
