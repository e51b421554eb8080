"""How the facts of a source become events of pools, by the source's family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from quoteway import EventSource

from quoteway_indexer.replay.fee_pair import FeePair
from quoteway_indexer.replay.fee_token_pool import FeeTokenPool
from quoteway_indexer.replay.pair import Pair
from quoteway_indexer.replay.pool import ReplayedPool
from quoteway_indexer.replay.range_pool import RangePool
from quoteway_indexer.replay.reserve_pool import ReservePool
from quoteway_indexer.replay.token_pool import TokenPool
from quoteway_indexer.store import Row

PLACE: Final = ("block", "log_index", "timestamp", "pool")
"""The columns that every row begins with."""
CREATED: Final = ("fee_pips", "tick_spacing", "hooks")
"""The columns of ``pool_created`` that come next: what a pool is made of."""
Apply: TypeAlias = Callable[[Any, Row], None]


@dataclass(frozen=True, slots=True)
class Family:
    """The tables that a family reads, each with its columns after ``PLACE`` and how a row is applied.

    ``make`` returns a new pool, given its source, its key and the values of ``CREATED``. ``table`` is that of
    the hours. Rows of the tables ``early`` may come before the creation of their pool, in the same block.
    """

    reads: Mapping[str, tuple[tuple[str, ...], Apply]]
    make: Callable[[EventSource, bytes, Row], ReplayedPool]
    table: str = "pool_hour"
    early: frozenset[str] = frozenset()


def _pair(source: EventSource, key: bytes, created: Row) -> ReplayedPool:
    known = source.parameters
    fee = known["fee_numerator"], known["fee_denominator"]
    return Pair(key, fee, (known["protocol_share"], known["protocol_parts"]))


def _fee_pair(source: EventSource, key: bytes, created: Row) -> ReplayedPool:
    return FeePair(key)


def _range_v3(source: EventSource, key: bytes, created: Row) -> ReplayedPool:
    return _range(key, created, is_v4=False)


def _range_v4(source: EventSource, key: bytes, created: Row) -> ReplayedPool:
    return _range(key, created, is_v4=True)


def _range(key: bytes, created: Row, is_v4: bool) -> RangePool:
    fee_pips, spacing, hooks = created
    if not isinstance(fee_pips, int) or not isinstance(spacing, int) or spacing <= 0:
        raise ValueError("a pool needs its fee and its tick spacing")
    return RangePool(key, fee_pips, spacing, hooks if isinstance(hooks, bytes) else None, is_v4)


def _tokens(source: EventSource, key: bytes, created: Row) -> ReplayedPool:
    return TokenPool(key)


def _fee_tokens(source: EventSource, key: bytes, created: Row) -> ReplayedPool:
    return FeeTokenPool(key)


def _created(pool: ReplayedPool, row: Row) -> None:
    """Such a pool is made without a price."""


def _created_v4(pool: RangePool, row: Any) -> None:
    pool.initialise(row[2], row[7], row[8])


def _initialised(pool: RangePool, row: Any) -> None:
    pool.initialise(row[2], row[4], row[5])


def _created_solidly(pool: FeePair, row: Any) -> None:
    pool.is_stable = bool(row[7])


def _fee(pool: FeePair, row: Any) -> None:
    pool.take_fee(*row[4:])


def _claimed(pool: FeePair, row: Any) -> None:
    pool.collect(*row[4:])


def _pair_swap(pool: ReservePool, row: Any) -> None:
    pool.swap(*row[4:])


def _pair_change(pool: Pair | FeePair, row: Any) -> None:
    pool.change(*row[4:])


def _reserves(pool: ReservePool, row: Any) -> None:
    pool.synchronise(row[2], row[4], row[5])


def _share_transfer(pool: Pair, row: Any) -> None:
    pool.transfer_shares(*row[4:])


def _range_swap(pool: RangePool, row: Any) -> None:
    pool.swap(row[2], *row[4:])


def _range_change(pool: RangePool, row: Any) -> None:
    pool.change(row[2], *row[4:])


def _collected(pool: RangePool, row: Any) -> None:
    pool.collect(row[2], *row[4:])


def _flash(pool: RangePool, row: Any) -> None:
    pool.flash(row[2], *row[4:])


def _donation(pool: RangePool, row: Any) -> None:
    pool.donate(row[2], *row[4:])


def _protocol_fee(pool: RangePool, row: Any) -> None:
    pool.set_protocol_fee(*row[4:])


def _token(pool: TokenPool, row: Any) -> None:
    pool.add_token(*row[4:])


def _token_swap(pool: TokenPool, row: Any) -> None:
    pool.swap(row[2], *row[4:])


def _token_change(pool: TokenPool, row: Any) -> None:
    pool.change(*row[:3], *row[4:])


def _setting(pool: FeeTokenPool, row: Any) -> None:
    pool.set(*row[4:])


_TRADER = ("transaction_hash", "sender", "recipient", "amount0", "amount1")
_RANGE_SWAP = (*_TRADER, "sqrt_price_x96", "liquidity", "tick", "fee_pips", "protocol_fee0", "protocol_fee1")
_RANGE_CHANGE = ("owner", "tick_lower", "tick_upper", "salt", "liquidity_delta", "amount0", "amount1")
_TOKENS: Final[Mapping[str, tuple[tuple[str, ...], Apply]]] = {
    "pool_created": (CREATED, _created),
    "pool_token": (("token", "pays_yield_fees"), _token),
    "token_swap": (
        ("transaction_hash", "token_in", "token_out", "amount_in", "amount_out", "fee_in"),
        _token_swap,
    ),
    "token_liquidity": (("place", "token", "amount", "fee", "protocol_fee", "share_supply"), _token_change),
}
_SETTINGS = ("setting0", "setting1", "packed", "parts")

FAMILIES: Final[Mapping[str, Family]] = {
    "constant-product": Family(
        {
            "pool_created": (CREATED, _created),
            "share_transfer": (("sender", "recipient"), _share_transfer),
            "reserves": (("reserve0", "reserve1"), _reserves),
            "swap": ((*_TRADER, "in0", "in1"), _pair_swap),
            "liquidity": (("amount0", "amount1"), _pair_change),
        },
        _pair,
    ),
    "solidly": Family(
        {
            "pool_created": ((*CREATED, "is_stable"), _created_solidly),
            "fee": (("amount0", "amount1"), _fee),
            "reserves": (("reserve0", "reserve1"), _reserves),
            "swap": ((*_TRADER, "in0", "in1"), _pair_swap),
            "liquidity": (("amount0", "amount1"), _pair_change),
            "collected": (("amount0", "amount1"), _claimed),
        },
        _fee_pair,
    ),
    "concentrated-v3": Family(
        {
            "pool_created": (CREATED, _created),
            "pool_initialized": (("sqrt_price_x96", "tick"), _initialised),
            "swap": (_RANGE_SWAP, _range_swap),
            "liquidity": (_RANGE_CHANGE, _range_change),
            "collected": (("owner", "amount0", "amount1"), _collected),
            "flash": (("paid0", "paid1"), _flash),
            "protocol_fee": (_SETTINGS, _protocol_fee),
        },
        _range_v3,
    ),
    "concentrated-v4": Family(
        {
            "pool_created": ((*CREATED, "sqrt_price_x96", "tick"), _created_v4),
            "swap": (_RANGE_SWAP, _range_swap),
            "liquidity": (_RANGE_CHANGE, _range_change),
            "donation": (("amount0", "amount1"), _donation),
            "protocol_fee": (_SETTINGS, _protocol_fee),
        },
        _range_v4,
    ),
    "balancer-v2": Family(_TOKENS, _tokens, "pool_token_hour"),
    "balancer-v3": Family(
        {**_TOKENS, "pool_setting": (("setting", "value"), _setting)},
        _fee_tokens,
        "pool_token_hour",
        frozenset({"pool_setting"}),
    ),
}
"""The families whose pools are replayed. Hooks that return deltas leave a v4 pool's own amounts exact."""
