"""The ``[plugin.lifi]`` section."""

from __future__ import annotations

from urllib.parse import urlsplit

from marshmallow import Schema, ValidationError, fields, validate
from quoteway import SecretField


def _api_url(value: str) -> None:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValidationError('expected an http(s) URL without a query, such as "https://li.quest/v1"')
    if parts.username or parts.password:
        raise ValidationError("the URL must not hold a user or password: set the key in api_key")


def _key(secret: object) -> None:
    text = secret.reveal()  # type: ignore[attr-defined]  # marshmallow's validators are not generic
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValidationError("the key must be printable ASCII without spaces, since it is sent in a header")


class LifiSettings(Schema):
    """Disabled by default. ``api_key`` is optional; without it the rate limit is much lower."""

    enabled = fields.Boolean(
        truthy={True},
        falsy={False},
        load_default=False,
        metadata={"description": "Whether LI.FI is used."},
    )
    base_url = fields.String(
        load_default="https://li.quest/v1",
        validate=_api_url,
        metadata={"description": "Base URL of the API."},
    )
    api_key = SecretField(
        load_default=None,
        validate=_key,
        metadata={"description": "Sent as `x-lifi-api-key`, by the server only. Optional."},
    )
    integrator = fields.String(
        load_default="quoteway",
        validate=validate.Regexp(r"^[A-Za-z0-9._-]{1,23}$"),
        metadata={"description": "The name for LI.FI's statistics."},
    )
    timeout_s = fields.Float(
        load_default=2.8,
        allow_nan=False,
        validate=validate.Range(0.05, 60),
        metadata={"description": "Timeout of a request including its retry, in seconds."},
    )
    max_response_bytes = fields.Integer(
        strict=True,
        load_default=1 << 20,
        validate=validate.Range(1024, 64 << 20),
        metadata={"description": "Largest answer, in bytes; a larger one is refused."},
    )
    lifetime_s = fields.Integer(
        strict=True,
        load_default=60,
        validate=validate.Range(15, 900),
        metadata={"description": "Lifetime of a quote, in seconds."},
    )
    deployments = fields.List(
        fields.Dict(keys=fields.String()),
        load_default=[],
        metadata={
            "description": "Rows of `quoteway_lifi.contracts`, each with `network` (a slug): contracts that "
            "LI.FI's transactions may call and spend through, instead of the built-in ones."
        },
    )
