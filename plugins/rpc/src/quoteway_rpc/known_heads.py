"""The newest block of a network, chosen from what its upstreams tell, and what each of them holds."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cachetools import LRUCache
from quoteway import Block, Header, Network, UpstreamError
from quoteway.evm.answers import header_of, quantity

from quoteway_rpc.blocks import block_of
from quoteway_rpc.upstream import Unusable, Upstream

LEAD_BLOCKS = 3
LEAD_S = 5.0
FORGET_S = 10.0
FORGET_BLOCKS = 5
_FINAL_BLOCKS = 64


@dataclass(slots=True, eq=False)
class View:
    """What one upstream holds. ``number`` is that of the newest block it told of, None before the first.

    ``slow``: calls have waited in vain for it to tell its head, and wait no more until it is quick again.
    """

    upstream: Upstream
    number: int | None = None
    seen_at: float = -math.inf
    unreachable: bool = False
    slow: bool = False
    pushes: bool = False
    feed_lost: bool = False
    pause_s: float = 0.0
    polled_at: float = -math.inf
    finalized: int | None = None
    header: Header | None = None
    hashes: LRUCache[int, str] = field(default_factory=lambda: LRUCache(128))

    def header_at(self, number: int) -> Header | None:
        """Returns the header of its newest block, when that has this number."""
        return self.header if self.header is not None and self.header.block.number == number else None


class KnownHeads:
    """The heads of one network.

    The head served is the newest block that enough upstreams hold. With ``quorum`` q these are q upstreams
    that do not differ in its hash. Without a quorum, one upstream may lead the others: by ``LEAD_BLOCKS``
    blocks and those of ``LEAD_S`` seconds, and twice the usual number of blocks for the time since the others
    were asked. A head that is farther away is not believed until another upstream confirms it, so a forged
    number cannot make all other upstreams seem late. Upstreams that do not answer do not count.

    The head never goes back, unless the blocks of the upstreams prove a reorganisation (the most of them have
    another hash at that height), or all of them have told lower heads for ``forget_after_s``: then the
    chain was reset.
    """

    def __init__(
        self,
        network: Network,
        upstreams: Sequence[Upstream],
        clock: Callable[[], float],
        log: logging.LoggerAdapter[logging.Logger] | logging.Logger,
        on_head: Callable[[Upstream, int], None] = lambda upstream, number: None,
    ) -> None:
        self.network = network
        self.views = {upstream: View(upstream) for upstream in upstreams}
        self.served: Block | None = None
        self._clock = clock
        self._on_head = on_head
        self._log = log
        self._quorum: int = getattr(network, "quorum", 1)
        self._chain: LRUCache[int, Header] = LRUCache(256)
        self._lower_since: float | None = None

    # --- what is known --------------------------------------------------------------------------------------

    @property
    def newest(self) -> Header | None:
        """The header of the head served, None while only its number is known."""
        found = None if self.served is None else self._chain.get(self.served.number)
        return found if found is not None and self.served == found.block else None

    def hash_at(self, number: int) -> str | None:
        """Returns the hash of a recent block of the chain served, None when it is not known."""
        found, above = self._chain.get(number), self._chain.get(number + 1)
        if found is not None:
            return found.block.hash
        return None if above is None else above.parent

    def header_at(self, number: int) -> Header | None:
        """Returns the header of a recent block of the chain served, None when it is not known."""
        return self._chain.get(number)

    def header(self, block_hash: str) -> Header | None:
        """Returns the header of a recent block of the chain served by its hash."""
        return next((each for each in self._chain.values() if each.block.hash == block_hash), None)

    @property
    def finalized(self) -> int | None:
        """Returns the newest final block that the upstreams told of: the lowest of theirs.

        What one of several told alone may be up to 64 blocks below the head, two epochs of Ethereum.
        """
        told = [view.finalized for view in self.views.values() if view.finalized is not None]
        if not told or self.served is None:
            return None
        alone = len(told) == 1 < len(self.views)
        return max(min(*told, self.served.number - (_FINAL_BLOCKS if alone else 0)), 0)

    def lag(self, upstream: Upstream) -> int | None:
        """Returns by how many blocks an upstream is behind the head served, None when that is not known."""
        number = self.views[upstream].number
        return None if number is None or self.served is None else max(self.served.number - number, 0)

    def lacks(self, upstream: Upstream, method: str, params: Sequence[Any]) -> bool:
        """Returns whether a call needs a block that the upstream did not have when it was last heard of."""
        number, served = self.views[upstream].number, self.served
        if number is None or served is None or number >= served.number:
            return False
        block = block_of(method, params)
        if isinstance(block, str) and len(block) == 66:
            header = self.header(block)
            return header is not None and header.block.number > number
        if block in ("latest", "pending"):
            return True
        return isinstance(block, int) and number < block <= served.number

    # --- what is told ---------------------------------------------------------------------------------------

    def learn(self, upstream: Upstream, method: str, params: Sequence[Any], result: Any) -> None:
        """Learns from an answer. Raises ``Unusable`` when it tells of a head in a form that no node has."""
        try:
            if method == "eth_blockNumber":
                self.tell(upstream, quantity(result))
            elif isinstance(result, Mapping) and params[0] != "pending":
                header = header_of(result)
                if params[0] == "latest":
                    self.tell_header(upstream, header)
                elif params[0] == "finalized":
                    self.views[upstream].finalized = header.block.number
                else:
                    self._saw(self.views[upstream], header)
        except UpstreamError:
            raise Unusable("malformed_block") from None

    def tell_header(self, upstream: Upstream, header: Header) -> None:
        """Records the head of an upstream."""
        view = self.views[upstream]
        if view.hashes.get(header.block.number, header.block.hash) != header.block.hash:
            # Its chain was reorganised, or it is of another chain now: compared before its next answer.
            upstream.reconnected()
        view.header = header
        self._saw(view, header)
        self._told(view, header.block.number)

    def tell(self, upstream: Upstream, number: int) -> None:
        """Records the number of the head of an upstream."""
        self._told(self.views[upstream], number)

    def restart(self, upstream: Upstream, number: int) -> None:
        """Takes a lower head of the only upstream: its chain was reset."""
        self._chain.clear()
        self._serve(self.views[upstream], number, went_back=True)

    def _saw(self, view: View, header: Header) -> None:
        number = header.block.number
        view.hashes[number] = header.block.hash
        if header.parent is not None:
            view.hashes[number - 1] = header.parent
        served = self._chain.get(number)
        if served is not None and served.block.hash != header.block.hash and self._most_hold(header):
            self._accept(header)  # a reorganisation that the other upstreams have seen
            if self.served is not None and self.served.number == number:
                self.served = header.block
                self.serving(header)

    def _told(self, view: View, number: int) -> None:
        now = self._clock()
        view.number, view.seen_at, view.unreachable = number, now, False
        self._on_head(view.upstream, number)
        chosen, served = self._chosen(now), self.served
        if chosen is None:
            return
        number = _number(chosen)
        header = chosen.header_at(number)
        if header is not None and not self._follows(header):
            return
        if served is None or number > served.number:
            self._serve(chosen, number)
        elif number == served.number:
            self._lower_since = None
            if header is not None and header.block.hash != served.hash and self._replaces(header, served):
                self._serve(chosen, number)
        else:
            counted = [each for each in self.views.values() if not each.unreachable]
            if any(_number(each) >= served.number for each in counted):
                return
            self._lower_since = now if self._lower_since is None else self._lower_since
            departs = header is not None and self.hash_at(number) not in (None, header.block.hash)
            if departs or now - self._lower_since >= self.forget_after_s:
                self._serve(chosen, number, went_back=True)

    def _serve(self, view: View, number: int, *, went_back: bool = False) -> None:
        self._lower_since = None
        if went_back:
            self._log.warning("the chain of %s went back to block %d", self.network.slug, number)
            for above in [each for each in self._chain if each > number]:
                del self._chain[above]
        header = view.header_at(number)
        if header is None:
            known, told = self._chain.get(number), view.hashes.get(number, "")
            fits = known is not None and told in ("", known.block.hash)
            self.served = known.block if known is not None and fits else Block(number, told, 0)
            return
        self.served = header.block
        self._accept(header)
        self.serving(header)

    def serving(self, header: Header) -> None:
        """Is called with each new head served."""

    def _accept(self, header: Header) -> None:
        number = header.block.number
        below, above = self._chain.get(number - 1), self._chain.get(number + 1)
        if below is not None and header.parent is not None and below.block.hash != header.parent:
            del self._chain[number - 1]
        if above is not None and above.parent is not None and above.parent != header.block.hash:
            del self._chain[number + 1]
        self._chain[number] = header

    def _follows(self, header: Header) -> bool:
        """Whether a head fits to the chain served, or the most upstreams are on its branch."""
        number, parent = header.block.number, header.parent
        below, known = self.hash_at(number - 1), self.hash_at(number)
        if below is not None and parent is not None and below != parent:
            return self._most_tell(number - 1, parent)
        return known in (None, header.block.hash) or self._most_hold(header)

    def _replaces(self, header: Header, served: Block) -> bool:
        """Whether a header replaces the head of its height: that had no hash, or most have this one."""
        return served.hash == "" or self._most_hold(header)

    def _most_hold(self, header: Header) -> bool:
        return self._most_tell(header.block.number, header.block.hash)

    def _most_tell(self, number: int, block_hash: str) -> bool:
        """Whether more upstreams told this hash than another for that height."""
        told = Counter(
            view.hashes[number]
            for view in self.views.values()
            if not view.unreachable and number in view.hashes
        )
        return all(told[block_hash] > told[other] for other in told if other != block_hash)

    # --- which head is served -------------------------------------------------------------------------------

    def _chosen(self, now: float) -> View | None:
        """Returns the upstream whose newest block is served."""
        counted = [view for view in self.views.values() if not view.unreachable]
        told = sorted((view for view in counted if view.number is not None), key=lambda view: -_number(view))
        if self._quorum > 1:
            return next((view for view in told if self._agreed(view, told)), None)
        if len(counted) == 1:
            return told[0] if told else None
        for view in told:
            others = (other for other in told if other is not view)
            if any(_number(view) <= _number(other) + self._lead(now - other.seen_at) for other in others):
                return view
        return None

    def _agreed(self, view: View, told: Sequence[View]) -> bool:
        number = _number(view)
        hashes = [other.hashes.get(number) for other in told if _number(other) >= number]
        own = view.hashes.get(number)
        return sum(own is None or other in (None, own) for other in hashes) >= self._quorum

    def is_far_ahead(self, upstream: Upstream, number: int) -> bool:
        """Returns whether an upstream tells of a block that the others can hardly have missed."""
        now = self._clock()
        if self.served is not None and number <= self.served.number + self._lead(0.0):
            return False
        others = [view for view in self.views.values() if view.upstream is not upstream]
        told = [view for view in others if view.number is not None and not view.unreachable]
        return bool(told) and all(number > _number(view) + self._lead(now - view.seen_at) for view in told)

    def _lead(self, age_s: float) -> int:
        """Returns how many blocks one upstream may be ahead of another that was heard of ``age_s`` ago."""
        return LEAD_BLOCKS + math.ceil((LEAD_S + 2 * max(age_s, 0.0)) / self.network.block_time_s)

    @property
    def forget_after_s(self) -> float:
        """How long lower heads of all upstreams are refused."""
        return max(FORGET_S, FORGET_BLOCKS * self.network.block_time_s)


def _number(view: View) -> int:
    return -1 if view.number is None else view.number
