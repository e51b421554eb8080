"""The families of pools that a Universal Router executes: what differs by family outside of its formula.

A family is one row. Its formula is a pool class (``quoteway_amm``), its gas is in ``UNISWAP_GAS``, and the
lens reads it. A family with a router of its own needs none of this: see ``quoteway_executors``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from quoteway.evm.abi import function
from quoteway.evm.chain import Call
from quoteway_amm import Kind, UnknownFamily

from quoteway_uniswap import pool_events as events
from quoteway_uniswap.candidates import EXTSLOAD, PoolRef, v4_pool_slot
from quoteway_uniswap.deployments import Deployment

_RESERVES = function("getReserves() returns (uint112, uint112, uint32)")
_GLOBAL_STATE = function("globalState() returns (uint160)")
_SLOT0 = function("slot0() returns (uint160)")


@dataclass(frozen=True, slots=True)
class Family:
    """``number`` stands for the family in plans and in questions to the lens. ``changes`` are the events that
    change a pool's state. ``contracts_in`` returns what a deployment has of it, None for nothing. ``exists``
    returns a call whose first word is 0 or absent when the pool does not exist or is an empty pair.
    """

    kind: Kind
    number: int
    changes: frozenset[str]
    contracts_in: Callable[[Deployment], object | None]
    exists: Callable[[PoolRef], Call]


def _pair_exists(ref: PoolRef) -> Call:
    return Call(ref.target, _RESERVES.encode([]), gas=30_000, max_output=96)


def _v3_pool_exists(ref: PoolRef) -> Call:
    return Call(ref.target, _SLOT0.encode([]), gas=30_000, max_output=224)


def _algebra_pool_exists(ref: PoolRef) -> Call:
    return Call(ref.target, _GLOBAL_STATE.encode([]), gas=30_000, max_output=192)


def _v4_pool_exists(ref: PoolRef) -> Call:
    slot = v4_pool_slot(ref.id).to_bytes(32)
    return Call(ref.target, EXTSLOAD.encode([slot]), gas=30_000, max_output=32)


_V3_CHANGES = frozenset(
    {
        events.V3_SWAP,
        events.PANCAKE_SWAP,
        events.V3_MINT,
        events.V3_BURN,
        events.V3_PROTOCOL,
        events.PANCAKE_PROTOCOL,
    }
)
_V4_CHANGES = frozenset({events.V4_SWAP, events.V4_MODIFY, events.V4_PROTOCOL})

_ROWS = (
    Family("v2", 2, frozenset({events.V2_SYNC}), attrgetter("v2"), _pair_exists),
    Family("v3", 3, _V3_CHANGES, attrgetter("v3"), _v3_pool_exists),
    Family("v4", 4, _V4_CHANGES, attrgetter("v4"), _v4_pool_exists),
)

_ALGEBRA_CHANGES = frozenset({events.V3_SWAP, events.V3_MINT, events.V3_BURN, events.ALGEBRA_FEE})
_FORKS = (Family("algebra", 5, _ALGEBRA_CHANGES, attrgetter("algebra"), _algebra_pool_exists),)
"""Families that routers of forks alone execute."""

FAMILIES: Mapping[Kind, Family] = {row.kind: row for row in _ROWS}
BY_NUMBER: Mapping[int, Family] = {row.number: row for row in _ROWS}
_BY_KIND: Mapping[Kind, Family] = {row.kind: row for row in (*_ROWS, *_FORKS)}


def family_of(kind: Kind) -> Family:
    """Returns a family by its name, also one of forks. Raises UnknownFamily for one that is none."""
    try:
        return _BY_KIND[kind]
    except KeyError:
        raise UnknownFamily(kind, _BY_KIND) from None
