"""Counts actions that were executed after their end against the amounts per time of a custody policy.

The chain does not stop an action without a deadline in its calldata: it may be executed when its reservation
counts no more. A reported transaction of it counts from its block then, for the whole window.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from quoteway import models
from quoteway.engine.held_amounts import HeldAmounts, Hold
from quoteway.engine.quote_tokens import TRANSACTION_LIFETIME_S, TransactionCommitment
from quoteway.host.runtime import Runtime

_MOST_MEMBERS: Final = 64
"""How much is kept of one action before what is over is removed."""
_ISSUED: Final = "issued/"
_EXECUTED: Final = "executed/"


def name_of(action: models.Action) -> str:
    """Returns the name under which an action counts: one for each action and quote.

    Without a deadline, two quotes may have the same transactions, and both may be executed.
    """
    if action.quote_token is None:
        return action.action_id
    return f"{action.action_id}/{hashlib.sha256(action.quote_token.encode()).hexdigest()[:32]}"


@dataclass(frozen=True, slots=True)
class LateExecutions:
    """The late executions of one gateway. ``longest_s`` is the longest window of its policy.

    Methods raise ``StoreUnavailable``.
    """

    held: HeldAmounts
    runtime: Runtime
    longest_s: int

    async def issued(self, action: models.Action, holds: Sequence[Hold]) -> None:
        """Notes what an action counts with, if it can be executed after its end."""
        if action.deadline is not None and len(action.parts) == 1:
            return
        amounts = {hold.counter: [str(hold.amount), hold.window_s] for hold in holds}
        value = orjson.dumps([action.expires_at, amounts])
        members = await self.held.note(action.action_id, _ISSUED + name_of(action), value, self._keep_s)
        if len(members) > _MOST_MEMBERS:
            begins = self.runtime.now() - self._keep_s
            over = [name for name, each in members.items() if _time_of(each) < begins]
            await self.held.forget(action.action_id, over)

    async def executed(self, commitment: TransactionCommitment, tx_hash: str, number: int) -> None:
        """Counts a transaction of an action, in the block ``number``, that its reservation does not count.

        Raises ``UpstreamError`` when no node answers.
        """
        if not await self.held.noted(commitment.action_id):
            return
        chain = self.runtime.chain(commitment.chain_id)
        block, head = await chain.block(number, shared=False), await chain.head()
        value = orjson.dumps([block.timestamp])
        step = f"{_EXECUTED}{commitment.index}/"
        members = await self.held.note(commitment.action_id, step + tx_hash, value, self._keep_s)
        rows = [orjson.loads(each) for name, each in members.items() if name.startswith(_ISSUED)]
        times = {
            name.removeprefix(step): _time_of(each) for name, each in members.items() if name.startswith(step)
        }
        late = uncovered((expires_at for expires_at, _ in rows), times)
        for counter, (amount, window_s) in _greatest(amounts for _, amounts in rows).items():
            for each in late:
                left_s = times[each] + window_s - max(head.timestamp, block.timestamp)
                if left_s > 0:
                    await self.held.add(f"tx/{each}", left_s, Hold(counter, amount, 0, window_s))

    @property
    def _keep_s(self) -> int:
        return TRANSACTION_LIFETIME_S + self.longest_s + 86_400


def uncovered(ends: Iterable[int], times: Mapping[str, int]) -> list[str]:
    """Returns the executions, of ``times``, that no reservation counts: each reservation counts one execution
    until its end. All in Unix seconds."""
    known, covered, found = list(ends), 0, []
    for name, time in sorted(times.items(), key=lambda each: (-each[1], each[0])):
        if sum(end >= time for end in known) > covered:
            covered += 1
        else:
            found.append(name)
    return found


def _greatest(rows: Iterable[Mapping[str, Sequence[Any]]]) -> Mapping[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for row in rows:
        for counter, (amount, window_s) in row.items():
            found[counter] = max(found.get(counter, (0, 0)), (int(amount), window_s))
    return found


def _time_of(value: bytes) -> int:
    return int(orjson.loads(value)[0])
