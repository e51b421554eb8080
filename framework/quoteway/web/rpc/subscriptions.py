"""The subscriptions of a WebSocket: ``newHeads`` and ``logs`` of ``eth_subscribe``."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from quoteway.errors import FieldError, InvalidRequest, Reason
from quoteway.evm.block_feed import BlockFeed, FeedBlock
from quoteway.evm.chain import RpcChain
from quoteway.evm.log_feed import LogFeed
from quoteway.evm.log_filter import LogFilter, read_filter

Kind = Literal["newHeads", "logs"]
KINDS: Final[tuple[Kind, ...]] = ("newHeads", "logs")


@dataclass(frozen=True, slots=True)
class ChainFeeds:
    """The feeds of one chain, which all connections share."""

    blocks: BlockFeed
    logs: LogFeed

    @classmethod
    def of(cls, chain: RpcChain) -> ChainFeeds:
        """Makes the feeds of a chain. They read nothing until somebody joins."""
        blocks = BlockFeed(chain)
        return cls(blocks, LogFeed(chain, blocks))


class Subscription(ABC):
    """One subscription. Notifications wait until ``release``: the client must know its id first."""

    kind: Kind

    def __init__(self, push: Callable[[bytes], None], lose: Callable[[], None]) -> None:
        self.id = "0x" + secrets.token_hex(16)
        self._push = push
        self._lose = lose
        self._head = (
            b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"%s","result":'
            % self.id.encode()
        )
        self._held: list[bytes] | None = []

    @abstractmethod
    async def join(self, feeds: ChainFeeds) -> None:
        """Begins. Raises ``UpstreamError`` when no node tells the head."""

    @abstractmethod
    def leave(self, feeds: ChainFeeds) -> None:
        """Ends."""

    def release(self) -> None:
        """Sends what was held, and then each notification at once."""
        held, self._held = self._held, None
        for message in held or ():
            self._push(message)

    def lost(self) -> None:
        """Blocks were missed: the connection is closed, which a client notices and a notification not."""
        self._lose()

    def _notify(self, result: bytes) -> None:
        message = self._head + result + b"}}"
        if self._held is None:
            self._push(message)
        else:
            self._held.append(message)


class HeadSubscription(Subscription):
    """``newHeads``: the header of each block that joins the chain, also after a reorganisation."""

    kind = "newHeads"

    async def join(self, feeds: ChainFeeds) -> None:
        await feeds.blocks.join(self)

    def leave(self, feeds: ChainFeeds) -> None:
        feeds.blocks.leave(self)

    def added(self, block: FeedBlock) -> None:
        self._notify(block.header)

    def removed(self, block: FeedBlock) -> None:
        """Nothing: clients see from the parent of the next header."""


class LogSubscription(Subscription):
    """``logs``: each log that matches, with ``removed`` true when a reorganisation took it back."""

    kind = "logs"

    def __init__(self, push: Callable[[bytes], None], lose: Callable[[], None], wanted: LogFilter) -> None:
        super().__init__(push, lose)
        self.filter = wanted

    async def join(self, feeds: ChainFeeds) -> None:
        await feeds.logs.join(self)

    def leave(self, feeds: ChainFeeds) -> None:
        feeds.logs.leave(self)

    def log(self, entry: bytes) -> None:
        self._notify(entry)


def read_subscription(
    params: Any, push: Callable[[bytes], None], lose: Callable[[], None]
) -> HeadSubscription | LogSubscription:
    """Makes the subscription of the parameters of ``eth_subscribe``. Raises ``InvalidRequest``."""
    given: Sequence[Any] = params if isinstance(params, list) else ()
    if not 1 <= len(given) <= 2:
        raise _refused("params", Reason.OUT_OF_RANGE, "must have 1 or 2 members for eth_subscribe")
    if given[0] not in KINDS:
        raise _refused("params[0]", Reason.INVALID_FORMAT, f"must be {' or '.join(KINDS)}")
    options = given[1] if len(given) > 1 else None
    if given[0] == "logs":
        return LogSubscription(push, lose, read_filter(options))
    if options:
        raise _refused("params[1]", Reason.INVALID_FORMAT, "must be absent for newHeads")
    return HeadSubscription(push, lose)


def read_id(params: Any) -> str:
    """Returns the id of the parameters of ``eth_unsubscribe``. Raises ``InvalidRequest``."""
    if not isinstance(params, list) or len(params) != 1 or not isinstance(params[0], str):
        raise _refused("params", Reason.INVALID_FORMAT, "must be the id of a subscription")
    return params[0]


def _refused(path: str, reason: Reason, message: str) -> InvalidRequest:
    return InvalidRequest(f"{path} {message}.", reason=reason, fields=[FieldError(path, reason, message)])
