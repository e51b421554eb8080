"""Token profiles packed in memory: 100,000 of them take a quarter of what as many objects take."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, overload

import msgspec

from quoteway.models.tokens import Address, Token, TokenProfile, TradeTax

__all__ = ["TokenPlaces", "TokenRow", "TokenRows"]

MAX_ITEMS = 1_000
Text = Annotated[str, msgspec.Meta(max_length=4_096)]
ChainId = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]

_OF_ROW = ("id", "name", "symbol", "updated_at", "contracts", "logo_uri", "tags")
_OTHERS = {
    member.name: None if member.default is MISSING else member.default
    for member in fields(TokenProfile)
    if member.name not in _OF_ROW
}
"""The members that few profiles have, with their defaults."""


class RowContract(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A contract. ``labels`` are its symbol, name, logo, price and ``listed``; without, those of the profile
    and True."""

    chain_id: ChainId
    address: Text
    decimals: Annotated[int, msgspec.Meta(ge=0, le=255)]
    labels: list[Any] | None = None


class TokenRow(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A profile as it is packed. ``others`` has the members that few profiles have."""

    id: Text
    name: Text
    symbol: Text
    updated_at: Annotated[int, msgspec.Meta(ge=0, le=253_402_300_799)]
    contracts: Annotated[list[RowContract], msgspec.Meta(max_length=MAX_ITEMS)]
    logo_uri: Text | None
    tags: Annotated[list[Text], msgspec.Meta(max_length=MAX_ITEMS)]
    others: dict[str, Any] | None = None

    @property
    def is_plain(self) -> bool:
        """Returns whether all that it has are the members of this class."""
        return self.others is None and all(each.labels is None for each in self.contracts)

    @property
    def rank(self) -> int | None:
        return None if self.others is None else self.others.get("rank")

    def token(self, contract: RowContract) -> Token:
        """Returns one of its contracts."""
        labels = contract.labels
        if labels is None:
            labels = [self.symbol, self.name, self.logo_uri, None, True]
        return Token(contract.chain_id, contract.address, contract.decimals, *labels)

    def marked(self, look_alike_of: str | None) -> bytes:
        """Returns the row packed, with the id of the token that it looks like, or without one."""
        others = {name: value for name, value in (self.others or {}).items() if name != "look_alike_of"}
        if look_alike_of is not None:
            others["look_alike_of"] = look_alike_of
        return _write(msgspec.structs.replace(self, others=others or None))

    def profile(self) -> TokenProfile:
        others = dict(self.others or {})
        for member in ("socials", "sources"):
            if member in others:
                others[member] = tuple(map(tuple, others[member]))
        if "trade_tax" in others:
            others["trade_tax"] = TradeTax(*others["trade_tax"])
        contracts = tuple(map(self.token, self.contracts))
        return TokenProfile(
            self.id,
            self.name,
            self.symbol,
            self.updated_at,
            contracts,
            logo_uri=self.logo_uri,
            tags=tuple(self.tags),
            **others,
        )


_read = msgspec.msgpack.Decoder(TokenRow).decode
_write = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class TokenRows(Sequence[TokenProfile]):
    """An immutable sequence of profiles. Each is made when it is asked for.

    A catalog of many tokens answers ``tokens`` with it. ``packed`` has what ``pack`` and ``pack_listed``
    return; rows that stay are best the same objects in the next answer.
    """

    packed: tuple[bytes, ...] = ()

    @staticmethod
    def of(profiles: Iterable[TokenProfile]) -> TokenRows:
        """Returns the rows of these profiles."""
        return TokenRows(tuple(map(TokenRows.pack, profiles)))

    @staticmethod
    def pack(profile: TokenProfile) -> bytes:
        """Returns a profile as one row."""
        labels = [profile.symbol, profile.name, profile.logo_uri, None, True]
        contracts = [_packed_contract(token, labels) for token in profile.contracts]
        row: list[Any] = [profile.id, profile.name, profile.symbol, profile.updated_at]
        row += [contracts, profile.logo_uri, profile.tags]
        others = {
            member: value
            for member, default in _OTHERS.items()
            if (value := getattr(profile, member)) is not default and value != default
        }
        if profile.trade_tax is not None:
            tax = profile.trade_tax
            others["trade_tax"] = (tax.token, tax.buy_bps, tax.sell_bps, tax.sellable)
        return _write([*row, others] if others else row)

    @staticmethod
    def pack_listed(
        token_id: str,
        chain_id: int,
        address: Address,
        decimals: int,
        symbol: str,
        name: str,
        logo_uri: str | None,
        tags: Sequence[str],
        updated_at: int,
    ) -> bytes:
        """Returns the row of a listed token with one contract. An empty name is no name of the contract."""
        contract: list[Any] = [chain_id, address, decimals]
        if not name:
            contract.append([symbol, None, logo_uri, None, True])
        return _write([token_id, name, symbol, updated_at, [contract], logo_uri, tags])

    @staticmethod
    def unpack(packed: bytes) -> TokenRow:
        """Returns the members of a row. Raises ``ValueError`` for other bytes."""
        return _read(packed)

    def __len__(self) -> int:
        return len(self.packed)

    @overload
    def __getitem__(self, at: int) -> TokenProfile: ...
    @overload
    def __getitem__(self, at: slice) -> TokenRows: ...
    def __getitem__(self, at: int | slice) -> TokenProfile | TokenRows:
        return TokenRows(self.packed[at]) if isinstance(at, slice) else self.row(at).profile()

    def row(self, at: int) -> TokenRow:
        """Returns the row at a place, without a profile of it."""
        return _read(self.packed[at])

    def rows(self) -> Iterator[TokenRow]:
        """Yields the rows without a profile of each."""
        return map(_read, self.packed)


def _packed_contract(token: Token, labels: Sequence[Any]) -> list[Any]:
    own = [token.symbol, token.name, token.logo_uri, token.price_usd, token.listed]
    facts: list[Any] = [token.chain_id, token.address, token.decimals]
    return facts if own == labels else [*facts, own]


class TokenPlaces:
    """Tells where a key may be, in 12 bytes for each: a dict with its texts takes ten times as much.

    It keeps hashes only: what is at a place has to be compared with the key.
    """

    __slots__ = ("_hashes", "_places")

    def __init__(self, hashes: Sequence[int], places: Sequence[int] | None = None) -> None:
        """Takes ``hash`` of each key, and the place of each; without, its number."""
        order = sorted(range(len(hashes)), key=hashes.__getitem__)
        self._hashes = array("q", [hashes[at] for at in order])
        self._places = array("I", order if places is None else [places[at] for at in order])

    def of(self, key: Hashable) -> Iterator[int]:
        """Yields the places of a key in the order in which they were given, perhaps with others."""
        wanted = hash(key)
        at = bisect_left(self._hashes, wanted)
        while at < len(self._hashes) and self._hashes[at] == wanted:
            yield self._places[at]
            at += 1

    def repeated(self) -> Iterator[Sequence[int]]:
        """Yields, of keys that may be equal, the places of all in the order in which they were given."""
        start = 0
        for end in range(1, len(self._hashes) + 1):
            if end == len(self._hashes) or self._hashes[end] != self._hashes[start]:
                if end - start > 1:
                    yield self._places[start:end]
                start = end
