"""Compares pools of the oracle with what their contracts have."""

from __future__ import annotations

from history_pools import Pair
from history_trader import call, reading, slot_of


def contract_differences(rpc, manager: str, pools, block: str = "latest") -> tuple[int, list[str]]:
    """Returns how many reads of contracts at a block were compared with pools, and what differs."""
    asked, expected = [], []

    def expect(pool, what, to, data, *values):
        asked.append((to, data))
        expected.append((pool.key, what, values))

    for pool in pools:
        if isinstance(pool, Pair):
            expect(pool, "reserves", pool.key, call("getReserves()"), *pool.reserves)
        elif pool.v4:
            for at, what, value in (
                (1, "fee growth 0", pool.growth[0]),
                (2, "fee growth 1", pool.growth[1]),
                (3, "liquidity", pool.liquidity),
            ):
                expect(pool, what, manager, call("extsload(bytes32)", slot_of(pool.key, at)), value)
        else:
            expect(pool, "price", pool.key, call("slot0()"), pool.price, pool.tick & ((1 << 256) - 1))
            expect(pool, "liquidity", pool.key, call("liquidity()"), pool.liquidity)
            expect(pool, "fee growth 0", pool.key, call("feeGrowthGlobal0X128()"), pool.growth[0])
            expect(pool, "fee growth 1", pool.key, call("feeGrowthGlobal1X128()"), pool.growth[1])
            expect(pool, "protocol fees", pool.key, call("protocolFees()"), *pool.owed_to_protocol)
            for side, token in enumerate(pool.tokens):
                held = pool.held[side]
                expect(pool, "balance", token, call("balanceOf(address)", pool.key), held)
    wrong = []
    for (key, what, values), found in zip(expected, reading(rpc, asked, block), strict=True):
        if tuple(found[: len(values)]) != values:
            wrong.append(f"oracle: {what} of {key}: {values}, contract {found}")
    return len(asked), wrong
