"""The newest block that enough upstreams hold: no laggard, forked or lying node decides it alone."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from quoteway import Network

from quoteway_rpc.asking import Ask
from quoteway_rpc.comparing import Differ, merged
from quoteway_rpc.opinions import Outcome
from quoteway_rpc.upstream import Upstream

_METHOD: Final = "eth_getBlockByNumber"
_PATIENCE_S: Final = 0.3
"""How long slower upstreams are waited for once enough have answered without one head."""
PAUSES_S: Final = (0.05, 0.1, 0.2, 0.4, 0.8)
"""The pauses before all are asked again while a new block spreads."""
_MAX_CANDIDATES: Final = 4
_MAX_BEHIND_S: Final = 10.0
_LEAST_BEHIND: Final = 3

AskOne: TypeAlias = Callable[[Ask, Upstream], Coroutine[Any, Any, Outcome]]


def behind_limit(network: Network) -> int:
    """Returns how many blocks an agreed head may be below what enough nodes say their own is."""
    return max(_LEAST_BEHIND, math.ceil(_MAX_BEHIND_S / max(network.block_time_s, 0.01)))


@dataclass(slots=True, eq=False)
class _Candidate:
    """A header, what its supporters all say of it, and who they are."""

    number: int
    header: Mapping[str, Any]
    upstreams: set[Upstream]

    def confirmed_by(self, upstream: Upstream, header: Any) -> bool:
        """Whether an upstream has this very block on its own chain; it then counts as a supporter."""
        if not isinstance(header, Mapping):
            return False
        try:
            self.header = merged(_METHOD, self.header, header)
        except Differ:
            return False
        self.upstreams.add(upstream)
        return True


class AgreedHead:
    """Reads a block at a tag from all upstreams at once.

    When ``quorum`` of them give one header and nobody a newer one, that is the head. Otherwise the others are
    asked for the candidates' numbers, the newest first: a block counts when ``quorum`` upstreams have it in
    their own chain. It must not be far below what ``quorum`` of them say their newest is, so that a laggard
    cannot decide by having only old blocks, which every node confirms. A safe or final block must not be
    above what ``quorum`` of them say theirs is: each node confirms newer blocks too.
    """

    def __init__(
        self,
        ask_one: AskOne,
        upstreams: Callable[[Ask], Sequence[Upstream]],
        clock: Callable[[], float],
    ) -> None:
        self._ask_one = ask_one
        self._upstreams = upstreams
        self._clock = clock

    async def __call__(self, ask: Ask) -> Mapping[str, Any] | None:
        """Returns the block, None when there is none that enough upstreams hold."""
        for pause_s in (*PAUSES_S, None):
            found = await self._round(ask)
            if found is not None:
                return found
            if pause_s is None or ask.ends_at - self._clock() <= pause_s:
                return None
            await asyncio.sleep(pause_s)
        return None

    async def _round(self, ask: Ask) -> Mapping[str, Any] | None:
        quorum = ask.network.quorum
        answered: dict[Upstream, Mapping[str, Any]] = {}
        tasks = {asyncio.create_task(self._ask_one(ask, each)): each for each in self._upstreams(ask)}
        pending = set(tasks)
        patient_until: float | None = None
        try:
            while pending:
                limit_s = None if patient_until is None else max(0.0, patient_until - self._clock())
                done, pending = await asyncio.wait(
                    pending, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
                )
                for task in done:
                    header = task.result().value
                    if _number(header) is not None:
                        answered[tasks[task]] = header
                newest = max(_candidates(answered), key=lambda each: each.number, default=None)
                if newest is not None and len(newest.upstreams) >= quorum:
                    return newest.header
                if not done:
                    break
                if patient_until is None and len(answered) >= quorum:
                    patient_until = self._clock() + _PATIENCE_S
            if len(answered) < quorum:
                return None
            found = await self._confirmed(ask, answered)
            if found is None and pending:  # the slow ones may decide
                done, pending = await asyncio.wait(pending)
                late = {tasks[each]: each.result().value for each in done}
                answered |= {each: header for each, header in late.items() if _number(header) is not None}
                found = await self._confirmed(ask, answered)
            return found
        finally:
            for task in pending:
                task.cancel()

    async def _confirmed(
        self, ask: Ask, answered: Mapping[Upstream, Mapping[str, Any]]
    ) -> Mapping[str, Any] | None:
        quorum = ask.network.quorum
        candidates = sorted(_candidates(answered), key=lambda each: each.number, reverse=True)
        heads = [_number(header) or 0 for header in answered.values()]

        async def confirm(candidate: _Candidate, upstream: Upstream) -> None:
            at = replace(ask, params=[hex(candidate.number), *ask.params[1:]])
            candidate.confirmed_by(upstream, (await self._ask_one(at, upstream)).value)

        await asyncio.gather(
            *(
                confirm(candidate, upstream)
                for candidate in candidates[:_MAX_CANDIDATES]
                for upstream in answered
                if upstream not in candidate.upstreams
            )
        )
        is_newest, limit = ask.params[0] == "latest", behind_limit(ask.network)
        for candidate in candidates[:_MAX_CANDIDATES]:
            # Nodes also hold blocks that they do not call safe or final yet.
            near = sum(
                head <= candidate.number + limit if is_newest else head >= candidate.number for head in heads
            )
            if len(candidate.upstreams) >= quorum and near >= quorum:
                return candidate.header
        return None


def _candidates(answered: Mapping[Upstream, Mapping[str, Any]]) -> list[_Candidate]:
    """Returns the different headers, each with the upstreams that gave it."""
    found: list[_Candidate] = []
    for upstream, header in answered.items():
        if not any(candidate.confirmed_by(upstream, header) for candidate in found):
            found.append(_Candidate(_number(header) or 0, header, {upstream}))
    return found


def _number(header: Any) -> int | None:
    if not isinstance(header, Mapping) or not isinstance(header.get("hash"), str):
        return None
    try:
        return int(header["number"], 16)
    except (KeyError, TypeError, ValueError):
        return None
