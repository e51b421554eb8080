"""The event sources of one chain while they are read: their decoders, contracts and filter.

The contracts that factories make are found by a pass of its own, as a source whose facts are
``contract_created``: it is read first, and what it finds is there after a restart.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from quoteway import EventRule, EventSource

from quoteway_indexer.ingest.decoding import Decoder, compile_source

MAX_ADDRESSES: Final = 300
"""A filter with more addresses is sent with topics alone: nodes refuse long ones."""
CREATED: Final = "contract_created"


@dataclass(slots=True, eq=False)
class Source:
    """A source that is read. ``contracts`` are in lower case; None: the logs of all contracts count.

    ``version`` is kept with what was read: it changes with the declared version, the rules and the
    addresses. ``makes`` is the source whose contracts this one finds.
    """

    declared: EventSource
    decoder: Decoder
    version: int
    contracts: set[str] | None
    finder: Source | None = None
    makes: Source | None = None
    skipped: int = 0

    @property
    def id(self) -> str:
        """Returns the id in the store."""
        return self.declared.id


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

    def contracts(self, source_id: str) -> set[str] | None:
        """Returns the contracts of a source."""
        return next(each.contracts for each in self.all if each.id == source_id)


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
        first = (start_blocks or {}).get(given.id, given.first_block)
        each = replace(given, first_block=first)
        try:
            source = _source(each)
            if each.children is not None:
                source.finder = _finder(each, source)
                finders.append(source.finder)
        except ValueError as error:
            refused[each.id] = str(error)
            continue
        others.append(source)
    return SourceSet(tuple(finders), tuple(others), refused)


def _source(declared: EventSource) -> Source:
    decoder = compile_source(declared)
    contracts: set[str] | None = {address.lower() for address in declared.addresses}
    if not contracts and declared.children is None:
        contracts = None
    return Source(declared, decoder, _version(declared), contracts)


def _finder(declared: EventSource, made: Source) -> Source:
    children = declared.children
    assert children is not None
    if not children.factories:
        raise ValueError("children need a factory at least")
    rule = EventRule(children.event, CREATED, {"factory": "@", "contract": children.parameter})
    pass_over = replace(
        declared,
        id=f"{declared.id} contracts",
        rules=(rule,),
        addresses=children.factories,
        children=None,
    )
    source = _source(pass_over)
    source.makes = made
    return source


def _version(declared: EventSource) -> int:
    """Returns a number that is another one when the source has to be read again."""
    children = declared.children
    parts = (
        [(rule.event, rule.fact, sorted(rule.columns.items())) for rule in declared.rules],
        sorted(address.lower() for address in declared.addresses),
        children
        and (sorted(each.lower() for each in children.factories), children.event, children.parameter),
    )
    return (declared.version << 32) | zlib.crc32(repr(parts).encode())


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
