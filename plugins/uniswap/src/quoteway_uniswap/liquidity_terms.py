"""The amounts and the plan of a liquidity operation, and the request that they answer.

``liquidity_calls`` makes the transaction from the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quoteway import NATIVE, InvalidRequest, Leg, Notice, PoolRequest, Reason, Token

from quoteway_uniswap.known_pools import KnownPool


@dataclass(frozen=True, slots=True)
class Terms:
    """The amounts and the plan of a liquidity operation.

    ``dependent`` is the leg that follows from the given asset. ``liquidity_delta`` is the change of the
    position in the pool's unit (shares on v2), ``share_of_pool`` its share of the liquidity in range, None
    out of range.
    """

    inputs: tuple[Leg, ...]
    outputs: tuple[Leg, ...]
    plan: Mapping[str, Any]
    liquidity_delta: int
    share_of_pool: float | None = None
    dependent: Leg | None = None
    tick_range: tuple[int, int] | None = None
    warnings: tuple[Notice, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Sides:
    """A request's pool with the tokens that the wallet pays and gets.

    ``given`` is the side of the request's asset (0 or 1), None when the asset is not one of the two.
    """

    pool: KnownPool
    request: PoolRequest
    native: bool
    tokens: tuple[Token, Token]
    given: int | None

    def floor(self, amounts: tuple[int, int]) -> tuple[int, int]:
        """Returns the amounts less the slippage, rounded down."""
        keep = 10_000 - self.request.slippage_bps
        return amounts[0] * keep // 10_000, amounts[1] * keep // 10_000

    def inputs(
        self, amounts: tuple[int, int], least_taken: tuple[int, int], offered: tuple[int, int]
    ) -> tuple[Leg, ...]:
        """Returns what the sender pays, without empty sides; ``amount_max`` is set where more is offered."""
        return tuple(
            Leg(
                token,
                amount,
                self.request.sender,
                amount_min=minimum,
                amount_max=offer if offer > amount else None,
            )
            for token, amount, minimum, offer in zip(self.tokens, amounts, least_taken, offered, strict=True)
            if offer
        )

    def outputs(self, amounts: tuple[int, int], minimums: tuple[int, int]) -> tuple[Leg, ...]:
        """Returns what the recipient gets, without empty sides."""
        return tuple(
            Leg(token, amount, self.request.recipient, amount_min=minimum)
            for token, amount, minimum in zip(self.tokens, amounts, minimums, strict=True)
            if amount
        )

    def plan(self, verb: str, **members: Any) -> dict[str, Any]:
        """Returns a plan with the common members and ``members``."""
        pool = self.pool
        return {
            "do": verb,
            "protocol": pool.deployment.protocol,
            "pool": pool.ref.id,
            "kind": pool.ref.kind,
            "tokens": [pool.ref.token0, pool.ref.token1],
            "native": self.native,
            "coin": [token.is_native for token in self.tokens],
            **members,
        }


def sides_of(pool: KnownPool, request: PoolRequest) -> Sides:
    """Returns the sides of a request. Raises InvalidRequest for the native coin in a pool without it."""
    ref, wrapped = pool.ref, pool.deployment.wrapped_native
    asset, named = request.asset, request.action != "collect"
    native = request.use_native or (named and asset == NATIVE)
    wraps = ref.kind != "v4" and wrapped in (ref.token0, ref.token1)
    if native and not wraps and NATIVE not in (ref.token0, ref.token1):
        raise InvalidRequest(
            f"This pool does not take the native coin: its tokens are {ref.token0} and {ref.token1}.",
            reason=Reason.UNSUPPORTED_TOKEN,
        )
    if ref.kind != "v4" and asset == NATIVE:
        asset = wrapped
    own = (ref.token0, ref.token1)
    given = own.index(asset) if named and asset in own else None
    return Sides(pool, request, native and wraps, pool.in_form(native), given)


def given_side(sides: Sides) -> int:
    """Returns the side of the request's asset. Raises InvalidRequest when the pool does not have it."""
    if sides.given is None:
        ref = sides.pool.ref
        raise InvalidRequest(
            f"asset must be a token of this pool: {ref.token0} or {ref.token1}.",
            reason=Reason.UNSUPPORTED_TOKEN,
        )
    return sides.given


def given_amount(request: PoolRequest) -> int:
    """Returns the request's amount. Raises InvalidRequest for "max"."""
    if request.amount is None:
        raise InvalidRequest(
            'amount "max" is allowed only with action "remove": give the amount in base units.',
            reason=Reason.INVALID_FORMAT,
        )
    return request.amount


def too_low() -> InvalidRequest:
    """Returns the error for an amount that makes no liquidity."""
    return InvalidRequest(
        "The amount is too low for any liquidity: request a larger amount.", reason=Reason.AMOUNT_TOO_LOW
    )


def too_high(what: str) -> InvalidRequest:
    """Returns the error for an amount above ``what``."""
    return InvalidRequest(
        f"The amount is more than {what}: request a smaller amount.", reason=Reason.AMOUNT_TOO_HIGH
    )
