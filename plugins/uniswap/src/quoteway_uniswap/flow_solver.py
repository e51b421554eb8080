"""The solver of a solver process. Imports numpy: the server never imports this module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quoteway_amm import Pool
from quoteway_amm.flow import FlowResult
from quoteway_amm.flows import best_flow_exact_in
from quoteway_amm.market import Market
from quoteway_amm.routing import NoPath


class FlowSolver:
    """Finds the best flows. Keeps the market of the last snapshot: making it takes longer than a trade."""

    def __init__(self) -> None:
        self._pools: Sequence[Pool] = ()
        self._market: Market | None = None

    def __call__(
        self, pools: Sequence[Pool], wrapped_native: str | None, *order: Any, **most: Any
    ) -> FlowResult | NoPath:
        """Returns and raises what ``best_flow_exact_in`` does."""
        market = self._market
        if market is None or pools is not self._pools or market.wrapped_native != wrapped_native:
            market = self._market = Market(pools, wrapped_native, market)
            self._pools = pools
        return best_flow_exact_in(market, wrapped_native, *order, **most)
