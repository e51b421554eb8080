"""What a plugin gets: its settings, the networks, the chains, tokens, prices, an HTTP session, a clock.

Plugins see the running gateway through the protocols of this file only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from quoteway.models import (
    Address,
    At,
    Block,
    Call,
    CallFailed,
    NativeBalance,
    Overrides,
    Price,
    SimulatedCall,
    SimulatedResult,
    Token,
)
from quoteway.networks import Network, Networks

if TYPE_CHECKING:
    import aiohttp


PRICE_WAIT_S = 0.25
"""How long ``Context.prices`` waits for prices that are not known yet."""


class Chain(Protocol):
    """Reads of one chain through the deployment's RPC upstreams: pinned to a block, batched, coalesced.

    Results may be shared between callers: do not change them. Every method raises ``UpstreamError`` when no
    node gave a usable answer in time and ``RpcError`` when a node answered with an error.
    """

    network: Network

    @property
    def known_head(self) -> Block | None:
        """The newest block read so far, without a request and without starting to follow the chain."""

    async def head(self, *, fresh: bool = False) -> Block:
        """The newest block, known without a request while the chain is in use."""

    async def block(self, at: int | Literal["latest", "safe", "finalized"], *, shared: bool = True) -> Block:
        """A block by number or tag. Raises ``UpstreamError`` when the chain has no such block."""

    async def request(
        self,
        method: str,
        params: Sequence[Any] = (),
        *,
        timeout_s: float | None = None,
        shared: bool = True,
    ) -> Any:
        """The ``result`` of a JSON-RPC read.

        Identical concurrent reads share one request, which may have begun before this call; without
        ``shared`` the node is asked anew.
        """

    async def pinned(self, method: str, params: list[Any], block: At | None, *more: Any) -> Any:
        """A request at a block (None: the head), given by hash (EIP-1898) or to older nodes by number."""

    async def call(
        self,
        to: Address,
        data: bytes,
        *,
        block: Block | None = None,
        sender: Address | None = None,
        value: int = 0,
        gas: int | None = None,
        overrides: Overrides | None = None,
    ) -> bytes:
        """What a contract returns at ``block`` (None: the head). A revert is an ``RpcError``."""

    async def deployless(
        self,
        creation_code: bytes,
        *,
        block: At | None = None,
        gas: int | None = None,
        overrides: Overrides | None = None,
    ) -> bytes:
        """What ``creation_code`` returns: at most 24,576 bytes that do not start with 0xef."""

    async def call_many(
        self, reads: Sequence[Call | NativeBalance], *, block: At | None = None
    ) -> list[bytes | CallFailed]:
        """The outputs of many reads at one block (None: the head; ``latest``: the node's), in their order.

        One round trip. A read that fails gives a ``CallFailed`` and costs the others nothing.
        """

    async def code(self, address: Address, *, block: Block | None = None) -> bytes:
        """The code at an address; empty for an account without."""

    async def simulate(
        self, calls: Sequence[SimulatedCall], *, block: Block, overrides: Overrides | None = None
    ) -> list[SimulatedResult]:
        """Runs transactions in order on the state after ``block`` (``eth_simulateV1``, not validated).

        Transfers of the native coin come as ``Transfer`` logs of the address 0xEeee... (ERC-7528). Raises
        ``SimulationUnsupported`` when the node does not offer the method.
        """


class QuoteSettings(Protocol):
    """What plugins see of ``[quotes]``."""

    @property
    def action_deadline_s(self) -> int:
        """How long the transactions of an action may be executed, in seconds."""


class ServerSettings(Protocol):
    """What plugins see of ``[server]``."""

    @property
    def workers(self) -> int:
        """The number of worker processes."""


class Deployment(Protocol):
    """What plugins see of the deployment's configuration."""

    @property
    def quotes(self) -> QuoteSettings: ...

    @property
    def server(self) -> ServerSettings: ...

    @property
    def embedded(self) -> bool:
        """Whether nothing is configured, so that the devnet runs."""

    @property
    def path(self) -> Path | None:
        """The configuration file."""

    @property
    def worker(self) -> int:
        """This process's index among the workers."""


class TokenReader(Protocol):
    """Token facts of the deployment's catalogs and of the chain."""

    async def find(self, chain_id: int, address: Address) -> Token | None:
        """A token's facts; None when the address is no ERC-20 token."""

    async def listed(self, chain_id: int) -> Mapping[Address, Token]:
        """Every token of a network that the catalogs list, by address; from memory."""


class PriceReader(Protocol):
    """USD prices of the deployment's price sources."""

    async def get(
        self, chain_id: int, addresses: Sequence[Address], *, wait_s: float = ...
    ) -> Mapping[Address, Price]:
        """Prices that are known within ``wait_s`` seconds; an absent token has none."""


class Services(Protocol):
    """What all contexts of one running gateway share."""

    @property
    def config(self) -> Deployment: ...

    @property
    def clock(self) -> Callable[[], float]: ...

    @property
    def networks(self) -> Networks: ...

    @property
    def session(self) -> aiohttp.ClientSession | None: ...

    def chain(self, chain_id: int) -> Chain: ...

    @property
    def tokens(self) -> TokenReader: ...

    @property
    def prices(self) -> PriceReader: ...

    def web3(self, chain: Chain) -> Any:
        """An ``AsyncWeb3`` over a chain."""


@dataclass(frozen=True)
class Context:
    """One plugin's view of the running gateway.

    ``plugin`` is the plugin's name, ``settings`` what its settings schema loaded (an empty mapping without
    one), ``log`` a standard library logger of its own. ``state`` is the plugin's own store of this gateway,
    empty at first: what its hooks share (a provider that its lifespan feeds) goes there and not into a
    module's globals, so that two gateways in one process stay apart.
    """

    plugin: str
    settings: Mapping[str, Any]
    log: logging.Logger
    runtime: Services = field(repr=False)
    state: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def config(self) -> Deployment:
        """The deployment's configuration (secrets stay references)."""
        return self.runtime.config

    @property
    def networks(self) -> Networks:
        """All networks of the deployment; complete when the provider hooks are called."""
        return self.runtime.networks

    @property
    def http(self) -> aiohttp.ClientSession:
        """The one shared HTTP session. Only while the server runs: use it in async methods, not in hooks."""
        if self.runtime.session is None:
            raise RuntimeError(f"plugin {self.plugin!r} used context.http before the server started")
        return self.runtime.session

    def now(self) -> int:
        """The time in Unix seconds; tests can move it."""
        return int(self.runtime.clock())

    def chain(self, network: Network | int) -> Chain:
        """Reads of one chain: pinned, batched, coalesced, with failover. Raises ``ProviderUnavailable`` when
        no RPC upstream serves it."""
        return self.runtime.chain(network if isinstance(network, int) else network.chain_id)

    async def token(self, chain_id: int, address: str) -> Token | None:
        """A token's facts (symbol, decimals) from the catalogs or the chain; None when it is no token."""
        return await self.runtime.tokens.find(chain_id, address)

    async def listed_tokens(self, chain_id: int) -> Mapping[str, Token]:
        """Every token of a network that the deployment's catalogs list, by address; from memory."""
        return await self.runtime.tokens.listed(chain_id)

    async def prices(
        self, chain_id: int, addresses: Sequence[str], *, wait_s: float | None = None
    ) -> Mapping[str, Price]:
        """The USD prices of these tokens (``NATIVE`` too) that are known within ``wait_s`` seconds.

        An absent token has no known price; that is not zero. Ask for all tokens at once: there is one wait
        for all of them. Only work in the background may wait longer than the default.
        """
        wait_s = PRICE_WAIT_S if wait_s is None else wait_s
        return await self.runtime.prices.get(chain_id, addresses, wait_s=wait_s)

    def web3(self, network: Network | int) -> Any:
        """An ``AsyncWeb3`` on the same dispatch path, imported on first use (extra ``quoteway[web3]``)."""
        return self.runtime.web3(self.chain(network))
