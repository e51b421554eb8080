"""The best single path through a set of pools, net of gas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from quoteway_amm.gas import FREE, GasModel, GasPrice
from quoteway_amm.pool import Pool

NoPathReason = Literal["no_pool", "no_liquidity", "amount_too_low", "insufficient_liquidity"]
PathWarning = Literal["gas_exceeds_output"]


@dataclass(frozen=True, slots=True)
class Hop:
    """One pool of a path. Tokens are the pool's own: where the native coin meets its wrapped form, compare them."""

    pool: Pool
    zero_for_one: bool
    token_in: str
    token_out: str
    amount_in: int
    amount_out: int
    fee_pips: int
    ticks_crossed: int


@dataclass(frozen=True, slots=True)
class Path:
    """A path with the amounts of every hop, exact at the snapshot's block.

    `token_in` and `token_out` are as asked for; the first and last hop, or two neighbours, may hold the other form of
    the native coin, and the encoder wraps or unwraps there. `gas_cost` is in the token that the search varies (output
    of an exact input, input of an exact output). `mid_price` is (numerator, denominator): base units out per base
    unit in along the path, before fees and before the trade.
    """

    token_in: str
    token_out: str
    hops: tuple[Hop, ...]
    amount_in: int
    amount_out: int
    gas_units: int
    gas_cost: int
    mid_price: tuple[int, int]
    warnings: tuple[PathWarning, ...] = ()

    @property
    def price_impact_bps(self) -> int:
        """How far the trade's price lies below the mid price, pool fees included, rounded to a basis point."""
        ideal = self.amount_in * self.mid_price[0]
        missing = ideal - self.amount_out * self.mid_price[1]
        return (missing * 20_000 + ideal) // (2 * ideal)


@dataclass(frozen=True, slots=True)
class NoPath:
    """Why there is no path: the tokens are not connected, the connecting pools are empty, the output rounds to zero
    on every way, or no way takes (or gives) the whole amount."""

    reason: NoPathReason


class Graph:
    """Candidate pools of one block, indexed by token. Build once per snapshot, search as often as wanted.

    The native coin and `wrapped_native` are one node, so that v4 native pools and wrapped pools compete.
    Addresses are compared as strings: use one spelling throughout.
    """

    def __init__(self, pools: Iterable[Pool], wrapped_native: str | None = None) -> None:
        raise NotImplementedError


def best_path_exact_in(
    graph: Graph,
    token_in: str,
    token_out: str,
    amount_in: int,
    gas_model: GasModel,
    gas_price: GasPrice = FREE,
    max_hops: int = 3,
) -> Path | NoPath:
    """The path with the greatest output after gas. `gas_price` is in `token_out`.

    Raises BandsExceeded when a pool that might win is not known far enough, ValueError for a bad request.
    """
    raise NotImplementedError


def best_path_exact_out(
    graph: Graph,
    token_in: str,
    token_out: str,
    amount_out: int,
    gas_model: GasModel,
    gas_price: GasPrice = FREE,
    max_hops: int = 3,
) -> Path | NoPath:
    """The path with the least input including gas. `gas_price` is in `token_in`.

    Raises BandsExceeded when a pool that might win is not known far enough, ValueError for a bad request.
    """
    raise NotImplementedError


def native_price(graph: Graph, token: str, probe_amount: int, max_hops: int = 2) -> tuple[int, int] | None:
    """(numerator, denominator): base units of `token` per wei of the native coin, for pricing gas; None if unknown.

    It is the best output for `probe_amount` wei over the probe. The probe is the depth floor: a pool too shallow to
    trade it well cannot set the price. Raises BandsExceeded as the searches do.
    """
    raise NotImplementedError
