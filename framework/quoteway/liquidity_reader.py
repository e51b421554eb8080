"""What plugins contribute to routing, as ``Context.liquidity`` gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from quoteway.models import Address, Block, FlowOrder, PoolsFound, Step, Token

if TYPE_CHECKING:
    from quoteway.providers import Executor


class LiquidityReader(Protocol):
    """Reads what plugins contribute to routing, each call within its own deadline.

    See ``LiquiditySource`` and ``Executor``.
    """

    def executors(self) -> Sequence[Executor]:
        """Returns the executors of all plugins that are not refused.

        Complete when the hooks of swap providers are called.
        """

    def usable(self, executor: Executor, chain_id: int) -> bool:
        """Returns whether an executor is enabled and serves a chain, and any source has pools for it."""

    async def pools(
        self, executor: Executor, chain_id: int, token_in: Address, token_out: Address, block: Block
    ) -> PoolsFound:
        """Returns the pools at ``block``, of an executor's sources, that it can execute.

        None are given when the executor refuses the chain. A source that fails costs its own pools.
        """

    async def taxed(self, chain_id: int, tokens: Sequence[Token], block: Block) -> frozenset[Address]:
        """Returns those of the tokens of which a source knows that transfers lose a part.

        A source that fails says nothing: the run of a transaction then shows the loss.
        """

    async def refusal(self, executor: Executor, chain_id: int, block: Block) -> str | None:
        """Returns why an executor must not be used on a chain, as it says; None when it may.

        Raises ``UpstreamError`` when it cannot say.
        """

    async def encode(self, executor: Executor, order: FlowOrder) -> Step:
        """Returns the transaction of a flow. Raises ``UpstreamError`` when the executor gives none."""
