"""The ``[plugin.router]`` section, and the settings of every plugin that routes."""

from __future__ import annotations

from marshmallow import Schema, fields, validate


class RouterSettings(Schema):
    """All members have defaults."""

    max_hops = fields.Integer(
        strict=True,
        load_default=None,
        allow_none=True,
        validate=validate.Range(1, 4),
        metadata={
            "description": "Most pools one after the other on a route, 1 to 4. Not set: 3 where an order "
            "takes a single path, and as many as pay where it is divided."
        },
    )
    lifetime_s = fields.Integer(
        strict=True,
        load_default=None,
        allow_none=True,
        validate=validate.Range(15, 900),
        metadata={
            "description": "Lifetime of this plugin's quotes in seconds, where shorter than the gateway's."
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
