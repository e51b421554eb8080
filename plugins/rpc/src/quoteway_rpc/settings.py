"""The ``[plugin.rpc]`` section."""

from __future__ import annotations

from marshmallow import Schema, ValidationError, fields, validate
from quoteway import Secret, SecretField

_STORE_SCHEMES = ("valkey://", "valkeys://", "redis://", "rediss://")


def _store_url(secret: Secret) -> None:
    if not secret.reveal().startswith(_STORE_SCHEMES):
        raise ValidationError("expected a valkey:// or redis:// URL")


class RpcSettings(Schema):
    """Timeouts, limits of answers, when upstreams that failed or are slow are left, and how many requests
    each has at once. ``README.md`` has the meaning of each.
    """

    attempt_timeout_s = fields.Float(load_default=2.5, allow_nan=False, validate=validate.Range(0.05, 60))
    total_timeout_s = fields.Float(load_default=10.0, allow_nan=False, validate=validate.Range(0.05, 120))
    cooldown_s = fields.Float(load_default=10.0, allow_nan=False, validate=validate.Range(0, 3600))
    cordon_file = fields.String(load_default=None, allow_none=True, validate=validate.Length(1, 4096))
    max_response_bytes = fields.Integer(
        strict=True, load_default=32 << 20, validate=validate.Range(1024, 256 << 20)
    )
    hedge_share = fields.Float(load_default=0.05, allow_nan=False, validate=validate.Range(0, 1))
    hedge_floor_s = fields.Float(load_default=0.02, allow_nan=False, validate=validate.Range(0.001, 60))
    hedge_unknown_s = fields.Float(load_default=0.15, allow_nan=False, validate=validate.Range(0.001, 60))
    most_requests = fields.Integer(strict=True, load_default=64, validate=validate.Range(1, 10_000))
    max_received_bytes = fields.Integer(
        strict=True, load_default=256 << 20, validate=validate.Range(1024, 16 << 30)
    )
    max_logs = fields.Integer(strict=True, load_default=50_000, validate=validate.Range(1, 1_000_000))
    cache_bytes = fields.Integer(strict=True, load_default=64 << 20, validate=validate.Range(0, 64 << 30))
    cache_store = SecretField(load_default=None, allow_none=True, validate=_store_url)
