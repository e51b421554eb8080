"""The terms of adding and removing liquidity of v2 pairs at one block."""

from __future__ import annotations

from collections.abc import Callable

from quoteway import Address, InvalidRequest, Leg, Reason, Token
from quoteway_amm import least, taxed_amount, v2_amounts_burned, v2_amounts_used, v2_shares_minted

from quoteway_uniswap.liquidity_state import PairState
from quoteway_uniswap.liquidity_terms import Sides, Terms, given_amount, given_side, too_high, too_low

_MAX_UINT112 = (1 << 112) - 1


def add_to_pair(sides: Sides, state: PairState, share: Token) -> Terms:
    """Returns the terms of UniswapV2Router02.addLiquidity or addLiquidityETH."""
    request, given, amount = sides.request, given_side(sides), given_amount(sides.request)
    reserves = state.reserve0, state.reserve1
    if not all(reserves) or not state.total_supply:
        raise InvalidRequest(
            "This pair is empty: it has no price for the amount of the other token.",
            reason=Reason.INSUFFICIENT_LIQUIDITY,
        )
    other = amount * reserves[1 - given] // reserves[given]
    offer = (amount, other) if given == 0 else (other, amount)
    # addLiquidityETH takes the token first.
    first = next(i for i in (0, 1) if not sides.tokens[i].is_native) if sides.native else given
    while (taken := v2_amounts_used(*offer, *reserves, first == 0)) != offer:
        offer = taken
    donated = state.balance0 - state.reserve0, state.balance1 - state.reserve1
    supply = state.supply_after_fee
    shares = v2_shares_minted(offer[0] + donated[0], offer[1] + donated[1], *reserves, supply)
    if not shares or not all(offer):
        raise too_low()
    if state.balance0 + offer[0] > _MAX_UINT112 or state.balance1 + offer[1] > _MAX_UINT112:
        raise too_high("a pair can hold")
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
    """Returns the terms of removeLiquidity or removeLiquidityETH; ``held`` are the wallet's shares."""
    request, supply = sides.request, state.supply_after_fee

    def paid(shares: int) -> tuple[int, int]:
        burned = shares + state.stray_shares
        return v2_amounts_burned(burned, state.balance0, state.balance1, supply) if supply else (0, 0)

    shares = _shares_to_burn(sides, share.address, held, state.total_supply, paid)
    amounts = paid(shares)
    if not all(amounts):
        raise too_low()
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
            raise too_high("all shares of this pool")
        return request.amount
    given = given_side(sides)
    shares = least(lambda n: paid(n)[given], request.amount, supply)
    if shares is None:
        raise too_high("this pool holds")
    return shares


def _taxed(amounts: tuple[int, int], taxes_bps: tuple[int, int]) -> tuple[int, int]:
    return taxed_amount(amounts[0], taxes_bps[0]), taxed_amount(amounts[1], taxes_bps[1])
