"""The context of a plugin: settings, networks, chains, tokens, prices, HTTP session and clock.

Plugins use the running gateway through the classes in this file only.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quoteway.config.model import Config
from quoteway.errors import ProviderUnavailable, Reason
from quoteway.evm.chain import Chain
from quoteway.models import Address, Price, Token
from quoteway.networks import Network, Networks

if TYPE_CHECKING:
    import aiohttp


PRICE_WAIT_S = 0.25
"""Default time that ``Context.prices`` waits for prices that are not in memory."""


class TokenReader:
    """Reads token facts from the deployment's catalogs and the chain. This base class knows no token."""

    async def find(self, chain_id: int, address: Address) -> Token | None:
        """Returns a token's facts, or None when the address is not an ERC-20 token."""
        return None

    async def listed(self, chain_id: int) -> Mapping[Address, Token]:
        """Returns the tokens of a network that the catalogs list, by address. Answers from memory."""
        return {}


class PriceReader:
    """Reads USD prices from the deployment's price sources. This base class knows no price."""

    async def get(
        self, chain_id: int, addresses: Sequence[Address], *, wait_s: float = PRICE_WAIT_S
    ) -> Mapping[Address, Price]:
        """Returns the prices known within ``wait_s`` seconds. A token without a known price is left out."""
        return {}


@dataclass(eq=False)
class Runtime:
    """The state that all contexts of one running gateway share. The gateway fills it at start-up."""

    config: Config
    clock: Callable[[], float] = time.time
    networks: Networks = field(default_factory=Networks)
    session: aiohttp.ClientSession | None = None
    chains: dict[int, Chain] = field(default_factory=dict)
    tokens: TokenReader = field(default_factory=TokenReader)
    prices: PriceReader = field(default_factory=PriceReader)

    def chain(self, chain_id: int) -> Chain:
        """Returns one of ``chains``. Raises ``ProviderUnavailable`` when no RPC upstream serves it."""
        chain = self.chains.get(chain_id)
        if chain is None:
            raise ProviderUnavailable(
                f"No RPC upstream is configured for chain {chain_id}.", reason=Reason.CAPABILITY_DISABLED
            )
        return chain

    def now(self) -> int:
        """Returns the time in Unix seconds."""
        return int(self.clock())


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
    runtime: Runtime = field(repr=False)
    state: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def config(self) -> Config:
        """Returns the deployment's configuration. Its secrets are for the core only."""
        return self.runtime.config

    @property
    def networks(self) -> Networks:
        """Returns all networks of the deployment. Complete when the provider hooks are called."""
        return self.runtime.networks

    @property
    def http(self) -> aiohttp.ClientSession:
        """Returns the shared HTTP session. It exists while the server runs: use it in async methods only."""
        if self.runtime.session is None:
            raise RuntimeError(f"plugin {self.plugin!r} used context.http before the server started")
        return self.runtime.session

    def now(self) -> int:
        """Returns the time in Unix seconds. Tests can set it."""
        return self.runtime.now()

    def chain(self, network: Network | int) -> Chain:
        """Returns the reader of one chain.

        Raises ``ProviderUnavailable`` when no RPC upstream serves the chain.
        """
        return self.runtime.chain(network if isinstance(network, int) else network.chain_id)

    async def token(self, chain_id: int, address: str) -> Token | None:
        """Returns a token's facts from the catalogs or the chain, or None when it is not a token."""
        return await self.runtime.tokens.find(chain_id, address)

    async def listed_tokens(self, chain_id: int) -> Mapping[str, Token]:
        """Returns the tokens of a network that the catalogs list, by address. Answers from memory."""
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

    def web3(self, network: Network | int) -> Any:
        """Returns an ``AsyncWeb3`` that sends through the same RPC upstreams (extra ``quoteway[web3]``)."""
        from quoteway.evm.web3_bridge import async_web3

        return async_web3(self.chain(network))
