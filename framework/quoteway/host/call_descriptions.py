"""Adds the call descriptions of plugins that the operator has pinned."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

from quoteway.evm.calls.registry import CallRegistry, digest_of
from quoteway.guard.model_types import flaw
from quoteway.host.plugins import Plugins
from quoteway.host.states import NotEnabled
from quoteway.models import ContractDescription

Descriptions: TypeAlias = Mapping[str, tuple[ContractDescription, ...]]
"""By plugin."""


def add_descriptions(plugins: Plugins, calls: CallRegistry, pinned: Collection[str]) -> Descriptions:
    """Adds each plugin's pinned descriptions to ``calls``, and returns all of them.

    A plugin whose descriptions are not pinned is refused.
    """
    found: dict[str, tuple[ContractDescription, ...]] = {}
    for entry, answer in plugins.ask("quoteway_call_descriptions"):
        descriptions = tuple(answer)
        wrong = flaw(descriptions, tuple[ContractDescription, ...])
        if wrong is not None:
            entry.refuse(NotEnabled.INCOMPLETE, f"quoteway_call_descriptions{wrong}")
            continue
        if not descriptions:
            continue
        found[entry.name] = descriptions
        digest = digest_of(descriptions)
        if digest not in pinned:
            entry.refuse(
                NotEnabled.UNPINNED_DESCRIPTIONS,
                f"it describes calls of contracts: read them with `quoteway calls {entry.name}`, then add "
                f"{digest!r} to [calls] pinned",
            )
            continue
        try:
            calls.add(descriptions)
        except ValueError as error:
            entry.refuse(NotEnabled.INCOMPLETE, f"quoteway_call_descriptions: {error}")
    return found
