"""The sources of live answers about broadcast transactions and transfers, and about indexes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from quoteway import models
from quoteway.config.stream import StreamConfig
from quoteway.engine.gateway import Gateway
from quoteway.engine.newest import Newest
from quoteway.errors import GatewayError, NotFound, Reason
from quoteway.networks import Network
from quoteway.telemetry.traces import Look, no_look
from quoteway.web.http.fields import HexField, Member, Text
from quoteway.web.http.schema import refuse
from quoteway.web.resources.index_status import index_statuses, indexes
from quoteway.web.resources.live_topics import Key, Publish, Source, Telling
from quoteway.web.resources.transactions import bridges_from, report_on, where_is
from quoteway.web.wire.index_status import IndexStatus
from quoteway.web.wire.view import Wire

AT_ONCE: Final = 4
"""How many followed transactions are looked up at the same time, so that callers' requests are not slowed
down."""
LATENESS: Final = 0.05
"""How late a change may be told, as a part of the time that the state before it lasted."""
MOST_INTERVALS: Final = 10
"""The longest time between two looks, in intervals of the configuration."""

IndexRows: TypeAlias = "Sequence[models.IndexStatus] | GatewayError"


@dataclass(frozen=True, slots=True)
class SentTransaction:
    """A broadcast transaction: the ``txId`` of the step that it carries out, and its hash."""

    tx_id: str
    hash: bytes

    def __str__(self) -> str:
        return f"{self.tx_id}:0x{self.hash.hex()}"


class SentField(Member[SentTransaction]):
    """A broadcast transaction as ``<txId>:<hash>``."""

    schema = {"type": "string", "maxLength": 4_200, "pattern": "^[A-Za-z0-9_.-]+:0x[0-9a-fA-F]{64}$"}

    def __init__(self, description: str, **kwargs: Any) -> None:
        super().__init__(description, **kwargs)
        self._id, self._hash = Text("", max_length=4_096), HexField("", 32, 32)

    def parse(self, value: Any) -> SentTransaction:
        tx_id, colon, hash_ = value.rpartition(":") if isinstance(value, str) else ("", "", "")
        if not colon or not tx_id:
            raise refuse(Reason.INVALID_FORMAT, "must be <txId>:<hash>, the hash as 0x and 64 digits")
        return SentTransaction(self._id.parse(tx_id), self._hash.parse(hash_))


class TransactionSources:
    """Makes the sources of followed transactions and transfers. Each is looked up by one for all."""

    def __init__(self, gateway: Gateway, config: StreamConfig, look: Look = no_look) -> None:
        self._gateway = gateway
        self._look = look
        self._interval_s = config.transaction_interval_s
        self._turn = asyncio.Semaphore(AT_ONCE)

    def transaction(self, key: Key, sent: SentTransaction) -> Source:
        """Tells what becomes of a transaction, until it is in a block. Raises ``NotFound``."""
        commitment = self._gateway.quote_tokens.open_transaction(sent.tx_id)
        self._gateway.runtime.chain(commitment.chain_id)
        read = partial(report_on, self._gateway, sent.tx_id, sent.hash)
        return partial(self._follow, key, "transaction", read, is_in_block)

    def transfer(self, key: Key, sent: SentTransaction) -> Source:
        """Tells where a transfer is, until it has arrived or is refunded.

        Raises ``NotFound``, and ``ProviderUnavailable`` where no bridge tracks transfers.
        """
        commitment = self._gateway.quote_tokens.open_transaction(sent.tx_id)
        bridges_from(self._gateway, commitment.chain_id)
        read = partial(where_is, self._gateway, sent.tx_id, sent.hash)
        return partial(self._follow, key, "transfer", read, is_over)

    async def _follow(
        self,
        key: Key,
        name: str,
        read: Callable[[], Awaitable[Wire]],
        is_last: Callable[[Wire], bool],
        publish: Publish,
    ) -> None:
        telling, loop = Telling(key, publish), asyncio.get_running_loop()
        changed_at = loop.time()
        while True:
            try:
                async with self._turn:
                    with self._look(f"{name}s"):
                        state = await read()
            except GatewayError as error:
                telling.fail(error)
                if isinstance(error, NotFound) and error.reason is Reason.QUOTE_EXPIRED:
                    return
            else:
                # Confirmations grow with each block, and change nothing.
                known = {**state, "confirmations": None}
                if telling.tell(name, known, state):
                    changed_at = loop.time()
                if is_last(state):
                    return
            pause_s = max(self._interval_s, LATENESS * (loop.time() - changed_at))
            await asyncio.sleep(min(pause_s, MOST_INTERVALS * self._interval_s))


def is_in_block(report: Wire) -> bool:
    """Returns whether a transaction is in a block."""
    return report["status"] in ("confirmed", "reverted")


def is_over(tracked: Wire) -> bool:
    """Returns whether a transfer has arrived or is refunded."""
    # A fill or a refund is known a moment before the transaction that makes it.
    has_hash = {"filled": "fillHash", "refunded": "refundHash"}.get(tracked["status"])
    return has_hash is not None and tracked[has_hash] is not None


class IndexSources:
    """Makes the sources of the progress of indexes. All networks share what is read."""

    def __init__(self, gateway: Gateway, config: StreamConfig, look: Look = no_look) -> None:
        self._gateway = gateway
        self._look = look
        self._interval_s = config.index_interval_s
        self._rows: Newest[IndexRows] = Newest("stream: indexes", self._read)

    def index(self, key: Key, network: Network) -> Source:
        """Tells how far the index of a network is. Raises ``ProviderUnavailable`` without an index."""
        indexes(self._gateway)
        return partial(self._follow, key, network)

    async def _follow(self, key: Key, network: Network, publish: Publish) -> None:
        telling, networks = Telling(key, publish), self._gateway.runtime.networks
        async with contextlib.aclosing(self._rows.follow()) as answers:
            async for answer in answers:
                if isinstance(answer, GatewayError):
                    telling.fail(answer)
                    continue
                rows = [row for row in answer if row.chain_id == network.chain_id]
                if not rows:
                    telling.fail(NotFound(f"{network.name} has no index."))
                    continue
                data = IndexStatus.of(networks, data=rows)
                # The time of each report is no news.
                state = [{**row, "updatedAt": None} for row in data["data"]]
                telling.tell("index", state, data)

    async def _read(self) -> AsyncIterator[IndexRows]:
        while True:
            try:
                with self._look("index"):
                    rows = await index_statuses(self._gateway)
                yield rows
            except GatewayError as error:
                yield error
            await asyncio.sleep(self._interval_s)
