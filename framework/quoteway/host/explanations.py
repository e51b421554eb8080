"""Explains each reason why a plugin or provider is not enabled.

``quoteway plugins why`` prints these texts, and docs/reference/plugin-states.md is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from quoteway.host.states import NotEnabled


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a reason means and what to do about it, as sentences of Markdown without links.

    ``page`` is the page of docs/ to read, "" without one.
    """

    meaning: str
    remedy: str
    page: str = ""


EXPLANATIONS: Mapping[NotEnabled, Explanation] = MappingProxyType(
    {
        NotEnabled.NOT_SELECTED: Explanation(
            "`[plugins] load` is a list that does not name the plugin. It was not imported.",
            'Add its name to the list, or use `load = "all"`.',
        ),
        NotEnabled.INCOMPATIBLE: Explanation(
            "The plugin is written for another major version of the hook API (its entry-point group is not "
            "`quoteway.v1`; it was not imported), or it implements a hook, or a hook argument, that this "
            "core does not have.",
            "Install matching versions of the plugin and the core.",
        ),
        NotEnabled.IMPORT_FAILED: Explanation(
            "Importing the plugin's module raised. Usually a dependency is missing.",
            "Reinstall the plugin's distribution. `quoteway doctor` shows the traceback.",
        ),
        NotEnabled.INCOMPLETE: Explanation(
            "What the plugin handed over is not a provider: abstract methods are left undone (they are "
            "named), `id` or `title` is missing, a member that is read once at the start (`title`, `docs`, "
            "`networks`, `actions`, `manage_actions`, `has_quota`, `plan_version`, ...) raises or has "
            "another type than declared, a method that must be `async` is not, or no function carries "
            "`@quoteway.hookimpl`. The message names the member.",
            "This is a fault of the plugin: correct the member, or tell its author.",
        ),
        NotEnabled.DUPLICATE_ID: Explanation(
            "Two packages claim one plugin name, or two plugins one provider id, and the configuration does "
            "not say whose it is. Both are refused, and both are named: which of them answers must never "
            "depend on which is found first.",
            "Name the owner's distribution in `[plugins] owners`, remove one, or, for a provider id, make "
            "`[plugins] load` a list: the first plugin in it has the id.",
        ),
        NotEnabled.SQUATTER: Explanation(
            "The plugin claims a name or provider id that belongs to another one: `[plugins] owners` names "
            "another distribution, the other plugin comes first in the list `[plugins] load`, or the id is "
            "one of the core's. The owner is not affected.",
            "Uninstall the package, or correct `owners`.",
        ),
        NotEnabled.LOCK_MISMATCH: Explanation(
            "`[plugins] lock` names a lock file, and the plugin is not in it, or a file of its package "
            "differs from it: the message names the file. The plugin was not imported.",
            "When you have reviewed the change, write the file anew with `quoteway plugins lock`.",
        ),
        NotEnabled.LEVEL_TOO_LOW: Explanation(
            "`[plugins] least_level` or `least_levels` requires a level that the installed files of the "
            "plugin have not reached in `quoteway check`. The plugin was not imported.",
            "Run `quoteway check` for the plugin, with the configuration that names the levels file, and "
            "start again; or require a lower level.",
        ),
        NotEnabled.DISABLED: Explanation(
            "The configuration has `[providers.<id>] enabled = false`.",
            "Remove the line to enable it.",
        ),
        NotEnabled.CONFIG_INVALID: Explanation(
            "The section `[plugin.<name>]` has an unknown key or a refused value, or the plugin describes a "
            "network that clashes with another's.",
            "Correct the key that the message names, with the nearest valid one. `quoteway plugins info "
            "<name>` lists the settings.",
        ),
        NotEnabled.CREDENTIAL_MISSING: Explanation(
            'A secret reference, `{env = "NAME"}` or `{file = "path"}`, points to nothing, or a required '
            "secret is not set.",
            "Set the variable, write the file, or add the reference that the message names.",
        ),
        NotEnabled.STARTUP_FAILED: Explanation(
            "A hook raised, or the plugin's lifespan raised or did not finish within "
            "`plugins.startup_timeout_s`; or its import, a hook or its lifespan blocked the server for "
            "longer than that. Each plugin has this time for itself: one that blocks uses up none of the "
            "others'.",
            "The server's log has the cause: correct it and start the server again.",
        ),
        NotEnabled.UNPINNED_DESCRIPTIONS: Explanation(
            "The plugin says what the calls of its contracts mean, and nobody has accepted that.",
            "Read what `quoteway calls <plugin>` prints, then add the digest to `pinned` in `[calls]`.",
            "how-to/describe-the-calls-of-a-contract.md",
        ),
        NotEnabled.PROCESS_ENDED: Explanation(
            "The plugin runs in a process of its own (`[plugins] isolate`), and that process ended or was "
            "killed: it called `os._exit`, needed more than `isolated_memory_mb`, or answered nothing for "
            "`isolated_silence_s`. It is started again with increasing delays, at most 30 seconds. `/readyz` "
            "names the plugin in `notRunning`, and is 503 when it is the only RPC upstream of a network.",
            "The log says how the process ended: correct that, or raise the limit it reached.",
            "how-to/isolate-a-plugin.md",
        ),
    }
)
