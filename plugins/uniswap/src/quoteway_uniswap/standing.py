"""Which of many computed pools stand on the chain: asked once, cheaply, and remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cachetools import TTLCache
from quoteway import Chain
from quoteway.evm.abi import function
from quoteway.evm.chain import Call

from quoteway_uniswap.candidates import PoolRef, v4_pool_slot

_RESERVES = function("getReserves() returns (uint112, uint112, uint32)")
_SLOT0 = function("slot0() returns (uint160)")
_EXTSLOAD = function("extsload(bytes32 slot) returns (bytes32)")

ASK_AGAIN_S = 600
_REMEMBERED = 200_000


class StandingPools:
    """The pools of one chain that exist. One that does stays; one that does not is asked for again later."""

    def __init__(self, chain: Chain, clock: Callable[[], float]) -> None:
        self._chain = chain
        self._standing: set[str] = set()
        self._absent: TTLCache[str, None] = TTLCache(_REMEMBERED, ASK_AGAIN_S, timer=clock)

    async def of(self, refs: Iterable[PoolRef]) -> list[PoolRef]:
        """Those of ``refs`` that stand; one round trip when any is not known."""
        wanted = {ref.id: ref for ref in refs}
        unknown = [
            ref for ref in wanted.values() if ref.id not in self._standing and ref.id not in self._absent
        ]
        if unknown:
            answers = await self._chain.call_many([_existence(ref) for ref in unknown])
            for ref, answer in zip(unknown, answers, strict=True):
                if isinstance(answer, bytes) and int.from_bytes(answer[:32]):
                    self._standing.add(ref.id)
                else:
                    self._absent[ref.id] = None
        return [ref for ref in wanted.values() if ref.id in self._standing]


def _existence(ref: PoolRef) -> Call:
    """A read whose first word is zero or absent where there is no pool, or a v2 pair without reserves."""
    if ref.kind == "v2":
        return Call(ref.target, _RESERVES.encode([]), gas=30_000, max_output=96)
    if ref.kind == "v3":
        return Call(ref.target, _SLOT0.encode([]), gas=30_000, max_output=224)
    slot = v4_pool_slot(ref.id).to_bytes(32)
    return Call(ref.target, _EXTSLOAD.encode([slot]), gas=30_000, max_output=32)
