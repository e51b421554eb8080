"""Swaps of Algebra Integral (and its forks) through the SwapRouter of integral-periphery 1.2.

A path names the deployer of each pool: zero for the pool that the factory made of two tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quoteway import Address, FlowOrder
from quoteway.evm.abi import function
from quoteway.evm.calls.swap_routers import ALGEBRA_ROUTER

from quoteway_uniswap.candidates import PoolRef, algebra_pool
from quoteway_uniswap.deployments import AlgebraDeployment
from quoteway_uniswap.fork_executors import FACTORY, Check, ForkExecutor, tokens_of
from quoteway_uniswap.forks import Fork
from quoteway_uniswap.swap_router_calls import swap_calldata

_WRAPPED = function("WNativeToken() returns (address)")
_DEPLOYER = function("poolDeployer() returns (address)")
_CODE_HASH = function("POOL_INIT_CODE_HASH() returns (bytes32)")
_DEFAULT_DEPLOYER = 0


class AlgebraRouterSwaps(ForkExecutor):
    """``exactInputSingle`` and ``exactInput``, by ``multicall`` with the native coin.

    Gas as measured on storage that is in use, without a tick crossed and without a plugin.
    """

    hop_gas = 72_000
    transaction_gas = 39_000
    coin_gas = 12_000

    def checks(self, fork: Fork) -> Iterable[Check]:
        """See ``ForkExecutor``: the factory, the deployer, the code of pools, and the wrapped coin."""
        router, algebra = fork.deployment.router, _pools(fork)
        yield Check(router, FACTORY, (), algebra.factory, "algebra.factory or router")
        yield Check(router, _WRAPPED, (), fork.deployment.wrapped_native, "wrapped_native or router")
        yield Check(router, _DEPLOYER, (), algebra.deployer, "algebra.deployer or router")
        code_hash = algebra.init_code_hash
        yield Check(algebra.factory, _CODE_HASH, (), code_hash, "algebra.init_code_hash")

    def pool(self, fork: Fork, token0: Address, token1: Address, fee_pips: int) -> PoolRef:
        """Returns the pool of two tokens. Its fee is no part of its address."""
        return algebra_pool(_pools(fork), token0, token1)

    def calldata(self, fork: Fork, order: FlowOrder, path: Sequence[PoolRef]) -> bytes:
        """See ``ForkExecutor``."""
        return swap_calldata(ALGEBRA_ROUTER, order, tokens_of(fork, order), [_DEFAULT_DEPLOYER] * len(path))


def _pools(fork: Fork) -> AlgebraDeployment:
    assert fork.deployment.algebra is not None
    return fork.deployment.algebra
