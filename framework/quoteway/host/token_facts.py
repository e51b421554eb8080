"""Merges what several catalogs say of one token, member by member.

Catalogs mean the same token when they name the same contract, and never for an equal symbol, name or id. The
first one that lists it says what it is; what it leaves out is filled from the next ones.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quoteway.models import Address, TokenPlaces, TokenProfile, TokenRows

FILLED = (
    *("ucid", "description", "issuer", "logo_uri", "website", "whitepaper", "rank", "holders"),
    *("price_change_24h_pct", "market_cap_usd", "fdv_usd", "volume_24h_usd"),
    *("circulating_supply", "total_supply", "max_supply", "audit_score", "tags", "socials"),
)
"""The members that another catalog may add. The price is the gateway's own."""

_Key = tuple[int, Address]


@dataclass(frozen=True, slots=True)
class CatalogProfiles:
    """The profiles of one catalog. One that does not ``list`` tokens only adds to those of others."""

    catalog: str
    profiles: TokenRows
    lists: bool = True


class TokenFactsOfCatalogs:
    """The profiles of all catalogs, in configured order, with those that list no tokens last."""

    def __init__(self, catalogs: Sequence[CatalogProfiles]) -> None:
        self._catalogs = tuple(sorted(catalogs, key=lambda each: not each.lists))
        self._numbers = {each.catalog: number for number, each in enumerate(self._catalogs)}
        self._others = tuple(
            (number, _ByContract(each.profiles)) for number, each in enumerate(self._catalogs) if number
        )
        """The profiles of all catalogs but the first by contract, with the number of their catalog."""

    def listed(self) -> TokenRows:
        """Returns the profiles of listed tokens with what other catalogs add.

        A token that an earlier catalog lists too follows with that one's id: its profile is used where the
        decimals of the earlier one are not the contract's.
        """
        listing = [each for each in self._catalogs if each.lists]
        if len(self._catalogs) == 1:
            return listing[0].profiles if listing else TokenRows()
        found: list[bytes] = []
        owners: dict[_Key, str] = {}
        for number, each in enumerate(listing):
            later = number + 1 < len(listing)
            for packed in each.profiles.packed:
                row = TokenRows.unpack(packed)
                keys = [(token.chain_id, token.address) for token in row.contracts]
                owner = next((owners[key] for key in keys if key in owners), row.id) if number else row.id
                if owner != row.id or self._may_add(keys):
                    profile = replace(row.profile(), id=owner)
                    filled = self.filled(profile, each.catalog)
                    packed = packed if filled == row.profile() else TokenRows.pack(filled)
                found.append(packed)
                if later:
                    for key in keys:
                        owners.setdefault(key, owner)
        return TokenRows(tuple(found))

    def filled(self, profile: TokenProfile, catalog: str) -> TokenProfile:
        """Returns a profile of a catalog with what the catalogs after it add, and ``sources``."""
        added: dict[str, Any] = {}
        sources: list[tuple[str, str]] = []
        for number, other in self._of_later(profile, self._numbers.get(catalog, 0)):
            for member in FILLED:
                if member not in added and not _known(getattr(profile, member)):
                    value = getattr(other, member)
                    if _known(value):
                        added[member] = value
                        sources.append((member, self._catalogs[number].catalog))
        return replace(profile, **added, sources=tuple(sources)) if added else profile

    def _may_add(self, keys: Sequence[_Key]) -> bool:
        return any(True for _, others in self._others for key in keys for _ in others.places(key))

    def _of_later(self, profile: TokenProfile, after: int) -> Iterator[tuple[int, TokenProfile]]:
        """Yields the profiles of later catalogs with one of the contracts, in the order of the catalogs.

        Another number of decimals is another token, where a catalog lists tokens.
        """
        units = {token.unit for token in profile.contracts}
        for number, others in self._others:
            if number <= after:
                continue
            for other in others.with_any((token.chain_id, token.address) for token in profile.contracts):
                same = any(token.unit in units for token in other.contracts)
                if same or not self._catalogs[number].lists:
                    yield number, other


class _ByContract:
    """The profiles of one catalog, by contract."""

    def __init__(self, rows: TokenRows) -> None:
        self._rows = rows
        hashes, places = array("q"), array("I")
        for place, row in enumerate(rows.rows()):
            for contract in row.contracts:
                hashes.append(hash((contract.chain_id, contract.address)))
                places.append(place)
        self._places = TokenPlaces(hashes, places)

    def places(self, key: _Key) -> Iterator[int]:
        """Yields where a profile with the contract may be."""
        return self._places.of(key)

    def with_any(self, keys: Iterable[_Key]) -> Iterator[TokenProfile]:
        """Yields the profiles with one of the contracts, each once, in the order of the contracts."""
        seen: set[int] = set()
        for key in keys:
            for place in self.places(key):
                profile = self._rows[place]
                if place not in seen and any((t.chain_id, t.address) == key for t in profile.contracts):
                    seen.add(place)
                    yield profile


def _known(value: object) -> bool:
    return value is not None and value != ()
