"""The ``[plugin.lifi]`` section."""

from __future__ import annotations

from marshmallow import Schema, fields, validate
from quoteway import SecretField, check_api_url, check_header_secret


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
        validate=check_api_url,
        metadata={"description": "Base URL of the API."},
    )
    api_key = SecretField(
        load_default=None,
        validate=check_header_secret,
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
