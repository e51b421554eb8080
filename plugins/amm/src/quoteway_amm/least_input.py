"""The input of an exact output, for pools whose contract computes exact inputs only."""

from __future__ import annotations

from collections.abc import Callable


def least_input(output: Callable[[int], int], amount_out: int, guess: int, most: int) -> int | None:
    """Returns an input from 1 to `most` that gives `amount_out` where one base unit less does not, or None.

    Where outputs never fall as inputs rise, that is the least input. `output` may be negative, and may raise
    ArithmeticError for inputs that are too large. `guess` is where to look first: the search takes as many
    calls of `output` as the distance from it has binary digits, twice.
    """

    def enough(amount_in: int) -> bool:
        try:
            return output(amount_in) >= amount_out
        except ArithmeticError:
            return True

    low = high = min(max(guess, 1), most)
    step = 1
    if enough(high):
        while low > 0 and enough(low):
            high, low = low, max(low - step, 0)
            step *= 2
    else:
        while not enough(high):
            if high == most:
                return None
            low, high = high, min(high + step, most)
            step *= 2
    # At `low`, perhaps 0, the output is too small; at `high` it is enough.
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high
