"""Writes a file that must not be there yet, or replaces it where that was asked for."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from quoteway_client.commands.asking import WrongUse


def check_new(path: Path, *, force: bool) -> None:
    """Raises ``WrongUse`` where something is at the path, unless ``force`` replaces it."""
    if not force and os.path.lexists(path):
        raise WrongUse(f"{path} exists: name another file, or replace it with --force")


def write_new(path: Path, content: bytes, *, force: bool) -> None:
    """Writes a whole file or none. Raises ``WrongUse`` as ``check_new``, and where it cannot."""
    check_new(path, force=force)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        try:
            draft.write_bytes(content)
            if force:
                draft.replace(path)
            else:
                os.link(draft, path)  # fails where something came to be there meanwhile
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise WrongUse(f"{path} cannot be written: {error.strerror}") from None
