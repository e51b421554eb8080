"""What the cache knows of a chain: its finalised block, whether its state can be edited, newer heads."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

from quoteway import GatewayError, Network, RpcError

from quoteway_rpc.asking import Ask, Send
from quoteway_rpc.cache_answers import Head, number_of

REFRESH_S = 15.0
"""The finalised block of a chain is asked for at most this often, and only while calls need it."""
_TIMEOUT_S = 5.0
_BELIEVED_S = 30.0
_DOUBT_S = 1.0
MARGIN_BLOCKS = 64
"""Two epochs of the beacon chain: an answer from before the first finalised block was known is kept from so
far below it. Blocks nearer to it may have been made final between the two answers."""
_DEVELOPMENT_CHAINS = frozenset({1337, 31337, 31338})
_DEVELOPMENT_NODES = ("anvil", "hardhat", "ganache", "edr")


class HeadSource(Protocol):
    """The heads of chains as nodes push them."""

    def newest(self, chain_id: int) -> Head | None:
        """Returns the newest block while a node pushes heads, else None.

        It is the same object until another block becomes the newest, and a new one then, also when the chain
        returns to a block that it had left.
        """

    def finalized(self, chain_id: int) -> int | None:
        """Returns the number of the newest finalised block, None when it is not known."""


class NoHeads:
    """Knows nothing: no answer at the head is kept, and the finalised block is asked for."""

    def newest(self, chain_id: int) -> Head | None:
        return None

    def finalized(self, chain_id: int) -> int | None:
        return None


@dataclass(slots=True, eq=False)
class Facts:
    """What is known of one chain.

    ``generation`` grows when the chain was reset: what was kept by number before is of another chain.
    ``editable`` is True for development nodes, whose state changes without a block (``anvil_setBalance``),
    None as long as that is not known. ``refreshing`` and ``identifying`` ask for the two in the background.
    """

    finalized: int | None = None
    editable: bool | None = None
    generation: int = 0
    refreshing: asyncio.Task[None] | None = None
    identifying: asyncio.Task[None] | None = None
    _anchor: tuple[int, str] | None = None
    _next_at: float = float("-inf")
    _seen: int = -1
    _seen_at: float = field(default=float("-inf"))

    def shown(self, number: int, now: float) -> None:
        """Notes the number of a block that a node has shown."""
        if number >= self._seen or now - self._seen_at > _BELIEVED_S:
            self._seen, self._seen_at = number, now

    def is_newer_than(self, head: Head, now: float) -> bool:
        """Whether a node has shown a block above ``head`` of late: then callers may have seen it as well."""
        return self._seen > head.number and now - self._seen_at <= _BELIEVED_S

    def doubt(self, now: float) -> None:
        """Takes back the finalised block, until it is asked for anew: a head below it was seen."""
        self.finalized = None
        self._next_at = min(self._next_at, now + _DOUBT_S)


class ChainFacts:
    """Asks for the facts in the background. No call waits for them.

    A finalised block that goes back means a node that lags or a local chain that was reset. The block that
    was final before tells them apart: where it is gone, all that was kept by number is forgotten.
    """

    def __init__(self, send: Send, heads: HeadSource, clock: Callable[[], float]) -> None:
        self._send = send
        self._heads = heads
        self._clock = clock
        self._facts: dict[int, Facts] = {}

    def known(self, network: Network) -> Facts:
        """Returns what is known, without asking."""
        facts = self._facts.get(network.chain_id)
        if facts is None:
            editable = True if network.chain_id in _DEVELOPMENT_CHAINS else None
            facts = self._facts[network.chain_id] = Facts(editable=editable)
        return facts

    def needed(self, network: Network) -> Facts:
        """Returns what is known, and has it asked for when it is old."""
        facts = self.known(network)
        now = self._clock()
        if facts.refreshing is None and now >= facts._next_at:
            facts._next_at = now + max(REFRESH_S, network.block_time_s)
            facts.refreshing = _in_background(self._read_finalized(network, facts), network)
            facts.refreshing.add_done_callback(lambda _: setattr(facts, "refreshing", None))
            if facts.editable is None and facts.identifying is None:
                facts.identifying = _in_background(self._identify(network, facts), network)
                facts.identifying.add_done_callback(lambda _: setattr(facts, "identifying", None))
        return facts

    async def close(self) -> None:
        """Ends what is asked in the background."""
        asked = [
            task for each in self._facts.values() for task in (each.refreshing, each.identifying) if task
        ]
        for task in asked:
            task.cancel()
        if asked:
            await asyncio.wait(asked, timeout=1.0)

    async def _identify(self, network: Network, facts: Facts) -> None:
        try:
            version = await self._ask(network, "web3_clientVersion")
        except RpcError:
            version = ""  # a hosted node that does not tell its version is none of a developer
        except GatewayError:
            return
        facts.editable = str(version).lower().startswith(_DEVELOPMENT_NODES)

    async def _read_finalized(self, network: Network, facts: Facts) -> None:
        told = self._heads.finalized(network.chain_id)
        if told is not None:
            facts.generation += facts._anchor is not None and told < facts._anchor[0]
            facts._anchor, facts.finalized = (told, ""), told
            return
        with contextlib.suppress(GatewayError):
            await self._compare(network, facts)

    async def _compare(self, network: Network, facts: Facts) -> None:
        block = await self._ask(network, "eth_getBlockByNumber", "finalized", False)
        number, block_hash = number_of(block), block.get("hash") if isinstance(block, dict) else None
        if number is None or not isinstance(block_hash, str):
            return
        known = facts._anchor
        if known is not None and (number, block_hash) != known and number <= known[0]:
            there = await self._ask(network, "eth_getBlockByNumber", hex(known[0]), False)
            if isinstance(there, dict) and there.get("hash") == known[1]:
                number, block_hash = known
            else:
                facts.generation += 1
        facts._anchor = (number, block_hash)
        facts.finalized = number

    async def _ask(self, network: Network, method: str, *params: Any) -> Any:
        return await self._send(Ask(network, method, list(params), self._clock() + _TIMEOUT_S))


def _in_background(asks: Coroutine[Any, Any, None], network: Network) -> asyncio.Task[None]:
    # In a context of its own: it belongs to no request.
    name = f"facts of {network.slug} for the RPC cache"
    return asyncio.create_task(asks, name=name, context=contextvars.Context())
