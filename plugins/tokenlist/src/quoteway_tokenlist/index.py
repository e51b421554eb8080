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
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from quoteway import NATIVE, Address, Network, Token, TokenProfile

from quoteway_tokenlist.document import ListedToken, TokenList

Key = tuple[int, Address]
"""Chain id and EIP-55 address."""

_PLAIN_SYMBOL = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_PLACE_BITS = 32
_NO_LIST = TokenList((), {}, "")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The catalog's data at one time. ``revision`` is the same in replicas that have the same lists."""

    profiles: tuple[TokenProfile, ...]
    by_id: Mapping[str, TokenProfile]
    by_chain: Mapping[int, Mapping[Address, TokenProfile]]
    """By chain id and address of a contract; a profile has all its contracts."""
    revision: str

    def profile(self, key: Key) -> TokenProfile | None:
        """Returns the profile of a token with that contract only."""
        chain_id, address = key
        found = self.by_chain.get(chain_id, {}).get(address)
        return None if found is None else _alone(found, key)

    def of_chain(self, chain_id: int) -> Iterator[TokenProfile]:
        """Yields the profiles of one chain's tokens, each with that contract only."""
        for address, profile in self.by_chain.get(chain_id, {}).items():
            yield _alone(profile, (chain_id, address))


@dataclass(frozen=True, slots=True)
class _Placed:
    """A list with the places of its tokens: by key, and by family (see ``_family``)."""

    source: TokenList
    places: Mapping[Key, int]
    families: Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A token as all lists describe it. ``precedence`` orders tokens: by list, then by place in it."""

    precedence: int
    token: ListedToken


@dataclass(slots=True)
class Index:
    """Merges lists by precedence. When one changes, only what shares a symbol with its tokens is made anew.

    Not for concurrent use.
    """

    networks: Sequence[Network]
    native_updated_at: int
    _lists: list[_Placed] = field(default_factory=list, init=False)
    _shared: set[Key] = field(default_factory=set, init=False)
    _decimals: dict[Key, int] = field(default_factory=dict, init=False)
    _made: dict[str, list[tuple[int, TokenProfile]]] = field(default_factory=dict, init=False)
    """Profiles with their precedence, by family."""

    def update(self, lists: Sequence[TokenList | None], decimals: Mapping[Key, int]) -> Snapshot:
        """Returns the catalog of these lists; None stands for one not read yet.

        Lists are named by their position, which must not change. ``decimals`` has the contracts' decimals
        where a list was wrong.
        """
        given = [self._natives(), *(found or _NO_LIST for found in lists)]
        old = self._lists + [_placed(_NO_LIST, ())] * (len(given) - len(self._lists))
        served = {network.chain_id for network in self.networks}
        self._lists = [
            before if source.digest == before.source.digest else _placed(source, served)
            for source, before in zip(given, old, strict=True)
        ]
        changed = [
            (before, after) for before, after in zip(old, self._lists, strict=True) if before is not after
        ]
        families = {name for pair in changed for placed in pair for name in placed.families}
        # Another list may describe a token by another symbol.
        shared, self._shared = self._shared, self._in_several()
        shared = shared | self._shared
        keys = {key for pair in changed for placed in pair for key in placed.places.keys() & shared}
        keys |= {key for key, _ in decimals.items() ^ self._decimals.items()}
        families |= {_family(token.symbol) for key in keys for token in self._described(key)}
        self._decimals = dict(decimals)
        for name in families:
            made = list(self._profiles(name))
            if made:
                self._made[name] = made
            else:
                self._made.pop(name, None)
        return self._snapshot()

    def _natives(self) -> TokenList:
        tokens = tuple(_native(network, self.native_updated_at) for network in self.networks)
        return TokenList(tokens, {}, repr(tokens))

    def _in_several(self) -> set[Key]:
        """Returns the tokens that more than one list has."""
        seen: set[Key] = set()
        shared: set[Key] = set()
        for placed in self._lists:
            shared |= seen & placed.places.keys()
            seen |= placed.places.keys()
        return shared

    def _described(self, key: Key) -> Iterator[ListedToken]:
        """Yields a token as each list that has it describes it."""
        for placed in self._lists:
            if key in placed.places:
                yield placed.source.tokens[placed.places[key]]

    def _entries(self, family: str) -> Iterator[_Entry]:
        """Yields the tokens of a family by precedence."""
        for at, placed in enumerate(self._lists):
            for place in placed.families.get(family, ()):
                token = placed.source.tokens[place]
                key = token.chain_id, token.address
                if key in self._shared:
                    first, *others = self._described(key)
                    if first is not token:
                        continue  # an earlier list describes it, perhaps by another symbol
                    for other in others:
                        token = _merged(token, other)
                decimals = self._decimals.get(key, token.decimals)
                if decimals != token.decimals:
                    token = replace(token, decimals=decimals)
                yield _Entry(at << _PLACE_BITS | place, token)

    def _profiles(self, family: str) -> Iterator[tuple[int, TokenProfile]]:
        groups: dict[str, list[_Entry]] = {}
        for token_id, entry in _with_ids(list(self._entries(family))):
            groups.setdefault(token_id, []).append(entry)
        for token_id, entries in groups.items():
            yield entries[0].precedence, _profile(token_id, [entry.token for entry in entries])

    def _snapshot(self) -> Snapshot:
        made = [each for profiles in self._made.values() for each in profiles]
        made.sort(key=lambda each: each[0])
        profiles = tuple(profile for _, profile in made)
        by_chain: dict[int, dict[Address, TokenProfile]] = {n.chain_id: {} for n in self.networks}
        for profile in profiles:
            for contract in profile.contracts:
                by_chain[contract.chain_id][contract.address] = profile
        parts = [placed.source.digest for placed in self._lists], sorted(self._decimals.items())
        return Snapshot(
            profiles=profiles,
            by_id={profile.id: profile for profile in profiles},
            by_chain=by_chain,
            revision=hashlib.sha256(repr(parts).encode()).hexdigest()[:16],
        )


def _placed(source: TokenList, served: Collection[int]) -> _Placed:
    places: dict[Key, int] = {}
    families: dict[str, list[int]] = {}
    for place, token in enumerate(source.tokens):
        if token.chain_id in served and (key := (token.chain_id, token.address)) not in places:
            places[key] = place
            families.setdefault(_family(token.symbol), []).append(place)
    return _Placed(source, places, families)


def _slug(symbol: str) -> str:
    return _NOT_SLUG.sub("-", symbol.lower()).strip("-") or "token"


def _family(symbol: str) -> str:
    """Returns the slug up to its first dash. Tokens of different families never compete for an id."""
    return _slug(symbol).partition("-")[0]


def _with_ids(entries: Sequence[_Entry]) -> Iterator[tuple[str, _Entry]]:
    """Yields a family's tokens with their ids by the module's rules."""
    taken: set[tuple[int, str]] = set()
    owners: dict[str, object] = {}
    for entry in entries:
        token = entry.token
        for token_id, owner in _candidates(token, entry.precedence >> _PLACE_BITS):
            if (token.chain_id, token_id) not in taken and owners.setdefault(token_id, owner) == owner:
                taken.add((token.chain_id, token_id))
                yield token_id, entry
                break


def _candidates(token: ListedToken, at: int) -> Iterator[tuple[str, object]]:
    """Yields ids and what owns them: a plain slug is its list's, others are of one address."""
    slug = _slug(token.symbol)
    if _PLAIN_SYMBOL.fullmatch(token.symbol):
        yield slug, at
    digits = token.address[2:].lower()
    for length in (6, 12, 40):
        yield f"{slug}-{digits[:length]}", token.address


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
    return replace(
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
