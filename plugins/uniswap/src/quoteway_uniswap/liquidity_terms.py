"""Quotes of adding, removing and collecting liquidity: what the contracts will take and pay at one block.

Each function answers with ``Terms``; ``liquidity_calls`` makes the transaction from their plan alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from quoteway import (
    NATIVE,
    Address,
    FieldError,
    InvalidRequest,
    Leg,
    Notice,
    PoolRequest,
    Reason,
    Token,
)
from quoteway_amm import (
    amounts_for_liquidity,
    amounts_used,
    full_range,
    least,
    least_amounts_paid,
    least_amounts_used,
    liquidity_paying,
    nearest_usable_tick,
    settled_amounts,
    sqrt_ratio_at_tick,
    taxed_amount,
    v2_amounts_burned,
    v2_amounts_used,
    v2_shares_minted,
)

from quoteway_uniswap.known_pools import KnownPool
from quoteway_uniswap.liquidity_state import Holding, PairState, RangedState

_MAX_UINT112 = (1 << 112) - 1
_MAX_UINT128 = (1 << 128) - 1


@dataclass(frozen=True, slots=True)
class Terms:
    """A liquidity operation, priced. ``plan`` is all that ``liquidity_calls`` needs.

    ``dependent`` is the side that follows from the one given; ``liquidity_delta`` the change of the position
    in the pool's own unit (shares on v2); ``share_of_pool`` what that is of all liquidity at work, None out
    of range.
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
    """A request's pool with the tokens in the form the wallet deals in.

    ``given`` is the side of the request's asset (0 or 1); None when the asset is something else.
    """

    pool: KnownPool
    request: PoolRequest
    native: bool
    tokens: tuple[Token, Token]
    given: int | None

    def floor(self, amounts: tuple[int, int]) -> tuple[int, int]:
        """The amounts less the slippage, rounded down."""
        keep = 10_000 - self.request.slippage_bps
        return amounts[0] * keep // 10_000, amounts[1] * keep // 10_000

    def inputs(
        self, amounts: tuple[int, int], least_taken: tuple[int, int], offered: tuple[int, int]
    ) -> tuple[Leg, ...]:
        """What the sender pays, with the most that may be taken where more is offered; sides of nothing are
        left out."""
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
        """What the recipient gets; sides of nothing are left out."""
        return tuple(
            Leg(token, amount, self.request.recipient, amount_min=minimum)
            for token, amount, minimum in zip(self.tokens, amounts, minimums, strict=True)
            if amount
        )

    def plan(self, verb: str, **members: Any) -> dict[str, Any]:
        """The members that every plan has, and these."""
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
    """Which side the request's asset is. Raises InvalidRequest for a native side where there is none."""
    ref, wrapped = pool.ref, pool.deployment.wrapped_native
    asset, named = request.asset, request.action != "collect"
    native = request.use_native or (named and asset == NATIVE)
    wraps = ref.kind != "v4" and wrapped in (ref.token0, ref.token1)
    if native and not wraps and NATIVE not in (ref.token0, ref.token1):
        raise InvalidRequest(
            f"This pool takes no native coin: its tokens are {ref.token0} and {ref.token1}.",
            reason=Reason.UNSUPPORTED_TOKEN,
        )
    if ref.kind != "v4" and asset == NATIVE:
        asset = wrapped
    own = (ref.token0, ref.token1)
    given = own.index(asset) if named and asset in own else None
    return Sides(pool, request, native and wraps, pool.in_form(native), given)


def _given(sides: Sides) -> int:
    if sides.given is None:
        ref = sides.pool.ref
        raise InvalidRequest(
            f"asset is not in this pool: its tokens are {ref.token0} and {ref.token1}.",
            reason=Reason.UNSUPPORTED_TOKEN,
        )
    return sides.given


def _amount(request: PoolRequest) -> int:
    if request.amount is None:
        raise InvalidRequest('"max" is for remove only.', reason=Reason.INVALID_FORMAT)
    return request.amount


def _too_low() -> InvalidRequest:
    return InvalidRequest("The amount is so low that it makes no liquidity.", reason=Reason.AMOUNT_TOO_LOW)


def _too_high(what: str) -> InvalidRequest:
    return InvalidRequest(f"The amount is more than {what}.", reason=Reason.AMOUNT_TOO_HIGH)


# --- v2 ---------------------------------------------------------------------------------------------------


