"""What a plugin is handed: the HTTP session, its settings, the networks, the chains, a clock and a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quoteway.errors import ProviderUnavailable, Reason
from quoteway.networks import Network, Networks

if TYPE_CHECKING:
    import logging

    import aiohttp

    from quoteway.config import Config
    from quoteway.evm.chain import Chain
    from quoteway.models import Price, Token


class Runtime:
    """What all contexts of one running gateway share. Owned by ``quoteway.gateway.Gateway``; filled as it
    starts."""

    def __init__(self, config: Config, *, clock: Callable[[], float] = time.time) -> None:
        self.config = config
        self.clock = clock
        self.networks = Networks()
        self.session: aiohttp.ClientSession | None = None
        self.chains: dict[int, Chain] = {}
        self.find_token: Callable[[int, str], Any] | None = None
        self.list_tokens: Callable[[int], Any] | None = None
        self.find_prices: Callable[..., Any] | None = None


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
    runtime: Runtime = field(repr=False)
    state: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def config(self) -> Config:
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
        chain_id = network if isinstance(network, int) else network.chain_id
        chain = self.runtime.chains.get(chain_id)
        if chain is None:
            raise ProviderUnavailable(
                f"No RPC upstream is configured for chain {chain_id}.", reason=Reason.CAPABILITY_DISABLED
            )
        return chain

    async def token(self, chain_id: int, address: str) -> Token | None:
        """A token's facts (symbol, decimals) from the catalogs or the chain; None when it is no token."""
        if self.runtime.find_token is None:
            return None
        found: Token | None = await self.runtime.find_token(chain_id, address)
        return found

    async def listed_tokens(self, chain_id: int) -> Mapping[str, Token]:
        """Every token of a network that the deployment's catalogs list, by address; from memory."""
        if self.runtime.list_tokens is None:
            return {}
        found: Mapping[str, Token] = await self.runtime.list_tokens(chain_id)
        return found

    async def prices(
        self, chain_id: int, addresses: Sequence[str], *, wait_s: float | None = None
    ) -> Mapping[str, Price]:
        """USD prices of those of the tokens (``NATIVE`` too) that a price source of the deployment knows.

        Answers within ``wait_s`` seconds, by default a fraction of one, with what is there by then; absent
        means not known, never zero. Ask for all tokens at once: the wait is one for all of them. Only work in
        the background may wait longer than the default.
        """
        if self.runtime.find_prices is None:
            return {}
        wait = {} if wait_s is None else {"wait_s": wait_s}
        found: Mapping[str, Price] = await self.runtime.find_prices(chain_id, addresses, **wait)
        return found

    def web3(self, network: Network | int) -> Any:
        """An ``AsyncWeb3`` on the same dispatch path, imported on first use (extra ``quoteway[web3]``)."""
        from quoteway.evm.web3_bridge import async_web3

        return async_web3(self.chain(network))
