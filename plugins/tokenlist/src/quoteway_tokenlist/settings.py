"""The ``[plugin.tokenlist]`` section."""

from __future__ import annotations

from marshmallow import Schema, ValidationError, fields, validate
from yarl import URL


def _location(text: str) -> None:
    """Validates a file path or an http(s) URL without a user part, which could appear in logs."""
    if not text.strip():
        raise ValidationError("an entry is empty: give a file path or an https URL")
    if "://" not in text:
        return
    try:
        url = URL(text)
    except ValueError as error:
        raise ValidationError(f"not a URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ValidationError("a list is a file path or an http(s) URL with a host")
    if url.user or url.password:
        raise ValidationError("a list's URL must not hold a user or password")


class TokenListSettings(Schema):
    """The token lists, how often they are refreshed, and their limits."""

    lists = fields.List(fields.String(validate=_location), load_default=list)
    refresh_s = fields.Integer(strict=True, load_default=3600, validate=validate.Range(1, 7 * 86_400))
    max_bytes = fields.Integer(strict=True, load_default=8 << 20, validate=validate.Range(1024, 64 << 20))
    timeout_s = fields.Float(load_default=10.0, allow_nan=False, validate=validate.Range(0.1, 120))
    allow_private = fields.Boolean(truthy={True}, falsy={False}, load_default=False)
