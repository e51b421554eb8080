"""The best single path through a set of pools, net of gas."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from quoteway_amm.errors import BandsExceeded
from quoteway_amm.gas import FREE, UNISWAP_GAS, GasModel, GasPrice
from quoteway_amm.graph import Graph
from quoteway_amm.pool import NATIVE, Pool
from quoteway_amm.search import Candidate, Search

NoPathReason = Literal["no_pool", "no_liquidity", "amount_too_low", "insufficient_liquidity"]
PathWarning = Literal["gas_exceeds_output"]


@dataclass(frozen=True, slots=True)
class Hop:
    """One pool of a path. Tokens are the pool's own, so they tell the native coin from its wrapped form."""

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

    `token_in` and `token_out` are as asked for; the first and last hop, or two neighbours, may hold the other
    form of the native coin, and the encoder wraps or unwraps there. `gas_cost` is in the token that the
    search varies (output of an exact input, input of an exact output). `mid_price` is (numerator,
    denominator): base units out per base unit in along the path, before fees and before the trade.
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
        """How far the trade's price lies below the mid price, pool fees included, rounded."""
        ideal = self.amount_in * self.mid_price[0]
        missing = ideal - self.amount_out * self.mid_price[1]
        return (missing * 20_000 + ideal) // (2 * ideal)


@dataclass(frozen=True, slots=True)
class NoPath:
    """Why there is no path.

    `no_pool`: no pools join the tokens. `no_liquidity`: those that do are empty. `amount_too_low`: the output
    rounds to zero on every way. `insufficient_liquidity`: no way takes, or gives, the whole amount.
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
    """The path with the greatest output after gas, the shorter on a tie; `gas_price` is in `token_out`.

    Raises BandsExceeded when a pool that might win is not known far enough, ValueError for a bad request.
    """
    _check(graph, token_in, token_out, amount_in, max_hops)
    search = Search(graph, token_in, token_out, amount_in, gas_model, gas_price, forward=True)
    return _outcome(search, graph, token_in, token_out, gas_price, max_hops, forward=True)


def best_path_exact_out(
    graph: Graph,
    token_in: str,
    token_out: str,
    amount_out: int,
    gas_model: GasModel,
    gas_price: GasPrice = FREE,
    max_hops: int = 3,
) -> Path | NoPath:
    """The path with the least input including gas, the shorter on a tie; `gas_price` is in `token_in`.

    Raises BandsExceeded when a pool that might win is not known far enough, ValueError for a bad request.
    """
    _check(graph, token_in, token_out, amount_out, max_hops)
    search = Search(graph, token_out, token_in, amount_out, gas_model, gas_price, forward=False)
    return _outcome(search, graph, token_in, token_out, gas_price, max_hops, forward=False)


def native_price(graph: Graph, token: str, probe_amount: int, max_hops: int = 2) -> tuple[int, int] | None:
    """(numerator, denominator): base units of `token` per wei of the native coin; None if unknown.

    It is the best output for `probe_amount` wei over the probe. The probe is the depth floor: a pool too
    shallow to trade it well cannot set the price. Raises BandsExceeded as the searches do.
    """
    if graph.node(token) == graph.node(NATIVE):
        return 1, 1
    path = best_path_exact_in(graph, NATIVE, token, probe_amount, UNISWAP_GAS, FREE, max_hops)
    return None if isinstance(path, NoPath) else (path.amount_out, probe_amount)


def _check(graph: Graph, token_in: str, token_out: str, amount: int, max_hops: int) -> None:
    if graph.node(token_in) == graph.node(token_out):
        raise ValueError(f"{token_in} and {token_out} are one token to a router")
    if amount <= 0 or max_hops < 1:
        raise ValueError(f"amount {amount} and max_hops {max_hops} must be positive")


def _outcome(
    search: Search,
    graph: Graph,
    token_in: str,
    token_out: str,
    gas_price: GasPrice,
    max_hops: int,
    *,
    forward: bool,
) -> Path | NoPath:
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
    # A zero output while no pool ran dry: more input would have helped.
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
