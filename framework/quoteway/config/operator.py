"""The configuration of what operators see: ``[operator]``."""

from __future__ import annotations

from dataclasses import dataclass

from quoteway.config.fields import integer, setting

EMBEDDED_REQUESTS = 200
"""``requests`` of the embedded default."""


@dataclass(frozen=True, slots=True)
class OperatorConfig:
    """What operators see of a running server.

    Operators have an API key of the tier `operator`, or `server.capture_key`. In the embedded default,
    without that key, they are the programs and pages of this machine.
    """

    requests: int = setting(
        integer(0, 10_000),
        "Newest requests of a worker that operators see with their calls of providers, at "
        f"`/operator/requests`; 0: none. {EMBEDDED_REQUESTS} in the embedded default.",
        0,
    )
