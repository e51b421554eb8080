"""The web interface of Quoteway: static files that ask the gateway as any other client does."""

from __future__ import annotations

from pathlib import Path

from quoteway import Context, Site, hookimpl


@hookimpl
def quoteway_site(context: Context) -> Site:
    """Returns the files that `make` builds from ``web/``, and that the wheel contains."""
    missing = "The console is not built: run `make console` in the source tree, or install the wheel."
    return Site(Path(__file__).parent / "static", missing=missing)
