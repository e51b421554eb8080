"""The catalog as one immutable snapshot: tokens with their ids, grouped across networks.

An id is the token's symbol as a slug, so ``usdc`` is USDC on every network. Rules, in this order:

1. Native coins come first, then the built-in list, then the networks' lists, then the configured ones.
2. Tokens of several networks share an id only where one list has them: anybody can give a token any symbol.
3. A symbol made of ASCII letters and digits, optionally joined by single ``.``, ``-`` or ``_``, gives the
   slug: lowercase, joiners as ``-`` (``USDC.e`` -> ``usdc-e``).
4. Where another token of the same network, or of an earlier list, already has that slug, and for every
   symbol of another form (``$USDC``), the id is the slug and the first 6 hex digits of the address (12, then
   40, if another address has that id).
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs
from quoteway import NATIVE, Address, Network, Token, TokenPlaces, TokenProfile, TokenRows

from quoteway_tokenlist.document import ListedToken, TokenList, packed, unpacked
from quoteway_tokenlist.ids import candidates, family

Key = tuple[int, Address]
"""Chain id and EIP-55 address."""

_PLACE_BITS = 32
_NO_LIST = TokenList(TokenRows(), {}, "")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The catalog's data at one time. ``revision`` is the same in replicas that have the same lists."""

    profiles: TokenRows
    revision: str
    _contracts: TokenPlaces = field(compare=False)
    _families: TokenPlaces = field(compare=False)

    def by_id(self, token_id: str) -> TokenProfile | None:
        """Returns the profile with an id."""
        rows = map(self.profiles.row, self._families.of(family(token_id)))
        return next((row.profile() for row in rows if row.id == token_id), None)

    def profile(self, key: Key) -> TokenProfile | None:
        """Returns the profile of a token with that contract only."""
        for at in self._contracts.of(key):
            row = self.profiles.row(at)
            if any((each.chain_id, each.address) == key for each in row.contracts):
                return _alone(row.profile(), key)
        return None

    def of_chain(self, chain_id: int) -> Iterator[TokenProfile]:
        """Yields the profiles of one chain's tokens, each with that contract only."""
        for row in self.profiles.rows():
            for contract in row.contracts:
                if contract.chain_id == chain_id:
                    yield _alone(row.profile(), (chain_id, contract.address))


@dataclass(frozen=True, slots=True)
class _Placed:
    """The rows of a list that count: of served networks, each token once. ``keys`` and ``families`` have the
    hashes of their keys and families."""

    digest: str
    rows: Sequence[bytes] = ()
    keys: Sequence[int] = ()
    families: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """A token of a family: the list that describes it first, with that and the later descriptions of it, and
    its decimals where these are wrong."""

    at: int
    rows: tuple[bytes, ...]
    decimals: int | None


