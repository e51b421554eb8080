"""Merges what several catalogs say of one token, member by member.

Catalogs mean the same token when they name the same contract, and never for an equal symbol, name or id. The
first one that lists it says what it is; what it leaves out is filled from the next ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quoteway.models import Address, TokenProfile

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
    profiles: Sequence[TokenProfile]
    lists: bool = True


class TokenFactsOfCatalogs:
    """The profiles of all catalogs, in configured order, with those that list no tokens last."""

    def __init__(self, catalogs: Sequence[CatalogProfiles]) -> None:
        self._catalogs = tuple(sorted(catalogs, key=lambda each: not each.lists))
        self._places = {each.catalog: place for place, each in enumerate(self._catalogs)}
        self._of_contract: defaultdict[_Key, list[tuple[int, TokenProfile]]] = defaultdict(list)
        """By contract, the profiles of all catalogs but the first, with the place of their catalog."""
        for place, each in enumerate(self._catalogs):
            if place:
                for profile in each.profiles:
                    for token in profile.contracts:
                        self._of_contract[token.chain_id, token.address].append((place, profile))

    def listed(self) -> list[TokenProfile]:
        """Returns the profiles of listed tokens with what other catalogs add.

        A token that an earlier catalog lists too follows with that one's id: its profile is used where the
        decimals of the earlier one are not the contract's.
        """
        found: list[TokenProfile] = []
        owners: dict[_Key, str] = {}
        for place, each in enumerate(self._catalogs):
            if not each.lists:
                continue
            later = any(other.lists for other in self._catalogs[place + 1 :])
            for profile in each.profiles:
                keys = [(token.chain_id, token.address) for token in profile.contracts]
                owner = next((owners[key] for key in keys if key in owners), None) if place else None
                if owner is not None and owner != profile.id:
                    profile = replace(profile, id=owner)
                found.append(self.filled(profile, each.catalog))
                if later:
                    for key in keys:
                        owners.setdefault(key, profile.id)
        return found

    def filled(self, profile: TokenProfile, catalog: str) -> TokenProfile:
        """Returns a profile of a catalog with what the catalogs after it add, and ``sources``."""
        if not self._of_contract:
            return profile
        added: dict[str, Any] = {}
        sources: list[tuple[str, str]] = []
        for place, other in self._others(profile, self._places.get(catalog, 0)):
            for member in FILLED:
                if member not in added and not _known(getattr(profile, member)):
                    value = getattr(other, member)
                    if _known(value):
                        added[member] = value
                        sources.append((member, self._catalogs[place].catalog))
        return replace(profile, **added, sources=tuple(sources)) if added else profile

    def _others(self, profile: TokenProfile, after: int) -> Iterable[tuple[int, TokenProfile]]:
        """Returns the profiles of later catalogs with one of the contracts, in the order of the catalogs.

        Another number of decimals is another token, where a catalog lists tokens.
        """
        found: dict[int, tuple[int, TokenProfile]] = {}
        for token in profile.contracts:
            for place, other in self._of_contract.get((token.chain_id, token.address), ()):
                same = not self._catalogs[place].lists or any(
                    (each.chain_id, each.address, each.decimals) == token.unit for each in other.contracts
                )
                if place > after and same:
                    found.setdefault(id(other), (place, other))
        return sorted(found.values(), key=lambda each: each[0])


def _known(value: object) -> bool:
    return value is not None and value != ()
