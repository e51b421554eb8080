"""Plugins that each have one fault, to install beside an honest one.

``BAD_PLUGINS`` is the table: name, fault, what it may cost, where the server names the plugin, and whether it
needs a process of its own to cost nobody else anything::

    for bad in BAD_PLUGINS:
        if bad.is_object and bad.needs is None:
            gateway = await make_gateway({"honest": plugin, bad.name: bad.make()})

``quoteway.testing.bad_plugins.installing`` makes distributions of them, for a server of its own. Each is this
package under another name, so that its modules import one another relatively.
"""

from .hostile import HOSTILE
from .imports import IMPORTS
from .row import BadPlugin, Cost, Named, Need, provider
from .sources import SOURCES
from .startup import STARTUP
from .swaps import SWAPS, BadSwap

BAD_PLUGINS: tuple[BadPlugin, ...] = (*IMPORTS, *STARTUP, *SWAPS, *SOURCES, *HOSTILE)
"""Every bad plugin. Names are unique; each is the name of the plugin and the id of its provider."""

RIVAL = BadPlugin("honest-rival", "none", "itself", "nowhere", provider(BadSwap, percent=100))
"""A plugin without a fault, which swaps through the v2 router: what one more honest provider costs."""

__all__ = ["BAD_PLUGINS", "RIVAL", "BadPlugin", "Cost", "Named", "Need"]


def __getattr__(name: str) -> object:
    """Returns the plugin object of a row, for entry points: its name with underscores."""
    for bad in (*BAD_PLUGINS, RIVAL):
        if bad.name.replace("-", "_") == name:
            return bad.make()
    raise AttributeError(name)
