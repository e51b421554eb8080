"""The ``[plugin.uniswap]`` section."""

from __future__ import annotations

from marshmallow import fields
from quoteway_router.settings import RouterSettings


class UniswapSettings(RouterSettings):
    """All members have defaults. The plugin serves every network with deployment rows."""

    allowed_hooks = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        load_default={},
        metadata={
            "description": "Hooks of v4 whose pools swaps may pass, by network: "
            '`{ethereum = ["0x..."]}`. Not those that may change amounts by their address.'
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
