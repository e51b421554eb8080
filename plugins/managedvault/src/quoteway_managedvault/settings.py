"""The ``[plugin.managedvault]`` section."""

from __future__ import annotations

from marshmallow import Schema, fields


class ManagedVaultSettings(Schema):
    """Without the section, the factories of the networks' own rows are used."""

    deployments = fields.List(
        fields.Dict(keys=fields.String()),
        load_default=[],
        metadata={
            "description": "Rows of `quoteway_managedvault.deployments`, each with `network` (a slug): a "
            "factory and the strategies that new vaults may start with."
        },
    )
