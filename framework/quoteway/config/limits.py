"""The configuration of rate limits: ``[limits]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quoteway.config import fields as kinds
from quoteway.config.fields import Table, flag, integer, setting
from quoteway.secrets import Secret


@dataclass(frozen=True, slots=True)
class TierConfig:
    """The limits of the API keys of one tier: `[limits.tiers.<name>]`. Unset: as in `[limits]`, `[sockets]`
    and `[stream]`.
    """

    quotes: str | None = setting(kinds.rate(), "Quotes and actions.", None)
    catalog: str | None = setting(kinds.rate(), "Lists, series and all other reads.", None)
    rpc: str | None = setting(kinds.rate(), "Calls of the JSON-RPC proxy.", None)
    connections: int | None = setting(
        integer(1, 100_000, allow_none=True),
        "Open WebSocket connections of one key, in place of `sockets.connections_per_caller`.",
        None,
    )
    streams: int | None = setting(
        integer(1, 100_000, allow_none=True),
        "Open streams of one key, in place of `stream.streams_per_caller`.",
        None,
    )
    providers: tuple[str, ...] | None = setting(
        kinds.provider_ids(),
        "Ids of the providers whose quotes and actions its keys get; unset: all.",
        None,
    )


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """Requests per caller, in three groups. As many may come at once, and come back evenly.
    Callers at loopback addresses have ten times as many in the embedded default.

    A right key is served although its address has sent wrong ones: nobody can lock out others behind one
    proxy.
    """

    enabled: bool = setting(flag(), "Whether requests are limited.", True)
    quotes: str = setting(kinds.rate(), "Quotes and actions.", "60/minute")
    catalog: str = setting(kinds.rate(), "Lists, series and all other reads.", "300/minute")
    rpc: str = setting(kinds.rate(), "Calls of the JSON-RPC proxy; costly ones count as five.", "600/minute")
    wrong_keys: str = setting(kinds.rate(), "401 answers per client address; the next are 429.", "10/minute")
    tiers: Mapping[str, TierConfig] = setting(
        kinds.Tables(keys=kinds.slug(), values=Table(TierConfig)),
        "Other limits for API keys with a `tier`, by its name.",
        {},
    )
    store: Secret | str = setting(
        kinds.StoreField(memory=True),
        "Where limits and filter positions are kept: `memory://` or a Valkey/Redis URL.",
        "memory://",
    )
    prefix: str = setting(
        kinds.matching(
            r"[a-z0-9][a-z0-9_.-]{0,31}\Z",
            "expected up to 32 lowercase letters, digits, dots, dashes and underscores",
        ),
        "Beginning of all names in `store`. Deployments that share one server each need their own.",
        "quoteway",
    )
