"""Installs bad plugins as distributions, each with a package of its own, as a stranger's would be."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from quoteway.testing.bad_plugins.row import BadPlugin

_HERE = Path(__file__).parent


def install(folder: Path, plugins: Iterable[BadPlugin]) -> None:
    """Writes a package and its metadata for each plugin to ``folder``, which the server has on its path.

    The server knows whose code it is by the package. Each one is this package under another name.
    """
    for bad in plugins:
        package = bad.distribution.replace("-", "_")
        target = f"{package}:{bad.name.replace('-', '_')}"
        if bad.source:
            source = f"{bad.source}\nfrom {__package__} import {target.partition(':')[2]}\n"
            (folder / f"{package}.py").write_text(source)
        else:
            (folder / package).symlink_to(_HERE)
        info = folder / f"{package}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {bad.distribution}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[{bad.group}]\n{bad.entry_point or bad.name} = {target}\n")