def add_to_pair(sides: Sides, state: PairState, share: Token) -> Terms:
    """Terms of UniswapV2Router02.addLiquidity or addLiquidityETH."""
    request, given, amount = sides.request, _given(sides), _amount(sides.request)
    reserves = state.reserve0, state.reserve1
    if not all(reserves) or not state.total_supply:
        raise InvalidRequest(
            "This pair is empty: there is no price from which the other side would follow.",
            reason=Reason.INSUFFICIENT_LIQUIDITY,
        )
    other = amount * reserves[1 - given] // reserves[given]
    offer = (amount, other) if given == 0 else (other, amount)
    # The ETH form of the call names the token first.
    first = next(i for i in (0, 1) if not sides.tokens[i].is_native) if sides.native else given
    while (taken := v2_amounts_used(*offer, *reserves, first == 0)) != offer:
        offer = taken
    donated = state.balance0 - state.reserve0, state.balance1 - state.reserve1
    supply = state.supply_after_fee
    shares = v2_shares_minted(offer[0] + donated[0], offer[1] + donated[1], *reserves, supply)
    if not shares or not all(offer):
        raise _too_low()
    if state.balance0 + offer[0] > _MAX_UINT112 or state.balance1 + offer[1] > _MAX_UINT112:
        raise _too_high("a pair can hold")
    minimums = sides.floor(offer)
    inputs = sides.inputs(offer, minimums, offer)
    keep = 10_000 - request.slippage_bps
    return Terms(
        inputs=inputs,
        outputs=(Leg(share, shares, request.recipient, amount_min=shares * keep // 10_000),),
        plan=sides.plan("add", amounts=list(offer), mins=list(minimums), first=first),
        liquidity_delta=shares,
        share_of_pool=shares / (supply + shares),
        dependent=inputs[1 - given],
    )


def remove_from_pair(
    sides: Sides, state: PairState, share: Token, held: int, taxes_bps: tuple[int, int]
) -> Terms:
    """Terms of UniswapV2Router02.removeLiquidity or removeLiquidityETH; ``held`` are the wallet's shares."""
    request, supply = sides.request, state.supply_after_fee

    def paid(shares: int) -> tuple[int, int]:
        burned = shares + state.stray_shares
        return v2_amounts_burned(burned, state.balance0, state.balance1, supply) if supply else (0, 0)

    shares = _shares_to_burn(sides, share.address, held, state.total_supply, paid)
    amounts = paid(shares)
    if not all(amounts):
        raise _too_low()
    minimums = sides.floor(amounts)
    arriving = _taxed(amounts, taxes_bps)
    outputs = sides.outputs(arriving, _taxed(minimums, taxes_bps))
    return Terms(
        inputs=(Leg(share, shares, request.sender),),
        outputs=outputs,
        plan=sides.plan("remove", shares=shares, mins=list(minimums)),
        liquidity_delta=-shares,
        share_of_pool=shares / supply,
        dependent=outputs[1 - sides.given] if sides.given is not None and len(outputs) == 2 else None,
    )


def _shares_to_burn(
    sides: Sides, share: Address, held: int, supply: int, paid: Callable[[int], tuple[int, int]]
) -> int:
    request = sides.request
    if request.amount is None:
        if not held:
            raise InvalidRequest("This wallet holds no shares of this pool.", reason=Reason.AMOUNT_TOO_HIGH)
        return held
    if request.asset == share:
        if request.amount > supply:
            raise _too_high("all shares of this pool")
        return request.amount
    given = _given(sides)
    shares = least(lambda n: paid(n)[given], request.amount, supply)
    if shares is None:
        raise _too_high("this pool holds")
    return shares


def _taxed(amounts: tuple[int, int], taxes_bps: tuple[int, int]) -> tuple[int, int]:
    return taxed_amount(amounts[0], taxes_bps[0]), taxed_amount(amounts[1], taxes_bps[1])


# --- v3 and v4 --------------------------------------------------------------------------------------------


def ticks_of(pool: KnownPool, request: PoolRequest) -> tuple[int, int]:
    """The range asked for, the full one by default. Raises InvalidRequest naming the nearest valid ticks."""
    spacing = pool.ref.tick_spacing
    low, high = full_range(spacing)
    lower = low if request.tick_lower is None else request.tick_lower
    upper = high if request.tick_upper is None else request.tick_upper
    refused = []
    below = min(nearest_usable_tick(lower, spacing), high - spacing)
    above = max(nearest_usable_tick(upper, spacing), below + spacing)
    for name, tick, nearest in (("tickLower", lower, below), ("tickUpper", upper, above)):
        if tick % spacing or not low <= tick <= high:
            text = f"must be a multiple of {spacing} from {low} to {high}: the nearest is {nearest}"
            refused.append(FieldError(name, Reason.OUT_OF_RANGE, text))
    if not refused and lower >= upper:
        nearest = min(max(lower, low) + spacing, high)
        text = f"must be above tickLower: the nearest valid pair is {nearest - spacing} and {nearest}"
        refused.append(FieldError("tickUpper", Reason.CONFLICT, text))
    if refused:
        message = "; ".join(f"{error.path} {error.message}" for error in refused)
        raise InvalidRequest(
            f"The range cannot be used: {message}.", reason=refused[0].reason, fields=refused
        )
    return lower, upper


def add_to_range(
    sides: Sides, state: RangedState, ticks: tuple[int, int], position: Token, holding: Holding | None
) -> Terms:
    """Terms of a new position, or of adding to ``holding``.

    v3: NonfungiblePositionManager mint or increaseLiquidity; v4: PositionManager, from deltas. What a v4
    position has earned is paid out when it is added to, as the PoolManager does.
    """
    request, given, amount = sides.request, _given(sides), _amount(sides.request)
    price, bounds = state.sqrt_price_x96, (sqrt_ratio_at_tick(ticks[0]), sqrt_ratio_at_tick(ticks[1]))
    try:
        offer = settled_amounts(price, *bounds, amount, given == 0)
    except ValueError:
        raise InvalidRequest(
            f"At the present tick {state.tick} a position from {ticks[0]} to {ticks[1]} takes only "
            f"{sides.tokens[1 - given].symbol or sides.tokens[1 - given].address}.",
            reason=Reason.CONFLICT,
        ) from None
    liquidity, *used = amounts_used(price, *bounds, *offer)
    taken = used[0], used[1]
    if not liquidity:
        raise _too_low()
    if max(liquidity + state.liquidity, *offer) > _MAX_UINT128:
        raise _too_high("a position can hold")
    minimums = least_amounts_used(price, *bounds, *offer, request.slippage_bps)
    fees = holding.fees if holding is not None and sides.pool.ref.kind == "v4" else (0, 0)
    outputs = sides.outputs(fees, fees)
    if holding is None:
        outputs = (Leg(position, 1, request.recipient, amount_min=1),)
    inputs = sides.inputs(taken, minimums, offer)
    dependent = next((leg for leg in inputs if leg.token == sides.tokens[1 - given]), None)
    at_work = state.liquidity + liquidity if ticks[0] <= state.tick < ticks[1] else None
    ref = sides.pool.ref
    return Terms(
        inputs=inputs,
        outputs=outputs,
        plan=sides.plan(
            "add",
            fee=ref.fee,
            spacing=ref.tick_spacing,
            hooks=sides.pool.hooks,
            ticks=list(ticks),
            amounts=list(offer),
            mins=list(minimums),
            token_id=holding.nft.token_id if holding is not None else None,
        ),
        liquidity_delta=liquidity,
        share_of_pool=liquidity / at_work if at_work else None,
        dependent=dependent or Leg(sides.tokens[1 - given], 0, request.sender),
        tick_range=ticks,
    )


def remove_from_range(sides: Sides, holding: Holding, position: Token) -> Terms:
    """Terms of taking liquidity out; what the position has earned comes with it, all of it burns the token.

    v3: decreaseLiquidity, collect, burn; v4: DECREASE_LIQUIDITY or BURN_POSITION, and TAKE_PAIR.
    """
    nft, state, request = holding.nft, holding.state, sides.request
    price = state.sqrt_price_x96
    bounds = sqrt_ratio_at_tick(nft.tick_lower), sqrt_ratio_at_tick(nft.tick_upper)
    liquidity: int | None = nft.liquidity
    given = None
    if request.amount is not None:
        given = _given(sides)
        liquidity = liquidity_paying(price, *bounds, nft.liquidity, request.amount, given == 0)
        if liquidity is None:
            raise InvalidRequest(
                f'The position holds {holding.amounts[given]} base units of this asset: use "max" for all.',
                reason=Reason.AMOUNT_TOO_HIGH,
            )
    assert liquidity is not None
    everything = liquidity == nft.liquidity
    share_paid = _paid(holding, liquidity)
    amounts = share_paid[0] + holding.fees[0], share_paid[1] + holding.fees[1]
    low = least_amounts_paid(price, *bounds, liquidity, request.slippage_bps)
    minimums = min(low[0], share_paid[0]), min(low[1], share_paid[1])
    outputs = sides.outputs(amounts, minimums)
    if not liquidity and not everything:
        raise _too_low()
    dependent = None
    if given is not None:
        dependent = next((leg for leg in outputs if leg.token == sides.tokens[1 - given]), None)
    in_range = nft.tick_lower <= state.tick < nft.tick_upper
    return Terms(
        inputs=(Leg(position, 1, request.sender),) if everything else (),
        outputs=outputs,
        plan=sides.plan(
            "remove", token_id=nft.token_id, liquidity=liquidity, mins=list(minimums), all=everything
        ),
        liquidity_delta=-liquidity,
        share_of_pool=liquidity / state.liquidity if in_range and state.liquidity else None,
        dependent=dependent,
        tick_range=(nft.tick_lower, nft.tick_upper),
    )


def _paid(holding: Holding, liquidity: int) -> tuple[int, int]:
    nft = holding.nft
    bounds = sqrt_ratio_at_tick(nft.tick_lower), sqrt_ratio_at_tick(nft.tick_upper)
    return amounts_for_liquidity(holding.state.sqrt_price_x96, *bounds, liquidity)


def collect(sides: Sides, holding: Holding) -> Terms:
    """Terms of collecting what a position has earned. Fees only grow, so the minimum is the amount."""
    if not any(holding.fees):
        raise InvalidRequest("This position has nothing to collect.", reason=Reason.AMOUNT_TOO_LOW)
    return Terms(
        inputs=(),
        outputs=sides.outputs(holding.fees, holding.fees),
        plan=sides.plan("collect", token_id=holding.nft.token_id, mins=list(holding.fees)),
        liquidity_delta=0,
        tick_range=(holding.nft.tick_lower, holding.nft.tick_upper),
    )
