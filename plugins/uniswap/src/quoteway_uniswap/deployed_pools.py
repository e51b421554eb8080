"""Finds out which computed pools exist on the chain, and remembers it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cachetools import TTLCache
from quoteway import Chain

from quoteway_uniswap.candidates import PoolRef
from quoteway_uniswap.families import family_of

ASK_AGAIN_S = 600
_REMEMBERED = 200_000


class DeployedPools:
    """The existing pools of one chain. A missing pool is looked for again after ``ASK_AGAIN_S``."""

    def __init__(self, chain: Chain, clock: Callable[[], float]) -> None:
        self._chain = chain
        self._deployed: set[str] = set()
        self._absent: TTLCache[str, None] = TTLCache(_REMEMBERED, ASK_AGAIN_S, timer=clock)

    async def among(self, refs: Iterable[PoolRef]) -> list[PoolRef]:
        """Returns those of ``refs`` that exist. Takes one round trip when any is unknown."""
        wanted = {ref.id: ref for ref in refs}
        unknown = [
            ref for ref in wanted.values() if ref.id not in self._deployed and ref.id not in self._absent
        ]
        if unknown:
            answers = await self._chain.call_many([family_of(ref.kind).exists(ref) for ref in unknown])
            for ref, answer in zip(unknown, answers, strict=True):
                if isinstance(answer, bytes) and int.from_bytes(answer[:32]):
                    self._deployed.add(ref.id)
                else:
                    self._absent[ref.id] = None
        return [ref for ref in wanted.values() if ref.id in self._deployed]
