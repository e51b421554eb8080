"""Abstract base classes of providers, one per capability.

Methods return a value, return None when the provider has no answer, or raise ``UpstreamError`` or
``InvalidRequest``. Any other exception is a bug: it is logged with its traceback and counted, and its text is
never sent to a client. Within a major version of the hook API, classes only gain methods with a default body.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, ClassVar

from quoteway import models
from quoteway.errors import disabled
from quoteway.networks import Network


class Provider(ABC):
    """Base of all providers.

    ``id`` is unique in a deployment: lowercase letters, digits and dashes. When two plugins claim one id, the
    configuration says whose it is, or both are refused. ``networks`` are the chain ids served.

    The data members are read once, when the provider is registered, but ``networks``, ``contracts``,
    ``expected_contracts`` and ``spenders`` whenever they are needed: answer from memory.
    """

    capability: ClassVar[models.Capability]
    id: str
    title: str
    networks: frozenset[int] = frozenset()
    docs: str | None = None

    def contracts(self, chain_id: int) -> Mapping[models.Address, str]:
        """Returns the contracts that transactions of this provider may call on a chain, each with a label.

        The guard refuses a transaction to any other address. Approvals are exempt: they call the token.
        """
        return {}

    def expected_contracts(self, chain_id: int) -> Mapping[models.Address, str]:
        """Returns the contracts that a chain must have for the provider to work, each with a label.

        By default those of ``contracts``. Add what the provider only reads, such as factories. Those without
        code are ``missingContracts`` of ``/v2/providers``, and why requests fail (``contract_missing``).
        """
        return self.contracts(chain_id)

    def spenders(self, chain_id: int) -> Sequence[models.Address]:
        """Returns the addresses on a chain that may be given an ERC-20 allowance.

        The guard refuses an allowance for another address, and for one that the transactions do not call.
        """
        return ()

    def serves(self, chain_id: int, to_chain_id: int) -> bool:
        """Returns whether the provider serves requests between two networks, which may be the same one."""
        return {chain_id, to_chain_id} <= self.networks

    async def healthy(self) -> bool | None:
        """Returns whether the upstream answers, or None when unknown. Must return at once, from memory."""
        return None


class TransactionProvider(Provider):
    """Base of the providers whose quotes become transactions.

    ``has_quota`` means that the upstream limits or charges the requests that ``build`` makes. Such a provider
    is asked to build a quote only when it promises most. ``plan_version`` is that of the plans in its quotes:
    increase it when ``build`` cannot use older plans: their quotes are then refused as expired.
    """

    has_quota: bool = False
    plan_version: ClassVar[int] = 1

    async def build(self, sealed: models.SealedQuote) -> models.Build:
        """Returns the transactions of a quote of this ``plan_version``: at the same block, the same bytes."""
        raise disabled(f"Provider {self.id} builds no transactions: request a new quote.")


class SwapProvider(TransactionProvider):
    """Quotes and builds swaps.

    ``cross_chain`` means that it also serves requests between different networks. ``joins_providers`` means
    that its quotes are executed by transactions of several providers, in sequence.

    ``honours`` are the members of ``RoutingLimits`` that its quotes keep (``models.LIMITS``). It is not asked
    for a quote that another limit is given for. The core checks the route of every quote, so a quote that
    keeps limits on the route must show it. ``exact_out`` means that it also quotes an exact output
    (``SwapRequest.amount_out``): the input then has a maximum, and the output's minimum is the amount asked
    for. ``protocols`` are the protocols that its routes may show; callers may also name the provider's id.

    ``enforces_fees`` means that its transactions pay ``SwapRequest.fee`` themselves: its contracts send the
    share to the fee's recipient, and the minimum holds for what is left; of an exact output they send the
    quoted amount of the input. Only then is it asked for such a quote.
    """

    capability = models.Capability.SWAP
    cross_chain: bool = False
    joins_providers: bool = False
    honours: tuple[str, ...] = ()
    exact_out: bool = False
    protocols: tuple[str, ...] = ()
    enforces_fees: bool = False

    def serves(self, chain_id: int, to_chain_id: int) -> bool:
        return super().serves(chain_id, to_chain_id) and (chain_id == to_chain_id or self.cross_chain)

    @abstractmethod
    async def quote(self, request: models.SwapRequest) -> models.Quote | None:
        """Returns the provider's best quote for the request, or None when it has no route."""

    @abstractmethod
    async def build(self, sealed: models.SealedQuote) -> models.Build:
        """Returns the transactions of a quote: of the same quote at the same block, the same bytes."""

    async def verify(self, swap: models.CertifiedSwap) -> Sequence[models.CertificateCheck]:
        """Checks a certificate of this provider against the chain, without what made it.

        Reads the pools at ``swap.block`` through ``Context.chain``. The command ``quoteway verify-quote``
        calls it in a process of its own, without the plugins' lifespans. Raises ``UpstreamError`` when the
        chain cannot be read.
        """
        raise disabled(f"Provider {self.id} cannot verify certificates.")


