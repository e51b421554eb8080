"""The context of a plugin: settings, networks, chains, tokens, prices, HTTP session and clock.

Plugins use the running gateway through the protocols in this file only.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from quoteway import models
from quoteway.background import Background, Work
from quoteway.caching import Cache
from quoteway.deadlines import seconds_left
from quoteway.deployment import Deployment
from quoteway.liquidity_reader import LiquidityReader
from quoteway.models import Address, At, Block, CallFailed, Header, Overrides, Price, Read, Step, Token
from quoteway.networks import Network, Networks
from quoteway.plugin_store import PluginStore, Rows
from quoteway.polled_json import PolledJson
from quoteway.rate_limiting import Limiter
from quoteway.shared_answers import SharedAnswers
from quoteway.shared_documents import SharedDocument

if TYPE_CHECKING:
    import aiohttp

    from quoteway.plugin_metrics import PluginMetrics
    from quoteway.wallet_history import WalletHistory


PRICE_WAIT_S = 0.25
"""Default time that ``Context.prices`` waits for prices that are not in memory."""
MOST_COUNTS = 256
"""How many pairs of event and network ``Context.count`` keeps for a plugin."""
T = TypeVar("T")
_EVENT = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)


class Chain(Protocol):
    """Reads one chain through the RPC upstreams: pinned to a block, batched, shared by concurrent callers.

    Do not change results: other callers may have the same object. Every method raises ``UpstreamError`` when
    no node gave a usable answer in time, and ``RpcError`` when a node answered with an error.
    """

    network: Network

    @property
    def known_head(self) -> Block | None:
        """Returns the newest block read so far. Sends no request and does not start polling the head."""

    async def head(self, *, fresh: bool = False) -> Block:
        """Returns the newest block; with ``fresh``, by a new read.

        Inside a quote or an action, the block was read after the request arrived. Elsewhere it comes from
        memory while the head is polled.
        """

    async def block(self, at: int | Literal["latest", "safe", "finalized"], *, shared: bool = True) -> Block:
        """Returns a block by number or tag. Raises ``UpstreamError`` when the chain has no such block."""

    async def header(self, block_hash: str) -> Header | None:
        """Returns a block's header by its hash, or None when no node has it.

        The headers of the newest heads, and of blocks read by number, come from memory.
        """

    async def request(
        self, method: str, params: Sequence[Any] = (), *, timeout_s: float | None = None, shared: bool = True
    ) -> Any:
        """Returns the ``result`` of a JSON-RPC read.

        Identical concurrent reads share one request, which may have begun before this call. With
        ``shared=False`` a new request is sent.
        """

    async def pinned(self, method: str, params: list[Any], block: At | None, *more: Any) -> Any:
        """Returns the ``result`` of a request at ``block`` (None: the head).

        The block is given by hash (EIP-1898), or by number to nodes that do not support hashes.
        """

    async def call(
        self,
        to: Address,
        data: bytes,
        *,
        block: Block | None = None,
        sender: Address | None = None,
        overrides: Overrides | None = None,
    ) -> bytes:
        """Returns a contract call's output at ``block`` (None: the head). A revert raises ``RpcError``."""

    async def deployless(
        self, creation_code: bytes, *, block: At | None = None, gas: int | None = None
    ) -> bytes:
        """Runs ``creation_code`` in an ``eth_call`` and returns its output.

        The output has at most 24,576 bytes and must not start with 0xef.
        """

    async def call_many(self, reads: Sequence[Read], *, block: At | None = None) -> list[bytes | CallFailed]:
        """Returns the outputs of many reads at one block, in their order, in one round trip.

        ``block`` None is the head; ``latest`` is the newest block of the node. A read that fails gives a
        ``CallFailed`` and does not affect the others.
        """

    async def code(self, address: Address, *, block: Block | None = None) -> bytes:
        """Returns the code at an address; empty for an account without code."""

    async def simulate(
        self, calls: Sequence[models.SimulatedCall], *, block: Block, overrides: Overrides | None = None
    ) -> list[models.SimulatedResult]:
        """Simulates transactions in order in the block after ``block`` (``eth_simulateV1``, not validated).

        It comes one block time after ``block``. Transfers of the native coin are reported as ``Transfer``
        logs of the address 0xEeee... (ERC-7528).
        Raises ``SimulationUnsupported`` when the node does not have the method.
        """


class CallReader(Protocol):
    """Knows which calls the core can read."""

    def readable(self, step: Step, sender: Address) -> bool | None:
        """Returns whether a transaction can be read; None when nothing describes the function."""


