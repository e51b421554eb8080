"""The sources of webhooks: broadcast transactions and transfers until no reorganisation takes them back.

Each state has two members beside those of the API: ``PLACE``, the chain id, number and hash of the block that
the state is in, or None, and ``FINAL``, whether it is the last: None where the network cannot be read.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from quoteway.config.stream import StreamConfig
from quoteway.engine.gateway import Gateway
from quoteway.engine.webhooks.dispatching import FINAL, PLACE
from quoteway.errors import GatewayError, NotFound, Reason, UpstreamError
from quoteway.models import Capability
from quoteway.telemetry.traces import Look, no_look
from quoteway.web.resources.live_topics import Key, Publish, Source, Telling
from quoteway.web.resources.live_transactions import (
    AT_ONCE,
    LATENESS,
    MOST_INTERVALS,
    SentTransaction,
    is_in_block,
    is_over,
)
from quoteway.web.resources.transactions import bridges_from, report_on, where_is
from quoteway.web.wire.view import Wire

_UNSEEN_S: Final = 3_600.0
"""How long the block of a payment that a bridge told is looked for."""


class Place(NamedTuple):
    """A block that a state is in."""

    chain_id: int
    number: int
    hash: str


PlaceOf: TypeAlias = Callable[[Wire], Awaitable["Place | None"]]


class _Unreadable(Exception):  # noqa: N818 - says why
    """The deployment does not read the network of a payment."""


class FinalSources:
    """Makes the sources of followed transactions and transfers.

    ``known`` is the block that was told of before, in this process or another.
    """

    def __init__(self, gateway: Gateway, config: StreamConfig, look: Look = no_look) -> None:
        self._gateway = gateway
        self._look = look
        self._interval_s = config.transaction_interval_s
        self._turn = asyncio.Semaphore(AT_ONCE)

    def transaction(self, key: Key, sent: SentTransaction, confirmations: int, known: Place | None) -> Source:
        """Tells what becomes of a transaction, until its block has so many confirmations.

        Raises ``NotFound``.
        """
        commitment = self._gateway.quote_tokens.open_transaction(sent.tx_id)
        chain_id = commitment.chain_id
        self._gateway.runtime.chain(chain_id)

        async def place_of(state: Wire) -> Place | None:
            if not is_in_block(state):
                return None
            differences = {each["member"]: each["actual"] for each in state["differences"]}
            found_on = int(differences.get("chainId", chain_id))  # it may be sent to another by mistake
            return Place(found_on, state["blockNumber"], state["blockHash"])

        read = partial(report_on, self._gateway, sent.tx_id, sent.hash)
        return partial(self._follow, key, "transaction", read, place_of, confirmations, known)

    def transfer(self, key: Key, sent: SentTransaction, confirmations: int, known: Place | None) -> Source:
        """Tells where a transfer is, until the block of its payment or refund has so many confirmations.

        Raises ``NotFound``, and ``ProviderUnavailable`` where no bridge tracks transfers.
        """
        commitment = self._gateway.quote_tokens.open_transaction(sent.tx_id)
        bridges_from(self._gateway, commitment.chain_id)
        read = partial(where_is, self._gateway, sent.tx_id, sent.hash)
        return partial(self._follow, key, "transfer", read, self._place_of_payment, confirmations, known)

    async def _follow(
        self,
        key: Key,
        name: str,
        read: Callable[[], Awaitable[Wire]],
        place_of: PlaceOf,
        confirmations: int,
        place: Place | None,
        publish: Publish,
    ) -> None:
        telling, loop = Telling(key, publish), asyncio.get_running_loop()
        changed_at = loop.time()

        def tell(state: Wire, found: Place | None, final: bool | None) -> bool:
            more = {PLACE: None if found is None else list(found), FINAL: final}
            return telling.tell(name, {**state, **more, "confirmations": None}, {**state, **more})

        while True:
            try:
                async with self._turn, contextlib.AsyncExitStack() as stack:
                    stack.enter_context(self._look(f"{name}s"))
                    depth = None if place is None else await self._depth(place)
                    if depth is None or depth >= confirmations:
                        state = await read()
                        try:
                            found = await place_of(state)
                        except _Unreadable:
                            tell(state, place, None)
                            return
                        if depth is not None and found == place:
                            tell(state, place, True)
                            return
                        # Where the chain has the block and the answer has not, or the other way round, the
                        # answer is from a node that lags.
                        if depth is None and (found is None or found != place):
                            is_final = found is not None and (await self._depth(found) or 0) >= confirmations
                            if tell(state, found, is_final):
                                changed_at = loop.time()
                            place = found
                            if is_final:
                                return
                        if is_over(state) and place is None and loop.time() - changed_at > _UNSEEN_S:
                            tell(state, None, None)
                            return
            except GatewayError as error:
                telling.fail(error)
                if isinstance(error, NotFound) and error.reason is Reason.QUOTE_EXPIRED:
                    return
            pause_s = max(self._interval_s, LATENESS * (loop.time() - changed_at))
            await asyncio.sleep(min(pause_s, MOST_INTERVALS * self._interval_s))

    async def _depth(self, place: Place) -> int | None:
        """Returns the confirmations of a block, itself included; None when another block is in its place.

        Raises ``UpstreamError`` when that is not known, as while the chain is shorter.
        """
        chain = self._gateway.runtime.chain(place.chain_id)
        # Not cached: a reorganisation may have replaced the block.
        block = await chain.block(place.number, shared=False)
        if block.hash != place.hash:
            return None
        return max(1, (await chain.head()).number - place.number + 1)

    async def _place_of_payment(self, state: Wire) -> Place | None:
        """Returns the block of a payment or refund; None when there is none, or no node has it now."""
        if not is_over(state):
            return None
        is_filled = state["status"] == "filled"
        chain_id = state["destinationChainId"] if is_filled else (state["refund"] or {}).get("chainId")
        if chain_id is None or not self._gateway.registry.enabled(Capability.RPC, chain_id):
            raise _Unreadable
        chain, tx_hash = (
            self._gateway.runtime.chain(chain_id),
            state["fillHash" if is_filled else "refundHash"],
        )
        try:
            receipt: Any = await chain.request("eth_getTransactionReceipt", [tx_hash], shared=False)
            if not isinstance(receipt, Mapping):
                return None
            number = int(receipt["blockNumber"], 16)
            block = await chain.block(number, shared=False)
            return Place(chain_id, number, block.hash) if block.hash == receipt["blockHash"] else None
        except (UpstreamError, LookupError, ValueError, TypeError):
            return None
