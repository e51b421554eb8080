"""The ``[plugin.rpc]`` section."""

from __future__ import annotations

from marshmallow import Schema, fields, validate


class RpcSettings(Schema):
    """Timeouts, the size limit of an answer, and how long an upstream that failed is tried last."""

    attempt_timeout_s = fields.Float(load_default=2.5, allow_nan=False, validate=validate.Range(0.05, 60))
    total_timeout_s = fields.Float(load_default=10.0, allow_nan=False, validate=validate.Range(0.05, 120))
    cooldown_s = fields.Float(load_default=10.0, allow_nan=False, validate=validate.Range(0, 3600))
    max_response_bytes = fields.Integer(
        strict=True, load_default=32 << 20, validate=validate.Range(1024, 256 << 20)
    )