class TokenReader(Protocol):
    """Reads tokens: decimals from the chain, labels from the deployment's catalogs."""

    async def find(self, chain_id: int, address: Address) -> Token | None:
        """Returns a token, or None when the address is not an ERC-20 token."""

    async def listed(self, chain_id: int) -> Mapping[Address, Token]:
        """Returns the tokens of a network that the catalogs list, by address. Answers from memory.

        The decimals of a token that was not used yet are the catalog's: compute no amount with them.
        """


class PriceReader(Protocol):
    """Reads USD prices from the deployment's price sources."""

    async def get(
        self, chain_id: int, addresses: Sequence[Address], *, wait_s: float = ...
    ) -> Mapping[Address, Price]:
        """Returns the prices known within ``wait_s`` seconds. A token without a known price is left out."""


class DataPrice(Protocol):
    """What a rollup charges at one block for the data of transactions on the chain that it settles on."""

    def of_legs(self, legs: int) -> int:
        """Returns an estimate in wei of the fee of a swap through so many pools, from 1."""


class Services(Protocol):
    """The services that all contexts of one running gateway share."""

    @property
    def config(self) -> Deployment: ...

    @property
    def clock(self) -> Callable[[], float]: ...

    networks: Networks
    session: aiohttp.ClientSession | None
    tokens: TokenReader
    prices: PriceReader
    liquidity: LiquidityReader
    history: WalletHistory
    event_sources: Sequence[models.EventSource]
    counts: Counter[tuple[str, str, str]]
    rows: Rows

    def chain(self, chain_id: int) -> Chain: ...

    async def data_price(self, chain_id: int, block: Block) -> DataPrice | None: ...

    def shared(self, plugin: str) -> SharedAnswers | None: ...

    @property
    def trace(self) -> str | None: ...

    @property
    def calls(self) -> CallReader: ...

    def web3(self, chain: Chain) -> Any:
        """Returns an ``AsyncWeb3`` over a chain."""


