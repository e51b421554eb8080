"""Collects the event sources that plugins declare for an indexer."""

from __future__ import annotations

from quoteway.guard.model_types import flaw
from quoteway.host.plugins import Plugins
from quoteway.host.states import NotEnabled
from quoteway.models import EventSource
from quoteway.networks import Networks


def event_sources(plugins: Plugins, networks: Networks) -> tuple[EventSource, ...]:
    """Returns the sources of all plugins on these networks, in the order of the plugins.

    A plugin with a source that is malformed, or whose id another one has on the same chain, is refused with
    all its sources.
    """
    found: dict[tuple[int, str], EventSource] = {}
    for entry, answer in plugins.ask("quoteway_event_sources"):
        sources = tuple(answer or ())
        wrong = flaw(sources, tuple[EventSource, ...])
        if wrong is not None:
            entry.refuse(NotEnabled.INCOMPLETE, f"quoteway_event_sources{wrong}")
            continue
        ids = [(source.chain_id, source.id) for source in sources]
        taken = next((each for at, each in enumerate(ids) if each in found or each in ids[:at]), None)
        if taken is not None:
            chain_id, source_id = taken
            text = f"two event sources of chain {chain_id} are called {source_id!r}: rename one of them"
            entry.refuse(NotEnabled.INCOMPLETE, f"quoteway_event_sources: {text}")
            continue
        found |= zip(ids, sources, strict=True)
    return tuple(each for (chain_id, _), each in found.items() if networks.by_chain_id(chain_id) is not None)
