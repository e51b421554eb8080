"""The ``[plugin.indexer]`` section."""

from __future__ import annotations

from marshmallow import fields, validate

from quoteway_indexer.store_settings import StoreSettings
from quoteway_indexer.transfer_sources import TransferSettings


class IndexerSettings(StoreSettings, TransferSettings):
    """Whether there is an index, of which networks, and where it is.

    ``enabled``: by default only the embedded default has an index, of its own, for as long as it runs. A
    deployment asks for one with ``enabled = true`` and runs ``quoteway index`` beside the server.
    """

    enabled = fields.Boolean(
        truthy={True},
        falsy={False},
        load_default=None,
        allow_none=True,
        metadata={"description": "Keep and use an index; by default only without a configuration."},
    )
    networks = fields.List(
        fields.String(validate=validate.Length(1, 100)),
        load_default=None,
        allow_none=True,
        metadata={"description": "The slugs of the networks to index; by default all that are served."},
    )
    finality_blocks = fields.Integer(
        strict=True,
        load_default=128,
        validate=validate.Range(1, 1_000_000),
        metadata={
            "description": "How many blocks may be taken back where nodes do not tell which are final."
        },
    )
    start_block = fields.Dict(
        keys=fields.String(validate=validate.Length(1, 200)),
        values=fields.Integer(strict=True, validate=validate.Range(0, 1 << 48)),
        load_default=dict,
        metadata={
            "description": "The first block to read, by source, such as `uniswap-v3`, or by source and "
            "network, such as `uniswap-v3@ethereum`."
        },
    )
