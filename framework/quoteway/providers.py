"""One abstract base class per capability: what a provider object must be able to do.

Methods return a value, return None for "I have nothing here", or raise ``UpstreamError`` /
``InvalidRequest``. Anything else they raise is a bug of the provider: logged with its traceback, counted,
never echoed to a client. Within a major version of the hook API, classes only ever gain methods with default
bodies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from quoteway.errors import ProviderUnavailable, Reason
from quoteway.models import (
    Address,
    Block,
    BridgeRoute,
    Build,
    Capability,
    DeployRequest,
    ManageRequest,
    Pool,
    PoolPosition,
    PoolRequest,
    Price,
    Quote,
    SealedQuote,
    Series,
    SwapRequest,
    Token,
    TokenProfile,
    TransferState,
    Vault,
    VaultPosition,
    VaultRequest,
)
from quoteway.networks import Network


class Provider(ABC):
    """What every provider has.

    ``id`` is unique in a deployment, lowercase ``[a-z0-9-]``; two claims for one id refuse both. ``networks``
    are the chain ids served.
    """

    capability: ClassVar[Capability]
    id: str
    title: str
    networks: frozenset[int] = frozenset()
    docs: str | None = None

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        """The contracts this provider's transactions may be sent to on a chain, with a label for people.

        The guard refuses a transaction to any other address (approvals go to the token they are about).
        """
        return {}

    def spenders(self, chain_id: int) -> Sequence[Address]:
        """The addresses this provider's transactions may pull ERC-20 tokens through on a chain."""
        return ()

    def serves(self, chain_id: int, to_chain_id: int) -> bool:
        """Whether the provider takes requests from one network to another, or the same."""
        return {chain_id, to_chain_id} <= self.networks

    async def healthy(self) -> bool | None:
        """Whether the provider's upstream answers; None: not known. Must return at once (from memory)."""
        return None


class SwapProvider(Provider):
    """Quotes and builds swaps.

    ``cross_chain``: it also serves requests between different networks. ``joins_providers``: transactions of
    several providers carry out its quotes, one after the other.
    """

    capability = Capability.SWAP
    cross_chain: bool = False
    joins_providers: bool = False

    def serves(self, chain_id: int, to_chain_id: int) -> bool:
        return super().serves(chain_id, to_chain_id) and (chain_id == to_chain_id or self.cross_chain)

    @abstractmethod
    async def quote(self, request: SwapRequest) -> Quote | None:
        """The best the provider can do for the request, or None when it has no route."""

    @abstractmethod
    async def build(self, sealed: SealedQuote) -> Build:
        """The transactions for a quote of this provider. The same quote at the same block gives the same
        bytes."""


class BridgeProvider(Provider):
    """Moves tokens between chains."""

    capability = Capability.BRIDGE

    @abstractmethod
    async def routes(self, from_chain_id: int | None, to_chain_id: int | None) -> Sequence[BridgeRoute]:
        """The routes served, filtered by either end where given."""

    @abstractmethod
    async def quote(self, request: SwapRequest) -> Quote | None:
        """The transfer's terms, or None when there is no route."""

    @abstractmethod
    async def build(self, sealed: SealedQuote) -> Build:
        """The transactions for a quote of this provider."""

    async def track(self, chain_id: int, transaction_hash: str) -> TransferState | None:
        """The state of a transfer by its origin transaction; None when it is not one of this bridge's."""
        return None


class PoolProvider(Provider):
    """Lists pools; adds and removes liquidity."""

    capability = Capability.POOL
    actions: tuple[str, ...] = ()

    @abstractmethod
    async def pools(self, chain_id: int | None) -> Sequence[Pool]:
        """The catalog, of one chain or of all. Read in the background: it may take some seconds."""

    @abstractmethod
    async def pool(self, pool_id: str) -> Pool | None:
        """One pool by id, whether or not the catalog lists it; None when this provider does not know it."""

    async def quote(self, request: PoolRequest) -> Quote | None:
        """Terms of an add, remove or collect; None when the pool is not this provider's."""
        return None

    async def build(self, sealed: SealedQuote) -> Build:
        """The transactions for a quote of this provider."""
        raise _builds_nothing(self)

    async def series(self, pool_id: str, metric: str, start: int, end: int, interval: str) -> Series | None:
        """``tvl``, ``volume``, ``fees`` or ``apr`` of a pool; None when the pool or metric is not this
        provider's."""
        return None

    async def positions(self, wallet: Address, pool_id: str | None) -> Sequence[PoolPosition]:
        """The wallet's positions, in one pool or in all."""
        return ()


