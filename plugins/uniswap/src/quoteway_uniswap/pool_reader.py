"""Reads pools through the lens: forty in a call, concurrent equal reads shared."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from quoteway import Block, Chain, Reason, UpstreamError
from quoteway.evm.single_flight import SingleFlight

from quoteway_uniswap import lens


class PoolReader:
    """The lens on one chain."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._flights = SingleFlight()

    async def read(self, block: Block, questions: Sequence[lens.Question]) -> list[lens.State]:
        """Returns the state of each question's pool at ``block``, in one round trip.

        Raises UpstreamError or RpcError when the chain could not be read.
        """
        size = lens.POOLS_PER_CALL
        parts = [tuple(questions[start : start + size]) for start in range(0, len(questions), size)]
        answers = await asyncio.gather(*(self._call(block, part) for part in parts))
        return [state for answer in answers for state in answer]

    async def read_alone(self, block: Block, questions: Sequence[lens.Question]) -> list[lens.State]:
        """As ``read``, one pool per call: each answer reaches as far as its size and gas allow."""
        answers = await asyncio.gather(*(self._call(block, (question,)) for question in questions))
        return [state for (state,) in answers]

    async def _call(self, block: Block, questions: tuple[lens.Question, ...]) -> list[lens.State]:
        async def read() -> list[lens.State]:
            answer = await self._chain.deployless(lens.creation_code(questions), block=block)
            try:
                return lens.read_answer(answer, questions)
            except ValueError as error:
                raise UpstreamError(
                    f"A node of {self._chain.network.name} returned malformed pool state.",
                    reason=Reason.RPC_ERROR,
                ) from error

        states: list[lens.State] = await self._flights.run((block.hash, questions), read)
        return states
