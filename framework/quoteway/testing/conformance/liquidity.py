"""The suite for liquidity sources. ``SwapConformance`` tests what swaps through their pools pay."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from quoteway import Address, Capability, LiquiditySource
from quoteway.host.liquidity import checked_pools
from quoteway.testing.conformance.provider import ProviderConformance

if TYPE_CHECKING:
    from quoteway.engine.gateway import Gateway

_Q96 = 1 << 96
_GROWTH = 7
"""By how much the amounts grow that each pool is tried with, from 1 to more than it takes."""
_MOST = 1 << 112


class LiquidityConformance(ProviderConformance):
    """Fixtures: ``gateway``, and ``pairs``: (chain id, token, token) between which the source has pools."""

    capability: ClassVar[Capability] = Capability.LIQUIDITY

    @pytest.fixture
    def pairs(self) -> Sequence[tuple[int, Address, Address]]:
        pytest.fail(f"{type(self).__name__} gives no fixture `pairs`")

    @pytest.fixture
    async def pools(
        self, gateway: Gateway, provider: LiquiditySource, pairs: Sequence[tuple[int, Address, Address]]
    ) -> list[Any]:
        """The pools of all pairs at the newest block."""
        return await pools_of(gateway, provider, pairs)

    async def test_pools_are_the_same_objects_until_they_change(
        self, gateway: Gateway, provider: LiquiditySource, pairs: Sequence[tuple[int, Address, Address]]
    ) -> None:
        for chain_id, a, b in pairs:
            block = await gateway.runtime.chain(chain_id).head()
            found = [await provider.pools(chain_id, *ends, block) for ends in ((a, b), (b, a), (a, b))]
            first = {(pool.id, pool.token0, pool.token1): pool for pool in found[0]}
            for other in found[1:]:
                assert {(pool.id, pool.token0, pool.token1) for pool in other} == first.keys()
                for pool in other:
                    assert first[pool.id, pool.token0, pool.token1] is pool, f"{pool.id} was made anew"

    def test_another_process_gets_the_same_pools(self, pools: Sequence[Any]) -> None:
        for pool in pools:
            copy = pickle.loads(pickle.dumps(pool))
            assert (copy.kind, copy.id, copy.token0, copy.token1) == (
                pool.kind,
                pool.id,
                pool.token0,
                pool.token1,
            )
            for zero_for_one in (True, False):
                for amount in _amounts():
                    assert _given(copy, zero_for_one, amount) == _given(pool, zero_for_one, amount)

    def test_outputs_grow_and_stay_below_price_and_curve(self, pools: Sequence[Any]) -> None:
        for pool in pools:
            for zero_for_one in (True, False) if pool.has_liquidity else ():
                name, before = f"pool {pool.id}, zero_for_one {zero_for_one}", 0
                price = Fraction(*pool.mid_price(zero_for_one))
                fee = Fraction(pool.swap_fee_pips(zero_for_one), 1_000_000)
                assert 0 <= fee < 1, name
                curve = pool.curve(zero_for_one)
                for amount in _amounts():
                    got = _given(pool, zero_for_one, amount)
                    if got is None:
                        if before:
                            break
                        continue  # too small for the contract
                    assert got >= before, f"{name}: {amount} gives less than a smaller input"
                    assert got <= amount * price, f"{name}: {amount} gives more than the mid price"
                    if curve.complete:
                        most = curve_output(curve, amount) + curve.excess
                        assert got <= most, f"{name}: {amount} gives {got}, its curve {float(most)}"
                    before = got
                assert before, f"{name}: it says that it has liquidity, and gives nothing for any amount"

    def test_an_exact_output_is_given_for_its_input(self, pools: Sequence[Any]) -> None:
        for pool in pools:
            for zero_for_one in (True, False) if pool.has_liquidity else ():
                for amount in _amounts():
                    got = _given(pool, zero_for_one, amount)
                    if not got:
                        continue
                    needed = _needed(pool, zero_for_one, got)
                    if needed is None:
                        continue
                    name = f"pool {pool.id}, zero_for_one {zero_for_one}: {got}"
                    # Contracts may round an input up twice, as UniswapV2Library.getAmountIn does.
                    assert needed <= amount + 1, f"{name} for {needed}, where {amount} suffices"
                    assert (_given(pool, zero_for_one, needed) or 0) >= got, f"{name} is not given"


async def pools_of(
    gateway: Gateway, provider: LiquiditySource, pairs: Sequence[tuple[int, Address, Address]]
) -> list[Any]:
    """Returns the pools of all pairs at the newest block; each pair must have one with liquidity."""
    found: dict[tuple[int, str, Address, Address], Any] = {}
    for chain_id, a, b in pairs:
        block = await gateway.runtime.chain(chain_id).head()
        pools: Sequence[Any] = checked_pools(provider, await provider.pools(chain_id, a, b, block))
        assert any(pool.has_liquidity for pool in pools), f"no pool with liquidity between {a} and {b}"
        found |= {(chain_id, pool.id, pool.token0, pool.token1): pool for pool in pools}
    return [*found.values()]


def curve_output(curve: Any, amount_in: int) -> Fraction:
    """Returns the most that a curve says for an input: what each of its segments gives, best price first."""
    left = Fraction(amount_in * curve.fee_numerator, curve.fee_denominator)
    total = Fraction(0)
    for low, high, liquidity in curve.segments:
        if curve.zero_for_one:
            takes = Fraction(liquidity * _Q96 * (high - low), low * high)
            taken = min(left, takes)
            reached = 1 / (Fraction(1, high) + taken / (liquidity * _Q96)) if taken < takes else Fraction(low)
            total += liquidity * (high - reached) / _Q96
        else:
            takes = Fraction(liquidity * (high - low), _Q96)
            taken = min(left, takes)
            reached = low + taken * _Q96 / liquidity
            total += liquidity * _Q96 * (Fraction(1, low) - 1 / reached)
        left -= taken
        if not left:
            break
    return total


def _amounts() -> Iterator[int]:
    amount = 1
    while amount < _MOST:
        yield amount
        amount *= _GROWTH


def _given(pool: Any, zero_for_one: bool, amount_in: int) -> int | None:
    """Returns a pool's output; None for what it cannot take, or not by what is known of its state."""
    return _first(pool.exact_in, zero_for_one, amount_in)


def _needed(pool: Any, zero_for_one: bool, amount_out: int) -> int | None:
    return _first(pool.exact_out, zero_for_one, amount_out)


def _first(method: Any, zero_for_one: bool, amount: int) -> int | None:
    try:
        found = method(zero_for_one, amount)
    except Exception as error:
        # ``quoteway_amm.BandExceeded``, which the framework does not import.
        if type(error).__name__ != "BandExceeded":
            raise
        return None
    return None if found is None else int(found[0])
