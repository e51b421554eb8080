"""LI.FI as a provider of swaps, on one chain and across two, and of bridge transfers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quoteway import (
    Address,
    BridgeProvider,
    BridgeRoute,
    Build,
    Capability,
    Provider,
    Quote,
    SealedQuote,
    SwapProvider,
    SwapRequest,
    TransferState,
)

from quoteway_lifi.connections import Connections
from quoteway_lifi.quoting import Quoter
from quoteway_lifi.tracking import state_of


class _Lifi(Provider):
    """Members that are the same for both capabilities."""

    id = "lifi"
    title = "LI.FI"
    docs = "https://docs.li.fi/api-reference/introduction"
    has_quota = True

    def __init__(self, quoter: Quoter) -> None:
        self._quoter = quoter
        self.networks = frozenset(quoter.registry)

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """The listed contracts: the only targets of LI.FI's transactions."""
        return self._quoter.registry.get(chain_id, {})

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """The listed contracts: the only spenders of LI.FI's transactions."""
        return tuple(self._quoter.registry.get(chain_id, {}))

    async def healthy(self) -> bool | None:
        """Whether the last request was answered; False during the pause after a 429."""
        return self._quoter.api.answering


class LifiSwaps(_Lifi, SwapProvider):
    """Swaps on one chain and across two."""

    cross_chain = True
    honours = ("protocols",)
    """Its routes show its own id. Of what LI.FI does behind a tool's name, no other limit can be checked."""

    async def quote(self, request: SwapRequest) -> Quote | None:
        """See ``Quoter.quote``."""
        return await self._quoter.quote(request, Capability.SWAP)

    async def build(self, sealed: SealedQuote) -> Build:
        """See ``Quoter.build``."""
        return await self._quoter.build(sealed)


class LifiBridges(_Lifi, BridgeProvider):
    """Transfers from one chain to another."""

    def __init__(self, quoter: Quoter) -> None:
        super().__init__(quoter)
        self._connections = Connections(quoter.context, quoter.api, self.networks)

    async def routes(self, from_chain_id: int | None, to_chain_id: int | None) -> Sequence[BridgeRoute]:
        """Pairs of the same coin between two chains; LI.FI connects many more, too many to list."""
        return await self._connections.between(from_chain_id, to_chain_id)

    async def quote(self, request: SwapRequest) -> Quote | None:
        """See ``Quoter.quote``."""
        return await self._quoter.quote(request, Capability.BRIDGE) if request.is_cross_chain else None

    async def build(self, sealed: SealedQuote) -> Build:
        """See ``Quoter.build``."""
        return await self._quoter.build(sealed)

    async def track(self, chain_id: int, transaction_hash: str) -> TransferState | None:
        """Returns the state that LI.FI reports (``/status``); None when it does not know the transaction."""
        params = {"txHash": transaction_hash, "fromChain": str(chain_id)}
        return state_of(await self._quoter.api.get("status", params), chain_id, transaction_hash)
