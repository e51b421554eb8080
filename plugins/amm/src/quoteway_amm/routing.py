"""The best single path through a set of pools, net of gas."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from quoteway_amm.errors import BandsExceeded
from quoteway_amm.gas import FREE, UNISWAP_GAS, GasModel, GasPrice
from quoteway_amm.graph import Graph
from quoteway_amm.pool import NATIVE, Pool
from quoteway_amm.search import Candidate, Ceiling, Search

NoPathReason = Literal["no_pool", "no_liquidity", "amount_too_low", "insufficient_liquidity"]
PathWarning = Literal["gas_exceeds_output"]


@dataclass(frozen=True, slots=True)
class Hop:
    """One pool of a path. Tokens are as the pool has them: the native coin or its wrapped form."""

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

    `token_in` and `token_out` are as requested. Hops may use the other form of the native coin: the encoder
    wraps or unwraps there. `gas_cost` is in the output token (exact input) or input token (exact output).
    `mid_price` is (numerator, denominator): base units out per base unit in, before fees.
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
        """Returns how far the trade's price is below the mid price, fees included, rounded."""
        ideal = self.amount_in * self.mid_price[0]
        missing = ideal - self.amount_out * self.mid_price[1]
        return (missing * 20_000 + ideal) // (2 * ideal)


@dataclass(frozen=True, slots=True)
class NoPath:
    """The reason why there is no path.

    `no_pool`: no pools connect the tokens. `no_liquidity`: these pools are empty. `amount_too_low`: every
    output rounds to zero. `insufficient_liquidity`: no path can trade the whole amount.
    """

    reason: NoPathReason


def best_path_exact_in(
    graph: Graph,
    token_in: str,
    token_out: str,
    amount_in: int,
    gas_model: GasModel,
    gas_price: GasPrice = FREE,
    max_hops: int = 3,
) -> Path | NoPath:
    """Returns the path with the greatest output after gas, the shorter on a tie. Gas is in `token_out`.

    Raises BandsExceeded when pools that may win lack ticks, ValueError for a bad request.
    """
    return _best_path(graph, token_in, token_out, amount_in, gas_model, gas_price, max_hops, forward=True)


def best_path_exact_out(
    graph: Graph,
    token_in: str,
    token_out: str,
    amount_out: int,
    gas_model: GasModel,
    gas_price: GasPrice = FREE,
    max_hops: int = 3,
) -> Path | NoPath:
    """Returns the path with the least input including gas, the shorter on a tie. Gas is in `token_in`.

    Raises as `best_path_exact_in`.
    """
    return _best_path(graph, token_in, token_out, amount_out, gas_model, gas_price, max_hops, forward=False)


def better_path_exact_in(
    graph: Graph,
    token_in: str,
    token_out: str,
    amount_in: int,
    gas_model: GasModel,
    gas_price: GasPrice,
    max_hops: int,
    ceiling: Ceiling,
) -> Path | None:
    """Returns the path of `best_path_exact_in` when it exceeds the ceiling's score, else None.

    Much faster than that search, since the ceiling skips most pools. Raises as it does.
    """
    search = Search(
        graph, token_in, token_out, amount_in, gas_model, gas_price, forward=True, ceiling=ceiling
    )
    search.run(max_hops)
    path = None if search.best is None else _path(search.best, token_in, token_out, gas_price, forward=True)
    exceeded = search.exceeded()
    if exceeded:
        raise BandsExceeded(exceeded, path)
    return path


def native_price(
    graph: Graph, token: str, probe_amount: int, max_hops: int = 2, gas_model: GasModel = UNISWAP_GAS
) -> tuple[int, int] | None:
    """Returns (numerator, denominator): base units of `token` per wei of the native coin; None if unknown.

    The price is the best output of a swap of `probe_amount` wei, so that shallow pools do not set it. It is
    searched for once in a graph. Raises BandsExceeded as the searches do.
    """
    if graph.node(token) == graph.node(NATIVE):
        return 1, 1
    # Gas is free in this search: the price is the same by every model that knows the families.
    question = token, probe_amount, max_hops
    if question not in graph.native_prices:
        path = best_path_exact_in(graph, NATIVE, token, probe_amount, gas_model, FREE, max_hops)
        if isinstance(path, NoPath):
            return None
        graph.native_prices[question] = path.amount_out, probe_amount
    return graph.native_prices[question]


def _best_path(
    graph: Graph,
    token_in: str,
    token_out: str,
    amount: int,
    gas_model: GasModel,
    gas_price: GasPrice,
    max_hops: int,
    *,
    forward: bool,
) -> Path | NoPath:
    if graph.node(token_in) == graph.node(token_out):
        raise ValueError(f"{token_in} and {token_out} are the same token: a swap needs two")
    if amount <= 0 or max_hops < 1:
        raise ValueError(f"amount {amount} and max_hops {max_hops} must be positive")
    start, end = (token_in, token_out) if forward else (token_out, token_in)
    search = Search(graph, start, end, amount, gas_model, gas_price, forward=forward)
    search.run(max_hops)
    settled: Path | NoPath
    if search.best is not None:
        settled = _path(search.best, token_in, token_out, gas_price, forward=forward)
    else:
        settled = NoPath(_reason(search, graph, graph.node(token_in), graph.node(token_out), max_hops))
    exceeded = search.exceeded()
    if exceeded:
        raise BandsExceeded(exceeded, settled)
    return settled


def _reason(search: Search, graph: Graph, node_in: str, node_out: str, max_hops: int) -> NoPathReason:
    if not graph.linked(node_in, node_out, max_hops):
        return "no_pool"
    if not graph.joined(node_in, node_out, max_hops):
        return "no_liquidity"
    # Outputs were zero and no pool was too small: a larger amount would have a path.
    return "amount_too_low" if search.saw_zero and not search.saw_partial else "insufficient_liquidity"


def _path(best: Candidate, token_in: str, token_out: str, gas_price: GasPrice, *, forward: bool) -> Path:
    _, gas_units, _, _, trail = best
    hops: list[Hop] = []
    while trail is not None:
        trail, edge, given, answered, crossed = trail
        amount_in, amount_out = (given, answered) if forward else (answered, given)
        fee_pips = edge.pool.swap_fee_pips(edge.zero_for_one)
        hops.append(
            Hop(
                edge.pool,
                edge.zero_for_one,
                edge.token_in,
                edge.token_out,
                amount_in,
                amount_out,
                fee_pips,
                crossed,
            )
        )
    if forward:
        hops.reverse()
    prices = [hop.pool.mid_price(hop.zero_for_one) for hop in hops]
    mid_price = prod(price[0] for price in prices), prod(price[1] for price in prices)
    gas_cost = gas_price.cost(gas_units)
    amount_in, amount_out = hops[0].amount_in, hops[-1].amount_out
    exceeds = gas_cost >= (amount_out if forward else amount_in)
    return Path(
        token_in,
        token_out,
        tuple(hops),
        amount_in,
        amount_out,
        gas_units,
        gas_cost,
        mid_price,
        ("gas_exceeds_output",) if exceeds else (),
    )
