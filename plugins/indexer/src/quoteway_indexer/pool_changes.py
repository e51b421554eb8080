"""Tells whether pools changed between a quote and the transaction that it became."""

from __future__ import annotations

import asyncio
from typing import cast

from quoteway_indexer.store import Condition, Reader, Select

_SWAPS = ("swap", "token_swap")
_LIQUIDITY = ("liquidity", "token_liquidity", "donation", "flash", "collected")
_SETTINGS = ("protocol_fee", "pool_setting")
"""What leaves a pool with a swap is less or more after these: the next swap finds other balances."""
_CHANGES = (*_SWAPS, *_LIQUIDITY, *_SETTINGS)


async def untouched(
    reader: Reader, chain_id: int, after_block: int, until_block: int, transaction_hash: bytes
) -> bool | None:
    """Returns whether only one transaction changed the pools that it swapped in, up to its own swaps.

    Blocks count after ``after_block`` up to ``until_block``, which has the transaction. None when the index
    has no swap of it.
    """
    here = Condition("chain_id", "=", chain_id)
    mine = (
        here,
        Condition("block", "=", until_block),
        Condition("transaction_hash", "=", transaction_hash),
    )
    swaps = await asyncio.gather(
        *(reader.fetch(Select(table, ("pool", "log_index"), mine)) for table in _SWAPS)
    )
    own = [row for rows in swaps for row in rows]
    if not own:
        return None
    pools = tuple(sorted({cast(bytes, pool) for pool, _ in own}))
    place = until_block, min(cast(int, log_index) for _, log_index in own)
    since = (here, Condition("pool", "in", pools), Condition("block", ">", after_block))
    firsts = await asyncio.gather(
        *(
            reader.fetch(
                Select(
                    table,
                    ("block", "log_index"),
                    (*since, Condition("block", "<=", until_block)),
                    ("block", "log_index"),
                    1,
                )
            )
            for table in _CHANGES
        )
    )
    return all((row[0], row[1]) >= place for rows in firsts for row in rows)
