"""Plugins whose distribution, or the import of its module, has one fault."""

from __future__ import annotations

from .row import BadPlugin, Named, provider
from .swaps import SHORT_S, BadSwap


def _installed(name: str, fault: str, *, named: Named = "providers", **options: str) -> BadPlugin:
    return BadPlugin(name, fault, "start-up", named, provider(BadSwap), None, **options)


IMPORTS: tuple[BadPlugin, ...] = (
    _installed("cannot-be-imported", "imports what is not installed", source="import a_module_nobody_has"),
    _installed("syntax-error", "its module is no Python", source="def ("),
    _installed("exits-at-import", "its module calls sys.exit", source="raise SystemExit('hunter2')"),
    _installed("other-api", "is written for another hook API", group="quoteway.v2"),
    _installed("squats-a-name", "claims the plugin name of another distribution", entry_point="uniswap"),
    BadPlugin(
        "slow-import",
        "its module calls time.sleep when it is imported",
        *("blocks the loop", "log"),
        provider(BadSwap),
        "process",
        source=f"import time; time.sleep({SHORT_S})",
    ),
)
