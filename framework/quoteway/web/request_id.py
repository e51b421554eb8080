"""Request ids: the caller's when sane, else our own."""

from __future__ import annotations

import os
import re

_SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:/+=-]{0,127}")


def new_request_id() -> str:
    """128 random bits in hex."""
    return os.urandom(16).hex()


def request_id_of(given: str | None) -> str:
    """The caller's own id when it is short and plain, else a new one."""
    if given is not None and _SANE.fullmatch(given):
        return given
    return new_request_id()
