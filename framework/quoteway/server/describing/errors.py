"""The one error of ``quoteway describe``."""

from __future__ import annotations


class CannotDescribe(Exception):  # noqa: N818 - says why
    """Nothing can be said of the call. The text says why, and what to do."""
