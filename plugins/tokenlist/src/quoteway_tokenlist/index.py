"""The catalog as one immutable snapshot: tokens with their ids, grouped across networks.

An id is the token's symbol as a slug, so ``usdc`` is USDC on every network. Rules, in this order:

1. Native coins come first, then the built-in list, then the networks' lists, then the configured ones.
2. A symbol made of ASCII letters and digits, optionally joined by single ``.``, ``-`` or ``_``, gives the
   slug: lowercase, joiners as ``-`` (``USDC.e`` -> ``usdc-e``).
3. Where another token of the same network already has that slug, and for every symbol of another form
   (``$USDC``), the id is the slug and the first 6 hex digits of the address (12, then 40, if another address
   has that id).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from quoteway import NATIVE, Network, Token, TokenProfile

from quoteway_tokenlist.document import ListedToken

Key = tuple[int, str]
"""Chain id and EIP-55 address."""

_PLAIN_SYMBOL = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The catalog's data at one time. ``revision`` is its digest: replicas with equal data agree."""

    profiles: tuple[TokenProfile, ...]
    by_id: Mapping[str, TokenProfile]
    by_chain: Mapping[int, tuple[TokenProfile, ...]]
    by_key: Mapping[Key, TokenProfile]
    """Profiles with that contract only."""
    revision: str


def build(
    networks: Sequence[Network],
    lists: Iterable[Sequence[ListedToken]],
    *,
    native_updated_at: int,
    decimals: Mapping[Key, int],
) -> Snapshot:
    """Indexes lists by precedence. ``decimals`` has the contracts' decimals where a list was wrong."""
    served = {network.chain_id for network in networks}
    entries: dict[Key, ListedToken] = {}
    for network in networks:
        entries[network.chain_id, NATIVE] = _native(network, native_updated_at)
    for tokens in lists:
        for token in tokens:
            if token.chain_id in served:
                key = token.chain_id, token.address
                entries[key] = _merged(entries[key], token) if key in entries else token
    groups: dict[str, list[ListedToken]] = {}
    for key, token_id in _ids(entries.values()).items():
        token = entries[key]
        groups.setdefault(token_id, []).append(replace(token, decimals=decimals.get(key, token.decimals)))
    return _snapshot(groups)


def _snapshot(groups: Mapping[str, Sequence[ListedToken]]) -> Snapshot:
    profiles = []
    by_chain: dict[int, list[TokenProfile]] = {}
    by_key: dict[Key, TokenProfile] = {}
    for token_id, tokens in groups.items():
        profiles.append(_profile(token_id, tokens))
        for token in tokens:
            alone = _profile(token_id, [token])
            by_chain.setdefault(token.chain_id, []).append(alone)
            by_key[token.chain_id, token.address] = alone
    return Snapshot(
        profiles=tuple(profiles),
        by_id={profile.id: profile for profile in profiles},
        by_chain={chain_id: tuple(found) for chain_id, found in by_chain.items()},
        by_key=by_key,
        revision=hashlib.sha256(repr(profiles).encode()).hexdigest()[:16],
    )


def _ids(tokens: Iterable[ListedToken]) -> dict[Key, str]:
    """Returns the id of every token by the module's rules."""
    ids: dict[Key, str] = {}
    taken: set[tuple[int, str]] = set()
    owners: dict[str, str] = {}  # id -> the address it is made from, "" for a plain slug that a group shares
    for token in tokens:
        for token_id, owner in _candidates(token):
            if (token.chain_id, token_id) not in taken and owners.setdefault(token_id, owner) == owner:
                taken.add((token.chain_id, token_id))
                ids[token.chain_id, token.address] = token_id
                break
    return ids


def _candidates(token: ListedToken) -> Iterator[tuple[str, str]]:
    slug = _NOT_SLUG.sub("-", token.symbol.lower()).strip("-") or "token"
    if _PLAIN_SYMBOL.fullmatch(token.symbol):
        yield slug, ""
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
    return replace(
        first,
        logo_uri=first.logo_uri or second.logo_uri,
        tags=tuple(dict.fromkeys(first.tags + second.tags)),
        updated_at=max(first.updated_at, second.updated_at),
    )


def _profile(token_id: str, tokens: Sequence[ListedToken]) -> TokenProfile:
    return TokenProfile(
        id=token_id,
        name=tokens[0].name,
        symbol=tokens[0].symbol,
        updated_at=max(token.updated_at for token in tokens),
        contracts=tuple(_contract(token) for token in sorted(tokens, key=lambda token: token.chain_id)),
        logo_uri=next((token.logo_uri for token in tokens if token.logo_uri), None),
        tags=tuple(dict.fromkeys(tag for token in tokens for tag in token.tags)),
    )


def _contract(token: ListedToken) -> Token:
    return Token(
        chain_id=token.chain_id,
        address=token.address,
        decimals=token.decimals,
        symbol=token.symbol,
        name=token.name or None,
        logo_uri=token.logo_uri,
    )