class BridgeProvider(TransactionProvider):
    """Moves tokens between chains."""

    capability = models.Capability.BRIDGE

    @abstractmethod
    async def routes(
        self, from_chain_id: int | None, to_chain_id: int | None
    ) -> Sequence[models.BridgeRoute]:
        """Returns the routes served, filtered by the chain ids that are given."""

    @abstractmethod
    async def quote(self, request: models.SwapRequest) -> models.Quote | None:
        """Returns a quote of the transfer, or None when there is no route."""

    @abstractmethod
    async def build(self, sealed: models.SealedQuote) -> models.Build:
        """Returns the transactions of a quote of this provider."""

    async def track(self, chain_id: int, transaction_hash: str) -> models.TransferState | None:
        """Returns a transfer's state by its origin transaction, or None for a transfer of another bridge."""
        return None


class PoolProvider(TransactionProvider):
    """Lists pools; adds and removes liquidity."""

    capability = models.Capability.POOL
    actions: tuple[str, ...] = ()

    @abstractmethod
    async def pools(self, chain_id: int | None) -> Sequence[models.Pool]:
        """Returns the listed pools of one chain or all. Called in the background: may take some seconds."""

    @abstractmethod
    async def pool(self, pool_id: str) -> models.Pool | None:
        """Returns a pool by id, listed or not, or None when this provider does not know it."""

    async def quote(self, request: models.PoolRequest) -> models.Quote | None:
        """Returns a quote of an add, remove or collect, or None for a pool of another provider."""
        return None

    async def series(
        self, pool_id: str, metric: str, start: int, end: int, interval: str
    ) -> models.Series | None:
        """Returns ``tvl``, ``volume``, ``fees`` or ``apr`` of a pool, or None when the provider lacks it."""
        return None

    async def positions(self, wallet: models.Address, pool_id: str | None) -> Sequence[models.PoolPosition]:
        """Returns the wallet's positions in one pool or in all."""
        return ()

    async def liquidity(self, pool_id: str) -> models.PoolLiquidity | None:
        """Returns how a pool's liquidity lies around its price; None for a pool without ticks, and where the
        provider cannot tell."""
        return None


