"""The ``[plugin.balancer]`` section."""

from __future__ import annotations

from marshmallow import Schema, fields


class BalancerSettings(Schema):
    """Without rows nothing is routed: no network has a built-in one."""

    deployments = fields.List(
        fields.Dict(keys=fields.String()),
        load_default=[],
        metadata={
            "description": "Rows as in `quoteway_balancer.deployments`, each with `network` (a slug). A row "
            "replaces the network's own."
        },
    )
