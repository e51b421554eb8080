"""The objects that serve the pools of one chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quoteway import Chain, Context
from quoteway_router.logs import ALL_BLOCKS, Logs

from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.known_pools import PoolFinder
from quoteway_uniswap.pool_catalog import PoolCatalog
from quoteway_uniswap.pool_series import PoolSeries
from quoteway_uniswap.positions import WalletPositions
from quoteway_uniswap.prices import UniswapPrices
from quoteway_uniswap.shared import shared_by
from quoteway_uniswap.state import PoolStates
from quoteway_uniswap.taxes import TransferTaxes


@dataclass(frozen=True, slots=True)
class ChainPools:
    """One chain with its pool finder, positions, catalog, series, taxes and pool states."""

    chain: Chain
    finder: PoolFinder
    wallets: WalletPositions
    catalog: PoolCatalog
    series: PoolSeries
    taxes: TransferTaxes
    states: PoolStates

    @classmethod
    def of(
        cls, context: Context, chain: Chain, deployments: Sequence[Deployment], prices: UniswapPrices
    ) -> ChainPools:
        """Returns the objects of ``chain``."""
        logs, shared = Logs(chain), shared_by(context).chain(chain.network.chain_id, deployments)
        states = shared.states
        # A pool's Initialize event is found by one request for all blocks.
        rare = Logs(chain, ALL_BLOCKS)
        finder = PoolFinder(context, chain, deployments, rare)
        series = PoolSeries(context, chain, logs, states, prices)
        return cls(
            chain,
            finder,
            WalletPositions(chain, deployments, shared.received),
            PoolCatalog(context, chain, deployments, finder, states, series),
            series,
            shared.taxes,
            states,
        )
