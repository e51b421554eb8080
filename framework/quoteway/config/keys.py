"""The configuration of API keys: ``[auth]``."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from marshmallow import ValidationError, fields

from quoteway.config import fields as kinds
from quoteway.config.fields import Listing, setting
from quoteway.secrets import Secret, SecretField, is_reference

MIN_API_KEY_BYTES = 16
MIN_API_KEY_BITS = 112
"""As ``model.MIN_KEY_BITS``, for API keys. 20,000 random keys of 16 letters and digits measured 128 or
more."""


OPERATOR_TIER = "operator"
"""The tier whose keys open what is for operators alone."""


class MomentField(fields.Field[datetime.datetime]):
    """A moment with its offset from UTC, as TOML has it, or text of the same form."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> datetime.datetime:
        try:
            found = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
        except ValueError:
            found = None
        if not isinstance(found, datetime.datetime) or found.tzinfo is None:
            raise ValidationError("expected a moment with its offset such as 2027-01-31T00:00:00Z")
        return found


def api_key_field(*, allow_none: bool = False) -> SecretField:
    check = kinds.strong(MIN_API_KEY_BYTES, MIN_API_KEY_BITS)
    return SecretField(validate=check, allow_none=allow_none)


@dataclass(frozen=True, slots=True)
class NamedKey:
    """One API key with a name: `[[auth.keys]]`. `quoteway keys new` makes one.

    The file needs the digest alone, so that it may be read by others than the holder.
    """

    name: str = setting(
        kinds.matching(
            r"(?=.{1,32}\Z)[a-z][a-z0-9]*(-[a-z0-9]+)*\Z",
            "no name of a key: a lowercase letter, then letters, digits and single dashes, 32 at most",
        ),
        "Whose key it is. The access log has it, and limits count by it.",
    )
    sha256: str | None = setting(
        kinds.matching(r"[0-9a-f]{64}\Z", "expected a SHA-256 digest: 64 lowercase hexadecimal digits"),
        "SHA-256 digest of the key. Either this or `key`.",
        None,
    )
    key: Secret | None = setting(api_key_field(), "The key itself, by reference.", None)
    tier: str | None = setting(
        kinds.slug(),
        "Its limits: a name of `[limits.tiers]`; unset: `[limits]`. A key of the tier `operator`, which "
        "needs no limits of its own, also opens what is for operators, at `/operator/`.",
        None,
    )
    expires: datetime.datetime | None = setting(
        MomentField(), "Moment from which it is refused, such as `2027-01-31T00:00:00Z`; unset: never.", None
    )
    providers: tuple[str, ...] | None = setting(
        kinds.provider_ids(),
        "Ids of the providers whose quotes and actions it gets; unset: all. Those of its tier limit it too.",
        None,
    )


class KeyField(fields.Field[Any]):
    """A reference to a key, or a table of ``NamedKey``."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Secret | NamedKey:
        if not isinstance(value, Mapping) or is_reference(value):
            secret = api_key_field().deserialize(value, attr, data, **kwargs)
            assert isinstance(secret, Secret)
            return secret
        named = kinds.load_section(NamedKey, value)
        if (named.sha256 is None) == (named.key is None):
            raise ValidationError({"sha256": ["give either sha256 or key: `quoteway keys new` prints both"]})
        return named


@dataclass(frozen=True, slots=True)
class AuthConfig:
    """API keys.

    A key has at least 16 bytes and compresses to no less than 112 bits. ``openssl rand -hex 32`` makes one,
    and ``quoteway keys new`` one with a name.
    """

    keys: tuple[Secret | NamedKey, ...] = setting(
        Listing(KeyField()),
        "With keys, every `/v2` request needs one of them as a Bearer token: references, or tables "
        "`[[auth.keys]]`.",
        (),
    )

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """Returns the keys of which the configuration has more than a digest."""
        found = (each.key if isinstance(each, NamedKey) else each for each in self.keys)
        return tuple(each for each in found if each is not None)
