"""Orders that two providers share: a swap on one network in two parts, for a wallet that batches calls.

The best quote is compared with two quotes for parts of the amount, by the best provider and by the best other
one whose route has none of its pools: each has quoted the whole depth of its pools. The shares are found by a
few further quotes. Each part is a quote of its own provider with its own minimum, and is checked, built and
simulated like any other quote; all is simulated in one run. The division wins when its run pays more than
that of the best single quote, net of the gas of all transactions, approvals included.
"""

from __future__ import annotations

import asyncio
import math
import time
from bisect import insort
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from quoteway import models
from quoteway.engine.competition import Competition, Contender
from quoteway.engine.divided_quotes import divided_quote, pools_of, share_pools
from quoteway.engine.ranking import Bid, QuoteOutcome, bids_of
from quoteway.engine.trade_taxes import TradeTaxes
from quoteway.errors import GatewayError
from quoteway.host.outcomes import Outcome
from quoteway.providers import Provider, SwapProvider, TransactionProvider

MAX_TRIALS = 4
"""The most divisions of one order that are quoted: two calls of providers each."""
FINEST = 1_000
"""Shares of the order are not told apart further than by this part of it."""

Ask = Callable[[Sequence[Provider], models.Request, float], Awaitable[list[QuoteOutcome]]]
"""Asks providers for a quote within a time in seconds: ``Quoting.ask``."""


class TwoSwaps(SwapProvider):
    """Who divided quotes are of. It is asked for no quote: the providers of the parts quote and build."""

    id = "swap+swap"
    title = "Two swaps of one order"
    joins_providers = True

    async def quote(self, request: models.SwapRequest) -> models.Quote | None:
        """Returns None."""
        return None

    async def build(self, sealed: models.SealedQuote) -> models.Build:
        """Raises ``ProviderUnavailable``: the provider of each part builds it."""
        return await TransactionProvider.build(self, sealed)


TWO_SWAPS = TwoSwaps()


@dataclass(frozen=True, slots=True)
class Trial:
    """Two quotes that share the order: what the first sells (``amount``), and what both promise less gas."""

    amount: int
    quotes: tuple[models.Quote, models.Quote]
    requests: tuple[models.SwapRequest, models.SwapRequest]
    net: int


