"""The API keys of a deployment: whose a request is.

Keys are kept and looked up by their SHA-256 digests. How long a look-up takes tells nothing of a key: a guess
that is near to a key has another digest. A plain hash suffices, since keys are long and random.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from multidict import MultiMapping

from quoteway.config.keys import AuthConfig, NamedKey
from quoteway.config.limits import TierConfig


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A known key.

    ``caller`` is what its requests are counted and logged under, ``ends_at`` in Unix seconds. ``providers``
    are the ids of the only providers whose quotes and actions it gets; None: all. ``connections`` and
    ``streams`` are how many it may have open where its tier says so.
    """

    caller: str
    tier: str | None = None
    ends_at: float | None = None
    providers: frozenset[str] | None = None
    connections: int | None = None
    streams: int | None = None
    is_named: bool = False

    @property
    def is_over(self) -> bool:
        """Whether the key has expired."""
        return self.ends_at is not None and time.time() >= self.ends_at

    @property
    def left_s(self) -> float | None:
        """The seconds until it expires; None: it does not."""
        return None if self.ends_at is None else max(self.ends_at - time.time(), 0.0)


class ApiKeys:
    """The keys of ``[auth]``, with what the ``tiers`` of ``[limits]`` give and deny them."""

    def __init__(self, config: AuthConfig, tiers: Mapping[str, TierConfig] = MappingProxyType({})) -> None:
        self._by_digest: Mapping[bytes, ApiKey] = dict(_known(config, tiers))

    def __bool__(self) -> bool:
        return bool(self._by_digest)

    def __iter__(self) -> Iterator[ApiKey]:
        return iter(self._by_digest.values())

    def find(self, headers: MultiMapping[str]) -> ApiKey | None:
        """Returns the key that a request has as a Bearer token, expired or not; None for any other."""
        scheme, _, given = headers.get("Authorization", "").partition(" ")
        digest = hashlib.sha256(given.strip().encode("utf-8", "surrogateescape")).digest()
        found = self._by_digest.get(digest)
        return found if scheme.lower() == "bearer" else None


def _known(config: AuthConfig, tiers: Mapping[str, TierConfig]) -> Iterator[tuple[bytes, ApiKey]]:
    for index, each in enumerate(config.keys):
        if not isinstance(each, NamedKey):
            yield digest_of(each.reveal()), ApiKey(f"key:{index}")
            continue
        digest = digest_of(each.key.reveal()) if each.key is not None else bytes.fromhex(each.sha256 or "")
        ends_at = None if each.expires is None else each.expires.timestamp()
        tier = tiers.get(each.tier or "", TierConfig())
        yield (
            digest,
            ApiKey(
                f"key:{each.name}",
                each.tier,
                ends_at,
                _both(each.providers, tier.providers),
                tier.connections,
                tier.streams,
                is_named=True,
            ),
        )


def _both(one: Sequence[str] | None, other: Sequence[str] | None) -> frozenset[str] | None:
    """Returns what two sets have in common, of which None has all."""
    if one is None or other is None:
        given = one if other is None else other
        return None if given is None else frozenset(given)
    return frozenset(one) & frozenset(other)


def digest_of(key: str) -> bytes:
    """Returns the digest by which a key is known."""
    return hashlib.sha256(key.encode()).digest()
