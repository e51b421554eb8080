"""Which rows of rollups go when a source is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

IS_PAIR: Final = "token0 IS NOT NULL"
"""The condition of a pool that prices may come from: those of more tokens have no ``token0``."""
HAS_POOLS: Final = f"EXISTS (SELECT pool FROM pool_created WHERE chain_id = $1 AND source = $2 AND {IS_PAIR})"  # noqa: S608


def conditions(chain_id: str = "$1", source: str = "$2", has_pools: str = HAS_POOLS) -> Mapping[str, str]:
    """Returns for each rollup the condition of the rows to delete before the facts are.

    The arguments are what stands in a statement for the chain, the source, and whether the source has pools.
    Share prices of vaults stay: nodes may not have the states that they were read from any more.
    """
    of_source = f"chain_id = {chain_id} AND source = {source}"
    return {
        **dict.fromkeys(("pool_hour", "pool_token_hour", "replay_state"), of_source),
        # The price of any token of the chain may have come from a pool of the source.
        "token_hour": f"chain_id = {chain_id} AND {has_pools}",
        "computed": f"chain_id = {chain_id} AND"
        f" (part = 'pools:' || {source} OR (part = 'prices' AND {has_pools}))",
    }
