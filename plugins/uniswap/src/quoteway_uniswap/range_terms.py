"""The terms of adding, removing and collecting in v3 and v4 pools at one block."""

from __future__ import annotations

from quoteway import FieldError, InvalidRequest, Leg, PoolRequest, Reason, Token
from quoteway_amm import (
    amounts_for_liquidity,
    amounts_used,
    full_range,
    least_amounts_paid,
    least_amounts_used,
    liquidity_paying,
    nearest_usable_tick,
    settled_amounts,
    sqrt_ratio_at_tick,
)

from quoteway_uniswap.known_pools import KnownPool
from quoteway_uniswap.liquidity_state import Holding, RangedState
from quoteway_uniswap.liquidity_terms import Sides, Terms, given_amount, given_side, too_high, too_low

_MAX_UINT128 = (1 << 128) - 1


def ticks_of(pool: KnownPool, request: PoolRequest) -> tuple[int, int]:
    """Returns the requested range, by default the full one. Raises InvalidRequest with the nearest ticks."""
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
    """Returns the terms of a new position, or of adding to ``holding``.

    v3: NonfungiblePositionManager mint or increaseLiquidity. v4: PositionManager, from deltas; adding to a
    position pays out its fees.
    """
    request, given, amount = sides.request, given_side(sides), given_amount(sides.request)
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
        raise too_low()
    if max(liquidity + state.liquidity, *offer) > _MAX_UINT128:
        raise too_high("a position can hold")
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
    """Returns the terms of removing liquidity and all fees. Removing all of it burns the position token.

    v3: decreaseLiquidity, collect, burn. v4: DECREASE_LIQUIDITY or BURN_POSITION, and TAKE_PAIR.
    """
    nft, state, request = holding.nft, holding.state, sides.request
    price = state.sqrt_price_x96
    bounds = sqrt_ratio_at_tick(nft.tick_lower), sqrt_ratio_at_tick(nft.tick_upper)
    liquidity: int | None = nft.liquidity
    given = None
    if request.amount is not None:
        given = given_side(sides)
        liquidity = liquidity_paying(price, *bounds, nft.liquidity, request.amount, given == 0)
        if liquidity is None:
            raise InvalidRequest(
                f'The position holds {holding.amounts[given]} base units of asset: request less, or "max".',
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
        raise too_low()
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
    """Returns the terms of collecting fees. Fees never fall, so the minimum is the amount."""
    if not any(holding.fees):
        raise InvalidRequest("This position has nothing to collect.", reason=Reason.AMOUNT_TOO_LOW)
    return Terms(
        inputs=(),
        outputs=sides.outputs(holding.fees, holding.fees),
        plan=sides.plan("collect", token_id=holding.nft.token_id, mins=list(holding.fees)),
        liquidity_delta=0,
        tick_range=(holding.nft.tick_lower, holding.nft.tick_upper),
    )
