"""The flows of a solver process are those of the optimiser, with its certificate."""

import msgspec
from quoteway_amm import UNISWAP_GAS, GasPrice
from quoteway_amm.bound import check_bound
from quoteway_amm.flow import Optimality
from quoteway_amm.flows import best_flow_exact_in
from quoteway_amm.market import Market
from quoteway_router import flow_solver
from quoteway_router.solver_processes import SolverProcesses
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


def test_markets_are_made_once_and_kept_up_to_a_number_of_pools(monkeypatch):
    made = []

    def make(pools, *rest):
        made.append(pools)
        return Market(pools, *rest)

    monkeypatch.setattr(flow_solver, "Market", make)
    monkeypatch.setattr(flow_solver, "MOST_POOLS", 5)
    solver = flow_solver.FlowSolver()
    first, second, third = (tuple(pair(10 * at + n, 10**23) for n in range(2)) for at in range(3))
    large = tuple(pair(100 + n, 10**23) for n in range(6))
    trade = WETH, USDC, 10**20, UNISWAP_GAS, GAS_PRICE
    limits = {"max_hops": 3, "max_legs": 8, "deadline_s": LONG_S}
    for pools in (first, second, first, third, first, second, large, large, first, list(first), list(first)):
        expected = best_flow_exact_in(pools, WETH, *trade, **limits)
        assert solver(pools, WETH, *trade, **limits).flow.legs == expected.flow.legs
    # The third takes the place of the second; the large ones of all others, and the first of theirs.
    assert made == [first, second, third, second, large, first, list(first), list(first)]
    assert solver(first, None, *trade, **limits).flow.legs == expected.flow.legs
    assert len(made) == 9


def test_markets_of_blocks_that_have_passed_are_forgotten(monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(flow_solver.time, "monotonic", lambda: now[0])
    solver, blocks = flow_solver.FlowSolver(), []
    for block in range(100):
        now[0] += 2.0
        blocks.append(tuple(pair(10 * block + n, 10**23) for n in range(2)))
        solver._market(blocks[-1], WETH)
        if block == 80:
            used_again = solver._market(blocks[60], WETH)
    assert len(solver._markets) == flow_solver.MARKETS_KEPT_S / 2.0 + 2, "and the one that was used again"
    assert solver._market(blocks[60], WETH) is used_again
    now[0] += 10 * flow_solver.MARKETS_KEPT_S
    last = solver._market(blocks[-1], WETH)
    assert [each for each, _ in solver._markets.values()] == [last]
