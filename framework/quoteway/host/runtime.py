"""The state that the parts of one running gateway share."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quoteway.config.model import Config
from quoteway.context import Chain, DataPrice, PriceReader, TokenReader
from quoteway.errors import disabled
from quoteway.evm.calls.registry import CallRegistry
from quoteway.evm.chain import RpcChain
from quoteway.evm.l1_fee import L1Prices
from quoteway.host.plugin_rows import MemoryRows
from quoteway.host.shared_tier import SharedTier
from quoteway.liquidity_reader import LiquidityReader
from quoteway.models import Address, Block, EventSource, FlowOrder, PoolsFound, Step, Token
from quoteway.networks import Networks
from quoteway.plugin_store import Rows
from quoteway.providers import Executor
from quoteway.shared_answers import SharedAnswers
from quoteway.telemetry.tracing import outgoing_trace
from quoteway.wallet_history import WalletHistory

if TYPE_CHECKING:
    import aiohttp


class NoLiquidity:
    """The ``LiquidityReader`` where no plugin contributes anything, such as in a plugin's own process."""

    def executors(self) -> tuple[Executor, ...]:
        """Returns none."""
        return ()

    def usable(self, executor: Executor, chain_id: int) -> bool:
        """Returns False."""
        return False

    async def pools(
        self, executor: Executor, chain_id: int, token_in: Address, token_out: Address, block: Block
    ) -> PoolsFound:
        """Returns no pools."""
        return PoolsFound(())

    async def taxed(self, chain_id: int, tokens: Sequence[Token], block: Block) -> frozenset[Address]:
        """Returns none."""
        return frozenset()

    async def refusal(self, executor: Executor, chain_id: int, block: Block) -> str | None:
        """Returns None."""
        return None

    async def encode(self, executor: Executor, order: FlowOrder) -> Step:
        """Raises ``ProviderUnavailable``."""
        raise disabled("No executor is enabled.")


@dataclass(eq=False)
class Runtime:
    """The shared state of one gateway, which fills it at start-up. Plugins see it as ``Services``.

    ``counts`` are what plugins count, by plugin, event and network (a slug).
    """

    config: Config
    clock: Callable[[], float] = time.time
    networks: Networks = field(default_factory=Networks)
    session: aiohttp.ClientSession | None = None
    chains: dict[int, RpcChain] = field(default_factory=dict)
    calls: CallRegistry = field(default_factory=CallRegistry)
    tokens: TokenReader = field(init=False)
    prices: PriceReader = field(init=False)
    liquidity: LiquidityReader = field(default_factory=NoLiquidity)
    history: WalletHistory = field(default_factory=WalletHistory)
    event_sources: Sequence[EventSource] = ()
    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    l1_prices: L1Prices = field(default_factory=L1Prices)
    rows: Rows = field(default_factory=MemoryRows)
    tier: SharedTier = field(default_factory=lambda: SharedTier(None))

    def chain(self, chain_id: int) -> RpcChain:
        """Returns one of ``chains``. Raises ``ProviderUnavailable`` when no RPC upstream serves it."""
        chain = self.chains.get(chain_id)
        if chain is None:
            raise disabled(f"No RPC upstream is configured for chain {chain_id}.")
        return chain

    async def data_price(self, chain_id: int, block: Block) -> DataPrice | None:
        """Returns the prices of data at ``block``, see ``Context``."""
        return await self.l1_prices.at(self.chain(chain_id), block)

    def shared(self, plugin: str) -> SharedAnswers | None:
        """Returns the answers that a plugin shares with those of other replicas, see ``Context``."""
        return self.tier.answers(plugin)

    @property
    def trace(self) -> str | None:
        """Returns the W3C trace context for what the current request causes; None without one."""
        return outgoing_trace()

    def now(self) -> int:
        """Returns the time in Unix seconds."""
        return int(self.clock())

    def web3(self, chain: Chain) -> Any:
        """Returns an ``AsyncWeb3`` over a chain. Imports web3 at the first call."""
        from quoteway.evm.web3_bridge import async_web3

        return async_web3(chain)
