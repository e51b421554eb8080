"""The order in which the legs of a flow are executed, and which of them form one command.

A flow is an acyclic graph over token nodes: the native coin and its wrapped form are one node, every leg into
a node comes before every leg out of it, and a pool has one leg at most. Of the legs that leave a node, the
last one takes what is left there. A path is the flow with one leg per node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from quoteway import NATIVE, Address
from quoteway_amm import Hop, Kind
from quoteway_amm.bound import node_of
from quoteway_router.amounts import REST, amounts_of

from quoteway_uniswap.candidates import sorted_pair


@dataclass(frozen=True, slots=True)
class SwapHop:
    """One leg through a pool, with the pool's own tokens (on v4 possibly the native coin).

    ``amount_in`` is in base units. The last leg out of each node has ``REST``, and no other one. Of an exact
    output through several paths, the first leg of a path has what the path takes by the quote, and the last
    one as ``amount_out`` what it buys; all other amounts are ``REST``.
    ``hooks`` is the zero address but for a v4 pool with hooks.
    """

    kind: Kind
    token_in: Address
    token_out: Address
    fee: int
    tick_spacing: int = 0
    amount_in: int = REST
    amount_out: int = REST
    hooks: Address = NATIVE


@dataclass(frozen=True, slots=True)
class Section:
    """Legs of one protocol in a row that one swap executes: nothing else arrives or leaves between them."""

    hops: tuple[SwapHop, ...]

    @property
    def kind(self) -> Kind:
        return self.hops[0].kind

    @property
    def token_in(self) -> Address:
        return self.hops[0].token_in

    @property
    def token_out(self) -> Address:
        return self.hops[-1].token_out

    @property
    def amount_in(self) -> int:
        return self.hops[0].amount_in


class Flow:
    """A flow from ``start`` to ``end``, which are nodes. Raises ValueError when the hops are none."""

    def __init__(
        self, hops: Sequence[SwapHop], token_in: Address, token_out: Address, wrapped_native: Address
    ) -> None:
        self._wrapped_native = wrapped_native
        self.start, self.end = self.node(token_in), self.node(token_out)
        _check(hops, self.node, self.start, self.end)
        self.departures = _departures(hops, self.node)

    @property
    def arrivals(self) -> list[Section]:
        """Returns the sections that end in the output."""
        sections = (section for leaving in self.departures.values() for section in leaving)
        return [section for section in sections if self.node(section.token_out) == self.end]

    def node(self, token: Address) -> Address:
        """Returns the node of a token: the wrapped native coin for both its forms."""
        return node_of(token, self._wrapped_native)

    def __iter__(self) -> Iterator[tuple[Address, list[list[Section]]]]:
        """Yields each node, in an order that respects the legs, with the batches that leave it.

        A batch has one form of the token, and its v4 sections next to each other. The last section of the
        last batch takes the rest.
        """
        for node, leaving in self.departures.items():
            last = leaving[-1]
            batches = (
                [section for section in leaving if (section.token_in == last.token_in) == same]
                for same in (False, True)
            )
            yield (
                node,
                [
                    sorted(batch, key=lambda section: (section.kind == "v4") == (last.kind == "v4"))
                    for batch in batches
                    if batch
                ],
            )


def legs_of(hops: Sequence[Hop], wrapped_native: Address) -> tuple[SwapHop, ...]:
    """Returns the legs to encode of a flow with its amounts: the last one out of each node takes the rest."""
    return tuple(
        SwapHop(
            hop.pool.kind,
            hop.token_in,
            hop.token_out,
            _key_fee(hop.pool),
            int(getattr(hop.pool, "tick_spacing", 0)),
            amount_in,
            hooks=str(getattr(hop.pool, "hooks", NATIVE)),
        )
        for hop, amount_in in zip(hops, amounts_of(hops, wrapped_native), strict=True)
    )


def _key_fee(pool: object) -> int:
    """Returns the fee in a pool's key: 0 for v2, and for v3 and v4 the LP fee unless hooks set that."""
    own = getattr(pool, "key_fee_pips", None)
    return int(getattr(pool, "fee_pips", 0) if own is None else own)


def _departures(hops: Sequence[SwapHop], node: Callable[[Address], Address]) -> dict[Address, list[Section]]:
    """Returns the sections by the node that they leave, nodes in an order that respects the legs."""
    arriving = Counter(node(hop.token_out) for hop in hops)
    leaving = Counter(node(hop.token_in) for hop in hops)
    rows: list[list[SwapHop]] = []
    open_at: dict[Address, list[SwapHop]] = {}
    for hop in hops:
        row = open_at.pop(node(hop.token_in), None)
        if row is None or row[-1].kind != hop.kind or row[-1].token_out != hop.token_in:
            row = []
            rows.append(row)
        row.append(hop)
        end = node(hop.token_out)
        if arriving[end] == leaving[end] == 1:
            open_at[end] = row
    departures: dict[Address, list[Section]] = {}
    for row in rows:
        departures.setdefault(node(row[0].token_in), []).append(Section(tuple(row)))
    return departures


def _check(hops: Sequence[SwapHop], node: Callable[[Address], Address], start: Address, end: Address) -> None:
    """Raises ValueError unless the hops are a flow from ``start`` to ``end``."""
    if start == end:
        raise ValueError(f"a flow from {start} to itself has no hops")
    reached, left, finished, pools = {start}, set[Address](), {end}, set[tuple[object, ...]]()
    for hop in hops:
        source, target = node(hop.token_in), node(hop.token_out)
        if source not in reached or source in finished:
            raise ValueError(f"nothing is left of {hop.token_in} for the hop to {hop.token_out}")
        left.add(source)
        if target in left:
            raise ValueError(f"a hop to {hop.token_out} comes after one that sells it")
        if hop.amount_in < 0:
            raise ValueError(f"amount_in must be positive, got {hop.amount_in}")
        pool = (hop.kind, *sorted_pair(hop.token_in, hop.token_out), hop.fee, hop.tick_spacing, hop.hooks)
        if pool in pools:
            raise ValueError(f"two hops use the pool {pool}: a flow uses each pool once")
        pools.add(pool)
        reached.add(target)
        if hop.amount_in == REST:
            finished.add(source)
    unspent = reached - finished
    if unspent or end not in reached:
        raise ValueError(f"the hops do not lead from {start} to {end}: {sorted(unspent)} is not spent")
