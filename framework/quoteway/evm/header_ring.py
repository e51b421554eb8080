"""The newest headers of a chain, which tell a reorganisation from the answer of a node that is behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from cachetools import LRUCache

from quoteway.models import Header

RING_BLOCKS = 64
"""How many blocks back a common ancestor is looked for: two epochs of Ethereum, where blocks become final."""
BLOCKS_BELOW = 8
"""How many blocks below the first one of the ring are read to tell a reorganisation."""


class HeaderRing:
    """The headers that were heads or ancestors of heads, one for each of the newest ``RING_BLOCKS`` numbers.

    Blocks between two heads may be missing. ``parent_of`` reads a header by its hash; None: no node has it.
    ``on_tip`` is told each new tip.
    """

    def __init__(
        self,
        parent_of: Callable[[str], Awaitable[Header | None]],
        on_tip: Callable[[Header], None] = lambda header: None,
    ) -> None:
        self._read = parent_of
        self._on_tip = on_tip
        self._parents: LRUCache[str, Header] = LRUCache(2 * RING_BLOCKS)
        self._known: dict[int, Header] = {}
        self._proving = asyncio.Lock()
        self._moved = asyncio.Event()
        self.tip: Header | None = None

    async def follows(self, header: Header) -> bool:
        """Makes ``header`` the tip and returns True, unless it is older than the tip.

        A header that is not above the tip is newer only after a reorganisation. That is proven when the
        parents of the header lead to a block of the ring and depart from the ring's chain above it.
        """
        if self.advances(header):
            return True
        async with self._proving:
            if self.advances(header):
                return True
            tip, chain = self.tip, dict(self._known)
            branch, departs = await self._branch_of(header, chain)
            if self.tip is not tip:  # another header was followed meanwhile
                return self.advances(header)
            self._known = chain
            if departs:
                self._known = {n: known for n, known in self._known.items() if n < branch[-1].block.number}
                self._accept(header)
            for each in branch:
                # The blocks in a gap of the ring too: the next answer of a node that is behind is known then.
                self._known.setdefault(each.block.number, each)
            return departs

    def advances(self, header: Header) -> bool:
        """Makes ``header`` the tip when it is above it, or the tip again. Returns whether it is the tip."""
        tip = self.tip
        if tip is not None and header.block.hash != tip.block.hash:
            if header.block.number <= tip.block.number:
                return False
            if header.block.number == tip.block.number + 1 and header.parent != tip.block.hash:
                del self._known[tip.block.number]  # it is not an ancestor
        self._accept(header)
        return True

    def restart(self, header: Header) -> None:
        """Forgets all headers and makes ``header`` the tip."""
        self._known.clear()
        self._accept(header)

    async def other_than(self, block_hash: str) -> Header:
        """Returns the tip as soon as it is another block than this one."""
        while self.tip is None or self.tip.block.hash == block_hash:
            await self._moved.wait()
        return self.tip

    def _accept(self, header: Header) -> None:
        is_new = self.tip is None or self.tip.block.hash != header.block.hash
        self.tip = self._known[header.block.number] = header
        if is_new:
            self._moved.set()  # for all that wait now
            self._moved = asyncio.Event()
            self._on_tip(header)
        for number in [n for n in self._known if n <= header.block.number - RING_BLOCKS]:
            del self._known[number]

    async def _branch_of(self, header: Header, chain: dict[int, Header]) -> tuple[list[Header], bool]:
        """Returns a header with its ancestors, newest first, down to the first that is in ``chain`` or has
        its parent in common with it; and whether they depart from it. Empty without one.

        A chain that began a moment ago is completed by blocks below its first.
        """
        branch, departs, first = [header], False, min(chain)
        while len(branch) <= RING_BLOCKS:
            at = branch[-1]
            number = at.block.number
            await self._extend(chain, max(number, first - BLOCKS_BELOW))
            ours = _hash_at(chain, number)
            if ours == at.block.hash:
                return branch, departs
            departs = departs or ours is not None
            if at.parent is None or (ours is None and number < first):
                break
            if ours is not None and _hash_at(chain, number - 1) == at.parent:
                return branch, departs
            parent = await self._parent(at.parent)
            if parent is None or parent.block.number != number - 1:
                break
            branch.append(parent)
        return [], False

    async def _extend(self, chain: dict[int, Header], number: int) -> None:
        """Adds the ancestors of the lowest block down to this number, as far as nodes have them."""
        while (lowest := chain[min(chain)]).block.number > number and lowest.parent is not None:
            parent = await self._parent(lowest.parent)
            if parent is None or parent.block.number != lowest.block.number - 1:
                return
            chain[parent.block.number] = parent

    async def _parent(self, block_hash: str) -> Header | None:
        """Returns a header by its hash. It is kept: a walk that took too long goes on there."""
        found = self._parents.get(block_hash) or await self._read(block_hash)
        if found is not None:
            self._parents[block_hash] = found
        return found


def _hash_at(chain: Mapping[int, Header], number: int) -> str | None:
    """Returns the hash of a block of the chain: its own, or the one that the block above it tells."""
    found, above = chain.get(number), chain.get(number + 1)
    if found is not None:
        return found.block.hash
    return None if above is None else above.parent
