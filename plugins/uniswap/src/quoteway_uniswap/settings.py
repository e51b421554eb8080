"""The ``[plugin.uniswap]`` section."""

from __future__ import annotations

from marshmallow import Schema, fields, validate


class UniswapSettings(Schema):
    """Everything has a default: without the section, all networks that have deployment rows are served."""

    max_hops = fields.Integer(
        strict=True,
        load_default=3,
        validate=validate.Range(1, 3),
        metadata={"description": "Most pools on one path."},
    )
    lifetime_s = fields.Integer(
        strict=True,
        load_default=None,
        allow_none=True,
        validate=validate.Range(15, 900),
        metadata={"description": "Shortens the lifetime of this provider's quotes, in seconds."},
    )
    deployments = fields.List(
        fields.Dict(keys=fields.String()),
        load_default=[],
        metadata={
            "description": "Rows of `quoteway_uniswap.deployments`, each with `network` (a slug): forks, and "
            "replacements of built-in rows of the same protocol name."
        },
    )
