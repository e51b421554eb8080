"""The ``[plugin.erc4626]`` section."""

from __future__ import annotations

from marshmallow import Schema, fields


class Erc4626Settings(Schema):
    """Everything has a default: without the section, the vaults of the networks' own rows are listed."""

    vaults = fields.List(
        fields.Raw(),
        load_default=[],
        metadata={
            "description": 'Vaults to list: `"ethereum:0x..."`, or a table with `network`, `vault` and '
            "optionally `protocol` and `strategy` (names shown in the catalog)."
        },
    )
    ask_chain = fields.Boolean(
        load_default=True,
        metadata={"description": "Also serve unlisted vaults by their id."},
    )