class VaultProvider(TransactionProvider):
    """Lists vaults; deposits and withdraws. May also deploy, manage and rebalance vaults.

    ``deploy_strategies`` names the strategies that a new vault may have (``DeployRequest.strategy``), by
    chain id. The data members are shown in ``/v2/providers``.
    """

    capability = models.Capability.VAULT
    actions: tuple[str, ...] = ()
    manage_actions: tuple[str, ...] = ()
    deploy_strategies: Mapping[int, tuple[str, ...]] = {}

    @abstractmethod
    async def vaults(self, chain_id: int | None) -> Sequence[models.Vault]:
        """Returns the listed vaults of one chain or all. Called in the background: may take some seconds."""

    @abstractmethod
    async def vault(self, vault_id: str) -> models.Vault | None:
        """Returns a vault by id, or None when this provider does not know it."""

    async def quote(
        self, request: models.VaultRequest | models.ManageRequest | models.DeployRequest
    ) -> models.Quote | None:
        """Returns a quote of a deposit, withdraw, mint, redeem, deploy, manage or rebalance.

        Returns None for a vault of another provider. The output of an exchange between assets and
        shares must have a minimum of at least one base unit.
        """
        return None

    async def series(
        self, vault_id: str, metric: str, start: int, end: int, interval: str
    ) -> models.Series | None:
        """Returns ``tvl`` or ``apy`` of a vault, or None when the provider lacks it."""
        return None

    async def positions(self, wallet: models.Address) -> Sequence[models.VaultPosition]:
        """Returns the wallet's vault shares."""
        return ()


class TokenCatalog(Provider):
    """Lists tokens. The core takes labels from ``tokens`` and reads decimals from the chain itself.

    With ``lists`` false it only adds members to the profiles of others, by contract; decimals do not count.
    """

    capability = models.Capability.TOKENS
    lists: bool = True

    @abstractmethod
    async def tokens(self, chain_id: int | None) -> Sequence[models.TokenProfile]:
        """Returns the listed tokens of one chain or of all. Called often: must answer from memory."""

    @abstractmethod
    async def profile(self, token_id: str) -> models.TokenProfile | None:
        """Returns the full profile by slug or ``{chainId}:{address}``, read from the chain if not listed."""

    @abstractmethod
    async def token(self, chain_id: int, address: models.Address) -> models.Token | None:
        """Returns a token's facts, or None when it is no ERC-20 token. The core does not ask it."""

    def revision(self) -> str:
        """Returns a text that changes when the result of ``tokens`` changes. Part of the catalog's ETag."""
        return "0"


class PriceSource(Provider):
    """Returns token prices in US dollars."""

    capability = models.Capability.PRICES

    @abstractmethod
    async def prices(
        self, chain_id: int, addresses: Sequence[models.Address], block: models.Block
    ) -> Mapping[models.Address, models.Price]:
        """Returns prices at ``block``. Leaves out tokens that it cannot price; never guesses.

        The core caches the answer for the block, and asks for the wrapped coin in place of the native one.
        """

    async def payouts(
        self, chain_id: int, amounts: Mapping[models.Address, int], block: models.Block
    ) -> Mapping[models.Address, float]:
        """Returns the US dollars that a sale of each amount alone pays at least. Leaves out unknown ones."""
        return {}


class LiquiditySource(Provider):
    """Finds pools and reads their state. ``families`` are the kinds of its pools."""

    capability = models.Capability.LIQUIDITY
    families: tuple[str, ...] = ()

    @abstractmethod
    async def pools(
        self, chain_id: int, token_in: models.Address, token_out: models.Address, block: models.Block
    ) -> Sequence[models.LiquidityPool]:
        """Returns the pools at ``block`` that a route between two tokens may use.

        These are the pools of the pair, and those of each token with the tokens that routes may pass through.
        The native coin counts as its wrapped form. Every state must be that of ``block``, read in as few
        requests as possible; the core asks once for a block and two tokens, in any order. A pool that has not
        changed is the same object. Raises ``UpstreamError`` where it cannot read one: it leaves none out.
        """

    async def taxed(
        self, chain_id: int, tokens: Sequence[models.Token], block: models.Block
    ) -> Sequence[models.Address]:
        """Returns those of the tokens whose transfers are known to lose a part, in memory where possible.

        No route of an executor begins or ends with one: its amounts do not count the loss.
        """
        return ()


