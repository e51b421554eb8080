"""The solver of a solver process. Imports numpy: the server never imports this module."""

from __future__ import annotations

import time
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
MARKETS_KEPT_S = 60.0
"""How long a market is kept after the last order on it: the next ones come on newer blocks."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """The members of an ``OutputBound``."""

    told: dict[str, Any]


class FlowSolver:
    """Finds the best flows. Keeps the markets of the last snapshots: making one takes longer than a trade."""

    def __init__(self) -> None:
        self._markets: OrderedDict[tuple[int, str | None], tuple[Market, float]] = OrderedDict()
        """The least recently used first, with the time of the last order."""

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
        key, now = (id(pools), wrapped_native), time.monotonic()
        market, _ = self._markets.get(key, (None, now))
        if market is None or market.pools is not pools:  # the id may be that of an earlier sequence
            before, _ = next(reversed(self._markets.values()), (None, now))
            market = Market(pools, wrapped_native, before)
        self._markets[key] = market, now
        self._markets.move_to_end(key)
        most = sum(len(each.pools) for each, _ in self._markets.values()) - MOST_POOLS
        for old, (each, used_at) in list(self._markets.items())[:-1]:
            if most <= 0 and used_at >= now - MARKETS_KEPT_S:
                break
            del self._markets[old]
            most -= len(each.pools)
        return market
