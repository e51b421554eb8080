"""The installed core and plugins, found by what distributions say of themselves."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from quoteway import hookspecs
from quoteway.host.states import NotEnabled, PluginEntry, normalized

log = logging.getLogger("quoteway.host.plugins")


def core_version() -> str:
    """Returns the version of the installed core, or "0" when it runs from a source tree."""
    from importlib_metadata import PackageNotFoundError, version

    try:
        return version("quoteway")
    except PackageNotFoundError:
        return "0"


def installed_plugins() -> Iterator[PluginEntry]:
    """Yields the plugins of the installed distributions. Those for another hook API are refused.

    Imports no plugin, since an import runs its code.
    """
    from importlib_metadata import distributions

    seen: set[str] = set()
    for distribution in distributions():
        try:
            # Few distributions are plugins. Reading this text is cheaper than parsing every METADATA.
            if "quoteway.v" not in (distribution.read_text("entry_points.txt") or ""):
                continue
            name, version = distribution.name, distribution.version
            entry_points = [ep for ep in distribution.entry_points if ep.group.startswith("quoteway.v")]
        except Exception:
            log.exception("skipped an installed distribution: its metadata cannot be read")
            continue
        key = normalized(name)
        if key in seen:
            continue  # a second copy later on sys.path, which an import would not use
        seen.add(key)
        matching = {ep.name for ep in entry_points if ep.group == hookspecs.ENTRY_POINT_GROUP}
        for entry_point in entry_points:
            entry = PluginEntry(
                entry_point.name,
                name,
                version,
                loader=entry_point.load,
                target=entry_point.value,
                installed=distribution,
            )
            if entry_point.group != hookspecs.ENTRY_POINT_GROUP:
                if entry_point.name in matching:
                    continue  # the plugin also supports this core's major version
                entry.refuse(
                    NotEnabled.INCOMPATIBLE,
                    f"it is written for hook API {entry_point.group!r}, this core has "
                    f"{hookspecs.ENTRY_POINT_GROUP!r}: install a matching version of {name}",
                )
            yield entry
