"""The tokens of one network in memory: what one catalog lists, and what all of them do."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from quoteway.evm.token_text import MAX_LISTED_SYMBOL_CHARS, shown_symbol, skeleton
from quoteway.models import Address, Token, TokenPlaces, TokenRows

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CatalogToken:
    """A token with the id of its profile in a catalog."""

    token: Token
    id: str


class ChainTokens(Mapping[Address, Token]):
    """The tokens of one chain that one catalog lists, by address. Their decimals are not checked.

    Each is made when it is asked for.
    """

    def __init__(
        self,
        chain_id: int,
        rows: TokenRows,
        positions: Mapping[Address, int],
        symbols: Sequence[int],
        ids: Sequence[int],
    ) -> None:
        """Takes the positions of the tokens in ``rows``, and of each the hashes of its symbol's skeleton and
        of its id.
        """
        addresses = [*positions]
        self._chain_id = chain_id
        self._rows = rows
        self._positions = array("I", positions.values())
        self._ends = array("I")
        end = 0
        for address in addresses:
            end += len(address)
            self._ends.append(end)
        self._text = "".join(addresses)
        self._places = TokenPlaces([*map(hash, addresses)])
        self._symbols = TokenPlaces(symbols)
        self._ids = TokenPlaces(ids)

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[Address]:
        start = 0
        for end in self._ends:
            yield self._text[start:end]
            start = end

    def __contains__(self, address: object) -> bool:
        return self._at(address) is not None

    def __getitem__(self, address: Address) -> Token:
        at = self._at(address)
        if at is None:
            raise KeyError(address)
        return self._token(at)

    def with_symbol(self, mark: str) -> Token | None:
        """Returns the first token whose symbol has this skeleton."""
        tokens = map(self._token, self._symbols.of(mark))
        return next((token for token in tokens if skeleton(token.symbol or "") == mark), None)

    def named(self, name: str) -> Iterator[CatalogToken]:
        """Yields the tokens with this symbol, in any case of its letters, or with this id.

        A symbol with other signs than may be shown names nothing: it may only look like this one.
        """
        lowered = name.lower()
        for at in sorted({*self._symbols.of(skeleton(name)), *self._ids.of(lowered)}):
            token, token_id = self._token(at), self._rows.row(self._positions[at]).id
            symbol = shown_symbol(token.symbol, MAX_LISTED_SYMBOL_CHARS)
            if token_id == lowered or (symbol is not None and symbol.lower() == lowered):
                yield CatalogToken(token, token_id)

    def _at(self, address: object) -> int | None:
        return next((at for at in self._places.of(address) if self._address(at) == address), None)

    def _address(self, at: int) -> Address:
        return self._text[self._ends[at - 1] if at else 0 : self._ends[at]]

    def _token(self, at: int) -> Token:
        row, key = self._rows.row(self._positions[at]), (self._chain_id, self._address(at))
        token = row.token(next(each for each in row.contracts if (each.chain_id, each.address) == key))
        return token if token.listed else replace(token, listed=True)


@dataclass(frozen=True, slots=True)
class CatalogList:
    """The tokens of one chain that one catalog lists."""

    catalog: str
    tokens: ChainTokens


@dataclass(slots=True)
class _Made:
    """What ``ChainTokens`` of one chain are made of."""

    positions: dict[Address, int] = field(default_factory=dict)
    symbols: array[int] = field(default_factory=lambda: array("q"))
    ids: array[int] = field(default_factory=lambda: array("q"))


def by_chain(catalog: str, rows: TokenRows) -> dict[int, CatalogList]:
    """Returns what a catalog lists, by chain id. Takes tenths of a second for 100,000 rows."""
    made: dict[int, _Made] = {}
    for position, row in enumerate(rows.rows()):
        for contract in row.contracts:
            here = made.setdefault(contract.chain_id, _Made())
            if contract.address not in here.positions:
                here.positions[contract.address] = position
                symbol = row.symbol if contract.labels is None else contract.labels[0]
                here.symbols.append(hash(skeleton(symbol or "")))
                here.ids.append(hash(row.id))
    return {
        chain_id: CatalogList(catalog, ChainTokens(chain_id, rows, each.positions, each.symbols, each.ids))
        for chain_id, each in made.items()
    }


class ListedTokens(Mapping[Address, Token], Generic[T]):
    """The tokens of one chain that are listed, and those ``asked`` for that are known, as they are now.

    ``facts`` has the tokens that the chain was asked for, and ``labelled`` makes one of these: with
    ``listed`` false where no catalog has a row with its decimals.
    """

    def __init__(
        self,
        lists: Sequence[Mapping[Address, Token]],
        facts: Mapping[Address, T],
        labelled: Callable[[T], Token],
        asked: Collection[Address] = (),
    ) -> None:
        self._lists = lists
        self._facts = facts
        self._labelled = labelled
        self._asked = dict.fromkeys(asked)

    def __getitem__(self, address: Address) -> Token:
        found = self._found(address)
        if found is None:
            raise KeyError(address)
        return found

    def __iter__(self) -> Iterator[Address]:
        """Yields the addresses by precedence of the catalogs, then those only asked for."""
        known = frozenset(self._facts)
        for at, each in enumerate(self._lists):
            earlier = self._lists[:at]
            for address in each:
                if any(address in one for one in earlier):
                    continue
                if address not in known or self._found(address) is not None:
                    yield address
        for address in self._asked:
            if address in known and not any(address in each for each in self._lists):
                yield address

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, address: object) -> bool:
        return isinstance(address, str) and self._found(address) is not None

    def _found(self, address: Address) -> Token | None:
        facts = self._facts.get(address)
        if facts is not None:
            token = self._labelled(facts)
            return token if token.listed or address in self._asked else None
        return next((each[address] for each in self._lists if address in each), None)
