"""Finds tokens by what people type: addresses, symbols, names, their beginnings and parts, typing errors.

The index is of Tantivy, in memory and never changed: a catalog that changes gets a new one.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quoteway.evm.token_text import folded, skeleton
from quoteway.host.memory import give_back_free_memory
from quoteway.host.token_addresses import TokenAddresses
from quoteway.models import TokenPlaces, TokenProfile, TokenRows

if TYPE_CHECKING:
    import tantivy

MAX_QUERY_CHARS = 100

_NAME_CHARS = 3
"""Fewer letters find symbols only: a hundredth of all names begin with the same two."""
_PART_CHARS = 3
"""Parts inside a symbol or name are found from so many characters on: the length of what is indexed."""
_ONE_ERROR_CHARS = 3
_TWO_ERRORS_CHARS = 8
"""How long a word must be to be found with one typing error, and with two."""
_HEAP_BYTES, _HEAP_BYTES_PER_TOKEN = 32 << 20, 2 << 10
"""Of the writer, while it writes. With less it would write several segments: see ``_matches``."""

_MOST_WORDS = 6
"""Of a text: each costs time, and no more are needed to find a token."""

_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"0x[0-9a-f]{4,40}")
_ADDRESS_CHARS = 42

# What counts more is found first; among equals, what is listed first.
_WHOLE_ADDRESS, _SYMBOL, _ID, _NAME = 9.0, 8.0, 7.0, 6.0
_BEGINS_SYMBOL, _BEGINS_NAME, _BEGINS_ADDRESS, _BEGINS_WORDS = 5.0, 4.0, 3.0, 2.0
_ERROR, _ERRORS_IN_WORDS, _PART = 3.0, 2.0, 1.0


class TokenSearch:
    """The tokens of a deployment, best first: by market rank, then in the catalogs' order.

    A token whose symbol looks like that of one before it comes after all others, with
    ``TokenProfile.look_alike_of``.
    """

    def __init__(self, profiles: Iterable[TokenProfile]) -> None:
        """Takes seconds for 100,000: not for the event loop."""
        rows = profiles if isinstance(profiles, TokenRows) else TokenRows.of(profiles)
        rows, self._others = _unique(rows)
        self.profiles = _ordered(rows)
        index, writer = _written(self.profiles)
        # Meanwhile a thread of the writer indexes what it was given.
        self._ids = TokenPlaces(array("q", (hash(row.id) for row in self.profiles.rows())))
        self.updated_at = max((row.updated_at for row in self.profiles.rows()), default=None)
        self._addresses = TokenAddresses(self.profiles)
        self._searcher = _committed(index, writer)
        self._queries = _Queries(index.schema)

    def by_id(self, token_id: str) -> TokenProfile | None:
        """Returns the profile with an id."""
        found = (self.profiles[place] for place in self._ids.of(token_id))
        return next((profile for profile in found if profile.id == token_id), None)

    def described(self, position: int) -> Iterator[TokenProfile]:
        """Yields a profile, and what other catalogs list with its id."""
        profile = self.profiles[position]
        yield profile
        for other in self._others.get(profile.id, ()):
            yield replace(TokenRows.unpack(other).profile(), look_alike_of=profile.look_alike_of)

    def find(self, text: str, chain_id: int | None, limit: int, offset: int = 0) -> tuple[Sequence[int], int]:
        """Returns at most ``limit`` positions in ``profiles``, after ``offset``, and how many match in all.

        Parts and typing errors are looked for where nothing is called or begins so. Without a text, all
        tokens match.
        """
        lowered = folded(text.strip()[:MAX_QUERY_CHARS])
        if not lowered and chain_id is None:
            count = len(self.profiles)
            return range(offset, min(offset + limit, count)), count
        if _ADDRESS.fullmatch(lowered):
            found = self._with_addresses(lowered, chain_id)
            if found:
                return found[offset : offset + limit], len(found)
        for query in (self._exact(lowered), self._forgiving(lowered)):
            answer = self._answer(query, chain_id, max(limit, 1), offset)
            if answer.count:
                return [address.doc for _, address in answer.hits[:limit]], int(answer.count)
        return (), 0

    def _with_addresses(self, text: str, chain_id: int | None) -> Sequence[int]:
        """Returns the positions of tokens whose address is or begins so, and of those that are called so."""
        score = _WHOLE_ADDRESS if len(text) == _ADDRESS_CHARS else _BEGINS_ADDRESS
        scores = dict.fromkeys(self._addresses.begin(text, chain_id), score)
        if not scores:
            return ()
        query = self._exact(text)
        called = self._answer(query, chain_id, 1, 0).count
        if called:  # rare: room for every token in an answer takes milliseconds
            for points, address in self._answer(query, chain_id, called, 0).hits:
                scores[address.doc] = max(points, scores.get(address.doc, 0.0))
        return sorted(scores, key=lambda position: (-scores[position], position))

    def _answer(self, query: tantivy.Query, chain_id: int | None, limit: int, offset: int) -> Any:
        if chain_id is not None:
            of = self._queries
            query = of.all_of([query, of.scored(of.term("chain", str(chain_id)), 0.0)])
        # In one segment documents are numbered as they were added, and of equal scores the first comes first.
        return self._searcher.search(query, limit, count=True, offset=offset)

    def _exact(self, text: str) -> tantivy.Query:
        of = self._queries
        if not text:
            return of.scored(of.everything(), 1.0)
        found = [
            of.scored(of.term("symbol", text), _SYMBOL),
            of.scored(of.term("id", text), _ID),
            of.scored(of.term("name", text), _NAME),
            of.scored(of.begins("symbol", text), _BEGINS_SYMBOL),
        ]
        if len(text) >= _NAME_CHARS:
            found.append(of.scored(of.begins("name", text), _BEGINS_NAME))
            words = _words(text)
            if words:
                found.append(of.scored(of.all_of([of.begins("word", word) for word in words]), _BEGINS_WORDS))
        return of.best(found)

    def _forgiving(self, text: str) -> tantivy.Query:
        of, found = self._queries, []
        if len(text) >= _PART_CHARS:
            found.append(of.scored(of.part(text), _PART))
        if len(text) >= _ONE_ERROR_CHARS and not text.startswith("0x"):
            found.append(of.scored(of.near("symbol", text, 1), _ERROR))
            found.append(of.scored(of.near("name", text, 1), _ERROR))
            near = [
                of.near("word", word, (len(word) > _ONE_ERROR_CHARS) + (len(word) >= _TWO_ERRORS_CHARS))
                for word in _words(text)
            ]
            if near:
                found.append(of.scored(of.all_of(near), _ERRORS_IN_WORDS))
        return of.best(found)


def _words(text: str) -> list[str]:
    return _WORD.findall(text)[:_MOST_WORDS]


class _Queries:
    """Makes the parts of a query."""

    def __init__(self, schema: tantivy.Schema) -> None:
        import tantivy

        self._schema = schema
        self._kind = tantivy.Query
        self._must = tantivy.Occur.Must

    def scored(self, query: tantivy.Query, score: float) -> tantivy.Query:
        return self._kind.const_score_query(query, score)

    def best(self, queries: Sequence[tantivy.Query]) -> tantivy.Query:
        """Any of these; the greatest score counts."""
        return self._kind.disjunction_max_query(list(queries)) if queries else self._kind.empty_query()

    def all_of(self, queries: Sequence[tantivy.Query]) -> tantivy.Query:
        return self._kind.boolean_query([(self._must, query) for query in queries])

    def everything(self) -> tantivy.Query:
        return self._kind.all_query()

    def term(self, field: str, text: str) -> tantivy.Query:
        return self._kind.term_query(self._schema, field, text)

    def begins(self, field: str, text: str) -> tantivy.Query:
        return self._kind.fuzzy_term_query(self._schema, field, text, 0, True, True)

    def near(self, field: str, text: str, errors: int) -> tantivy.Query:
        """With so many typing errors: a sign too many, missing or wrong, or two exchanged."""
        return self._kind.fuzzy_term_query(self._schema, field, text, errors, True, False)

    def part(self, text: str) -> tantivy.Query:
        """With every three letters of it in a row, wherever they are in the symbol and the name."""
        starts = range(len(text) - _PART_CHARS + 1)
        return self.all_of([self.term("part", text[at : at + _PART_CHARS]) for at in starts])


def _unique(rows: TokenRows) -> tuple[TokenRows, dict[str, list[bytes]]]:
    """Returns the first row of each id, and the others by id."""
    others: dict[str, list[bytes]] = {}
    left_out: set[int] = set()
    for places in TokenPlaces(array("q", (hash(row.id) for row in rows.rows()))).repeated():
        first: set[str] = set()
        for place in places:
            token_id = rows.row(place).id
            if token_id in first:
                others.setdefault(token_id, []).append(rows.packed[place])
                left_out.add(place)
            first.add(token_id)
    if not left_out:
        return rows, others
    return TokenRows(tuple(row for at, row in enumerate(rows.packed) if at not in left_out)), others


def _ordered(rows: TokenRows) -> TokenRows:
    """Returns rows by market rank. Those whose symbol looks like that of one before are marked, after all
    others."""
    ranks = [row.rank for row in rows.rows()]
    order = sorted(range(len(ranks)), key=lambda at: (ranks[at] is None, ranks[at]))
    packed = [rows.packed[at] for at in order]
    marks = array("q")
    for at, row in enumerate(map(TokenRows.unpack, packed)):
        marks.append(hash(skeleton(row.symbol)))
        if row.others is not None and "look_alike_of" in row.others:
            packed[at] = row.marked(None)
    alike: dict[int, bytes] = {}
    for places in TokenPlaces(marks).repeated():
        owners: dict[str, str] = {}
        for at in places:
            row = TokenRows.unpack(packed[at])
            mark = skeleton(row.symbol)
            owner = owners.setdefault(mark, row.id) if mark else row.id
            if owner != row.id:
                alike[at] = row.marked(owner)
    first = [row for at, row in enumerate(packed) if at not in alike]
    return TokenRows((*first, *(alike[at] for at in sorted(alike))))


def _written(profiles: TokenRows) -> tuple[tantivy.Index, tantivy.IndexWriter]:
    """Gives the tokens to the writer of a new index, which a call of ``_committed`` ends."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    for field in ("symbol", "id", "name", "chain"):
        builder.add_text_field(field, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("word", tokenizer_name="whitespace", index_option="basic")
    builder.add_text_field("part", tokenizer_name="part", index_option="basic")
    index = tantivy.Index(builder.build())
    parts = tantivy.Tokenizer.ngram(_PART_CHARS, _PART_CHARS, False)
    index.register_tokenizer("part", tantivy.TextAnalyzerBuilder(parts).build())
    writer = index.writer(_HEAP_BYTES + _HEAP_BYTES_PER_TOKEN * len(profiles), num_threads=1)
    for row in profiles.rows():
        symbol, name = folded(row.symbol), folded(row.name)
        document = tantivy.Document()
        document.add_text("symbol", symbol)
        if row.id != symbol:  # it is found by its symbol, which counts more
            document.add_text("id", row.id)
        document.add_text("name", name)
        document.add_text("word", " ".join(_WORD.findall(f"{symbol} {name}")))
        document.add_text("part", symbol)
        document.add_text("part", name)
        for contract in row.contracts:
            document.add_text("chain", str(contract.chain_id))
        writer.add_document(document)
    return index, writer


def _committed(index: tantivy.Index, writer: tantivy.IndexWriter) -> tantivy.Searcher:
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    # The C library keeps what the writer used, for 100,000 tokens four times the size of the index.
    give_back_free_memory()
    searcher = index.searcher()
    if searcher.num_segments > 1:
        raise RuntimeError(f"the index of {searcher.num_docs} tokens has {searcher.num_segments} segments")
    return searcher
