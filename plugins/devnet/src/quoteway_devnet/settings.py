"""The ``[plugin.devnet]`` section."""

from marshmallow import Schema, fields, validate

from quoteway_devnet.tables import DEVNET, DEVNET_L2


def _port(default: int | None) -> fields.Integer:
    return fields.Integer(
        strict=True, load_default=default, allow_none=default is None, validate=validate.Range(0, 65_535)
    )


class DevnetSettings(Schema):
    """Whether and where the two chains run.

    ``enabled``: left out, the devnet runs unless a file, a network, a public host or a key makes this a
    deployment. ``start`` false: the chains are run elsewhere (by ``quoteway devnet``) and only used.
    ``port``, ``l2_port``: 0 picks any free. ``relayer_port``: left out, the one after ``l2_port``.
    """

    enabled = fields.Boolean(truthy={True}, falsy={False}, load_default=None, allow_none=True)
    start = fields.Boolean(truthy={True}, falsy={False}, load_default=True)
    port = _port(DEVNET.default_port)
    l2_port = _port(DEVNET_L2.default_port)
    relayer_port = _port(None)
