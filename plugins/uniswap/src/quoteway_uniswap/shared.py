"""What the providers of one gateway share: the state of each chain, and the solver processes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self

from quoteway import Block, Context, DataPrice
from quoteway_router.logs import ALL_BLOCKS, Logs
from quoteway_router.splitting import Splitting

from quoteway_uniswap.created_pools import CreatedPools
from quoteway_uniswap.deployments import Deployment
from quoteway_uniswap.received_tokens import ReceivedTokens
from quoteway_uniswap.state import PoolStates
from quoteway_uniswap.taxes import TransferTaxes


@dataclass(frozen=True, slots=True)
class ChainState:
    """The pools of one chain at each block, those found by their creation logs, what position tokens wallets
    received, and the tokens' taxes.

    ``data_price`` gives what the chain charges for data at a block, see ``Context.data_price``.
    """

    states: PoolStates
    created: CreatedPools
    received: ReceivedTokens
    taxes: TransferTaxes
    data_price: Callable[[Block], Awaitable[DataPrice | None]]


class Shared:
    """Made at the first use by a hook, see ``shared_by``. The lifespan enters and leaves it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.splitting = Splitting(context.settings.get("solver_processes", 1))
        self._chains: dict[int, ChainState] = {}

    def chain(self, chain_id: int, deployments: Sequence[Deployment]) -> ChainState:
        """Returns the state of a chain; ``deployments`` are all of its rows but those of forks."""
        found = self._chains.get(chain_id)
        if found is None:
            from quoteway_uniswap.forks import forks_on

            # Their factories tell new pools too: what does not exist is not looked for again.
            every = (*deployments, *forks_on(self._context, chain_id))
            chain, now = self._context.chain(chain_id), self._context.now
            created = CreatedPools(chain, deployments, now)

            def count(event: str, amount: int) -> None:
                self._context.count(event, chain.network, amount)

            states = PoolStates(chain, every, created.add, count)
            # A wallet's transfers are few: all blocks are asked for at once.
            received = ReceivedTokens(chain, Logs(chain, ALL_BLOCKS), self._context.history)
            taxes = TransferTaxes(chain, deployments, now)
            found = self._chains[chain_id] = ChainState(
                states, created, received, taxes, partial(self._context.data_price, chain_id)
            )
        return found

    async def __aenter__(self) -> Self:
        await self.splitting.solvers.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the solver processes, the audits and the searches under way."""
        await asyncio.gather(
            self.splitting.solvers.close(),
            *(
                part.close()
                for chain in self._chains.values()
                for part in (chain.states, chain.created, chain.received)
            ),
        )


def shared_by(context: Context) -> Shared:
    """Returns the one object that the hooks of a gateway share."""
    if "shared" not in context.state:
        context.state["shared"] = Shared(context)
    shared: Shared = context.state["shared"]
    return shared
