"""The solver of a solver process. Imports numpy: the server never imports this module."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from quoteway_amm import GasModel, GasPrice, Pool
from quoteway_amm.exact_output_flows import ExactOutput, cheapest_exact_output
from quoteway_amm.flow import FlowResult
from quoteway_amm.flows import best_flow_exact_in
from quoteway_amm.market import Market
from quoteway_amm.output_bound import output_bound
from quoteway_amm.routing import NoPath

MOST_POOLS = 4_096
"""The most pools of the markets that are kept: their arrays take some 100 MB. One market may have more."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """The members of an ``OutputBound``."""

    told: dict[str, Any]


class FlowSolver:
    """Finds the best flows. Keeps the markets of the last snapshots: making one takes longer than a trade."""

    def __init__(self) -> None:
        self._markets: OrderedDict[tuple[int, str | None], Market] = OrderedDict()

    def __call__(
        self,
        pools: Sequence[Pool],
        wrapped_native: str | None,
        token_in: str,
        token_out: str,
        amount_in: int,
        gas_model: GasModel,
        gas_price: GasPrice,
        *,
        amount_out: int | None = None,
        bound_only: bool = False,
        **most: Any,
    ) -> FlowResult | ExactOutput | Bounded | NoPath:
        """Returns and raises as ``best_flow_exact_in``, with ``amount_out`` as ``cheapest_exact_output``, and
        with ``bound_only`` as ``output_bound``.

        Snapshots are told apart as objects.
        """
        market = self._market(pools, wrapped_native)
        ends = token_in, token_out
        if bound_only:
            found = output_bound(market, wrapped_native, *ends, amount_in, gas_model, gas_price)
            return found if isinstance(found, NoPath) else Bounded(asdict(found))
        if amount_out is not None:
            return cheapest_exact_output(
                market, wrapped_native, *ends, amount_out, gas_model, gas_price, **most
            )
        return best_flow_exact_in(market, wrapped_native, *ends, amount_in, gas_model, gas_price, **most)

    def _market(self, pools: Sequence[Pool], wrapped_native: str | None) -> Market:
        key = id(pools), wrapped_native
        market = self._markets.get(key)
        if market is None or market.pools is not pools:  # the id may be that of an earlier sequence
            market = Market(pools, wrapped_native, next(reversed(self._markets.values()), None))
            self._markets[key] = market
        self._markets.move_to_end(key)
        while len(self._markets) > 1 and sum(len(each.pools) for each in self._markets.values()) > MOST_POOLS:
            self._markets.popitem(last=False)
        return market
