"""Series of pools and vaults from an SQLite file, with a table point(resource, metric, unit, at, value).

[plugin.kept-series]
path = "/var/lib/quoteway/series.db"
"""

import asyncio
import sqlite3
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path

import quoteway
from marshmallow import Schema, fields
from quoteway import ConfigError, DoctorCheck, MetricsProvider, Series, UpstreamError

SECONDS = {"1h": 3_600, "1d": 86_400, "1w": 604_800}


class Settings(Schema):
    path = fields.String(required=True)


class KeptSeries(MetricsProvider):
    id = "kept-series"
    title = "Kept series"

    def __init__(self, context):
        self.context = context
        self.networks = frozenset(network.chain_id for network in context.networks)

    async def series(self, resource_id, metric, start, end, interval):
        try:
            rows = await asyncio.to_thread(self.read, resource_id, metric, start, end)
        except sqlite3.Error:
            raise UpstreamError("The file of kept series cannot be read.", retryable=True) from None
        if not rows:
            return None  # the core asks the pool's or vault's own provider
        length = SECONDS[interval]
        newest = {at // length * length: value for at, value, _ in rows}  # the last one of each interval
        points = tuple((at, newest.get(at)) for at in range(-(-start // length) * length, end, length))
        last_at, value, unit = rows[-1]
        facts = {"source": self.id, "method": "The last point of each interval.", "updated_at": last_at}
        return Series(resource_id, metric, unit, interval, start, end, points, **facts, current=value)

    def read(self, *asked):
        sql = "SELECT at, value, unit FROM point WHERE resource = ? AND metric = ? AND at BETWEEN ? AND ?"
        return self.context.state["database"].execute(f"{sql} ORDER BY at", asked).fetchall()


def connected(context):
    path = Path(context.settings["path"]).absolute()
    try:
        return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise ConfigError(f"plugin.kept-series.path: {path} cannot be opened: {error}") from None


def count_rows(context):
    with closing(connected(context)) as database:
        try:
            ((rows,),) = database.execute("SELECT count(*) FROM point")
        except sqlite3.Error as error:
            raise ConfigError(f"the file has no usable table of points: {error}") from None
    return f"{rows:,} points"


@asynccontextmanager
async def opened(context):
    with closing(connected(context)) as database:
        context.state["database"] = database
        yield


@quoteway.hookimpl
def quoteway_settings():
    return Settings


@quoteway.hookimpl
def quoteway_lifespan(context):
    return opened(context)


@quoteway.hookimpl
def quoteway_doctor_checks(context):
    ask = partial(asyncio.to_thread, count_rows, context)
    return [DoctorCheck("path", ask, "providers of pools and vaults answer alone")]


@quoteway.hookimpl
def quoteway_metrics_providers(context):
    return [KeptSeries(context)]
