"""The event sources of one chain while they are read: their decoders, contracts and filter.

The contracts that factories make are found by a pass of its own, as a source whose facts are
``contract_created``: it is read first, and what it finds is there after a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from quoteway import ChildContracts, EventRule, EventSource

from quoteway_indexer.ingest.decoding import Decoder, compile_source
from quoteway_indexer.source_versions import version_of
from quoteway_indexer.store import Span

MAX_ADDRESSES: Final = 300
"""A filter with more addresses is sent with topics alone: nodes refuse long ones."""
CREATED: Final = "contract_created"


@dataclass(slots=True, eq=False)
class Source:
    """A source that is read. ``contracts`` are in lower case; None: the logs of all contracts count.

    ``version`` is kept with what was read: it changes with the declared version, the rules and the
    addresses. ``makes`` are the sources whose contracts this one finds. ``skipped`` counts logs that did not
    fit their rule since the start.
    """

    declared: EventSource
    decoder: Decoder
    version: int
    contracts: set[str] | None
    makes: list[Source] = field(default_factory=list)
    skipped: int = 0

    @property
    def id(self) -> str:
        """Returns the id in the store."""
        return self.declared.id

    def span(self, first: int, last: int) -> Span:
        """Returns these blocks as read."""
        return Span(self.id, self.version, first, last)


@dataclass(slots=True, eq=False)
class SourceSet:
    """The sources of a chain. ``finders`` are read before the others; ``refused`` says why, by id."""

    finders: tuple[Source, ...] = ()
    others: tuple[Source, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def all(self) -> tuple[Source, ...]:
        """Returns all of them, those that find contracts first."""
        return (*self.finders, *self.others)

    def current(self, spans: Iterable[Span]) -> list[Span]:
        """Returns the spans of the present versions."""
        versions = {(each.id, each.version) for each in self.all}
        return [span for span in spans if (span.source, span.version) in versions]

    def outdated(self, spans: Iterable[Span]) -> list[str]:
        """Returns the sources of which another version was read."""
        versions = {each.id: each.version for each in self.all}
        return sorted(
            {span.source for span in spans if versions.get(span.source, span.version) != span.version}
        )


def compile_sources(
    declared: Iterable[EventSource], start_blocks: Mapping[str, int] | None = None
) -> SourceSet:
    """Returns the sources of one chain. A source that is wrong is refused alone.

    ``start_blocks`` are first blocks by source id in place of the declared ones.
    """
    finders: list[Source] = []
    others: list[Source] = []
    refused: dict[str, str] = {}
    for given in declared:
        each = replace(given, first_block=(start_blocks or {}).get(given.id, given.first_block))
        try:
            source = _source(each)
            if each.children is not None:
                _find_children(source, each.children, finders)
        except ValueError as error:
            refused[each.id] = str(error)
        else:
            others.append(source)
    return SourceSet(tuple(finders), tuple(others), refused)


def _source(declared: EventSource) -> Source:
    decoder = compile_source(declared)
    contracts: set[str] | None = {address.lower() for address in declared.addresses}
    if not contracts and declared.children is None:
        contracts = None
    return Source(declared, decoder, version_of(declared), contracts)


def _find_children(made: Source, children: ChildContracts, finders: list[Source]) -> None:
    """Adds a source to the one that finds its contracts, which is made when there is none."""
    if not children.factories:
        raise ValueError("children need at least one factory")
    rule = EventRule(children.event, CREATED, {"factory": "@", "contract": children.parameter})
    over = replace(
        made.declared,
        id=f"{made.id} contracts",
        version=1,
        rules=(rule,),
        addresses=children.factories,
        children=None,
    )
    finder = _source(over)
    for known in finders:
        if known.version == finder.version:
            known.makes.append(made)
            first = min(known.declared.first_block, over.first_block)
            known.declared = replace(known.declared, first_block=first)
            return
        if known.decoder.topics & finder.decoder.topics and (known.contracts or set()) & (
            finder.contracts or set()
        ):
            raise ValueError(
                f"its children share a factory with {known.makes[0].id!r} but are declared in another way: "
                "declare the same factories, event and parameter"
            )
    finder.makes.append(made)
    finders.append(finder)


def filter_of(sources: Sequence[Source]) -> dict[str, Any]:
    """Returns the members ``address`` and ``topics`` of one filter for all these sources."""
    topics = sorted({topic for each in sources for topic in each.decoder.topics})
    members: dict[str, Any] = {"topics": [topics]}
    if any(each.contracts is None for each in sources):
        return members
    addresses = sorted({address for each in sources for address in each.contracts or ()})
    if len(addresses) <= MAX_ADDRESSES:
        members["address"] = addresses
    return members
