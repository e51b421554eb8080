"""How the guard refuses an answer, and the checks of an answer's form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quoteway.errors import Reason, UpstreamError
from quoteway.guard.model_types import flaw
from quoteway.providers import Provider

Expect = Callable[[bool, str], None]
"""Takes whether something holds, and the finding for when it does not."""


class UnsafeAnswer(UpstreamError):  # noqa: N818 - named as the others of quoteway.errors
    """A provider's answer that the guard refused. The message says what, to operator and client alike."""

    def __init__(self, provider: str, finding: str) -> None:
        super().__init__(
            f"The answer of provider {provider} was refused: {finding}.", reason=Reason.UNSAFE_ANSWER
        )
        self.finding = finding


def expectation(provider: Provider) -> Expect:
    """Returns an ``Expect`` that raises ``UnsafeAnswer`` of this provider."""

    def expect(holds: bool, finding: str) -> None:
        if not holds:
            raise UnsafeAnswer(provider.id, finding)

    return expect


def check_form(provider: Provider, answer: object, kind: Any) -> None:
    """Checks every member of an answer against the type ``kind``. Raises ``UnsafeAnswer``."""
    found = flaw(answer, kind)
    if found is not None:
        raise UnsafeAnswer(provider.id, f"in its answer {getattr(kind, '__name__', 'the list')}{found}")
