"""What several upstreams answered to one call, grouped by what they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quoteway import RpcError

from quoteway_rpc.comparing import MEDIAN_FACTOR, Differ, Mode, is_revert, merged, same_error
from quoteway_rpc.upstream import Unusable, Upstream


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one upstream answered a call: with a result, with a node's error, or not usably."""

    value: Any = None
    error: RpcError | None = None
    failure: Unusable | None = None


@dataclass(slots=True, eq=False)
class Opinion:
    """An answer and the upstreams that gave it. ``value`` is what all of them say."""

    value: Any
    error: RpcError | None
    upstreams: list[Upstream]

    @property
    def is_certain(self) -> bool:
        """Whether a node of the same block cannot honestly say anything else.

        Other errors than a revert depend on the node's own limits, and null on what it has received.
        """
        return self.value is not None if self.error is None else is_revert(self.error)

    def answer(self) -> Any:
        """Returns the result. Raises the node's error."""
        if self.error is not None:
            raise self.error
        return self.value


@dataclass(slots=True, eq=False)
class Opinions:
    """The answers to one call so far."""

    method: str
    mode: Mode = Mode.EQUAL
    groups: list[Opinion] = field(default_factory=list)
    failures: dict[Upstream, Unusable] = field(default_factory=dict)
    _numbers: dict[Upstream, int] = field(default_factory=dict)

    def add(self, upstream: Upstream, outcome: Outcome) -> None:
        """Puts an answer to the group of the same answer."""
        if outcome.failure is not None:
            self.failures[upstream] = outcome.failure
            return
        self.failures.pop(upstream, None)
        if self.mode is Mode.MEDIAN and outcome.error is None:
            self._add_number(upstream, outcome.value)
            return
        for group in self.groups:
            if self._joins(group, outcome):
                group.upstreams.append(upstream)
                return
        self.groups.append(Opinion(outcome.value, outcome.error, [upstream]))

    def _joins(self, group: Opinion, outcome: Outcome) -> bool:
        if group.error is not None or outcome.error is not None:
            both = group.error is not None and outcome.error is not None
            return both and same_error(group.error, outcome.error)  # type: ignore[arg-type]  # both are there
        try:
            group.value = merged(self.method, group.value, outcome.value)
        except Differ:
            return False
        return True

    def _add_number(self, upstream: Upstream, value: Any) -> None:
        try:
            number = int(value, 16)
        except (TypeError, ValueError):
            self.failures[upstream] = Unusable("not_a_quantity")
            return
        self._numbers[upstream] = number
        in_order = sorted(self._numbers.items(), key=lambda item: item[1])
        errors = [group for group in self.groups if group.error is not None]
        near = [
            [each for each in in_order[at:] if each[1] <= MEDIAN_FACTOR * least]
            for at, (_, least) in enumerate(in_order)
        ]
        near.sort(key=len, reverse=True)
        groups, seen = [], set[Upstream]()
        for cluster in near:
            if not seen.intersection(upstream for upstream, _ in cluster):
                seen.update(upstream for upstream, _ in cluster)
                middle = hex(cluster[len(cluster) // 2][1])
                groups.append(Opinion(middle, None, [upstream for upstream, _ in cluster]))
        self.groups = [*groups, *errors]

    @property
    def most(self) -> Opinion | None:
        """The answer of the most upstreams; None without any."""
        return max(self.groups, key=lambda group: len(group.upstreams), default=None)

    def lack(self, quorum: int) -> int:
        """Returns how many more equal answers are needed."""
        return quorum - (0 if self.most is None else len(self.most.upstreams))
