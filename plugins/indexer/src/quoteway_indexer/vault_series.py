"""TVL and APY of vaults, from their stored share prices."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from cachetools import LRUCache
from quoteway import Address, Context, GrowthWindow, Series, SharePrice, Token
from quoteway.evm.address import checksum
from quoteway.evm.units import format_units

from quoteway_indexer.growth import Growth, Sample, yearly
from quoteway_indexer.hours import HOUR_S, WINDOWS_S, YEAR_S, Asked, known
from quoteway_indexer.pool_book import PoolBook
from quoteway_indexer.store import Condition, Reader, Row, Select
from quoteway_indexer.token_book import CLOSE, TokenBook

METRICS = ("tvl", "apy")
TRAILING = "7d"
_WINDOWS: Mapping[str, int | None] = {**WINDOWS_S, "start": None}
_COLUMNS = ("hour", "block", "timestamp", "assets_of_unit", "total_assets")
_MOST_HOURS = 300_000


@dataclass(slots=True)
class VaultHours:
    """The stored hours of a vault, in ascending order. Prices are of ``10 ** unit_exponent`` shares."""

    chain_id: int
    vault: bytes
    asset: Token
    share: Token
    unit_exponent: int
    revision: int = -1
    samples: list[Sample] = field(default_factory=list)
    growth: Growth = field(default_factory=lambda: Growth(()))

    def price_text(self, sample: Sample) -> str:
        """Returns whole assets of a whole share, exact."""
        shift = self.unit_exponent - self.share.decimals
        if shift >= 0:
            return format_units(sample.price, self.asset.decimals + shift)
        return format_units(sample.price * 10**-shift, self.asset.decimals)

    def shown(self, sample: Sample | None) -> SharePrice | None:
        """Returns the price for an answer."""
        if sample is None:
            return None
        return SharePrice(sample.block, sample.timestamp, self.price_text(sample))


class VaultBook:
    """The share prices of the vaults of one index."""

    def __init__(self, context: Context, reader: Reader) -> None:
        self._context = context
        self._reader = reader
        self._kept: LRUCache[tuple[int, bytes], VaultHours] = LRUCache(
            _MOST_HOURS, lambda kept: 1 + len(kept.samples)
        )

    async def hours(self, chain_id: int, vault: bytes) -> VaultHours | None:
        """Returns the hours of a vault; None when none are stored. Do not change them.

        Raises ``UpstreamError`` when the index cannot be read.
        """
        revision = await self._reader.revision()
        kept = self._kept.get((chain_id, vault))
        if kept is not None and kept.revision == revision:
            return kept
        where = Condition("chain_id", "=", chain_id), Condition("vault", "=", vault)
        if kept is None or kept.revision > revision:
            kept = await self._found(chain_id, vault)
            if kept is None:
                return None
        samples = list(kept.samples)
        # Stored hours never change: only those before the first and after the last may be new.
        if samples:
            older = await self._read(*where, Condition("hour", "<", samples[0].hour))
            newer = await self._read(*where, Condition("hour", ">", samples[-1].hour))
            samples = [*older, *samples, *newer]
        else:
            samples = await self._read(*where)
        if len(samples) != len(kept.samples):
            kept.samples, kept.growth = samples, Growth(samples)
        kept.revision = revision
        self._kept[chain_id, vault] = kept
        return kept

    async def _found(self, chain_id: int, vault: bytes) -> VaultHours | None:
        where = Condition("chain_id", "=", chain_id), Condition("vault", "=", vault)
        rows = await self._reader.fetch(
            Select("vault_hour", ("asset", "unit_exponent"), where, ("-hour",), 1)
        )
        if not rows or not isinstance(rows[0][0], bytes) or not isinstance(rows[0][1], int):
            return None
        asset = await self._context.token(chain_id, checksum("0x" + rows[0][0].hex()))
        share = await self._context.token(chain_id, checksum("0x" + vault.hex()))
        if asset is None or share is None:
            return None
        return VaultHours(chain_id, vault, asset, share, rows[0][1])

    async def _read(self, *where: Condition) -> list[Sample]:
        rows = await self._reader.fetch(Select("vault_hour", _COLUMNS, where, ("hour",)))
        return [sample for row in rows if (sample := _sample(row)) is not None]


async def vault_series(
    vaults: VaultBook, pools: PoolBook, tokens: TokenBook, chain_id: int, vault: bytes, asked: Asked
) -> Series | None:
    """Returns a series of a vault; None when none of its prices is stored.

    Raises ``UpstreamError`` when the index cannot be read.
    """
    hours = await vaults.hours(chain_id, vault)
    if hours is None or not hours.samples:
        return None
    if asked.metric == "apy":
        return _apy(hours, asked)
    last = hours.samples[-1].hour
    progress = await pools.progress(chain_id, hours.revision)
    asset: Address = hours.asset.address
    prices = await tokens.prices(chain_id, asset, last, hours.revision, progress)
    return _tvl(hours, asked, known(prices.at(CLOSE, last)))


def _tvl(hours: VaultHours, asked: Asked, price_usd: float | None) -> Series:
    starts = [sample.hour for sample in hours.samples]
    unit = 10**hours.asset.decimals

    def closing(moment: int) -> Sample | None:
        place = bisect_left(starts, moment + asked.step_s) - 1
        return hours.samples[place] if place >= 0 and starts[place] >= moment else None

    points = []
    for moment in asked.moments:
        sample = closing(moment)
        total = None if sample is None else sample.total_assets
        points.append((moment, None if total is None else total / unit))
    newest = hours.samples[-1].total_assets
    current = None if newest is None else newest / unit
    usd = None if current is None or price_usd is None else current * price_usd
    return asked.series(
        hours.asset.symbol or hours.asset.address,
        tuple(points),
        current=current,
        method=(
            "totalAssets() of the vault in whole units of its asset, stored each hour, at the last stored "
            "hour of each interval; null where none is stored. usd: current at the asset's closing price."
        ),
        coverage=_coverage(hours),
        components={"assets": current, "usd": usd},
        amounts={"assets": newest},
    )


def _apy(hours: VaultHours, asked: Asked) -> Series:
    growth, now = hours.growth, hours.samples[-1].hour + HOUR_S
    ends = {name: growth.ends(span_s, now) for name, span_s in _WINDOWS.items()}
    windows = {name: yearly(*each) for name, each in ends.items()}
    points = tuple(
        (moment, yearly(*growth.ends(WINDOWS_S[TRAILING], min(moment + asked.step_s, now))))
        if hours.samples[0].hour < moment + asked.step_s and moment < now
        else (moment, None)
        for moment in asked.moments
    )
    return asked.series(
        "fraction",
        points,
        current=windows[TRAILING],
        method=(
            f"(p1/p0)^({YEAR_S}/(t1-t0)) - 1 of share prices stored each hour, p = "
            f"convertToAssets(10^{hours.unit_exponent}); endpoints has both ends of each window. A price may "
            "be an end when those of the three hours after it are within 0.5 % of it: so windows end some "
            f"hours ago. Points and current are of the {TRAILING} before them; null where an end is missing."
        ),
        coverage=_coverage(hours),
        components={"base": windows[TRAILING], "reward": None},
        windows=windows,
        endpoints=tuple(
            GrowthWindow(name, hours.shown(first), hours.shown(last)) for name, (first, last) in ends.items()
        ),
    )


def _coverage(hours: VaultHours) -> tuple[int, int]:
    return hours.samples[0].hour, hours.samples[-1].hour + HOUR_S


def _sample(row: Row) -> Sample | None:
    hour, block, at, price, assets = (value if isinstance(value, int) else None for value in row)
    if hour is None or block is None or at is None or price is None:
        return None
    return Sample(hour, block, at, price, assets)
