"""The flows of a solver process are those of the optimiser, with its certificate."""

import msgspec
from quoteway_amm import UNISWAP_GAS, GasPrice
from quoteway_amm.bound import check_bound
from quoteway_amm.flow import Optimality
from quoteway_amm.flows import best_flow_exact_in
from quoteway_uniswap.solver_processes import SolverProcesses
from test_solver_processes import LONG_S, USDC, WETH, order, pair, range_pool, snapshot_of

GAS_PRICE = GasPrice(1)


async def test_a_flow_and_its_certificate_are_the_optimisers_own():
    pools = [pair(at, reserve) for at, reserve in enumerate((10**22, 10**23, 10**24))]
    async with SolverProcesses(1) as solvers:
        for block in range(2):
            pools[block] = pair(block, 10**23 + block)
            snapshot = snapshot_of(*pools, range_pool(word_lo=-400))
            for amount in (10**20, 10**21):
                expected = best_flow_exact_in(
                    snapshot.pools, WETH, WETH, USDC, amount, UNISWAP_GAS, GAS_PRICE, 3, 8, LONG_S
                )
                solved = await solvers.solve(snapshot, order(WETH, amount, GAS_PRICE), LONG_S)
                assert len(solved.hops) > 1
                assert solved.hops == expected.flow.legs
                assert solved.amount_out == expected.flow.amount_out
                optimality = msgspec.convert(solved.optimality, Optimality)
                assert optimality == expected.optimality
                assert optimality.bound == check_bound(
                    snapshot.pools, optimality.prices, WETH, USDC, amount, WETH
                )
