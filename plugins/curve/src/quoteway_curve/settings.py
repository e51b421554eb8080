"""The ``[plugin.curve]`` section."""

from __future__ import annotations

from marshmallow import Schema, fields, validate

from quoteway_curve.deployments import POOL_RELEASES, ROUTER_RELEASES

MOST_POOLS = 200


class RouterRow(Schema):
    """A row of ``[[plugin.curve.routers]]``: the Router NG of one network."""

    network = fields.String(required=True, metadata={"description": "The network's name."})
    address = fields.String(required=True, metadata={"description": "The Router NG."})
    release = fields.String(
        required=True,
        validate=validate.OneOf([*ROUTER_RELEASES]),
        metadata={"description": "The router's release, which says how it names the kinds of pools."},
    )


class PoolRow(Schema):
    """A row of ``[[plugin.curve.pools]]``: a StableSwap pool."""

    network = fields.String(required=True, metadata={"description": "The network's name."})
    address = fields.String(required=True, metadata={"description": "The pool."})
    release = fields.String(
        required=True,
        validate=validate.OneOf([*POOL_RELEASES]),
        metadata={"description": "The release of the pool's contract, which says how it rounds."},
    )
    coins = fields.List(
        fields.String(),
        load_default=list,
        validate=validate.Length(max=8),
        metadata={"description": "The pool's coins in its order: a pool with others is not used."},
    )


class CurveSettings(Schema):
    """Nothing is built in: without rows, the plugin does nothing."""

    routers = fields.List(
        fields.Nested(RouterRow),
        load_default=list,
        metadata={"description": "Curve's Router NG on each network, which executes the swaps."},
    )
    pools = fields.List(
        fields.Nested(PoolRow),
        load_default=list,
        validate=validate.Length(max=MOST_POOLS),
        metadata={"description": "StableSwap pools to route through."},
    )