@dataclass(frozen=True, slots=True)
class Dividing:
    """Looks for a division of one order that pays more than its best quote.

    ``outcomes`` are those of the competition that ``winner`` has won. Quotes are asked for until ``ends_at``,
    in seconds of ``time.monotonic``. ``deadline`` is the one asked for, Unix seconds.
    """

    competition: Competition
    taxes: TradeTaxes
    ask: Ask
    request: models.SwapRequest
    winner: Contender
    outcomes: Sequence[QuoteOutcome]
    deadline: int | None
    ends_at: float

    async def better(self) -> tuple[Contender | None, QuoteOutcome | None]:
        """Returns the division if it pays more than the winner, and its outcome for ``attempts``.

        The outcome is None where the order is not to be divided, ``no_route`` where no division pays more.
        Raises nothing but bugs: a division that fails costs the order nothing else.
        """
        second = self._second() if self._is_divisible() else None
        if second is None:
            return None, None
        if any(tax.buy_bps or tax.sell_bps for tax in await self.taxes.of(self.winner.bid.quote)):
            return None, None  # a tax may depend on the amount or on the transfers before
        none: QuoteOutcome = Outcome(TWO_SWAPS, "no_route")
        trial = await self._best_trial(self.winner.bid, second)
        if trial is None or trial.net <= self.winner.bid.promised:
            return None, none
        bid = self._bid(trial, second)
        found = await self.competition.rehearse(
            models.Capability.SWAP, self.request, bid, self.deadline, spared=True
        )
        if isinstance(found, GatewayError):
            return None, Outcome(TWO_SWAPS, "failed", error=found)
        ran = found.rehearsal
        if ran is None or found.opaque or _net_of_all(found) <= _net_of_all(self.winner):
            return None, none
        # Routes are what providers say; the logs of the run are what the transactions do.
        first_pools, second_pools = (frozenset(part.trace.swapped) for part in ran.run.segments)
        if share_pools(first_pools, second_pools):
            return None, none
        quoted: QuoteOutcome = Outcome(TWO_SWAPS, "quoted", bid.quote)
        return replace(found, warnings=self.winner.warnings), quoted

    def _is_divisible(self) -> bool:
        """Returns whether an order and its best quote are of the kind that can be divided and compared."""
        request, quote = self.request, self.winner.bid.quote
        settings = self.competition.runtime.config.providers.get(TWO_SWAPS.id)
        if settings is not None and not settings.enabled:
            return False
        ran, price = self.winner.rehearsal, self.winner.bid.gas_unit_price
        # A batch of calls has no place for a signature. The native coin needs none.
        signed = request.permit2_signature and not request.token_in.is_native
        taxed = any(issue.code == "transfer_tax" for issue in quote.issues)
        exact_in = request.amount_out is None and not request.is_cross_chain and request.amount_in > 1
        proven = ran is not None and not self.winner.opaque and price is not None
        return exact_in and proven and not signed and not taxed and self._can_share(self.winner.bid)

    def _can_share(self, bid: Bid) -> bool:
        """Returns whether a quote's provider may have a part: its amounts are exact, and its pools known."""
        scores = self.competition.rehearsing.registry.scores
        doubtful = scores.of(bid.provider).is_poor or scores.revert(bid.provider, self.request) is not None
        known = pools_of(bid.quote) is not None and not bid.quote.is_estimate and not bid.quote.parts
        return known and not doubtful and not bid.has_quota

    def _second(self) -> Bid | None:
        """Returns the best bid of another provider through other pools than the winner's."""
        first = pools_of(self.winner.bid.quote)
        others = [
            bid
            for bid in bids_of(self.outcomes)
            if bid.provider is not self.winner.bid.provider
            and self._can_share(bid)
            and not share_pools(first, pools_of(bid.quote))
        ]
        return max(others, key=lambda bid: bid.promised, default=None)

    async def _best_trial(self, first: Bid, second: Bid) -> Trial | None:
        """Returns the division that promises most, net of gas, of those that were quoted."""
        whole, best = self.request.amount_in, None
        outputs = [[(whole, bid.quote.outputs[0].amount)] for bid in (first, second)]
        # As if gas were paid for both, so that what all pays is continuous up to its ends.
        totals = [(0, second.promised - first.gas_cost), (whole, first.promised - second.gas_cost)]
        amount: int | None = whole // 2
        for _ in range(MAX_TRIALS):
            trial = None if amount is None else await self._trial(first, second, amount)
            if trial is None:
                break
            insort(totals, (trial.amount, trial.net))
            for points, quote in zip(outputs, trial.quotes, strict=True):
                points.append((quote.inputs[0].amount, quote.outputs[0].amount))
            if best is None and self._hoped_for(first, second, trial) <= self.winner.bid.promised:
                return trial
            known, best = best, trial if best is None or trial.net > best.net else best
            amount = None if known is None else top_amount(totals)
            amount = amount or next_amount(outputs[0], outputs[1], trial.amount)
        return best

    def _hoped_for(self, first: Bid, second: Bid, half: Trial) -> int:
        """Returns an upper bound of what any share promises net of gas, for outputs concave in amounts.

        That is the better end and by how much the outputs of two halves exceed those of the whole, of both.
        """
        ends = max(first.promised - second.gas_cost, second.promised - first.gas_cost)
        bent = sum(2 * quote.outputs[0].amount for quote in half.quotes)
        bent -= sum(bid.quote.outputs[0].amount for bid in (first, second))
        return max(half.net, ends + bent)

    async def _trial(self, first: Bid, second: Bid, amount: int) -> Trial | None:
        """Returns the quotes of two parts; None when one fails, or they may not be combined."""
        left_s = self.ends_at - time.monotonic()
        if left_s <= 0:
            return None
        plain = replace(self.request, permit2_signature=False, certificate=False)
        amounts = amount, self.request.amount_in - amount
        requests = replace(plain, amount_in=amounts[0]), replace(plain, amount_in=amounts[1])
        (one,), (other,) = await asyncio.gather(
            self.ask([first.provider], requests[0], left_s), self.ask([second.provider], requests[1], left_s)
        )
        if one.value is None or other.value is None:
            return None
        quotes = one.value, other.value
        if not self._fit_together(quotes):
            return None
        nets = (self._net(quote, bid) for quote, bid in zip(quotes, (first, second), strict=True))
        return Trial(amount, quotes, requests, sum(nets))

    def _fit_together(self, quotes: tuple[models.Quote, models.Quote]) -> bool:
        """Returns whether two quotes are exact, of the winner's block, and through different pools."""
        first, second = map(pools_of, quotes)
        if share_pools(first, second) or any(quote.is_estimate for quote in quotes):
            return False
        most_legs = self.request.routing.max_legs
        if most_legs is not None and len(_legs_of(quotes)) > most_legs:
            return False
        return all(quote.block == self.winner.bid.quote.block for quote in quotes)

    def _net(self, quote: models.Quote, whole: Bid) -> int:
        """Returns what a part promises, net of gas at the price that the winner's counts at."""
        return quote.outputs[0].amount - self._gas_cost(quote, whole)

    def _gas_cost(self, quote: models.Quote, whole: Bid) -> int:
        price = self.winner.bid.gas_unit_price or Fraction(0)
        stated = quote.gas is not None and quote.gas.units > 0
        return math.ceil(quote.gas.units * price) if stated and quote.gas else whole.gas_cost

    def _bid(self, trial: Trial, second: Bid) -> Bid:
        """Returns a division as a bid that is judged like the winner's."""
        first = self.winner.bid
        parts = tuple(
            models.QuotePart(models.Capability.SWAP, bid.provider.id, request, quote)
            for bid, request, quote in zip((first, second), trial.requests, trial.quotes, strict=True)
        )
        network = self.competition.runtime.chain(self.request.chain_id).network
        costs = map(self._gas_cost, trial.quotes, (first, second))
        return replace(
            first,
            order=len(self.outcomes),
            provider=TWO_SWAPS,
            quote=divided_quote(parts, network.wrapped_native),
            gas_cost=sum(costs),
        )


