"""The settings of ``[plugin.indexer]`` that say where the index is and what of it is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from marshmallow import Schema, ValidationError, fields, validate, validates_schema
from quoteway import Secret, SecretField

from quoteway_indexer.tables import BASES, BY_HOUR, TABLES

_SCHEMES: Final = {"postgres": ("postgresql", "postgres"), "clickhouse": ("clickhouse", "clickhouses")}
_NEEDED: Final = ("contract_created", "pool_created")
"""Facts without which the logs and the hours of older contracts would be missing after a restart."""
_PRUNED: Final = tuple(
    table.name
    for table in TABLES.values()
    if (table.kind == "fact" and table.name not in _NEEDED) or table.name in BY_HOUR
)
DAY_S: Final = 86_400


class StoreSettings(Schema):
    """A base of the plugin's schema."""

    store = fields.String(
        load_default="duckdb",
        validate=validate.OneOf(("duckdb", "postgres", "clickhouse")),
        metadata={
            "description": "`duckdb` for one machine, `postgres` for several, `clickhouse` for more rows than"
            " these read fast; see the plugin's README."
        },
    )
    path = fields.String(
        load_default="quoteway-index.duckdb",
        validate=validate.Length(1, 4096),
        metadata={"description": "The file of `duckdb`."},
    )
    socket = fields.String(
        load_default=None,
        allow_none=True,
        validate=validate.Length(1, 100),
        metadata={"description": "The Unix socket for reads of `duckdb`; `path` with `.sock` by default."},
    )
    memory_mb = fields.Integer(
        strict=True,
        load_default=1024,
        validate=validate.Range(128, 1 << 20),
        metadata={"description": "The most memory of `duckdb` in the index process, in MB."},
    )
    cache_mb = fields.Integer(
        strict=True,
        load_default=128,
        validate=validate.Range(1, 1 << 16),
        metadata={"description": "The most memory of rows of the index that the server keeps, in MB, about."},
    )
    url = SecretField(
        load_default=None,
        allow_none=True,
        metadata={"description": "The URL of the `postgres` or `clickhouse` database, by reference."},
    )
    retention_days = fields.Dict(
        keys=fields.String(validate=validate.OneOf(_PRUNED)),
        values=fields.Integer(strict=True, validate=validate.Range(1, 36_500)),
        load_default=dict,
        metadata={"description": "How many days the rows of a table are kept; for ever by default."},
    )

    rollups = fields.List(
        fields.String(validate=validate.OneOf(BY_HOUR, error="{input} is no rollup, known are: {choices}")),
        load_default=None,
        allow_none=True,
        metadata={"description": "The tables by hours that are computed and kept; by default all."},
    )

    @validates_schema
    def _check_rollups(self, data: dict[str, Any], **_: Any) -> None:
        wanted = chosen_rollups(data)
        for name, base in BASES.items():
            if name in wanted and base not in wanted:
                raise ValidationError(
                    f'{name} is computed from {base}: add "{base}", or leave "{name}" out', "rollups"
                )

    @validates_schema
    def _check_url(self, data: dict[str, Any], **_: Any) -> None:
        schemes = _SCHEMES.get(data["store"])
        url: Secret | None = data["url"]
        if schemes is None:
            if url is not None:
                raise ValidationError("is of no use for duckdb: remove it, or set store", "url")
            return
        if url is None:
            raise ValidationError(f'is needed for {data["store"]}: write url = {{env = "NAME"}}', "url")
        if urlsplit(url.reveal()).scheme not in schemes:
            raise ValidationError(f"must begin with {schemes[0]}://", "url")


def socket_path(settings: Mapping[str, Any]) -> Path:
    """Returns where the index process serves the reads of a DuckDB index."""
    return Path(settings["socket"] or f"{settings['path']}.sock")


def chosen_rollups(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the tables by hours that the index has."""
    chosen = settings["rollups"]
    return BY_HOUR if chosen is None else tuple(name for name in BY_HOUR if name in chosen)


def expired(settings: Mapping[str, Any], now: int) -> Iterator[tuple[str, int]]:
    """Yields the arguments of ``Store.prune`` for each table that has a retention."""
    for table, days in settings["retention_days"].items():
        yield table, now - days * DAY_S
