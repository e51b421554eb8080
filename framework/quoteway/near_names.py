"""Suggests the name that was probably meant in place of an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LEAST_SIMILARITY = 0.84
_MAX_CHARS = 64


def near_name(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name that differs from ``name`` by a typing error; None when none is that near.

    Case, dashes and underscores do not count. Near is about one wrong letter in six, or letters in another
    order.
    """
    names: dict[str, str] = {}
    for candidate in known:
        names.setdefault(_plain(candidate), candidate)
    plain = _plain(name[:_MAX_CHARS])
    found = difflib.get_close_matches(plain, names, n=1, cutoff=_LEAST_SIMILARITY)
    found += [candidate for candidate in names if sorted(candidate) == sorted(plain)]
    return names[found[0]] if found else None


def suggestion(name: str, known: Iterable[str], label: str = "Known") -> str:
    """Returns a sentence for the end of a message: the name that was meant, else all known names."""
    names = list(known)
    near = near_name(name, names)
    if near is not None:
        return f" Did you mean {near!r}?"
    return f" {label}: {', '.join(names) or 'none'}."


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
