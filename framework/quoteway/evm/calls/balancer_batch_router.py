"""Reads ``swapExactIn`` of Balancer v3's BatchRouter: swaps of a given input along one path or several.

The router takes what the paths begin with from its caller through Permit2, or as native coins, and pays its
caller alone. Each path has its own minimum, which the Vault enforces at the last step. Only such calls are
read as leave nothing open: all paths lead from the one token sold to the one token bought, and each step is a
swap in a pool. Source: balancer-v3-monorepo (BatchRouter.sol, BatchRouterHooks.sol, BatchRouterCommon.sol).
"""

from __future__ import annotations

from quoteway.evm.abi import function
from quoteway.evm.calls.meaning import Charge, Meaning, Payment, Reading, Sent, Unreadable
from quoteway.models import NATIVE, Address

SWAP_EXACT_IN = (
    "swapExactIn((address tokenIn, (address pool, address tokenOut, bool isBuffer)[] steps,"
    " uint256 exactAmountIn, uint256 minAmountOut)[] paths, uint256 deadline, bool wethIsEth, bytes userData)"
)

_Step = tuple[Address, Address, bool]
_Path = tuple[Address, tuple[_Step, ...], int, int]


class BatchRouterSwap:
    """Swaps along one path or several."""

    function = function(SWAP_EXACT_IN)

    def read(self, sent: Sent) -> Reading:
        """Returns the call and its meaning. Raises ``ValueError`` for calldata that is none of it."""
        args = self.function.decode(sent.data)
        paths, deadline, of_coin, user_data = args
        if user_data:
            raise Unreadable("it gives data to pools")
        sold, bought = _ends(paths)
        for path in paths:
            _check_steps(path, sold, bought)
        amount, minimum = sum(path[2] for path in paths), sum(path[3] for path in paths)
        if of_coin:
            sold, bought = (NATIVE if token == sent.wrapped_native else token for token in (sold, bought))
            if NATIVE not in (sold, bought):
                raise Unreadable("it says that it takes or pays the native coin, and does not")
        if sent.value != (amount if sold == NATIVE else 0):
            raise Unreadable("its value is not what it sells of the native coin")
        meaning = Meaning("swap", (Charge(sold, amount),), (Payment(bought, sent.sender, minimum),), deadline)
        return Reading(self.function.describe(args), meaning)


def _ends(paths: tuple[_Path, ...]) -> tuple[Address, Address]:
    """Returns the token that all paths begin with, and the one in which they end."""
    ends = {(sold, steps[-1][1] if steps else sold) for sold, steps, _, _ in paths}
    if len(ends) != 1:
        raise Unreadable("its paths do not all sell one token for one other")
    (found,) = ends
    return found


def _check_steps(path: _Path, sold: Address, bought: Address) -> None:
    """Raises ``Unreadable`` unless each step swaps, and the two ends are no tokens in between.

    A step whose pool is one of its tokens adds or removes liquidity.
    """
    at, steps = sold, path[1]
    for place, (pool, token, is_buffer) in enumerate(steps, 1):
        if is_buffer or pool in (at, token):
            raise Unreadable("a step of it is no swap in a pool")
        if token == sold or (token == bought) != (place == len(steps)):
            raise Unreadable("a path of it passes one of its ends")
        at = token
