"""Reads a JSON file that an operator names on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from quoteway.config.bounded_file import UnreadableFile, read_bounded


def read_json(path: Path, *, max_bytes: int, wanted: str) -> Any:
    """Returns the value of a file of at most ``max_bytes``. ``wanted`` says what to give in place of more.

    orjson refuses JSON that is nested more than 1,024 levels deep, whatever Python's recursion limit is: some
    libraries raise that beyond what the stack holds. Raises ``UnreadableFile``.
    """
    try:
        return orjson.loads(read_bounded(path, max_bytes, wanted))
    except orjson.JSONDecodeError as error:
        raise UnreadableFile(f"{path} is no JSON: {error}") from None
