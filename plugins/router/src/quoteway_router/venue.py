"""Where the pools of a route are, and what every route there needs of its network."""

from __future__ import annotations

from typing import Protocol

from quoteway import NATIVE, Address, Block, Context, SealedQuote, SwapRequest

PRIORITY_FEE_WEI = 100_000_000
"""The tip assumed where a network's is not configured: 0.1 gwei."""


class Venue(Protocol):
    """Pools that one provider executes on one network: what a quote says of them."""

    @property
    def provider(self) -> str: ...

    @property
    def wrapped_native(self) -> Address: ...

    @property
    def priority_fee_wei(self) -> int: ...

    def label(self, kind: str) -> str:
        """Returns the protocol that a route shows for pools of a family."""


def is_wrapping(request: SwapRequest, wrapped_native: Address) -> bool:
    """Returns whether the request only wraps or unwraps the native coin."""
    return {request.token_in.address, request.token_out.address} == {NATIVE, wrapped_native}


def network_gas_price(venue: Venue, block: Block) -> int | None:
    """Returns base fee and tip in wei; None when the chain has no base fee."""
    return None if block.base_fee_wei is None else block.base_fee_wei + venue.priority_fee_wei


def deadline_of(context: Context, block: Block, sealed: SealedQuote) -> int:
    """Returns the Unix time until which an action is valid: that of the request, where it names one."""
    if sealed.deadline is not None:
        return sealed.deadline
    # The newest block of a quiet chain may be old, and the next block carries the present time.
    return max(block.timestamp, sealed.created_at) + context.config.quotes.action_deadline_s
