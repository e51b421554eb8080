"""What a plugin needs beside nodes, for ``quoteway doctor``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """A database, a store or another service that ``setting`` of the plugin's section names.

    ``ask`` is awaited once and has 10 seconds. It returns a short sentence of what was found, such as
    "answers in 3 ms". What cannot be used it tells by ``UpstreamError`` or ``ConfigError``, in words without
    addresses and secrets. ``otherwise`` says what the deployment does without it, such as "clients' calls are
    not shared".
    """

    setting: str
    ask: Callable[[], Awaitable[str]]
    otherwise: str
