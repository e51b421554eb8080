"""The terms of a deposit: suggested fees after every member was checked."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from quoteway import NATIVE, Address, Block, Reason, SwapRequest, UpstreamError

from quoteway_across.deployments import Deployment
from quoteway_across.fees_api import SuggestedFees
from quoteway_across.spoke_pool import MAX_EXCLUSIVITY_PERIOD_S

MAX_EXCLUSIVITY_S = 900
"""Longest time for which one relayer alone may fill."""
MIN_FILL_WINDOW_S = 300
"""Shortest time between the quote and the fill deadline."""
MIN_TIME_TO_DEPOSIT_S = 60
MAX_CLOCK_AHEAD_S = 300
_BPS = 10_000


@dataclass(frozen=True, slots=True)
class Buffers:
    """The SpokePool's own limits, in seconds: the age of a quote, and the distance of a fill deadline."""

    quote_time_s: int
    fill_deadline_s: int


@dataclass(frozen=True, slots=True)
class Terms:
    """The arguments of a deposit that are not in the request. ``exclusivity`` is the contract's parameter."""

    amount_out: int
    quote_timestamp: int
    fill_deadline: int
    exclusive_relayer: Address
    exclusivity: int
    estimated_seconds: int

    def accepted_until(self, buffers: Buffers) -> int:
        """Returns the last time at which the contract accepts the deposit, though no relayer may fill it."""
        return self.quote_timestamp + buffers.quote_time_s

    def useful_until(self, buffers: Buffers) -> int:
        """Returns the last time at which the contract accepts the deposit and a relayer can still fill it."""
        return min(self.accepted_until(buffers), self.fill_deadline - MIN_TIME_TO_DEPOSIT_S)


def terms_of(
    fees: SuggestedFees,
    request: SwapRequest,
    deployment: Deployment,
    buffers: Buffers,
    block: Block,
    now: int,
    max_fee_bps: int,
) -> Terms:
    """Returns the terms that ``fees`` suggests for ``request`` at ``block``. Raises UpstreamError."""

    def expect(holds: bool, finding: str) -> None:
        if not holds:
            raise UpstreamError(
                f"The bridge's fee service answered with terms that are refused: {finding}.",
                reason=Reason.PROVIDER_ERROR,
                retryable=False,
            )

    if fees.amount_too_low:
        raise UpstreamError(
            "The amount is too low for the bridge's fees.", reason=Reason.AMOUNT_TOO_LOW, retryable=False
        )
    expect(fees.spoke_pool == deployment.spoke_pool, "they are for another SpokePool")
    given, got = amounts(request, fees.amount_out)
    expect(fees.amount_out > 0 and got <= given, "they pay out nothing, or more than is deposited")
    expect((given - got) * _BPS <= given * max_fee_bps, f"they keep more than {max_fee_bps} bps")
    latest = max(now, block.timestamp)
    expect(fees.quote_timestamp <= latest + MAX_CLOCK_AHEAD_S, "their timestamp is in the future")
    # The contract refuses a timestamp after its block's; the fee service may have seen a newer block.
    timestamp = min(fees.quote_timestamp, block.timestamp)
    expect(timestamp + buffers.quote_time_s >= latest + MIN_TIME_TO_DEPOSIT_S, "their timestamp is too old")
    expect(fees.fill_deadline >= latest + MIN_FILL_WINDOW_S, "their fill deadline has passed, or is too near")
    expect(fees.fill_deadline <= block.timestamp + buffers.fill_deadline_s, "their fill deadline is too far")
    exclusivity = fees.exclusivity
    if exclusivity:
        expect(fees.exclusive_relayer != NATIVE, "they are exclusive to the zero address")
        counted = exclusivity <= MAX_EXCLUSIVITY_PERIOD_S
        seconds = exclusivity if counted else exclusivity - latest
        expect(seconds <= MAX_EXCLUSIVITY_S, "one relayer alone may fill for too long")
    return Terms(
        fees.amount_out,
        timestamp,
        fees.fill_deadline,
        fees.exclusive_relayer if exclusivity else NATIVE,
        exclusivity,
        fees.estimated_seconds,
    )


def amounts(request: SwapRequest, amount_out: int) -> tuple[Fraction, Fraction]:
    """Returns deposit and payout in whole tokens: a token may have other decimals on another chain."""
    given = Fraction(request.amount_in, 10**request.token_in.decimals)
    return given, Fraction(amount_out, 10**request.token_out.decimals)
