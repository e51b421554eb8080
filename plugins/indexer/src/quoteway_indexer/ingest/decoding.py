"""Decodes batches of logs into tables of facts, by the rules of event sources."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from quoteway import EventSource

from quoteway_indexer.ingest.arrays import items_of
from quoteway_indexer.ingest.logs import LogBatch, UnreadableLogsError, member, unhex
from quoteway_indexer.ingest.rules import Rule, Words, compile_rule, fixed, integers
from quoteway_indexer.stores.batches import arrow_schema

if TYPE_CHECKING:
    from quoteway_indexer.ingest.words import Mask

Contracts = Callable[[str], Set[str] | None]
"""Returns the contracts whose logs count for a source, in lower case, by its id; None: all contracts."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """Decodes the logs of one source. ``rules`` are by topic 0 and the number of topics."""

    source: EventSource
    rules: Mapping[str, Mapping[int, Sequence[Rule]]]

    @property
    def topics(self) -> Set[str]:
        """Returns the first topics of the source's events."""
        return self.rules.keys()


@dataclass(slots=True)
class Decoded:
    """Facts by table, and how many logs did not fit their rule, by source."""

    facts: dict[str, pa.Table] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def rows(self) -> int:
        """Returns the number of facts."""
        return sum(table.num_rows for table in self.facts.values())


def compile_source(source: EventSource) -> Decoder:
    """Returns the decoder of a source. Raises ``ValueError`` saying what is wrong with a rule."""
    rules: dict[str, dict[int, list[Rule]]] = defaultdict(lambda: defaultdict(list))
    for declared in source.rules:
        rule = compile_rule(declared)
        same = rules[rule.event.topic][rule.event.topics]
        if any(each.table is rule.table for each in same):
            raise ValueError(f"two rules make {rule.table.name} of event {rule.event.name}: remove one")
        same.append(rule)
    if not rules:
        raise ValueError("it has no rules")
    return Decoder(source, {topic: dict(by_count) for topic, by_count in rules.items()})


def decode(
    decoders: Sequence[Decoder], batch: LogBatch, times: Mapping[int, int], contracts: Contracts
) -> Decoded:
    """Returns the facts of a batch. ``times`` are the timestamps of its blocks by number.

    A log that does not fit its rule is left out and counted. Raises ``UnreadableLogsError`` for logs that no
    node of a chain can give.
    """
    return _Decoding(batch, times).decode(decoders, contracts)


class _Decoding:
    def __init__(self, batch: LogBatch, times: Mapping[int, int]) -> None:
        self._batch = batch
        self._times = np.array(list(map(times.__getitem__, batch.numbers.tolist())), np.int64)
        self._at: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        """The places of logs in the batch by topic 0 and the number of topics."""
        as_given: dict[tuple[str, int], list[int]] = defaultdict(list)
        try:
            for at, topics in enumerate(member(batch.logs, "topics")):
                count = len(topics)
                if count:  # an anonymous event may have none
                    as_given[topics[0], count].append(at)
            for (topic, count), places in as_given.items():
                self._at[topic.lower()][count] += places
        except (KeyError, TypeError, AttributeError):
            raise UnreadableLogsError("an entry is no log") from None

    def decode(self, decoders: Sequence[Decoder], contracts: Contracts) -> Decoded:
        parts: dict[str, list[pa.Table]] = defaultdict(list)
        taken: dict[str, set[int]] = defaultdict(set)
        decoded = Decoded()
        for decoder in decoders:
            mine = contracts(decoder.source.id)
            for topic, by_count in decoder.rules.items():
                for count, places in self._at.get(topic, {}).items():
                    own = [at for at in places if mine is None or self._batch.contracts[at] in mine]
                    rules = by_count.get(count, ())
                    if not rules and own:
                        decoded.skipped[decoder.source.id] += len(own)
                    for rule in rules:
                        # One log makes one row of a table, also when two sources declare it.
                        there = taken[rule.table.name]
                        free = [at for at in own if at not in there] if there else own
                        if not free:
                            continue
                        table, fitting = self._apply(decoder.source, rule, free)
                        there.update(free)
                        decoded.skipped[decoder.source.id] += len(free) - fitting
                        parts[rule.table.name].append(table)
        decoded.facts = {name: pa.concat_tables(tables) for name, tables in parts.items()}
        decoded.skipped = +decoded.skipped
        return decoded

    def _apply(self, source: EventSource, rule: Rule, places: list[int]) -> tuple[pa.Table, int]:
        """Returns the rows that a rule makes of the logs at some places of the batch, and of how many.

        A log of which one row does not fit makes none.
        """
        size = 2 + 64 * rule.event.words
        try:
            data = member([self._batch.logs[at] for at in places], "data")
            lengths = set(map(len, data))
            if rule.event.is_dynamic:
                places = [at for at, text in zip(places, data, strict=True) if len(text) >= size]
                data = [text for text in data if len(text) >= size]
            elif lengths != {size}:
                places = [at for at, text in zip(places, data, strict=True) if len(text) == size]
                data = [text for text in data if len(text) == size]
            logs = [self._batch.logs[at] for at in places]
            topics = list(zip(*member(logs, "topics"), strict=True))[1:] or [()] * (rule.event.topics - 1)
            hashes = unhex(member(logs, "transactionHash"), 32)
        except (KeyError, TypeError, ValueError):
            raise UnreadableLogsError("an entry is no log") from None
        heads = [text[:size] for text in data] if rule.event.is_dynamic else data
        cells = Words(
            unhex([self._batch.contracts[at] for at in places], 20),
            tuple(unhex(column, 32) for column in topics),
            unhex(heads, 32 * rule.event.words).reshape(len(places), rule.event.words, 32),
        )
        at = np.array(places, np.int64)
        fit: Mask | None = None
        if rule.arrays:
            items, fit = items_of(rule.arrays, cells.data, data)
            cells, at, hashes = cells.of_items(items), at[items.logs], hashes[items.logs]
        own, good = rule.columns(cells)
        fitting = int(good.sum())
        if fit is not None:
            fit[items.logs[~good]] = False
            good, fitting = fit[items.logs], int(fit.sum())
        columns = [
            integers("int64", np.full(len(at), source.chain_id, np.int64)),
            pa.repeat(pa.scalar(source.id), len(at)),
            integers("int64", self._batch.numbers[at]),
            integers("int32", self._batch.indexes[at]),
            integers("int64", self._times[at]),
            fixed(hashes),
            *own,
        ]
        table = pa.table(columns, schema=arrow_schema(rule.table))
        return table if good.all() else table.filter(pa.array(good)), fitting
