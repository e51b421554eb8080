"""Providers of series that are wrong in one way each."""

import math
import time
from dataclasses import replace

from quoteway.errors import NotFound
from quoteway.metrics_provider import MetricsProvider
from quoteway_erc4626.provider import Erc4626Provider


class VaultSeries(MetricsProvider):
    """Has the series of vaults, read from the chain."""

    id = "vault-series"
    title = "Series of vaults"

    def __init__(self, context):
        self._vaults = Erc4626Provider(context)
        self.networks = self._vaults.networks

    async def series(self, resource_id, metric, start, end, interval):
        try:
            return await self._vaults.series(resource_id, metric, start, end, interval)
        except NotFound:
            return None


class HasNoSeries(VaultSeries):
    """Has no series of what it serves."""

    async def series(self, resource_id, metric, start, end, interval):
        return None


def changed(change):
    """A class whose series are changed."""

    class Changed(VaultSeries):
        async def series(self, resource_id, metric, start, end, interval):
            found = await super().series(resource_id, metric, start, end, interval)
            return found and change(found)

    return Changed


class SaysNoNumber(changed(lambda found: replace(found, current=math.nan))):
    """Says NaN for the value of now."""


class NamesAnotherResource(changed(lambda found: replace(found, id=found.id.swapcase()))):
    """Gives a series the id of another vault."""


class HasPointsInTheFuture(
    changed(lambda found: replace(found, points=(*found.points, (found.end + 864_000, 1.0))))
):
    """Has points after the end that was asked for."""


class TurnsTimeAround(changed(lambda found: replace(found, points=found.points[::-1]))):
    """Has its points in descending order."""


class SaysTheSameForEveryInterval(VaultSeries):
    """Has points by the hour, whatever interval is asked for."""

    async def series(self, resource_id, metric, start, end, interval):
        return await super().series(resource_id, metric, start, end, "1h")


class MakesUpSeries(VaultSeries):
    """Has a series of every vault that is asked for."""

    async def series(self, resource_id, metric, start, end, interval):
        found = await super().series(resource_id, metric, start, end, interval)
        if found is not None:
            self.template = found
        template = getattr(self, "template", None)
        return template and replace(template, id=resource_id, metric=metric)


class ScalesBySpan(VaultSeries):
    """Has other values at the same time when a shorter span is asked for."""

    async def series(self, resource_id, metric, start, end, interval):
        found = await super().series(resource_id, metric, start, end, interval)
        if found is None:
            return None
        # A node that has mined much may have no old states any more, and the honest series no values then.
        points = tuple((at, (value or 1) * (end - start)) for at, value in found.points)
        return replace(found, points=points)


class SumsOnTheLoop(VaultSeries):
    """Works 120 ms for each series on the event loop."""

    async def series(self, resource_id, metric, start, end, interval):
        time.sleep(0.12)  # noqa: ASYNC251 - the fault
        return await super().series(resource_id, metric, start, end, interval)
