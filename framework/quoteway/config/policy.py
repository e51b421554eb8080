"""The configuration of the custody policy: ``[policy]``."""

from __future__ import annotations

from dataclasses import dataclass

from marshmallow import fields

from quoteway.config.fields import StoreField, setting
from quoteway.secrets import Secret


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """Which actions the gateway hands out."""

    file: str | None = setting(
        fields.String(allow_none=True),
        "Policy file: an action that it does not allow is refused. A relative path begins in the folder of "
        "the configuration file. Unset: no policy.",
        None,
    )
    store: Secret | str | None = setting(
        StoreField(memory=False, allow_none=True),
        "URL of the Valkey or Redis server in which all workers and replicas keep what counts against "
        "`amounts_per_time` of the policy, which needs it. It must keep its data over restarts and evict "
        "nothing.",
        None,
    )
    audit: str | None = setting(
        fields.String(allow_none=True),
        "File that a line of JSON is added to for each decision; an action whose decision cannot be written "
        "is refused. The workers of one machine share it. A relative path begins as that of `file`.",
        None,
    )
