"""Which rows of rollups go when a source is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_POOLS: Final = "SELECT pool FROM pool_created WHERE chain_id = $1 AND source = $2 AND token0 IS NOT NULL"

CONDITIONS: Final[Mapping[str, str]] = {
    "pool_hour": "chain_id = $1 AND source = $2",
    "replay_state": "chain_id = $1 AND source = $2",
    # The price of any token of the chain may have come from a pool of the source.
    "token_hour": f"chain_id = $1 AND EXISTS ({_POOLS})",
    "computed": f"chain_id = $1 AND (part = 'pools:' || $2 OR (part = 'prices' AND EXISTS ({_POOLS})))",
}
"""For each rollup the condition of the rows to delete before the facts are.

Share prices of vaults stay: nodes may not have the states that they were read from any more.

$1 is the chain id, $2 the source.
"""
