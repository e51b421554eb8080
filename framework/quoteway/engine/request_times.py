"""Checks the times that requests name."""

from __future__ import annotations

from quoteway.errors import FieldError, InvalidRequest, Reason
from quoteway.guard.findings import MAX_DEADLINE_S

MIN_DEADLINE_S = 60


def check_deadline(deadline: int | None, now: int) -> None:
    """Raises ``InvalidRequest`` for a deadline that is too near or too far. Both are Unix seconds."""
    if deadline is not None and not now + MIN_DEADLINE_S <= deadline <= now + MAX_DEADLINE_S:
        text = f"must be {MIN_DEADLINE_S} to {MAX_DEADLINE_S} seconds from now, in Unix seconds (now: {now})"
        raise _out_of_range("deadline", text)


def check_refreshable_until(until: int | None, now: int, most_s: int) -> None:
    """Raises ``InvalidRequest`` for a time that has passed, or is over ``most_s`` seconds away.

    The times are Unix seconds. ``most_s`` is the setting ``quotes.refreshable_s``.
    """
    if until is None:
        return
    if not most_s:
        raise _out_of_range(
            "refreshableUntil", "is not allowed: the operator of this gateway has turned it off"
        )
    if not now < until <= now + most_s:
        raise _out_of_range(
            "refreshableUntil", f"must be 1 to {most_s} seconds from now, in Unix seconds (now: {now})"
        )


def _out_of_range(name: str, text: str) -> InvalidRequest:
    field = FieldError(name, Reason.OUT_OF_RANGE, text)
    return InvalidRequest(field.sentence, reason=Reason.OUT_OF_RANGE, fields=(field,))
