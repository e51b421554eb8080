"""Finds out which computed pools exist on the chain, and remembers it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cachetools import TTLCache
from quoteway import Chain
from quoteway.evm.abi import function
from quoteway.evm.chain import Call

from quoteway_uniswap.candidates import EXTSLOAD, PoolRef, v4_pool_slot

_RESERVES = function("getReserves() returns (uint112, uint112, uint32)")
_SLOT0 = function("slot0() returns (uint160)")

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
            answers = await self._chain.call_many([_existence(ref) for ref in unknown])
            for ref, answer in zip(unknown, answers, strict=True):
                if isinstance(answer, bytes) and int.from_bytes(answer[:32]):
                    self._deployed.add(ref.id)
                else:
                    self._absent[ref.id] = None
        return [ref for ref in wanted.values() if ref.id in self._deployed]


def _existence(ref: PoolRef) -> Call:
    """Returns a call whose first word is 0 or absent when the pool does not exist or the pair is empty."""
    if ref.kind == "v2":
        return Call(ref.target, _RESERVES.encode([]), gas=30_000, max_output=96)
    if ref.kind == "v3":
        return Call(ref.target, _SLOT0.encode([]), gas=30_000, max_output=224)
    slot = v4_pool_slot(ref.id).to_bytes(32)
    return Call(ref.target, EXTSLOAD.encode([slot]), gas=30_000, max_output=32)
