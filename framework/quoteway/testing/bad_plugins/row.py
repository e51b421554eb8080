"""What the table says of a bad plugin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from quoteway import Context, Provider
from quoteway.hookspecs import ENTRY_POINT_GROUP
from quoteway.testing.fakes import FakePlugin

Cost = Literal[
    "itself", "others' answers", "blocks the loop", "blocks the loop for ever", "ends the process", "start-up"
]
"""What the fault may cost: the plugin's own answers; those of others; the time of all requests, for a moment
or for ever; the server; the plugin itself, which is refused at start-up."""

Named = Literal["attempts", "partial", "providers", "log", "nowhere"]
"""Where the server names the plugin: in ``attempts`` of a quote, ``partial`` of a list, as not enabled in
``/v2/providers``, in the log. ``nowhere``: the fault shows in none of its answers."""

Need = Literal["process"]
"""What the operator must give the plugin so that it costs nobody else anything: a process of its own."""


@dataclass(frozen=True, slots=True)
class BadPlugin:
    """A plugin with one fault. ``needs`` None: it may run in the server's own process.

    ``source`` is Python that its module runs when it is imported. ``group`` and ``entry_point`` are those of
    its distribution, the plugin's name if "".
    """

    name: str
    fault: str
    cost: Cost
    named: Named
    plugin: Callable[[str], object]
    needs: Need | None = None
    source: str = ""
    group: str = ENTRY_POINT_GROUP
    entry_point: str = ""

    @property
    def distribution(self) -> str:
        """Returns the name of the distribution that ``install`` makes of it."""
        return f"bad-{self.name}"

    @property
    def is_object(self) -> bool:
        """Returns whether the fault is that of the plugin object, without an installed distribution."""
        return not self.source and not self.entry_point and self.group == ENTRY_POINT_GROUP

    def make(self) -> object:
        """Returns a new plugin object, whose provider has the plugin's name as its id."""
        return self.plugin(self.name)


def provider(kind: Callable[..., Provider], **options: Any) -> Callable[[str], object]:
    """Returns the maker of a plugin with one provider, ``kind(context, name, **options)``."""

    def plugin(name: str) -> object:
        def make(context: Context) -> Provider:
            return kind(context, name, **options)

        return FakePlugin([make])

    return plugin
