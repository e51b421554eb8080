"""The ``[plugin.uniswap]`` section."""

from __future__ import annotations

from marshmallow import Schema, fields, validate


class UniswapSettings(Schema):
    """All members have defaults. The plugin serves every network with deployment rows."""

    max_hops = fields.Integer(
        strict=True,
        load_default=3,
        validate=validate.Range(1, 3),
        metadata={"description": "Maximum number of pools on a path."},
    )
    lifetime_s = fields.Integer(
        strict=True,
        load_default=None,
        allow_none=True,
        validate=validate.Range(15, 900),
        metadata={
            "description": "Lifetime of this provider's quotes in seconds, where shorter than the gateway's."
        },
    )
    solver_processes = fields.Integer(
        strict=True,
        load_default=1,
        validate=validate.Range(0, 64),
        metadata={
            "description": "Processes that look for swaps split over several pools, for each worker of the "
            "server. 0: none, every swap takes the best single path."
        },
    )
    deployments = fields.List(
        fields.Dict(keys=fields.String()),
        load_default=[],
        metadata={
            "description": "Rows as in `quoteway_uniswap.deployments`, each with `network` (a slug). A row "
            "adds a fork or replaces the built-in row of the same `protocol`."
        },
    )
