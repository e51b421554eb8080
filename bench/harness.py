"""The tests' harnesses of random operations, which the benchmark runs at another size."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parent.parent


def harness(module: str, plugin: str | None = None) -> Any:
    """Imports a module of a plugin's tests, or of the project's own tests."""
    folder = _ROOT / "plugins" / plugin / "tests" if plugin else _ROOT / "tests"
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module(module)
