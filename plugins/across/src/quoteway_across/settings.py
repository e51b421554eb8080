"""The ``[plugin.across]`` section."""

from __future__ import annotations

from marshmallow import Schema, fields, validate


class AcrossSettings(Schema):
    """Everything has a default: without the section, all networks that have a row are served."""

    max_fee_bps = fields.Integer(
        strict=True,
        load_default=1000,
        validate=validate.Range(1, 5000),
        metadata={"description": "Highest fee of a transfer; terms above it are refused."},
    )
    api_timeout_s = fields.Float(
        load_default=2.0,
        validate=validate.Range(0.1, 10.0),
        metadata={"description": "Timeout of a request to the fee service, in seconds."},
    )
    deployments = fields.List(
        fields.Dict(keys=fields.String()),
        load_default=[],
        metadata={
            "description": "Rows of `quoteway_across.deployments`, each with `network` (a slug); one "
            "replaces the network's own row."
        },
    )