class Executor(Provider):
    """Encodes swaps through pools of liquidity sources, as one transaction to a contract of its own.

    ``leg_gas`` has the gas units of a leg by family: the families that one transaction may combine. Pools are
    those of the sources of its own plugin, and of the ``sources`` of others that it names by their ids: pools
    that lie cost its quotes. ``transaction_gas`` is the rest, with the transfer of the input, and
    ``coin_gas`` what each end of a route costs more that is the native coin. A flow has at most ``most_legs``
    legs; it is one path unless ``splits``. Without ``joins``, its paths share no token but its ends. With
    ``takes_coin`` it wraps and unwraps the native coin at the ends. Set ``enforces_deadline`` to false for a
    contract whose transactions have no deadline, and ``pays_others`` for one that pays its caller alone.

    ``contracts`` are what its transactions call, ``spenders`` the one contract that takes the input by an
    ERC-20 allowance, or Permit2 and the one that takes it from there. The guard reads calldata by what the
    core knows of the contract or the operator has pinned (``quoteway_call_descriptions``), not by its word.
    """

    capability = models.Capability.EXECUTION
    leg_gas: Mapping[str, int] = {}
    sources: tuple[str, ...] = ()
    transaction_gas: int = 70_000
    coin_gas: int = 0
    most_legs: int = 3
    splits: bool = False
    joins: bool = True
    takes_coin: bool = False
    enforces_deadline: bool = True
    pays_others: bool = True

    @abstractmethod
    async def encode(self, order: models.FlowOrder) -> models.Step:
        """Returns the transaction of a flow. The same order gives the same bytes.

        Raises ``InvalidRequest`` for an order that it cannot execute.
        """

    async def refusal(self, chain_id: int, block: models.Block) -> str | None:
        """Returns why the executor must not be used on a chain, for the operator; None when it may.

        For example that its contract computes another fee. Answer from memory: it is asked before quotes.
        """
        return None


class RpcUpstream(Provider):
    """Sends JSON-RPC calls to nodes, with failover. Serves clients (``/v2/rpc``) and reads of the core.

    ``keeps_quorum`` means that ``forward`` gives no answer that fewer than ``Network.quorum`` nodes gave.
    """

    capability = models.Capability.RPC
    keeps_quorum: bool = False

    @abstractmethod
    async def forward(self, network: Network, method: str, params: Sequence[Any], *, timeout_s: float) -> Any:
        """Returns the ``result`` of a read of the core.

        Raises ``RpcError`` when the node answered with an error object; such a call is never retried. Raises
        ``UpstreamError`` when no upstream gave a usable answer within ``timeout_s`` seconds.
        """

    async def forward_public(
        self, network: Network, method: str, params: Sequence[Any], *, timeout_s: float
    ) -> Any:
        """Returns the ``result`` of a client's call of ``/v2/rpc``, as ``forward`` does by default.

        A long result may be a ``RawJson``, which the client gets as it is. Equal calls at once are not joined
        before they come here, and nothing but the upstream ends a call at ``timeout_s``. Reads of the core go
        first where it has to choose: quotes and actions wait for them.
        """
        return await self.forward(network, method, params, timeout_s=timeout_s)

    async def upstreams(self) -> Sequence[models.UpstreamHealth]:
        """Returns the health of each upstream, for ``/v2/providers`` and the metrics. Answer from memory."""
        return ()

    def heads(self, network: Network) -> AsyncIterator[models.Header] | None:
        """Returns the network's new heads from now on, while nodes push them; None, the default, otherwise.

        It sends nothing and does not wait. The iterator ends when no node pushes heads any more, and is asked
        for again then. A head is given once, newest last, if no reliable node is known to contradict it.
        """
        return None

    def kept(self, network: Network, method: str, params: bytes) -> bytes | None:
        """Returns the JSON of a result that is held and may be given to a client now. Start nothing.

        ``params`` is the JSON text of what ``forward_public`` would get.
        """
        return None


class Relay(Provider):
    """Broadcasts signed transactions."""

    capability = models.Capability.RELAY

    @abstractmethod
    async def submit(self, chain_id: int, signed_payload: bytes) -> str:
        """Broadcasts a transaction and returns its hash. Raises ``UpstreamError`` when it is not accepted."""