@dataclass(slots=True)
class Index:
    """Merges lists by precedence. What competes with nothing stays the row of its list; of the others, only
    families are made anew in which something has changed.

    Not for concurrent use.
    """

    networks: Sequence[Network]
    native_updated_at: int
    _lists: list[_Placed] = field(default_factory=list, init=False)
    _made: dict[int, tuple[list[_Entry], list[bytes | None]]] = field(default_factory=dict, init=False)
    """Entries that compete or are merged and what was made of each, by the hash of their family."""

    def update(self, lists: Sequence[TokenList | None], decimals: Mapping[Key, int]) -> Snapshot:
        """Returns the catalog of these lists; None stands for one not read yet.

        Lists are named by their position, which must not change. ``decimals`` has the contracts' decimals
        where a list was wrong.
        """
        given = [self._natives(), *(found or _NO_LIST for found in lists)]
        old = self._lists + [_Placed("")] * (len(given) - len(self._lists))
        served = {network.chain_id for network in self.networks}
        self._lists = [
            before if source.digest == before.digest else _placed(source, served)
            for source, before in zip(given, old, strict=True)
        ]
        made = dict(self._competing(decimals))
        rows: list[bytes] = []
        for at, placed in enumerate(self._lists):
            for place, row in enumerate(placed.rows):
                found = made.get(at << _PLACE_BITS | place, row)
                if found is not None:
                    rows.append(found)
        parts = [placed.digest for placed in self._lists], sorted(decimals.items())
        return _snapshot(TokenRows(tuple(rows)), hashlib.sha256(repr(parts).encode()).hexdigest()[:16])

    def _natives(self) -> TokenList:
        tokens = tuple(_native(network, self.native_updated_at) for network in self.networks)
        return TokenList.of(tokens, {}, repr(tokens))

    def _competing(self, decimals: Mapping[Key, int]) -> Iterator[tuple[int, bytes | None]]:
        """Yields, of each token that shares its family or is in several lists, its precedence (its list, then
        its place in it) and its row. None: another row has it."""
        described = self._described()
        wrong = {hash(key): key for key in decimals}
        first: dict[int, int] = {}
        families: dict[int, list[int]] = {}
        for at, placed in enumerate(self._lists):
            for place, (key, name) in enumerate(zip(placed.keys, placed.families, strict=True)):
                precedence = at << _PLACE_BITS | place
                other = first.setdefault(name, precedence)
                if other != precedence or key in described or key in wrong:
                    families.setdefault(name, [other]).append(precedence)
        before, self._made = self._made, {}
        for name, found in families.items():
            places = list(dict.fromkeys(found))  # the first one is in it twice when it is wrong or described
            entries = [self._entry(place, described, decimals) for place in places]
            counting = [entry for entry in entries if entry is not None]
            known = before.get(name)
            rows = known[1] if known is not None and known[0] == counting else _merge(counting)
            self._made[name] = counting, rows
            merged = iter(rows)
            yield from (
                (place, None if entry is None else next(merged))
                for place, entry in zip(places, entries, strict=True)
            )

    def _described(self) -> dict[int, list[int]]:
        """Returns the precedences of each token that more than one list has, by the hash of its key."""
        seen: set[int] = set()
        several: dict[int, list[int]] = {}
        for placed in self._lists:
            several.update((key, []) for key in seen.intersection(placed.keys))
            seen.update(placed.keys)
        for at, placed in enumerate(self._lists):
            for place, key in enumerate(placed.keys):
                if key in several:
                    several[key].append(at << _PLACE_BITS | place)
        return several

    def _entry(
        self, place: int, described: Mapping[int, Sequence[int]], decimals: Mapping[Key, int]
    ) -> _Entry | None:
        """Returns a token of a list; None when an earlier list describes it, perhaps by another symbol."""
        at, number = place >> _PLACE_BITS, place & (1 << _PLACE_BITS) - 1
        row, key = self._lists[at].rows[number], _key(self._lists[at].rows[number])
        places = described.get(self._lists[at].keys[number], (place,))
        rows = [self._lists[p >> _PLACE_BITS].rows[p & (1 << _PLACE_BITS) - 1] for p in places]
        same = [(p, other) for p, other in zip(places, rows, strict=True) if _key(other) == key]
        if same[0][0] != place:
            return None
        return _Entry(at, (row, *(other for _, other in same[1:])), decimals.get(key))


def _placed(source: TokenList, served: Collection[int]) -> _Placed:
    seen: set[Key] = set()
    rows, keys, families = [], array("q"), array("q")
    for row, token in zip(source.rows.packed, source.rows.rows(), strict=True):
        key = token.contracts[0].chain_id, token.contracts[0].address
        if key[0] in served and key not in seen:
            seen.add(key)
            rows.append(row)
            keys.append(hash(key))
            families.append(hash(family(token.id)))
    return _Placed(source.digest, tuple(rows), keys, families)


def _snapshot(rows: TokenRows, revision: str) -> Snapshot:
    keys, places, families = array("q"), array("I"), array("q")
    for at, row in enumerate(rows.rows()):
        families.append(hash(family(row.id)))
        for contract in row.contracts:
            keys.append(hash((contract.chain_id, contract.address)))
            places.append(at)
    return Snapshot(rows, revision, TokenPlaces(keys, places), TokenPlaces(families))


