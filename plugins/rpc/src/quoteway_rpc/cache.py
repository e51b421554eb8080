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

**What is shared.** For the same reason a call joins another one under way only when the answer can be no
older than the call: one that has not been sent yet (it is sent in the loop's next turn), one whose answer
cannot change, or one at a pushed head that is still the newest. When several identical calls follow each
other while the first is under way, they wait ``GATHER_S`` for each other.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from quoteway import RawJson, Reason, RpcError, UpstreamError

from quoteway_rpc.asking import Ask, Send
from quoteway_rpc.cache_answers import Head, confirms, head_number, is_empty_list, number_of, storable
from quoteway_rpc.cache_entries import Count, Entries, Entry
from quoteway_rpc.cache_facts import MARGIN_BLOCKS, ChainFacts, Facts, HeadSource, NoHeads
from quoteway_rpc.cache_keys import Kind, Plan, plan_of, same_call
from quoteway_rpc.cache_store import Store

GATHER_S = 0.005
HEAD_S = 2.0
NODE_S = 60.0
"""How long answers about nodes are kept, and empty lists: a node that has lost old logs finds none."""
UNDECIDED_S = 0.05
"""How long a call waits to learn whether the answer of the one before it may be kept."""
MOST_READ_BYTES = 1 << 20
"""Longer answers that came as JSON text are not read to be kept: it would hold up other calls."""
_EXECUTION_REVERTED = 3
_SLACK_S = 0.05


class _Left(Exception):  # noqa: N818 - no failure of a node
    """The caller that made a call was cancelled, so that another one has to make it."""


@dataclass(slots=True, eq=False)
class _Flight:
    """A call for all who wait for its answer. ``sent_at`` is None until it is sent.

    The first caller makes it, in its own task ``caller``; the outcome is told to those who joined it, in
    ``landing``. ``settled``: the answer cannot change. ``finalized``, ``generation``, ``refreshing`` and
    ``identifying`` are facts of the chain before it was sent, ``head`` the newest block then.
    """

    ask: Ask
    plan: Plan | None
    settled: bool
    caller: asyncio.Task[Any] | None
    landing: asyncio.Future[Any] | None = None
    is_closed: bool = False
    sent_at: float | None = None
    head: Head | None = None
    finalized: int | None = None
    generation: int = 0
    refreshing: asyncio.Task[None] | None = None
    identifying: asyncio.Task[None] | None = None


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
    ) -> None:
        self._send = send
        self._clock = clock
        self._count = count
        self._heads: HeadSource = heads or NoHeads()
        self._store = store
        self._facts = ChainFacts(send, self._heads, clock)
        self._undecided: dict[bytes, asyncio.Task[None]] = {}
        self._flights: dict[tuple[bool, bytes], _Flight] = {}
        self.entries = Entries(capacity_bytes, count) if capacity_bytes else None

    async def __call__(self, ask: Ask) -> Any:
        """Returns the answer from memory, from an identical call under way, or from the next stage.

        Callers may change the objects that they get from memory; those of a shared call are shared. With
        ``ask.raw`` an answer from memory is a ``RawJson``.
        """
        chain_id = ask.network.chain_id
        plan = plan_of(chain_id, ask.method, ask.params) if self.entries is not None else None
        if plan is not None:
            body = self._found(plan, ask)
            if body is not None:
                self._count(f"cache_hits_{plan.kind}", ask.network, 1)
                return RawJson(body) if ask.raw else orjson.loads(body)
            self._count(f"cache_misses_{plan.kind}", ask.network, 1)
        key = plan.key if plan is not None else same_call(chain_id, ask.method, ask.params)
        return await (self._send(ask) if key is None else self._shared((ask.public, key), plan, ask))

    async def close(self) -> None:
        """Ends what is under way and closes the store."""
        callers = [flight.caller for flight in self._flights.values() if flight.caller is not None]
        for flight in self._flights.values():
            flight.is_closed = True
        for caller in callers:
            caller.cancel()
        if callers:
            await asyncio.wait(callers, timeout=1.0)
        await self._facts.close()
        if self._store is not None:
            await self._store.close()

    # --- memory ---------------------------------------------------------------------------------------------

    def _found(self, plan: Plan, ask: Ask) -> bytes | None:
        entry = self.entries.get(plan.key) if self.entries is not None else None
        return entry.body if entry is not None and self._serves(entry, ask) else None

    def _serves(self, entry: Entry, ask: Ask) -> bool:
        now = self._clock()
        if entry.until is not None and now >= entry.until:
            return False
        if entry.head is not None:
            return ask.public and self._is_newest(entry.head, ask, now)
        if not (ask.public or entry.core):
            return False
        if entry.number is None:
            return True
        facts = self._facts.needed(ask.network)
        in_chain = entry.generation == facts.generation and facts.finalized is not None
        return in_chain and entry.number <= (facts.finalized or 0)

    def _is_newest(self, head: Head, ask: Ask, now: float) -> bool:
        newest = self._heads.newest(ask.network.chain_id)
        return head is newest and not self._facts.known(ask.network).is_newer_than(head, now)

    def _keep(self, flight: _Flight, result: Any) -> None:
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

    def _keep_by_number(self, flight: _Flight, facts: Facts, result: Any, now: float) -> None:
        plan, network = flight.plan, flight.ask.network
        assert plan is not None
        number = plan.number if plan.kind is Kind.NUMBERED else number_of(result)
        if plan.kind is not Kind.HEAD and number is not None:
            if flight.finalized is not None and number <= flight.finalized:
                self._put(flight, result, number=number)
                return
            if flight.finalized is None and flight.refreshing is not None:
                self._later(flight.refreshing, plan, partial(self._keep_old, flight, facts, result, number))
        if not flight.ask.public or flight.head is None or not self._is_newest(flight.head, flight.ask, now):
            return
        if _is_frozen(plan, facts) and confirms(plan, result, flight.head):
            lasts_s = network.block_time_s / 2 if plan.kind is Kind.HEAD else network.block_time_s
            self._put(flight, result, head=flight.head, until=now + min(lasts_s, HEAD_S))

    def _keep_state(self, flight: _Flight, facts: Facts, result: Any) -> None:
        if facts.editable is False:
            self._put(flight, result)

    def _keep_old(self, flight: _Flight, facts: Facts, result: Any, number: int) -> None:
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
        return self._found(plan, ask)

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
        flight: _Flight,
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
            body = orjson.dumps(result)
        except TypeError:
            return
        if until is None and is_empty_list(plan, result):
            until = self._clock() + NODE_S
        core = not ask.public
        entry = Entry(body, ask.network, plan.kind, core, head, number, flight.generation, until)
        store = self._store_for(ask)
        if self.entries.put(plan.key, entry) and until is None and store is not None:
            store.put(plan.key, body)

    # --- identical calls ------------------------------------------------------------------------------------

    async def _shared(self, key: tuple[bool, bytes], plan: Plan | None, ask: Ask) -> Any:
        """Returns the answer of an identical call or of a new one.

        What is not final is not taken from a call that began before this one: a block or a transaction that
        it did not find may exist by now, and its failure may be over. Then the call is made once more.
        """
        unsent = False
        while True:
            flight = self._flights.get(key)
            if flight is None or not self._joins(flight, ask, unsent=unsent):
                busy = flight is not None and ask.public
                return await self._make(key, plan, ask, GATHER_S if busy else 0.0)
            late = flight.sent_at is not None
            self._count("cache_joined", ask.network, 1)
            try:
                result = await self._landed(flight, ask)
            except _Left:
                continue
            except RpcError as error:
                if not late or error.rpc_code == _EXECUTION_REVERTED:
                    raise
            except UpstreamError:
                if not late and ask.ends_at - flight.ask.ends_at < 2 * _SLACK_S:
                    raise
                if ask.ends_at - self._clock() < _SLACK_S:
                    raise
            else:
                if result is not None or not late:
                    return result
            unsent = True

    def _joins(self, flight: _Flight, ask: Ask, *, unsent: bool) -> bool:
        """Whether a call may have the answer of one under way; with ``unsent``, of one not sent yet alone."""
        return flight.sent_at is None or (not unsent and self._is_as_new(flight, ask))

    async def _make(self, key: tuple[bool, bytes], plan: Plan | None, ask: Ask, wait_s: float) -> Any:
        """Makes a call, and tells its outcome to those who joined it."""
        flight = _Flight(ask, plan, self._is_settled(plan, ask), asyncio.current_task())
        self._flights[key] = flight
        failure: BaseException | None = None
        result = None
        try:
            result = await self._fly(flight, wait_s)
            return result
        except asyncio.CancelledError:
            failure = _Left()
            if flight.is_closed and flight.caller is not None and not flight.caller.uncancel():
                text = f"The nodes of {ask.network.name} are not asked any more: the gateway ends."
                failure = UpstreamError(text, reason=Reason.RPC_ERROR, retryable=True)
                raise failure from None
            raise
        except BaseException as error:
            failure = error
            raise
        finally:
            if self._flights.get(key) is flight:
                del self._flights[key]
            if flight.landing is not None and not flight.landing.done():
                _tell(flight.landing, result, failure)

    async def _landed(self, flight: _Flight, ask: Ask) -> Any:
        """Waits for the call of another caller until the own deadline. Raises ``_Left`` when that ended."""
        if flight.landing is None:
            flight.landing = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(max(ask.ends_at - self._clock(), 0.0)):
                return await asyncio.shield(flight.landing)
        except TimeoutError:
            raise UpstreamError(
                f"No RPC upstream of {ask.network.name} answered in time.",
                reason=Reason.PROVIDER_TIMEOUT,
                retryable=True,
            ) from None

    def _is_as_new(self, flight: _Flight, ask: Ask) -> bool:
        if flight.settled:
            return True
        if not ask.public or flight.head is None or flight.sent_at is None or flight.plan is None:
            return False
        if not _is_frozen(flight.plan, self._facts.known(ask.network)):
            return False
        now = self._clock()
        limit_s = min(ask.network.block_time_s / 2, HEAD_S)
        return now - flight.sent_at < limit_s and self._is_newest(flight.head, ask, now)

    def _is_settled(self, plan: Plan | None, ask: Ask) -> bool:
        if plan is None:
            return False
        facts = self._facts.known(ask.network)
        if plan.kind is Kind.IMMUTABLE:
            return _is_frozen(plan, facts)
        if plan.kind is not Kind.NUMBERED or facts.finalized is None:
            return False
        return plan.number is not None and plan.number <= facts.finalized

    async def _fly(self, flight: _Flight, wait_s: float) -> Any:
        # Identical calls that arrive in the same turn of the loop join this one.
        await asyncio.sleep(wait_s)
        ask, plan = flight.ask, flight.plan
        flight.sent_at = self._clock()
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
        result = await self._send(ask)
        if not isinstance(result, RawJson):
            self._keep(flight, result)
        elif len(result) <= MOST_READ_BYTES:
            with contextlib.suppress(orjson.JSONDecodeError):  # JSON with a number that no double holds
                self._keep(flight, result.parsed())
        return result

    # --- the store of replicas ------------------------------------------------------------------------------

    def _store_for(self, ask: Ask) -> Store | None:
        """Returns the store for a call of a client. Chains of developers start anew under the same id."""
        editable = self._facts.known(ask.network).editable
        return self._store if ask.public and not editable else None

    async def _from_store(self, flight: _Flight, plan: Plan) -> bytes | None:
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
        if self.entries is not None:
            entry = Entry(body, flight.ask.network, plan.kind, False, None, number, flight.generation)
            self.entries.put(plan.key, entry)
        return body


def _is_frozen(plan: Plan, facts: Facts) -> bool:
    """Whether what a call reads stays the same within one block."""
    return not plan.state or facts.editable is False


def _tell(landing: asyncio.Future[Any], result: Any, failure: BaseException | None) -> None:
    if failure is None:
        landing.set_result(result)
        return
    landing.set_exception(failure)
    landing.exception()  # who waited may be gone: asyncio would log that nobody read it
