"""Flows whose paths may not join: they have a bound where it is one over all pools."""

import pytest
from quoteway import Block, Optimality
from quoteway_amm import Graph, V2Pool
from quoteway_router.searching import Search, best_flow
from quoteway_router.splitting import Split

BLOCK = Block(7, "0x" + "cd" * 32, 1_800_000_000)
DEEP = 10**24
TOLD = Optimality(10**30, 1.0, 1.0, 0, 4, ("v2",), BLOCK, "split")


def pool(name, *tokens, depth=DEEP):
    return V2Pool(name, *tokens, depth, depth)


class Solvers:
    """Answers with the path and a bound over the pools that it is given."""

    def __init__(self):
        self.given = None

    async def improve(self, path, graph, *_):
        self.given = graph
        return Split(path, TOLD, {"A": 1})


APART = [
    pool("0x1", "A", "Z"),
    pool("0x2", "A", "Z", depth=DEEP // 9),
    pool("0x3", "A", "B"),
    pool("0x4", "B", "Z"),
]


@pytest.mark.parametrize(
    ("pools", "joins", "bounded"),
    [
        (APART, False, True),
        (APART, True, True),
        ([*APART, pool("0x5", "A", "B", depth=DEEP // 9)], False, False),
        ([*APART, pool("0x5", "A", "B", depth=DEEP // 9)], True, True),
        ([*APART, pool("0x5", "B", "C")], False, False),
    ],
)
async def test_a_bound_is_told_where_it_is_one_over_all_pools(pools, joins, bounded):
    graph, solvers = Graph(pools), Solvers()
    search = Search(1, BLOCK, "A", "Z", 10**21, None, 3, None, None, joins=joins)
    found = await best_flow(solvers, graph, graph, search)
    assert (solvers.given is graph) is bounded
    assert found.split.optimality == (TOLD if bounded else None)
    assert found.split.prices == ({"A": 1} if bounded else {})
