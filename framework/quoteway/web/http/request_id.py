"""Request ids: the caller's when sane, else our own."""

from __future__ import annotations

import random
import re

_SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:/+=-]{0,127}")

# Seeded by the system once: ids are unique, not secret, and asking each time is a tenth of a cached answer.
_ids = random.Random()  # noqa: S311


def new_request_id() -> str:
    """128 random bits in hex."""
    return f"{_ids.getrandbits(128):032x}"


def request_id_of(given: str | None) -> str:
    """The caller's own id when it is short and plain, else a new one."""
    if given is not None and _SANE.fullmatch(given):
        return given
    return new_request_id()
