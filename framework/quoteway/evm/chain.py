"""Reads one chain through the RPC upstreams: pinned to a block, batched, concurrent equal reads shared."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, TypeAlias

from cachetools import LRUCache

from quoteway.errors import GatewayError, Reason, RpcError, UpstreamError
from quoteway.evm import batch
from quoteway.evm.answers import header_of, quantity, unreadable
from quoteway.evm.arrivals import arrival, no_older_than
from quoteway.evm.balance_slot import BalanceSlot
from quoteway.evm.head import HeadTracker, until
from quoteway.evm.head_sharing import HeadSharing, NoSharing
from quoteway.evm.header_ring import RING_BLOCKS
from quoteway.evm.simulated_calls import bytes_of, hex_of, result_of, transaction_of
from quoteway.evm.single_flight import SingleFlight
from quoteway.models import Address, At, Block, Header, Overrides, RawJson, Read
from quoteway.models import Call as Call
from quoteway.models import CallFailed as CallFailed
from quoteway.models import Log as Log
from quoteway.models import NativeBalance as NativeBalance
from quoteway.models import SimulatedCall as SimulatedCall
from quoteway.models import SimulatedResult as SimulatedResult
from quoteway.models import SimulationUnsupported as SimulationUnsupported
from quoteway.networks import Network

Forward: TypeAlias = Callable[[str, Sequence[Any], float], Awaitable[Any]]
"""``(method, params, timeout_s) -> result``; raises as ``RpcUpstream.forward`` does."""

# Nodes older than EIP-1898 answer so to a block given by hash.
_INVALID_PARAMS = (-32600, -32602)
# EIP-1474 "method not supported" and JSON-RPC 2.0 "method not found".
_METHOD_MISSING = (-32601, -32004)
_RETRY_SIMULATION_S = 600.0


@dataclass(eq=False, repr=False)
class RpcChain:
    """Reads one chain through the RPC upstreams: pinned to a block, batched, shared by concurrent callers.

    Do not change results: other callers may have the same object. Every method raises ``UpstreamError`` when
    no node gave a usable answer in time, and ``RpcError`` when a node answered with an error. Before anything
    is answered, the nodes' ``eth_chainId`` is compared once with ``network.chain_id``, and ``verified`` is
    True from then on. ``requests`` counts the JSON-RPC requests sent.
    """

    network: Network
    forward: Forward
    clock: Callable[[], float] = time.monotonic
    _: KW_ONLY
    forward_public: Forward | None = None
    pushed: Callable[[], AsyncIterator[Header] | None] = lambda: None
    sharing: HeadSharing = field(default_factory=NoSharing)
    timeout_s: float = 10.0
    idle_s: float = 60.0
    requests: int = field(default=0, init=False)
    balance_slots: LRUCache[Address, BalanceSlot] = field(default_factory=lambda: LRUCache(4096), init=False)
    _headers: LRUCache[str, Header] = field(default_factory=lambda: LRUCache(256), init=False)
    _flights: SingleFlight = field(default_factory=SingleFlight, init=False)
    verified: bool = field(default=False, init=False)
    _hash_refused: bool = field(default=False, init=False)
    _simulation_missing_until: float = field(default=float("-inf"), init=False)
    _simulation_known_until: float = field(default=float("-inf"), init=False)

    def __post_init__(self) -> None:
        self._head = HeadTracker(
            self.network,
            self._read_head,
            self._header_of,
            lambda: self.pushed() or self.sharing.heads(),
            idle_s=self.idle_s,
            clock=self.clock,
            on_head=self.sharing.moved,
        )

    async def close(self) -> None:
        """Ends the polling and every read under way."""
        await self._head.close()
        await self._flights.close()

    # --- requests -------------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: Sequence[Any] = (),
        *,
        timeout_s: float | None = None,
        shared: bool = True,
        public: bool = False,
        raw: bool = False,
    ) -> Any:
        """Returns the ``result`` of a JSON-RPC read.

        Identical concurrent reads share one request, which may have begun before this call. With
        ``shared=False`` a new request is sent. Reads at ``latest`` are shared within one quote or action
        only: what another request asked before may be older than this request's own transaction.
        ``public`` marks a call of a client (``RpcUpstream.forward_public``), which is never shared here for
        that reason: the upstream knows better. With ``raw`` a long result of it may be a ``RawJson``.
        """
        answer = await self._verified_answer(method, params, timeout_s, shared, public)
        return answer.parsed() if isinstance(answer, RawJson) and not raw else answer

    async def _verified_answer(
        self, method: str, params: Sequence[Any], timeout_s: float | None, shared: bool, public: bool
    ) -> Any:
        if self.verified:
            return await self._send(method, params, timeout_s, shared, public)
        # Concurrent, so that the check costs no round trip of its own.
        outcomes = await asyncio.gather(
            self._verify(timeout_s),
            self._send(method, params, timeout_s, shared, public),
            return_exceptions=True,
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return outcomes[1]

    async def _send(
        self,
        method: str,
        params: Sequence[Any],
        timeout_s: float | None,
        shared: bool,
        public: bool = False,
    ) -> Any:
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        if public:
            # The upstream shares and keeps the answers of clients' calls itself, and it keeps the deadline.
            self.requests += 1
            return await (self.forward_public or self.forward)(method, params, limit_s)

        async def forward() -> Any:
            self.requests += 1
            return await self.forward(method, params, limit_s)

        try:
            # The upstream keeps the deadline itself; this one holds even when it does not.
            async with asyncio.timeout(limit_s + 0.05):
                among: object = arrival() if "latest" in params else None
                key = (method, json.dumps(params, separators=(",", ":")), among) if shared else object()
                return await self._flights.run(key, forward)
        except TimeoutError as error:
            text = f"No node of {self.network.name} answered within {limit_s:g} seconds."
            raise UpstreamError(text, reason=Reason.PROVIDER_TIMEOUT) from error

    async def _verify(self, timeout_s: float | None) -> None:
        answered = quantity(await self._send("eth_chainId", (), timeout_s, shared=True))
        if answered != self.network.chain_id:
            raise UpstreamError(
                f"The RPC upstream of {self.network.name} is a node of another chain: "
                f"chain id {self.network.chain_id} was expected, it answers {answered}.",
                reason=Reason.RPC_ERROR,
            )
        self.verified = True

    # --- blocks ---------------------------------------------------------------------------------------------

    async def head(self, *, fresh: bool = False) -> Block:
        """Returns the newest block; with ``fresh``, by a new read.

        Inside a quote or an action, the block was read after the request arrived, and is the same each time.
        Elsewhere it comes from memory while the head is polled. It never goes back but by a proven
        reorganisation. Raises ``UpstreamError`` with reason ``behind`` when the nodes have older blocks only.
        """
        return await self._head.get(fresh=fresh)

    async def head_other_than(self, block_hash: str) -> Block:
        """Returns the newest block as soon as it is another than this one."""
        return await self._head.other_than(block_hash)

    async def replacing(self, block: Block) -> Block | None:
        """Returns the newest block when a reorganisation took ``block`` back, and None when it did not.

        For a read at ``block``, one of the newest, that failed: some nodes keep nothing of what was taken
        back. The parents of the newest block lead down to it: what is told for its number may be older.
        """
        try:
            newest = await self.head(fresh=True)
            there: str | None = newest.hash
            for _ in range(min(newest.number - block.number, RING_BLOCKS)):
                header = None if there is None else await self.header(there)
                there = None if header is None else header.parent
        except UpstreamError:
            return None
        return None if there in (None, block.hash) else newest

    @property
    def head_fails(self) -> bool:
        """Returns whether the last read of the head in the background failed."""
        return self._head.is_failing

    def was_head(self, block: Block) -> bool:
        """Returns whether ``head`` may have given ``block`` since the current request arrived."""
        return self._head.was_head(block)

    @property
    def behind(self) -> UpstreamError | None:
        """Returns the error of requests while the nodes answer older heads than a known one, else None."""
        return self._head.behind() if self._head.is_behind else None

    @property
    def known_head(self) -> Block | None:
        """Returns the newest block read so far. Sends no request and does not start polling the head."""
        return self._head.known

    async def block(self, at: int | Literal["latest", "safe", "finalized"], *, shared: bool = True) -> Block:
        """Returns a block by number or tag. Raises ``UpstreamError`` when the chain has no such block."""
        return (await self._header(at, shared=shared)).block

    async def block_seen_elsewhere(self, number: int) -> Block:
        """Returns a block that another process has seen, perhaps before the nodes that are asked have it.

        Raises ``UpstreamError`` with reason ``behind`` when they do not have it within a block time.
        """
        with no_older_than(self.network.chain_id, number):
            await self.head()
        return await self.block(number)

    async def header(self, block_hash: str) -> Header | None:
        """Returns a block's header by its hash, or None when no node has it.

        The headers of the newest heads, and of blocks read by number, come from memory.
        """
        known: Header | None = self._headers.get(block_hash)
        return known or await self._header_of(block_hash)

    async def _header(self, at: int | str, *, shared: bool = True) -> Header:
        tag = hex(at) if isinstance(at, int) else at
        answer = await self.request("eth_getBlockByNumber", [tag, False], shared=shared)
        if not isinstance(answer, Mapping):
            raise UpstreamError(f"{self.network.name} has no block {at}.", reason=Reason.RPC_ERROR)
        return self._kept(header_of(answer))

    async def _header_of(self, block_hash: str) -> Header | None:
        """Returns a header by its hash; None when no node has it or gives it in a readable form."""
        try:
            answer = await self.request("eth_getBlockByHash", [block_hash, False])
            header = header_of(answer) if isinstance(answer, Mapping) else None
        except GatewayError:
            return None
        return self._kept(header) if header is not None and header.block.hash == block_hash else None

    def _kept(self, header: Header) -> Header:
        self._headers[header.block.hash] = header
        return header

    async def mined_in(self, transaction: str) -> int:
        """Returns the block number of a transaction, 0x hex of its hash, once the nodes have its receipt.

        Raises ``UpstreamError`` with reason ``behind`` when they do not have it within a block time.
        """

        async def look() -> int | None:
            receipt = await self.request("eth_getTransactionReceipt", [transaction], shared=False)
            if receipt is None:
                return None
            if not isinstance(receipt, Mapping):
                raise unreadable()
            return quantity(receipt.get("blockNumber"))

        return await until(look, self.network, "that transaction")

    async def _read_head(self) -> Header:
        header = await self._header("latest", shared=False)
        self.sharing.read(header)
        return header

    # --- calls ----------------------------------------------------------------------------------------------

    async def call(
        self,
        to: Address,
        data: bytes,
        *,
        block: Block | None = None,
        sender: Address | None = None,
        overrides: Overrides | None = None,
    ) -> bytes:
        """Returns a contract call's output at ``block`` (None: the head). A revert raises ``RpcError``."""
        sent = {"to": to, "data": hex_of(data)} | ({} if sender is None else {"from": sender})
        return bytes_of(await self.pinned("eth_call", [sent], block, *([overrides] if overrides else ())))

    async def deployless(
        self, creation_code: bytes, *, block: At | None = None, gas: int | None = None
    ) -> bytes:
        """Runs ``creation_code`` in an ``eth_call`` and returns its output.

        The output has at most 24,576 bytes and must not start with 0xef.
        """
        sent = {"data": hex_of(creation_code)} | ({} if gas is None else {"gas": hex(gas)})
        return bytes_of(await self.pinned("eth_call", [sent], block))

    async def call_many(self, reads: Sequence[Read], *, block: At | None = None) -> list[bytes | CallFailed]:
        """Returns the outputs of many reads at one block, in their order, in one round trip.

        ``block`` None is the head; ``latest`` is the newest block of the node: facts that never change need
        not wait for the head. Several concurrent requests are sent when one is too small. A read that fails
        gives a ``CallFailed`` and does not affect the others.
        """
        if block is None:
            block = await self.head()
        answers = await asyncio.gather(*(self._call_batch(part, block) for part in batch.split(reads)))
        return [result for answer in answers for result in answer]

    async def _call_batch(self, reads: Sequence[Read], block: At) -> list[bytes | CallFailed]:
        output = await self.deployless(batch.program(reads), block=block)
        try:
            return batch.outputs(reads, output)
        except ValueError as error:
            raise unreadable() from error

    async def code(self, address: Address, *, block: At | None = None) -> bytes:
        """Returns the code at an address; empty for an account without code."""
        return bytes_of(await self.pinned("eth_getCode", [address], block))

    async def pinned(self, method: str, params: list[Any], block: At | None, *more: Any) -> Any:
        """Returns the ``result`` of a request at ``block`` (None: the head).

        The block is given by hash (EIP-1898), or by number to nodes that do not support hashes.
        """
        if block == "latest":
            return await self.request(method, [*params, "latest", *more])
        if block is None:
            block = await self.head()
        by_number = [*params, hex(block.number), *more]
        if self._hash_refused:
            return await self.request(method, by_number)
        try:
            return await self.request(method, [*params, {"blockHash": block.hash}, *more])
        except RpcError as refusal:
            if refusal.rpc_code not in _INVALID_PARAMS:
                raise
            try:
                answer = await self.request(method, by_number)
            except RpcError:
                raise refusal from None  # the parameters are wrong in another way
            self._hash_refused = True
            return answer

    # --- simulation -----------------------------------------------------------------------------------------

    async def simulate(
        self, calls: Sequence[SimulatedCall], *, block: Block, overrides: Overrides | None = None
    ) -> list[SimulatedResult]:
        """Simulates transactions in order in the block after ``block`` (``eth_simulateV1``, not validated).

        It comes one block time after ``block``: what contracts do once per block happens in it. Transfers of
        the native coin are reported as ``Transfer`` logs of the address 0xEeee... (ERC-7528).
        Raises ``SimulationUnsupported`` when the node does not have the method. When it had the method within
        the last ten minutes that is an ``UpstreamError``: a load balancer must not be able to skip a run.
        """
        if self.clock() < self._simulation_missing_until:
            raise SimulationUnsupported
        # Nodes differ in the block that they run in: anvil stays in `block`.
        time_s = block.timestamp + max(math.ceil(self.network.block_time_s), 1)
        payload = {
            "blockStateCalls": [
                {
                    "blockOverrides": {"number": hex(block.number + 1), "time": hex(time_s)},
                    "stateOverrides": dict(overrides or {}),
                    "calls": [transaction_of(call) for call in calls],
                }
            ],
            "traceTransfers": True,
            "validation": False,
        }
        try:
            answer = await self.pinned("eth_simulateV1", [payload], block)
        except RpcError as error:
            if error.rpc_code not in _METHOD_MISSING:
                raise
            if self.clock() < self._simulation_known_until:
                text = f"{self.network.name} does not run transactions at the moment."
                raise UpstreamError(text, reason=Reason.RPC_ERROR, retryable=True) from error
            self._simulation_missing_until = self.clock() + _RETRY_SIMULATION_S
            raise SimulationUnsupported from error
        try:
            results = [result_of(result) for result in answer[0]["calls"]]
        except (LookupError, TypeError, AttributeError) as error:
            raise unreadable() from error
        if len(results) != len(calls):
            raise unreadable()
        self._simulation_known_until = self.clock() + _RETRY_SIMULATION_S
        return results