class VaultProvider(Provider):
    """Lists vaults; deposits, withdraws, and where it can: deploys, manages and rebalances."""

    capability = Capability.VAULT
    actions: tuple[str, ...] = ()
    manage_actions: tuple[str, ...] = ()

    @abstractmethod
    async def vaults(self, chain_id: int | None) -> Sequence[Vault]:
        """The catalog, of one chain or of all. Read in the background: it may take some seconds."""

    @abstractmethod
    async def vault(self, vault_id: str) -> Vault | None:
        """One vault by id; None when this provider does not know it."""

    async def quote(self, request: VaultRequest | ManageRequest | DeployRequest) -> Quote | None:
        """Terms of a deposit, withdraw, mint, redeem, deploy, manage or rebalance; None when not this
        provider's.

        What is exchanged for shares, or they for it, has a minimum of at least one base unit.
        """
        return None

    async def build(self, sealed: SealedQuote) -> Build:
        """The transactions for a quote of this provider."""
        raise _builds_nothing(self)

    async def series(self, vault_id: str, metric: str, start: int, end: int, interval: str) -> Series | None:
        """``tvl`` or ``apy`` of a vault; None when the vault or metric is not this provider's."""
        return None

    async def positions(self, wallet: Address) -> Sequence[VaultPosition]:
        """The wallet's vault shares."""
        return ()


class TokenCatalog(Provider):
    """Knows tokens."""

    capability = Capability.TOKENS

    @abstractmethod
    async def tokens(self, chain_id: int | None) -> Sequence[TokenProfile]:
        """The listed tokens, of one chain or of all. Served from memory: called on every catalog change
        check."""

    @abstractmethod
    async def profile(self, token_id: str) -> TokenProfile | None:
        """The full profile by slug id or ``{chainId}:{address}``; an unlisted one is read from the chain."""

    @abstractmethod
    async def token(self, chain_id: int, address: Address) -> Token | None:
        """One token's facts, from the list or from the chain; None when the address is no ERC-20 token."""

    def revision(self) -> str:
        """Changes when what ``tokens`` returns changes; part of the catalog's ETag."""
        return "0"


class MetricsProvider(Provider):
    """Gives series for pools and vaults of other providers (an indexer)."""

    capability = Capability.METRICS

    @abstractmethod
    async def series(
        self, resource_id: str, metric: str, start: int, end: int, interval: str
    ) -> Series | None:
        """The series, or None when this provider does not have it."""


class PriceSource(Provider):
    """Knows what tokens are worth in US dollars."""

    capability = Capability.PRICES

    @abstractmethod
    async def prices(
        self, chain_id: int, addresses: Sequence[Address], block: Block
    ) -> Mapping[Address, Price]:
        """Prices at ``block`` of those of the tokens it can price; the others are left out, never guessed.

        The core remembers the answer for the block, and asks for the wrapped native coin where the native one
        is wanted. Answers show in quotes only when they are there in time, so a slow source delays nobody.
        """


class RpcUpstream(Provider):
    """Dispatches JSON-RPC calls to nodes, with failover, for clients (``/v2/rpc``) and for the core's own
    reads."""

    capability = Capability.RPC

    @abstractmethod
    async def forward(self, network: Network, method: str, params: Sequence[Any], *, timeout_s: float) -> Any:
        """The call's ``result``.

        Raises ``RpcError`` with the node's own error object when the node answered with one (never retried),
        and ``UpstreamError`` when no upstream gave a usable answer within ``timeout_s`` seconds.
        """


class Relay(Provider):
    """Broadcasts signed transactions."""

    capability = Capability.RELAY

    @abstractmethod
    async def submit(self, chain_id: int, signed_payload: bytes) -> str:
        """Broadcasts and returns the transaction hash. Raises ``UpstreamError`` when it was not accepted."""


def _builds_nothing(provider: Provider) -> ProviderUnavailable:
    """For a provider that quotes nothing, asked for what another version of it quoted."""
    return ProviderUnavailable(
        f"Provider {provider.id} builds no transactions: request a new quote.",
        reason=Reason.CAPABILITY_DISABLED,
    )
