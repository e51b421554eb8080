"""The state that the parts of one running gateway share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quoteway.config.model import Config
from quoteway.context import Chain, PriceReader, TokenReader
from quoteway.errors import disabled
from quoteway.evm.calls.registry import CallRegistry
from quoteway.evm.chain import RpcChain
from quoteway.networks import Networks

if TYPE_CHECKING:
    import aiohttp


@dataclass(eq=False)
class Runtime:
    """The shared state of one gateway, which fills it at start-up. Plugins see it as ``Services``."""

    config: Config
    clock: Callable[[], float] = time.time
    networks: Networks = field(default_factory=Networks)
    session: aiohttp.ClientSession | None = None
    chains: dict[int, RpcChain] = field(default_factory=dict)
    calls: CallRegistry = field(default_factory=CallRegistry)
    tokens: TokenReader = field(init=False)
    prices: PriceReader = field(init=False)

    def chain(self, chain_id: int) -> RpcChain:
        """Returns one of ``chains``. Raises ``ProviderUnavailable`` when no RPC upstream serves it."""
        chain = self.chains.get(chain_id)
        if chain is None:
            raise disabled(f"No RPC upstream is configured for chain {chain_id}.")
        return chain

    def now(self) -> int:
        """Returns the time in Unix seconds."""
        return int(self.clock())

    def web3(self, chain: Chain) -> Any:
        """Returns an ``AsyncWeb3`` over a chain. Imports web3 at the first call."""
        from quoteway.evm.web3_bridge import async_web3

        return async_web3(chain)
