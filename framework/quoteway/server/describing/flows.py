"""What a call takes and pays, and whether an argument bounds it: each proof is a few runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quoteway.models import Address
from quoteway.server.describing.arguments import CallArgument, replaced
from quoteway.server.describing.trials import Outcome, Trials


@dataclass
class Flow:
    """An amount of a token, in base units, that the call takes from ``account`` or pays it.

    The paths are those of the roles found so far. ``limit`` is the most that is taken, ``minimum`` the least
    that is taken or paid.
    """

    account: Address
    token: Address
    amount: int
    taken: bool
    recipient: str | None = None
    named_at: str | None = None
    limit: str | None = None
    minimum: str | None = None

    def moved(self, outcome: Outcome) -> int:
        """Returns the amount of this flow in another run."""
        change = outcome.changes.get((self.account, self.token), 0)
        return -change if self.taken else change


@dataclass
class Probe:
    """Runs of the call with one argument changed. ``values`` are the arguments, ``base`` their outcome."""

    trials: Trials
    values: tuple[Any, ...]
    base: Outcome

    async def run(self, argument: CallArgument, value: Any) -> Outcome:
        """Returns the outcome with another value of one argument."""
        return await self.trials.run(replaced(self.values, argument.place, value))

    async def use(self, values: Sequence[Any]) -> bool:
        """Goes on from other arguments if they make no difference. Returns whether."""
        outcome = await self.trials.run(values)
        if outcome != self.base:
            return False
        self.values = tuple(values)
        return True

    async def is_minimum(self, argument: CallArgument, flow: Flow) -> bool:
        """Returns whether the call reverts as soon as the argument is above the flow's amount, and is the
        same call for every value below."""
        above = await self._with(argument, flow.amount + 1)
        if above is None or above.ok:
            return False
        return await self._is_base(argument, flow.amount) and await self._is_base(argument, flow.amount // 2)

    async def is_maximum(self, argument: CallArgument, flow: Flow) -> bool:
        """Returns whether the call reverts as soon as the argument is below the flow's amount, and is the
        same call for every value above."""
        below = await self._with(argument, flow.amount - 1)
        if not flow.taken or below is None or below.ok:
            return False
        return await self._is_base(argument, flow.amount) and await self._is_base(argument, 2 * flow.amount)

    async def is_amount(self, argument: CallArgument, flow: Flow) -> bool:
        """Returns whether the argument is the flow's amount, whatever it is."""
        for amount in (flow.amount // 2, flow.amount):
            outcome = await self._with(argument, amount)
            if outcome is None or not outcome.ok or flow.moved(outcome) != amount:
                return False
        return True

    async def is_deadline(self, argument: CallArgument, last: int, first: int) -> bool:
        """Returns whether the call reverts at the time ``last``, and is the same at ``first``, which comes
        after its block."""
        past = await self._with(argument, last)
        return past is not None and not past.ok and await self._is_base(argument, first)

    async def _is_base(self, argument: CallArgument, value: int) -> bool:
        return await self._with(argument, value) == self.base

    async def _with(self, argument: CallArgument, value: int) -> Outcome | None:
        """Returns the outcome with another number; None for one that does not fit the argument's type."""
        return await self.run(argument, value) if 0 <= value < 1 << argument.bits else None
