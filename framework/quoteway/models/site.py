"""What a plugin serves as the web interface of a deployment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Site:
    """Static files of a ``folder``: ``index.html`` is the page at ``/``, and names the others ``/site/...``.

    Pages of documentation in the folder ``docs`` are at ``/docs/``. ``hashed`` is the folder in it whose
    files are named by their content, so that browsers may keep them. ``missing`` is the sentence that people
    read at ``/`` while there is no ``index.html``: how to get one.
    """

    folder: Path
    hashed: str = "assets"
    missing: str = "The site of this gateway is not built."