@dataclass(frozen=True)
class Context:
    """What the hooks of one plugin receive: access to the running gateway.

    ``plugin`` is the plugin's name. ``settings`` is the section loaded by its schema; empty without a schema.
    ``log`` is the plugin's logger. ``state`` is a dictionary for what its hooks share, for example a provider
    that its lifespan updates. Use it in place of module globals: one process may run two gateways.
    """

    plugin: str
    settings: Mapping[str, Any]
    log: logging.Logger
    runtime: Services = field(repr=False)
    state: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def background(self) -> Background:
        """Returns the plugin's background work, which the gateway starts and ends with the plugin."""
        return Background(self.log)

    @cached_property
    def metrics(self) -> PluginMetrics:
        """Returns the plugin's own metrics, ``quoteway_plugin_<plugin>__<name>`` of ``/metrics``.

        A plugin in a process of its own measures for nobody: ``/metrics`` is the server's.
        """
        from quoteway.plugin_metrics import PluginMetrics

        return PluginMetrics(self.plugin)

    @property
    def time_left_s(self) -> float | None:
        """Returns the seconds until the running call of a provider is given up; None outside of one."""
        return seconds_left()

    @cached_property
    def store(self) -> PluginStore:
        """Returns small values that the plugin keeps beyond one request, see ``PluginStore``."""
        return PluginStore(self.plugin, self.runtime.rows)

    @property
    def shared(self) -> SharedAnswers | None:
        """Returns answers that all replicas may use, see ``SharedAnswers``; None without ``[shared] url``."""
        return self.runtime.shared(self.plugin)

    def every(self, seconds: float, work: Work) -> None:
        """Runs ``work()`` once the plugin is started, and again ``seconds`` after each end, until it stops.

        An exception is logged, once until a run succeeds again, and does not end it.
        """
        self.background.every(seconds, work)

    def cache(self, ttl_s: float, most: int = 1_024) -> Cache[Any, Any]:
        """Returns a new cache of ``most`` values that live for ``ttl_s`` seconds, see ``Cache``."""
        return Cache(self.background, ttl_s, most)

    def limiter(self, per_s: float, burst: int = 1, most_wait_s: float = 5.0) -> Limiter:
        """Returns a new token bucket for requests to an upstream, see ``Limiter``."""
        return Limiter(per_s, burst, most_wait_s)

    def poll_json(self, url: str, every_s: float, parse: Callable[[Any], T], **options: Any) -> PolledJson[T]:
        """Returns a JSON document that is read every ``every_s`` seconds from the plugin's start on.

        Replicas share it where ``[shared]`` has a server. ``options`` are those of ``PolledJson``. Raises
        ``ConfigError`` for a URL that cannot be used.
        """
        options = {"shared": self.shared, **options}
        return PolledJson(self.background, lambda: self.http, url, every_s, parse, **options)

    def shared_document(self, place: Iterable[str], every_s: float) -> SharedDocument:
        """Returns a document that one replica fetches for all, see ``SharedDocument``."""
        return SharedDocument(self.shared, place, every_s)

    @property
    def config(self) -> Deployment:
        """Returns the parts of the deployment's configuration that plugins may read."""
        return self.runtime.config

    @property
    def networks(self) -> Networks:
        """Returns all networks of the deployment. Complete when the provider hooks are called."""
        return self.runtime.networks

    @property
    def trace(self) -> str | None:
        """Returns the W3C trace context of the request being served, which ``http`` sends by itself."""
        return self.runtime.trace

    @property
    def http(self) -> aiohttp.ClientSession:
        """Returns the shared HTTP session. It exists while the server runs: use it in async methods only."""
        if self.runtime.session is None:
            raise RuntimeError(f"plugin {self.plugin!r} used context.http before the server started")
        return self.runtime.session

    def now(self) -> int:
        """Returns the time in Unix seconds. Tests can set it."""
        return int(self.runtime.clock())

    def chain(self, network: Network | int) -> Chain:
        """Returns the reader of one chain.

        Raises ``ProviderUnavailable`` when no RPC upstream serves the chain.
        """
        return self.runtime.chain(network if isinstance(network, int) else network.chain_id)

    async def data_price(self, chain_id: int, block: Block) -> DataPrice | None:
        """Returns what a rollup charges for data at ``block``, read once for the whole gateway.

        None: the network charges nothing (``Network.l1_fee``), or its price cannot be read now. Raises
        ``ProviderUnavailable`` when no RPC upstream serves the chain.
        """
        return await self.runtime.data_price(chain_id, block)

    def count(self, event: str, network: Network, amount: int = 1) -> None:
        """Counts what the plugin did, for operators: the metric ``quoteway_plugin_events``.

        ``event`` is a fixed word of lowercase letters, digits and underscores, of at most 40 characters. Of
        each plugin at most ``MOST_COUNTS`` events and networks are counted. A plugin in a process of its own
        counts for nobody. Raises ``ValueError`` for another word, or an amount that is no integer from 0.
        """
        key, counts = (self.plugin, event, network.slug), self.runtime.counts
        is_known = key in counts
        if type(amount) is not int or amount < 0 or not (is_known or _EVENT.fullmatch(event)):
            raise ValueError(f"plugin {self.plugin!r} cannot count {amount!r} of {event!r}")
        if is_known or sum(plugin == self.plugin for plugin, _, _ in counts) < MOST_COUNTS:
            counts[key] += amount

    def readable(self, step: Step, sender: Address) -> bool | None:
        """Returns whether the core can read what a transaction means.

        False: the calldata is no canonical call of its function, or does what no quote may do. None: nothing
        describes the function; such calldata is refused, unless the operator lets the simulation decide on a
        provider's swaps (``[providers.<id>] opaque``).
        """
        return self.runtime.calls.readable(step, sender)

    async def token(self, chain_id: int, address: str) -> Token | None:
        """Returns a token, or None when the address is not an ERC-20 token.

        Its decimals are the contract's. Symbol and name are those of the catalogs, else the contract's.
        """
        return await self.runtime.tokens.find(chain_id, address)

    async def listed_tokens(self, chain_id: int) -> Mapping[str, Token]:
        """Returns the tokens of a network that the catalogs list, by address. Answers from memory.

        The decimals of a token that was not used yet are the catalog's: compute no amount with them.
        """
        return await self.runtime.tokens.listed(chain_id)

    async def prices(
        self, chain_id: int, addresses: Sequence[str], *, wait_s: float | None = None
    ) -> Mapping[str, Price]:
        """Returns the USD prices of tokens, ``NATIVE`` included, that are known within ``wait_s`` seconds.

        A token without a known price is left out; do not read it as zero. Request all tokens in one call,
        which waits once. Wait longer than the default only in background work.
        """
        wait_s = PRICE_WAIT_S if wait_s is None else wait_s
        return await self.runtime.prices.get(chain_id, addresses, wait_s=wait_s)

    @property
    def liquidity(self) -> LiquidityReader:
        """Returns the reader of what plugins contribute to routing."""
        return self.runtime.liquidity

    @property
    def history(self) -> WalletHistory:
        """Returns the past of wallets, from the deployment's index where it has one."""
        return self.runtime.history

    @property
    def event_sources(self) -> Sequence[models.EventSource]:
        """Returns the event sources of all plugins on the networks that are served, for an indexer.

        Complete when the provider hooks are called.
        """
        return self.runtime.event_sources

    def web3(self, network: Network | int) -> Any:
        """Returns an ``AsyncWeb3`` that sends through the same RPC upstreams (extra ``quoteway[web3]``)."""
        return self.runtime.web3(self.chain(network))
