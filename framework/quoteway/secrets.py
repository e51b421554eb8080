"""Secrets by reference: ``{env = "NAME"}`` or ``{file = "path"}`` in the configuration, not values."""

from __future__ import annotations

import hmac
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from marshmallow import ValidationError, fields

REDACTED = "***"


class Secret:
    """A value that ``str`` and ``repr`` redact; only ``reveal`` returns it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value. Call it where the value leaves the process (a header, a URL), never earlier."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({REDACTED})"

    def __str__(self) -> str:
        return REDACTED

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))


def measured_bits(secret: bytes) -> int:
    """How many bits the secret compresses to: an estimate, from above, of what a guesser must find.

    The differences of neighbouring bytes are compressed too, and the smaller size counts: runs such as
    ``abcdef`` repeat only there. Random text measures close to its length. A phrase of different words is not
    recognised as weak.
    """
    differences = bytes((after - before) % 256 for before, after in pairwise(secret))
    return 8 * min(_compressed_bytes(secret), _compressed_bytes(differences))


def _compressed_bytes(data: bytes) -> int:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)  # raw: no header or checksum to count
    return len(deflate.compress(data) + deflate.flush())


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A reference to a secret that is not there. ``reason`` is a sentence with the remedy."""

    reason: str


def is_reference(value: object) -> bool:
    """Whether this is ``{env = ...}`` or ``{file = ...}`` and nothing else."""
    return isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in ("env", "file")


def resolve(reference: Mapping[str, Any], environ: Mapping[str, str], folder: Path) -> Secret | Unresolved:
    """The secret of a reference. A relative ``file`` is below ``folder``; newlines at its end are removed."""
    ((kind, name),) = reference.items()
    if not isinstance(name, str) or not name:
        return Unresolved(f"{{{kind} = ...}} needs a name between quotes")
    if kind == "env":
        value = environ.get(name, "")
        if not value:
            return Unresolved(f"environment variable {name} is not set: export it, or remove the reference")
        return Secret(value)
    try:
        value = (folder / name).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        return Unresolved(
            f"file {name} cannot be read ({type(error).__name__}): create it or correct the path"
        )
    return Secret(value) if value else Unresolved(f"file {name} is empty: put the secret into it")


def resolve_all(value: Any, environ: Mapping[str, str], folder: Path) -> Any:
    """A configuration tree with every reference in it replaced by its ``Secret`` or ``Unresolved``."""
    if isinstance(value, Mapping):
        if is_reference(value):
            return resolve(value, environ, folder)
        return {key: resolve_all(member, environ, folder) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [resolve_all(member, environ, folder) for member in value]
    return value


def leaves(value: Any) -> Iterator[Any]:
    """The values of a configuration tree that are neither tables nor lists."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for member in value:
            yield from leaves(member)
    else:
        yield value


def missing_credentials(value: Any) -> list[str]:
    """Why each unresolved reference in a configuration tree could not be resolved."""
    return [leaf.reason for leaf in leaves(value) if isinstance(leaf, Unresolved)]


def revealed(value: Any) -> Any:
    """The text of a ``Secret``; any other value as it is. An unresolved one raises ``ValidationError``."""
    if isinstance(value, Unresolved):
        raise ValidationError(value.reason)
    return value.reveal() if isinstance(value, Secret) else value


class SecretField(fields.Field[Secret]):
    """A settings member that is a secret. Accepts a reference only; a plain string is refused, not shown."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Secret:
        if is_reference(value):
            value = resolve(value, os.environ, Path.cwd())
        revealed(value)
        if isinstance(value, Secret):
            return value
        raise ValidationError(
            'secrets come by reference only: write {env = "NAME"} or {file = "path"} instead of the value'
        )


def check_api_url(value: str) -> None:
    """Validates the base URL of an HTTP API in a plugin's settings. Raises ``ValidationError``.

    It is http(s), without a query, user or password: a key in a URL would appear in logs.
    """
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValidationError('expected an http(s) URL without a query, such as "https://api.example.org/v1"')
    if parts.username or parts.password:
        raise ValidationError("the URL must not hold a user or password: set the key in api_key")


def check_header_secret(secret: Secret) -> None:
    """Validates a ``SecretField`` that is sent in a header. Raises ``ValidationError``."""
    text = secret.reveal()
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValidationError("the key must be printable ASCII without spaces, since it is sent in a header")
