"""Makes one price of what several sources say: the median of the majority that agrees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import median, median_low

from quoteway.models import Price


@dataclass(frozen=True, slots=True)
class Agreement:
    """The price of a token; None when there is none, or when no majority of its sources agrees.

    ``agreeing`` are the ids of the sources that it is made of, ``outliers`` those of the others.
    """

    price: Price | None
    agreeing: frozenset[str] = frozenset()
    outliers: frozenset[str] = frozenset()


def agree(
    prices: Mapping[str, Price],
    band_bps: int,
    preferred: str | None = None,
    plugins: Mapping[str, str] | None = None,
) -> Agreement:
    """Returns the median of the prices, by source id, that are within ``band_bps`` of the median of all.

    These must be more than half of the sources, so that no source alone decides and no price is a coin toss:
    of two that differ neither is taken, of three the one that is far from the others counts for nothing.
    Where no majority agrees, the price is that of the ``preferred`` source, or None.

    ``plugins`` has the plugins of the sources. Those of one plugin have one vote, what a majority of them
    agrees on, so that no plugin outvotes the others by the number of its sources. A price that plugins agree
    on is anchored, whatever they say of their own.
    """
    plugins = plugins or {}
    known = {source: price for source, price in prices.items() if price.usd is not None}
    votes: dict[str, dict[str, Price]] = {}
    for source, price in known.items():
        votes.setdefault(plugins.get(source, source), {})[source] = price
    own = {plugin: _majority(vote, band_bps) for plugin, vote in votes.items()}
    joint = _majority(
        {plugin: vote.price for plugin, vote in own.items() if vote.price is not None}, band_bps
    )
    if joint.price is None and preferred in known:
        return Agreement(known[preferred], frozenset({preferred}), frozenset(known) - {preferred})
    agreeing = frozenset[str]().union(*(own[plugin].agreeing for plugin in joint.agreeing))
    agreed = joint.price
    if agreed is not None and len(joint.agreeing) > 1:
        agreed = replace(agreed, anchored=True)
    return Agreement(agreed, agreeing, frozenset(known) - agreeing)


def _majority(prices: Mapping[str, Price], band_bps: int) -> Agreement:
    """Returns the median of the prices near the median of all, if they are more than half."""
    usd = {source: price.usd for source, price in prices.items() if price.usd is not None}
    if not usd:
        return Agreement(None)
    middle = median_low(usd.values())
    band = middle * (band_bps / 10_000)
    agreeing = frozenset(source for source, each in usd.items() if abs(each - middle) <= band)
    if len(agreeing) * 2 <= len(usd):
        return Agreement(None)
    return Agreement(_joint([prices[source] for source in sorted(agreeing)]), agreeing)


def _joint(prices: list[Price]) -> Price:
    """Returns the price of sources that agree, at the oldest of their blocks, with the median of depths."""
    if len(prices) == 1:
        return prices[0]
    confidences = [price.confidence for price in prices if price.confidence is not None]
    depths = [price.depth_usd for price in prices if price.depth_usd is not None]
    moves = [price.moved_1h_pct for price in prices if price.moved_1h_pct is not None]
    return replace(
        min(prices, key=lambda price: price.block.number),
        usd=median(price.usd for price in prices if price.usd is not None),
        source=", ".join(price.source for price in prices),
        confidence=median_low(confidences) if confidences else None,
        depth_usd=median_low(depths) if depths else None,
        anchored=all(price.anchored for price in prices),
        moved_1h_pct=max(moves, key=abs) if moves else None,
    )
