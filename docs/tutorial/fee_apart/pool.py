"""The formula of the family: x * y = k, with the fee taken apart and rounded up."""

from dataclasses import dataclass

from quoteway_amm import V2Pool
from quoteway_amm.v2 import MAX_RESERVE

ONE = 1_000_000
FEE = 500
"""In hundredths of a basis point. Source: FeeApartExchange.FEE."""


@dataclass(frozen=True, slots=True)
class FeeApartPool(V2Pool):
    """A pool at one block. What is the same in a v2 pair is inherited: no more is given than its curve says,
    since rounding the fee up leaves no more of the input than a v2 pair counts.
    """

    fee_numerator: int = ONE - FEE
    fee_denominator: int = ONE
    kind: str = "fee-apart"

    def exact_in(self, zero_for_one, amount_in):
        """Source: FeeApartExchange._swapOwn."""
        reserve_in, reserve_out = self._reserves(zero_for_one)
        if reserve_in + amount_in > MAX_RESERVE:
            return None
        left = amount_in - -(-amount_in * FEE // ONE)
        return left * reserve_out // (reserve_in + left), 0

    def exact_out(self, zero_for_one, amount_out):
        """The least input that gives so much."""
        reserve_in, reserve_out = self._reserves(zero_for_one)
        if amount_out >= reserve_out:
            return None
        left = -(-amount_out * reserve_in // (reserve_out - amount_out))
        amount_in = -(-left * ONE // (ONE - FEE))
        return None if reserve_in + amount_in > MAX_RESERVE else (amount_in, 0)
