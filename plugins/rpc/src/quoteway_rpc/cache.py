"""Answers calls from what nodes have answered before, and identical concurrent calls by one.

**What is kept.** Answers that can never change: of a block named by its hash, of blocks up to the finalised
one, of a transaction in such a block. Besides, for clients only and only while a node pushes its heads:
answers at a tag or a younger block. They are bound to the head at which they were asked, and are gone with
it. So a reorganisation cannot make a kept answer wrong. Errors, null, and what a node says of blocks above
the head are never kept; ``pending``, overrides and simulations neither.

**Who gets it.** A read of the core gets what reads of the core have brought, never what came for a client:
nodes have to agree on the core's reads, and one node is enough for a client's. It never gets an answer bound
to a head: it names its block by hash where that is enough.

**Why heads must be pushed.** A caller who has seen the receipt of its transaction reads the block of it next.
Without pushed heads the gateway does not know that there is a new block until somebody asks. With them an
answer is served for at most half a block time and two seconds, and not at all as soon as any node has shown a
higher block in an answer, such as in that receipt.

**What replicas share.** With ``[shared]``, the core's reads that can never change (``shared_reads``); with
``cache_store``, clients' calls. Nothing is asked there that is in memory.

**What is shared here.** For the same reason a call joins another one under way only when the answer can be no
older than the call: one that has not been sent yet (it is sent in the loop's next turn), one whose answer
cannot change, or one at a pushed head that is still the newest. When several identical calls follow each
other while the first is under way, they wait ``GATHER_S`` for each other (``cache_flights``).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import orjson
from quoteway import Network, RawJson
from quoteway.caching import compact

from quoteway_rpc.asking import Ask, Send
from quoteway_rpc.cache_answers import Head, confirms, head_number, is_empty_list, number_of, storable
from quoteway_rpc.cache_entries import Count, Entries, Entry
from quoteway_rpc.cache_facts import MARGIN_BLOCKS, ChainFacts, Facts, HeadSource, NoHeads
from quoteway_rpc.cache_flights import Flight, Flights
from quoteway_rpc.cache_keys import Kind, Plan, plan_of, same_call
from quoteway_rpc.cache_store import Store
from quoteway_rpc.shared_reads import SharedReads

HEAD_S = 2.0
NODE_S = 60.0
"""How long answers about nodes are kept, and empty lists: a node that has lost old logs finds none."""
UNDECIDED_S = 0.05
"""How long a call waits to learn whether the answer of the one before it may be kept."""
MOST_READ_BYTES = 1 << 20
"""Longer answers that came as JSON text are not read to be kept: it would hold up other calls."""
_HITS = {kind: f"cache_hits_{kind}" for kind in Kind}
_MISSES = {kind: f"cache_misses_{kind}" for kind in Kind}
_UNREAD: Final[Any] = object()
_MOST_PLANS: Final = 2_048
_LONGEST_PLANNED: Final = 1_024
"""Texts of parameters whose plans are remembered, and the bytes of the longest: 2 MiB at most."""


class Cache:
    """The first stage. ``capacity_bytes`` 0 keeps nothing; identical calls are shared all the same."""

    def __init__(
        self,
        send: Send,
        *,
        capacity_bytes: int,
        clock: Callable[[], float],
        count: Count,
        heads: HeadSource | None = None,
        store: Store | None = None,
        shared: SharedReads | None = None,
    ) -> None:
        self._send = send
        self._clock = clock
        self._count = count
        self._heads: HeadSource = heads or NoHeads()
        self._store = store
        self._shared = shared
        self._facts = ChainFacts(send, self._heads, clock)
        self._plans: dict[tuple[int, str, bytes], Plan | None] = {}
        self._undecided: dict[bytes, asyncio.Task[None]] = {}
        self._flights = Flights(self._fly, self._is_as_new, clock, count)
        self.entries = Entries(capacity_bytes, count, clock) if capacity_bytes else None

    async def __call__(self, ask: Ask) -> Any:
        """Returns the answer from memory, from an identical call under way, or from the next stage.

        Callers may change the objects that they get from memory; those of a shared call are shared. With
        ``ask.raw`` an answer from memory is a ``RawJson``.
        """
        chain_id = ask.network.chain_id
        plan = plan_of(chain_id, ask.method, ask.params) if self.entries is not None else None
        if plan is not None:
            body = self._found(plan, ask.network, public=ask.public)
            if body is not None:
                self._count(_HITS[plan.kind], ask.network, 1)
                return RawJson(body) if ask.raw else orjson.loads(body)
            self._count(_MISSES[plan.kind], ask.network, 1)
        key = plan.key if plan is not None else same_call(chain_id, ask.method, ask.params)
        if key is None:
            return await self._send(ask)
        return await self._flights.answer((ask.public, key), ask, plan, settled=self._is_settled(plan, ask))

    async def close(self) -> None:
        """Ends what is under way and closes the store."""
        await self._flights.close()
        await self._facts.close()
        if self._store is not None:
            await self._store.close()

    # --- memory ---------------------------------------------------------------------------------------------

    def kept(self, network: Network, method: str, params: bytes) -> bytes | None:
        """Returns the answer to a client's call from memory, as ``__call__`` would give it; None without one.

        ``params`` is their JSON text. Plans of texts are remembered: reading one takes longer than all else.
        """
        if self.entries is None:
            return None
        key = network.chain_id, method, params
        plan = self._plans.get(key, _UNREAD)
        if plan is _UNREAD:
            plan = self._plan_of_text(*key)
        if plan is None:
            return None
        body = self._found(plan, network, public=True)
        if body is not None:
            self._count(_HITS[plan.kind], network, 1)
        return body

    def _plan_of_text(self, chain_id: int, method: str, params: bytes) -> Plan | None:
        if len(params) > _LONGEST_PLANNED:
            return None
        try:
            read = orjson.loads(params)
        except orjson.JSONDecodeError:
            return None
        plan = plan_of(chain_id, method, read) if isinstance(read, list) else None
        if len(self._plans) >= _MOST_PLANS:
            self._plans.clear()
        self._plans[chain_id, method, params] = plan
        return plan

    def _found(self, plan: Plan, network: Network, *, public: bool) -> bytes | None:
        entry = self.entries.get(plan.key) if self.entries is not None else None
        return entry.body if entry is not None and self._serves(entry, network, public=public) else None

    def _serves(self, entry: Entry, network: Network, *, public: bool) -> bool:
        now = self._clock()
        if entry.until is not None and now >= entry.until:
            return False
        if entry.head is not None:
            return public and self._is_newest(entry.head, network, now)
        if not (public or entry.core):
            return False
        if entry.number is None:
            return True
        facts = self._facts.needed(network)
        in_chain = entry.generation == facts.generation and facts.finalized is not None
        return in_chain and entry.number <= (facts.finalized or 0)

    def _is_newest(self, head: Head, network: Network, now: float) -> bool:
        newest = self._heads.newest(network.chain_id)
        return head is newest and not self._facts.known(network).is_newer_than(head, now)

    def _keep(self, flight: Flight, result: Any) -> None:
        """Keeps an answer for as long as it is right."""
        ask, plan = flight.ask, flight.plan
        facts, now = self._facts.known(ask.network), self._clock()
        self._learn(plan, facts, result, now)
        if plan is None or not storable(plan, result):
            return
        if plan.kind is Kind.NODE:
            self._put(flight, result, until=now + NODE_S)
        elif plan.kind is Kind.IMMUTABLE:
            if _is_frozen(plan, facts):
                self._put(flight, result)
            elif facts.editable is None and flight.identifying is not None:
                self._later(flight.identifying, plan, partial(self._keep_state, flight, facts, result))
        else:
            self._keep_by_number(flight, facts, result, now)

    def _keep_by_number(self, flight: Flight, facts: Facts, result: Any, now: float) -> None:
        plan, network = flight.plan, flight.ask.network
        assert plan is not None
        number = plan.number if plan.kind is Kind.NUMBERED else number_of(result)
        if plan.kind is not Kind.HEAD and number is not None:
            if flight.finalized is not None and number <= flight.finalized:
                self._put(flight, result, number=number)
                return
            if flight.finalized is None and flight.refreshing is not None:
                self._later(flight.refreshing, plan, partial(self._keep_old, flight, facts, result, number))
        if not flight.ask.public or flight.head is None or not self._is_newest(flight.head, network, now):
            return
        if _is_frozen(plan, facts) and confirms(plan, result, flight.head):
            lasts_s = network.block_time_s / 2 if plan.kind is Kind.HEAD else network.block_time_s
            self._put(flight, result, head=flight.head, until=now + min(lasts_s, HEAD_S))

    def _keep_state(self, flight: Flight, facts: Facts, result: Any) -> None:
        if facts.editable is False:
            self._put(flight, result)

    def _keep_old(self, flight: Flight, facts: Facts, result: Any, number: int) -> None:
        """Keeps an answer from before the finalised block was known, when it is far enough below it."""
        known = facts.finalized
        if known is not None and flight.generation == facts.generation and number + MARGIN_BLOCKS <= known:
            self._put(flight, result, number=number)

    def _later(self, task: asyncio.Task[None], plan: Plan, keep: Callable[[], None]) -> None:
        """Keeps an answer once ``task`` has found what there is to know before."""
        if task.done():
            keep()
            return
        self._undecided[plan.key] = task

        def decide(_: object) -> None:
            if self._undecided.get(plan.key) is task:
                del self._undecided[plan.key]
            keep()

        task.add_done_callback(decide)

    async def _awaited(self, plan: Plan, ask: Ask) -> bytes | None:
        """Returns an answer that came a moment ago, when it turns out soon that it may be kept."""
        task = self._undecided.get(plan.key)
        if task is not None:
            await asyncio.wait([task], timeout=UNDECIDED_S)
        return self._found(plan, ask.network, public=ask.public)

    def _learn(self, plan: Plan | None, facts: Facts, result: Any, now: float) -> None:
        shown = head_number(plan, result)
        if plan is None or shown is None:
            return
        facts.shown(shown, now)
        at_head = plan.method == "eth_blockNumber" or plan.tag == "latest"
        if at_head and facts.finalized is not None and shown < facts.finalized:
            facts.doubt(now)

    def _put(
        self,
        flight: Flight,
        result: Any,
        *,
        head: Head | None = None,
        number: int | None = None,
        until: float | None = None,
    ) -> None:
        ask, plan = flight.ask, flight.plan
        if plan is None or self.entries is None:
            return
        try:
            body = compact(orjson.dumps(result))
        except TypeError:
            return
        if until is None and is_empty_list(plan, result):
            until = self._clock() + NODE_S
        core = not ask.public
        entry = Entry(body, ask.network, plan.kind, core, head, number, flight.generation, until)
        store = self._store_for(ask)
        if self.entries.put(plan.key, entry) and until is None and store is not None:
            store.put(plan.key, body)
        if self._shared is not None:
            self._shared.put(flight, body, None if until is None else until - self._clock())

    # --- identical calls ------------------------------------------------------------------------------------

    def _is_as_new(self, flight: Flight, ask: Ask) -> bool:
        if flight.settled:
            return True
        if not ask.public or flight.head is None or flight.sent_at is None or flight.plan is None:
            return False
        if not _is_frozen(flight.plan, self._facts.known(ask.network)):
            return False
        now = self._clock()
        limit_s = min(ask.network.block_time_s / 2, HEAD_S)
        return now - flight.sent_at < limit_s and self._is_newest(flight.head, ask.network, now)

    def _is_settled(self, plan: Plan | None, ask: Ask) -> bool:
        if plan is None:
            return False
        facts = self._facts.known(ask.network)
        if plan.kind is Kind.IMMUTABLE:
            return _is_frozen(plan, facts)
        if plan.kind is not Kind.NUMBERED or facts.finalized is None:
            return False
        return plan.number is not None and plan.number <= facts.finalized

    async def _fly(self, flight: Flight) -> Any:
        ask, plan = flight.ask, flight.plan
        flight.head = self._heads.newest(ask.network.chain_id) if ask.public else None
        if plan is not None:
            facts = self._facts.known(ask.network)
            by_number = plan.kind in (Kind.NUMBERED, Kind.TRANSACTION)
            named = flight.head is not None or plan.kind is Kind.IMMUTABLE
            if by_number or (named and plan.state and facts.editable is None):
                self._facts.needed(ask.network)
            flight.finalized, flight.generation = facts.finalized, facts.generation
            flight.refreshing, flight.identifying = facts.refreshing, facts.identifying
            body = await self._awaited(plan, ask) or await self._from_store(flight, plan)
            if body is not None:
                return orjson.loads(body)
            shared = self._shared if flight.settled and not ask.public else None
            found = None if shared is None else await shared.find(flight, plan)
            if found is not None:
                self._remember(flight, plan, found[0], core=True)
                return found[1]
        try:
            result = await self._send(ask)
            if not isinstance(result, RawJson):
                self._keep(flight, result)
            elif len(result) <= MOST_READ_BYTES:
                with contextlib.suppress(orjson.JSONDecodeError):  # JSON with a number that no double holds
                    self._keep(flight, result.parsed())
        finally:
            if self._shared is not None:
                self._shared.release(flight)  # unless it was kept
        return result

    # --- the store of replicas ------------------------------------------------------------------------------

    def _store_for(self, ask: Ask) -> Store | None:
        """Returns the store for a call of a client. Chains of developers start anew under the same id."""
        editable = self._facts.known(ask.network).editable
        return self._store if ask.public and not editable else None

    async def _from_store(self, flight: Flight, plan: Plan) -> bytes | None:
        store = self._store_for(flight.ask)
        known = plan.kind is Kind.TRANSACTION or flight.settled
        if store is None or not known:
            return None
        body = await store.get(plan.key)
        if body is None:
            return None
        result = orjson.loads(body)
        number = number_of(result) if plan.kind is Kind.TRANSACTION else plan.number
        in_chain = number is None or (flight.finalized is not None and number <= flight.finalized)
        if not storable(plan, result) or not in_chain:
            return None
        self._count("cache_store_hits", flight.ask.network, 1)
        self._remember(flight, plan, body, core=False, number=number)
        return body

    def _remember(
        self, flight: Flight, plan: Plan, body: bytes, *, core: bool, number: int | None = None
    ) -> None:
        """Keeps in memory what another replica has read."""
        if self.entries is not None:
            at = plan.number if number is None else number
            entry = Entry(body, flight.ask.network, plan.kind, core, None, at, flight.generation)
            self.entries.put(plan.key, entry)


def _is_frozen(plan: Plan, facts: Facts) -> bool:
    """Whether what a call reads stays the same within one block."""
    return not plan.state or facts.editable is False
