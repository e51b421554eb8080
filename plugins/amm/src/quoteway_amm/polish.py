"""Moves units between the legs out of a token, in halving steps, while a flow pays more after gas.

The solver's shares are floats: rounded to units, they miss the best division by what floats miss of it. Every
step here is judged by the exact simulation of the whole flow, so a polished flow never pays less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from quoteway_amm.bound import node_of
from quoteway_amm.errors import BandExceeded
from quoteway_amm.flow import Flow, make_flow
from quoteway_amm.gas import GasModel, GasPrice
from quoteway_amm.routing import Hop

MOST_EVALUATIONS = 400
"""Simulated legs for one flow: a few milliseconds."""

_FIRST_SHIFT = 12
"""The first step is 2^-12 of what arrives at a token, rounded down to a power of two: floats miss less."""


def polished(
    flow: Flow,
    gas_model: GasModel,
    gas_price: GasPrice,
    wrapped_native: str | None,
    expired: Callable[[], bool] = lambda: False,
    most_evaluations: int = MOST_EVALUATIONS,
) -> Flow:
    """Returns a flow with the same legs in the same order that pays as much or more after gas.

    Of the legs out of each token, units move between the two that gain most by it: first 2^k of them, in the
    end one. Stops when no step could bring a base unit of the output any more, after ``most_evaluations``
    simulated legs, or when ``expired``.
    """
    work = _Legs(flow, gas_model, gas_price, wrapped_native, most_evaluations)
    for group in work.groups:
        arrived = sum(work.legs[at].amount_in for at in group)
        step = 1 << max(arrived.bit_length() - 1 - _FIRST_SHIFT, min(3, arrived.bit_length() - 1))
        while step and work.evaluations_left > 0 and not expired():
            step = step >> 1 if work.improve(group, step) else 0
    if not work.changed:
        return flow
    ends = flow.token_in, flow.token_out
    return make_flow(work.hops(), *ends, flow.amount_in, gas_model, gas_price, wrapped_native)


class _Legs:
    """The legs of a flow with their amounts, and what moving units between them changes.

    ``groups`` are the indexes of the legs out of each token with several; the last of a group takes what the
    others leave.
    """

    def __init__(
        self,
        flow: Flow,
        gas_model: GasModel,
        gas_price: GasPrice,
        wrapped_native: str | None,
        most_evaluations: int,
    ) -> None:
        self._flow, self._unit = flow, gas_price.denominator
        self._ticks = [gas_model.of(hop.pool.kind).tick * gas_price.numerator for hop in flow.legs]
        self._sources = [node_of(hop.token_in, wrapped_native) for hop in flow.legs]
        self._targets = [node_of(hop.token_out, wrapped_native) for hop in flow.legs]
        self._end = node_of(flow.token_out, wrapped_native)
        leaving: dict[str, list[int]] = {}
        for at, source in enumerate(self._sources):
            leaving.setdefault(source, []).append(at)
        self._last = {group[-1] for group in leaving.values()}
        self.groups = [group for group in leaving.values() if len(group) > 1]
        self.legs = [_Leg(hop.amount_in, hop.amount_out, hop.ticks_crossed) for hop in flow.legs]
        self.evaluations_left = most_evaluations
        self.changed = False

    def improve(self, group: Sequence[int], step: int) -> bool:
        """Moves ``step`` units between two legs of ``group`` while that pays more.

        Returns whether a smaller step may bring a base unit.
        """
        while self.evaluations_left > 0:
            more = [(at, ran.gain) for at in group if (ran := self._run({at: step}, step)) is not None]
            less = [(at, ran.gain) for at in group if (ran := self._run({at: -step}, -step)) is not None]
            pairs = [(gain + loss, to, of) for to, gain in more for of, loss in less if to != of]
            if not pairs:
                return True
            hoped, to, of = max(pairs)
            if hoped <= 0:
                # Outputs are concave: a move by less gains no more than the move back by this step loses.
                return min(each for each, *_ in pairs) < -self._unit
            ran = self._run({to: step, of: -step}, 0)
            if ran is None or ran.gain <= 0:
                return True
            for at, leg in ran.legs.items():
                self.legs[at] = leg
            self.changed = True
        return True

    def hops(self) -> tuple[Hop, ...]:
        """Returns the hops of the legs with their amounts."""
        return tuple(
            replace(hop, amount_in=leg.amount_in, amount_out=leg.amount_out, ticks_crossed=leg.ticks_crossed)
            for hop, leg in zip(self._flow.legs, self.legs, strict=True)
        )

    def _run(self, units: dict[int, int], arrived: int) -> _Run | None:
        """Returns what changes when legs out of one token take so many units more; None when a pool cannot.

        ``arrived`` units more come to that token. Only the last leg out of a token takes more or less for it.
        """
        first = min(units)
        rest = {self._sources[first]: arrived}
        legs, gain = dict[int, _Leg](), 0
        for at in range(first, len(self.legs)):
            source = self._sources[at]
            more = rest.get(source, 0) if at in self._last else units.get(at, 0)
            if not more:
                continue
            rest[source] = rest.get(source, 0) - more
            before, target = self.legs[at], self._targets[at]
            leg = self._asked(self._flow.legs[at], before.amount_in + more)
            if leg is None:
                return None
            paid = leg.amount_out - before.amount_out
            gain -= (leg.ticks_crossed - before.ticks_crossed) * self._ticks[at]
            if target == self._end:
                gain += paid * self._unit
            else:
                rest[target] = rest.get(target, 0) + paid
            legs[at] = leg
        return _Run(legs, gain)

    def _asked(self, hop: Hop, amount: int) -> _Leg | None:
        self.evaluations_left -= 1
        if amount <= 0:
            return None
        try:
            answer = hop.pool.exact_in(hop.zero_for_one, amount)
        except BandExceeded:
            return None
        return None if answer is None or not answer[0] else _Leg(amount, *answer)


@dataclass(frozen=True, slots=True)
class _Leg:
    amount_in: int
    amount_out: int
    ticks_crossed: int


@dataclass(frozen=True, slots=True)
class _Run:
    """The legs that change, and the gain after the gas of ticks, times the gas price's denominator."""

    legs: dict[int, _Leg]
    gain: int
