"""What pools pay at least for an amount, in dollar tokens: a sale that could be made, not the best one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from quoteway import NATIVE, Address
from quoteway_amm import BandExceeded, ConcentratedPool, Pool, swap_exact_in

from quoteway_uniswap.aged_prices import Spot
from quoteway_uniswap.price_looks import Look, depth_of


def sale_order(
    usd: Sequence[Address], known: Mapping[Address, Spot], looks: Mapping[Address, Look]
) -> list[Address]:
    """Returns the base tokens in an order in which each one can be sold for those before it.

    The dollar tokens come first, then the token that is deepest against those before it, and so on.
    """
    order = [token for token in usd if token in known]
    rest = {token for token in known if token not in order}

    def depth(token: Address) -> float:
        pools = looks[token].pools.values()
        return sum(pool.depth * known[pool.other].usd for pool in pools if pool.other in order)

    while rest:
        deepest = max(sorted(rest), key=depth)
        order.append(deepest)
        rest.remove(deepest)
    return order


class Sales:
    """The pools of one block, for sales of tokens into the base tokens of ``order`` (see ``sale_order``)."""

    def __init__(self, pools: Iterable[Pool], order: Sequence[Address], usd: int, wrapped: Address) -> None:
        self._order = order
        self._usd = usd
        """The number of dollar tokens, with which the order begins."""
        self._rank = {token: rank for rank, token in enumerate(order)}
        self._pools: defaultdict[Address, list[tuple[Pool, bool, Address]]] = defaultdict(list)
        """By the token sold: pool, direction, and the token paid."""
        self._depths: dict[str, tuple[int, int]] = {}
        for pool in pools:
            token0, token1 = (wrapped if token == NATIVE else token for token in (pool.token0, pool.token1))
            for sold, paid in ((token0, token1), (token1, token0)):
                rank, lower = self._rank.get(sold), self._rank.get(paid)
                if lower is not None and (rank is None or lower < rank):
                    self._pools[sold].append((pool, sold == token0, paid))

    def paid(self, token: Address, amount: int) -> dict[Address, int] | None:
        """Returns the dollar tokens that a sale of an amount pays; None when no pool takes the token.

        What is sold is divided by the depth of its pools, and the base tokens that they pay are sold in turn.
        """
        if not any(self._depth(pool, side) for pool, side, _ in self._pools.get(token, ())):
            return None
        held = defaultdict(int, {token: amount})
        first = self._rank.get(token, len(self._order))
        for sold in (token, *reversed(self._order[self._usd : first])):
            offered = held.pop(sold, 0)
            pools = [(*each, self._depth(*each[:2])) for each in self._pools.get(sold, ())]
            whole = sum(depth for *_, depth in pools)
            for pool, zero_for_one, other, depth in pools:
                held[other] += _paid(pool, zero_for_one, offered * depth // whole) if depth else 0
        return dict(held)

    def _depth(self, pool: Pool, zero_for_one: bool) -> int:
        """Returns a pool's depth in the token sold, computed once."""
        if pool.id not in self._depths:
            self._depths[pool.id] = depth_of(pool)
        return self._depths[pool.id][0 if zero_for_one else 1]


def _paid(pool: Pool, zero_for_one: bool, amount: int) -> int:
    """Returns what a pool pays for an amount, or for the part of it that it is known to take."""
    if amount <= 0:
        return 0
    try:
        if isinstance(pool, ConcentratedPool):
            return swap_exact_in(pool, zero_for_one, amount).amount_out
        paid = pool.exact_in(zero_for_one, amount)
    except BandExceeded as edge:
        return edge.amount_out
    except ValueError:
        return 0
    return 0 if paid is None else paid[0]
