"""The two providers: a bridge, and swaps whose one token is the same on two chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quoteway import (
    Address,
    BridgeProvider,
    BridgeRoute,
    Build,
    Context,
    Quote,
    SealedQuote,
    SwapProvider,
    SwapRequest,
)

from quoteway_across.tracking import Tracker
from quoteway_across.transfers import LABEL, Transfers

_DOCS = "https://docs.across.to"


class AcrossBridge(BridgeProvider):
    """Deposits into a SpokePool, which a relayer fills on the other chain."""

    id = "across"
    title = "Across"
    docs = _DOCS

    def __init__(self, context: Context, transfers: Transfers) -> None:
        self._transfers = transfers
        self._tracker = Tracker(context, transfers.deployments)
        self.networks = frozenset(transfers.deployments)

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """The SpokePool."""
        return _contracts(self._transfers, chain_id)

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """The SpokePool."""
        return tuple(self.contracts(chain_id))

    async def healthy(self) -> bool | None:
        """Whether the fee service answered when last asked."""
        return self._transfers.healthy()

    async def routes(self, from_chain_id: int | None, to_chain_id: int | None) -> Sequence[BridgeRoute]:
        """See ``BridgeProvider``. Raises UpstreamError."""
        return await self._transfers.routes(from_chain_id, to_chain_id)

    async def quote(self, request: SwapRequest) -> Quote | None:
        """See ``Transfers.quote``."""
        return await self._transfers.quote(request)

    async def build(self, sealed: SealedQuote) -> Build:
        """See ``Transfers.build``."""
        return await self._transfers.build(sealed)

    async def track(self, chain_id: int, transaction_hash: str) -> Mapping[str, Any] | None:
        """See ``Tracker.track``."""
        return await self._tracker.track(chain_id, transaction_hash)


class AcrossSwaps(SwapProvider):
    """The same transfers, asked for as a swap between chains."""

    id = "across"
    title = "Across"
    docs = _DOCS
    cross_chain = True

    def __init__(self, transfers: Transfers) -> None:
        self._transfers = transfers
        self.networks = frozenset(transfers.deployments)

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """The SpokePool."""
        return _contracts(self._transfers, chain_id)

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """The SpokePool."""
        return tuple(self.contracts(chain_id))

    async def healthy(self) -> bool | None:
        """Whether the fee service answered when last asked."""
        return self._transfers.healthy()

    async def quote(self, request: SwapRequest) -> Quote | None:
        """See ``Transfers.quote``. None within one chain."""
        return await self._transfers.quote(request) if request.is_cross_chain else None

    async def build(self, sealed: SealedQuote) -> Build:
        """See ``Transfers.build``."""
        return await self._transfers.build(sealed)


def _contracts(transfers: Transfers, chain_id: int) -> Mapping[Address, str]:
    deployment = transfers.deployments.get(chain_id)
    return {deployment.spoke_pool: LABEL} if deployment else {}
