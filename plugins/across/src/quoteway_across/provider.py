"""Across as a bridge provider, and as a swap provider for the same token on two chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quoteway import (
    Address,
    BridgeProvider,
    BridgeRoute,
    Build,
    Context,
    Provider,
    Quote,
    SealedQuote,
    SwapProvider,
    SwapRequest,
    TransferState,
)

from quoteway_across.tracking import Tracker
from quoteway_across.transfers import LABEL, Transfers


class _Across(Provider):
    """Members that are the same for both capabilities."""

    id = "across"
    title = "Across"
    docs = "https://docs.across.to"

    def __init__(self, transfers: Transfers) -> None:
        self._transfers = transfers
        self.networks = frozenset(transfers.deployments)

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """The SpokePool."""
        deployment = self._transfers.deployments.get(chain_id)
        return {deployment.spoke_pool: LABEL} if deployment else {}

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """The SpokePool."""
        return tuple(self.contracts(chain_id))

    async def healthy(self) -> bool | None:
        """Whether the fee service answered its last request."""
        return self._transfers.healthy()

    async def build(self, sealed: SealedQuote) -> Build:
        """See ``Transfers.build``."""
        return await self._transfers.build(sealed)


class AcrossBridge(_Across, BridgeProvider):
    """Deposits into a SpokePool, which a relayer fills on the other chain."""

    def __init__(self, context: Context, transfers: Transfers) -> None:
        super().__init__(transfers)
        self._tracker = Tracker(context, transfers.deployments)

    async def routes(self, from_chain_id: int | None, to_chain_id: int | None) -> Sequence[BridgeRoute]:
        """See ``BridgeProvider``. Raises UpstreamError."""
        return await self._transfers.routes(from_chain_id, to_chain_id)

    async def quote(self, request: SwapRequest) -> Quote | None:
        """See ``Transfers.quote``."""
        return await self._transfers.quote(request)

    async def track(self, chain_id: int, transaction_hash: str) -> TransferState | None:
        """See ``Tracker.track``."""
        return await self._tracker.track(chain_id, transaction_hash)


class AcrossSwaps(_Across, SwapProvider):
    """The same transfers, requested as a swap between chains."""

    cross_chain = True

    async def quote(self, request: SwapRequest) -> Quote | None:
        """See ``Transfers.quote``. None within one chain."""
        return await self._transfers.quote(request) if request.is_cross_chain else None
