"""The ``[plugin.solidly]`` section."""

from __future__ import annotations

from marshmallow import Schema, fields, validate

MOST_BASE_TOKENS = 8


class DeploymentRow(Schema):
    """A row of ``[[plugin.solidly.deployments]]``: the contracts on one network."""

    name = fields.String(
        required=True,
        validate=validate.Regexp(r"[a-z][a-z0-9-]{0,30}\Z"),
        metadata={"description": "What the pools are called in routes: `aerodrome`."},
    )
    network = fields.String(required=True, metadata={"description": "The network's name."})
    factory = fields.String(required=True, metadata={"description": "The factory of the pools."})
    router = fields.String(required=True, metadata={"description": "The router that swaps through them."})
    base_tokens = fields.List(
        fields.String(),
        load_default=list,
        validate=validate.Length(max=MOST_BASE_TOKENS),
        metadata={"description": "Tokens that routes may pass through, beside the wrapped native coin."},
    )


class SolidlySettings(Schema):
    """Nothing is built in: without rows, the plugin does nothing."""

    deployments = fields.List(
        fields.Nested(DeploymentRow),
        load_default=list,
        metadata={
            "description": "Deployments of contracts with the interface of Aerodrome and Velodrome v2."
        },
    )
