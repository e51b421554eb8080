"""Swaps of v2 forks through their own UniswapV2Router02, which computes the fork's fee itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quoteway import NATIVE, Address, FlowOrder
from quoteway.evm.abi import function
from quoteway_amm import get_amount_out

from quoteway_uniswap.candidates import PoolRef, v2_pool
from quoteway_uniswap.deployments import V2Deployment
from quoteway_uniswap.fork_executors import FACTORY, Check, ForkExecutor, tokens_of
from quoteway_uniswap.forks import Fork

_END = "uint256 amountOutMin, address[] path, address to, uint256 deadline"
_TOKENS = function(f"swapExactTokensForTokens(uint256 amountIn, {_END})")
_COIN_IN = function(f"swapExactETHForTokens({_END})")
_COIN_OUT = function(f"swapExactTokensForETH(uint256 amountIn, {_END})")
_WRAPPED = function("WETH() returns (address)")
_AMOUNT_OUT = function(
    "getAmountOut(uint256 amountIn, uint256 reserveIn, uint256 reserveOut) returns (uint256)"
)
_SAMPLES = ((10**18, 10**24, 3 * 10**24), (10**30, 10**30, 10**30), (10**6, 10**15, 10**15))
"""Input and reserves of which even fees that differ by a millionth give different outputs."""


class V2RouterSwaps(ForkExecutor):
    """``swapExactTokensForTokens`` and its two forms with the native coin.

    Gas as measured on storage that is in use, with the pair's price history, which its first swap of a block
    writes.
    """

    hop_gas = 60_000
    transaction_gas = 36_000
    coin_gas = 14_000

    def checks(self, fork: Fork) -> Iterable[Check]:
        """See ``ForkExecutor``: the factory, the wrapped coin, and the fee."""
        router, v2 = fork.deployment.router, _pairs(fork)
        yield Check(router, FACTORY, (), v2.factory, "v2.factory or router")
        yield Check(router, _WRAPPED, (), fork.deployment.wrapped_native, "wrapped_native or router")
        for sample in _SAMPLES:
            expected = get_amount_out(*sample, v2.fee_numerator, v2.fee_denominator)
            yield Check(router, _AMOUNT_OUT, sample, expected, "v2.fee or router")

    def pool(self, fork: Fork, token0: Address, token1: Address, fee_pips: int) -> PoolRef:
        """Returns the pair, which has one fee alone."""
        return v2_pool(_pairs(fork), token0, token1)

    def calldata(self, fork: Fork, order: FlowOrder, path: Sequence[PoolRef]) -> bytes:
        """See ``ForkExecutor``. The router pays the recipient itself and enforces the minimum."""
        rest = (order.amount_out_min, tokens_of(fork, order), order.recipient, order.deadline)
        if order.token_in == NATIVE:
            return _COIN_IN.encode(rest)
        called = _COIN_OUT if order.token_out == NATIVE else _TOKENS
        return called.encode((order.amount_in, *rest))


def _pairs(fork: Fork) -> V2Deployment:
    assert fork.deployment.v2 is not None
    return fork.deployment.v2
