"""Swaps of v3 forks through their own SwapRouter, which has the deadline in each swap (PancakeSwap v3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quoteway import Address, FlowOrder
from quoteway.evm.abi import function
from quoteway.evm.calls.swap_routers import V3_ROUTER

from quoteway_uniswap.candidates import PoolRef, v3_pool
from quoteway_uniswap.deployments import V3Deployment
from quoteway_uniswap.fork_executors import FACTORY, Check, ForkExecutor, tokens_of
from quoteway_uniswap.forks import Fork
from quoteway_uniswap.swap_router_calls import swap_calldata

_WRAPPED = function("WETH9() returns (address)")
_DEPLOYER = function("deployer() returns (address)")
_SPACING = function("feeAmountTickSpacing(uint24 fee) returns (int24)")


class V3RouterSwaps(ForkExecutor):
    """``exactInputSingle`` and ``exactInput``, by ``multicall`` with the native coin.

    Gas as measured on storage that is in use, without a tick crossed.
    """

    hop_gas = 76_000
    transaction_gas = 41_000
    coin_gas = 12_000

    def checks(self, fork: Fork) -> Iterable[Check]:
        """See ``ForkExecutor``: the factory, the deployer of pools, the wrapped coin, and the tiers."""
        router, v3 = fork.deployment.router, _pools(fork)
        yield Check(router, FACTORY, (), v3.factory, "v3.factory or router")
        yield Check(router, _WRAPPED, (), fork.deployment.wrapped_native, "wrapped_native or router")
        if v3.deployer != v3.factory:
            yield Check(router, _DEPLOYER, (), v3.deployer, "v3.deployer or router")
        assert v3.factory is not None
        for fee, spacing in v3.fee_tiers:
            yield Check(v3.factory, _SPACING, (fee,), spacing, "v3.fees or v3.factory")

    def pool(self, fork: Fork, token0: Address, token1: Address, fee_pips: int) -> PoolRef:
        """Returns the pool of a tier."""
        v3 = _pools(fork)
        spacing = dict(v3.fee_tiers).get(fee_pips)
        if spacing is None:
            raise ValueError(f"no tier has a fee of {fee_pips} pips")
        return v3_pool(v3, token0, token1, fee_pips, spacing)

    def calldata(self, fork: Fork, order: FlowOrder, path: Sequence[PoolRef]) -> bytes:
        """See ``ForkExecutor``."""
        return swap_calldata(V3_ROUTER, order, tokens_of(fork, order), [pool.fee for pool in path])


def _pools(fork: Fork) -> V3Deployment:
    assert fork.deployment.v3 is not None
    return fork.deployment.v3
