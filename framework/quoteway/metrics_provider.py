"""The provider class of series, prices over time and the past of wallets."""

from __future__ import annotations

from abc import abstractmethod

from quoteway import models
from quoteway.providers import Provider
from quoteway.wallet_history import WalletHistory


class MetricsProvider(WalletHistory, Provider):
    """Returns time series for pools and vaults of other providers, and the past of wallets, from an index."""

    capability = models.Capability.METRICS

    @abstractmethod
    async def series(
        self, resource_id: str, metric: str, start: int, end: int, interval: str
    ) -> models.Series | None:
        """Returns the series, or None when this provider does not have it."""

    async def price_history(
        self, chain_id: int, token: models.Address, start: int, end: int, interval: str
    ) -> models.PriceHistory | None:
        """Returns the prices of a token over time, or None when this provider keeps none of the chain.

        Candles begin at multiples of the interval, from ``start`` and before ``end``. The core asks for the
        wrapped coin in place of the native one.
        """
        return None

    async def index_status(self) -> tuple[models.IndexStatus, ...]:
        """Returns how far the index of each chain is; none for a provider without an index."""
        return ()