def _net_of_all(contender: Contender) -> int:
    """Returns what a run paid less the gas of all its transactions. Two parts may need more approvals."""
    bid, ran = contender.bid, contender.rehearsal
    return 0 if ran is None else bid.paid(ran.paid(bid.judged) or 0, sum(ran.run.whole.gas_used))


def _legs_of(quotes: Iterable[models.Quote]) -> set[tuple[str, frozenset[models.Address]]]:
    """Returns the pools of routes, once for each pair of tokens."""
    hops = (hop for quote in quotes for path in quote.route or () for hop in path.hops)
    return {(hop.pool, frozenset((hop.token_in, hop.token_out))) for hop in hops}


Points = Sequence[tuple[int, int]]
"""Amounts sold with their outputs, both in base units."""


def next_amount(first: Points, second: Points, tried: int) -> int | None:
    """Returns the first part's amount at which more of either pays the same; None: no amount worth a trial.

    Each provider's output is taken for that of one pool with a constant product, through its two points next
    to what it got of the amount ``tried``. The last division is at ``tried``; the first points are the whole.
    """
    whole = first[0][0]
    one, other = _curve(first, tried), _curve(second, whole - tried)
    if one is None or other is None:
        return None
    (a, b), (c, d) = one, other
    # The marginal price of x / (a + b x) is (a + b x)^2 / a.
    ratio = _square_root(a / c)
    steepness = b + ratio * d
    if not steepness:
        return None
    amount = math.floor((ratio * (c + d * whole) - a) / steepness)
    return _untried(amount, [0, *(amount for amount, _ in first)])


def top_amount(totals: Points) -> int | None:
    """Returns the first part's amount at the top of the parabola through the best point and its neighbours.

    ``totals`` are what all pays, by the first part's amounts in order, from 0 to the whole. None: an end is
    the best, or nothing is left to try.
    """
    at = max(range(len(totals)), key=lambda index: totals[index][1])
    if at in (0, len(totals) - 1):
        return None
    (low, low_net), (middle, net), (high, high_net) = totals[at - 1 : at + 2]
    left, right, fall, rise = middle - low, high - middle, net - high_net, net - low_net
    steepness = left * fall + right * rise
    if not steepness:
        return None
    amount = middle - (left**2 * fall - right**2 * rise) // (2 * steepness)
    return _untried(amount, [amount for amount, _ in totals])


def _untried(amount: int, known: Collection[int]) -> int | None:
    """Returns an amount inside the order that differs enough from those that are known; else None."""
    whole = max(known)
    distance = min(abs(amount - each) for each in known)
    return amount if 0 < amount < whole and distance * FINEST >= whole else None


def _curve(points: Points, near: int) -> tuple[Fraction, Fraction] | None:
    """Returns a and b of the output x / (a + b x) through two points; None where that is not concave."""
    nearest = sorted(points, key=lambda point: abs(point[0] - near))[:2]
    (x, x_out), (y, y_out) = nearest
    if not x_out or not y_out or x == y:
        return None
    b = (Fraction(y, y_out) - Fraction(x, x_out)) / (y - x)
    a = Fraction(x, x_out) - b * x
    return (a, b) if a > 0 and b >= 0 else None


def _square_root(value: Fraction) -> Fraction:
    """Returns a square root to 64 bits and more."""
    numerator, denominator = value.numerator << 256, value.denominator
    return Fraction(math.isqrt(numerator // denominator), 1 << 128)
