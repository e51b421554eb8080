"""Reads a file that an operator names, up to a limit of bytes."""

from __future__ import annotations

from pathlib import Path


class UnreadableFile(Exception):  # noqa: N818 - says why
    """The file is missing, too large, or not of the form that is expected."""


def read_bounded(path: Path, max_bytes: int, wanted: str) -> bytes:
    """Returns the content of a file of at most ``max_bytes``. ``wanted`` says what to give in place of more.

    Raises ``UnreadableFile``.
    """
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > max_bytes:
        raise UnreadableFile(f"{path} is larger than {max_bytes} bytes: give {wanted}")
    return data
