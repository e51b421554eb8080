"""The ``[plugin.devnet]`` section."""

from marshmallow import Schema, fields, validate

from quoteway_devnet.tables import DEVNET, DEVNET_L2


def _port(default: int | None) -> fields.Integer:
    return fields.Integer(
        strict=True, load_default=default, allow_none=default is None, validate=validate.Range(0, 65_535)
    )


class DevnetSettings(Schema):
    """Whether and where the two chains run.

    ``enabled``: by default the devnet runs unless a file, a network, a public host or a key makes this a
    deployment. ``start`` false uses chains that ``quoteway devnet`` runs. ``port``, ``l2_port``: 0 is any
    free port. ``relayer_port``: by default the one after ``l2_port``.
    """

    enabled = fields.Boolean(truthy={True}, falsy={False}, load_default=None, allow_none=True)
    start = fields.Boolean(truthy={True}, falsy={False}, load_default=True)
    port = _port(DEVNET.default_port)
    l2_port = _port(DEVNET_L2.default_port)
    relayer_port = _port(None)