def _key(row: bytes) -> Key:
    (contract,) = TokenRows.unpack(row).contracts
    return contract.chain_id, contract.address


def _merge(entries: Sequence[_Entry]) -> list[bytes | None]:
    """Returns the row of each token of a family by the module's rules. None: it is in the row of another."""
    taken: set[Key] = set()
    owners: dict[str, object] = {}
    groups: dict[str, list[int]] = {}
    tokens = [_token(entry) for entry in entries]
    for number, (entry, token) in enumerate(zip(entries, tokens, strict=True)):
        for token_id, owner in candidates(token.symbol, token.address, entry.at):
            if (token.chain_id, token_id) not in taken and owners.setdefault(token_id, owner) == owner:
                taken.add((token.chain_id, token_id))
                groups.setdefault(token_id, []).append(number)
                break
    rows: list[bytes | None] = [None] * len(entries)
    for token_id, numbers in groups.items():
        first, *others = numbers
        if others:
            rows[first] = TokenRows.pack(_profile(token_id, [tokens[number] for number in numbers]))
        else:
            row = packed(tokens[first], token_id)
            rows[first] = entries[first].rows[0] if row == entries[first].rows[0] else row
    return rows


def _token(entry: _Entry) -> ListedToken:
    """Returns a token as all its lists describe it."""
    token, *others = map(unpacked, entry.rows)
    for other in others:
        token = _merged(token, other)
    return token if entry.decimals is None else structs.replace(token, decimals=entry.decimals)


def _native(network: Network, updated_at: int) -> ListedToken:
    return ListedToken(
        chain_id=network.chain_id,
        address=NATIVE,
        decimals=network.native_decimals,
        symbol=network.native_symbol,
        name=network.native_name,
        logo_uri=None,
        tags=(),
        updated_at=updated_at,
    )


def _merged(first: ListedToken, second: ListedToken) -> ListedToken:
    """Merges two descriptions of a token: the second only adds members that the first lacks."""
    if (
        second.logo_uri == first.logo_uri
        and second.tags == first.tags
        and second.updated_at <= first.updated_at
    ):
        return first
    return structs.replace(
        first,
        logo_uri=first.logo_uri or second.logo_uri,
        tags=tuple(dict.fromkeys(first.tags + second.tags)),
        updated_at=max(first.updated_at, second.updated_at),
    )


def _profile(token_id: str, tokens: Sequence[ListedToken]) -> TokenProfile:
    first = tokens[0]
    contracts: tuple[Token, ...]
    if len(tokens) == 1:
        contracts, logo_uri, tags, updated_at = (
            (_contract(first),),
            first.logo_uri,
            first.tags,
            first.updated_at,
        )
    else:
        contracts = tuple(_contract(token) for token in sorted(tokens, key=lambda token: token.chain_id))
        logo_uri = next((token.logo_uri for token in tokens if token.logo_uri), None)
        tags = tuple(dict.fromkeys(tag for token in tokens for tag in token.tags))
        updated_at = max(token.updated_at for token in tokens)
    return TokenProfile(
        id=token_id,
        name=first.name,
        symbol=first.symbol,
        updated_at=updated_at,
        contracts=contracts,
        logo_uri=logo_uri,
        tags=tags,
    )


def _alone(profile: TokenProfile, key: Key) -> TokenProfile:
    """Returns a profile with one of its contracts, as that contract's lists describe it."""
    if len(profile.contracts) == 1:
        return profile
    contract = next(each for each in profile.contracts if (each.chain_id, each.address) == key)
    return replace(
        profile,
        name=contract.name or profile.name,
        symbol=contract.symbol or profile.symbol,
        logo_uri=contract.logo_uri or profile.logo_uri,
        contracts=(contract,),
    )


def _contract(token: ListedToken) -> Token:
    return Token(
        chain_id=token.chain_id,
        address=token.address,
        decimals=token.decimals,
        symbol=token.symbol,
        name=token.name or None,
        logo_uri=token.logo_uri,
        listed=True,
    )
