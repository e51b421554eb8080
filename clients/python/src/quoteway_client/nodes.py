"""The node that transactions go to: the caller's own, or the gateway for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quoteway_client.errors import RpcError, UnexpectedAnswer
from quoteway_client.exchange import Flow, Gateway, node_rpc
from quoteway_client.operations.transactions import submit_transaction


@dataclass(frozen=True, slots=True)
class Node:
    """Reads a chain and broadcasts. Without ``url`` the gateway's ``/v2/rpc`` reads, and its relay
    broadcasts.
    """

    gateway: Gateway
    chain_id: int
    url: str | None = None

    def ask(self, method: str, *params: Any) -> Flow[Any]:
        """Calls a method of JSON-RPC that may be called again."""
        if self.url is None:
            return (yield from self.gateway.rpc(self.chain_id, method, params))
        return (yield from node_rpc(self.url, self.gateway.retrying, method, params))

    def quantity(self, method: str, *params: Any) -> Flow[int]:
        """Calls a method whose result is a quantity."""
        return quantity((yield from self.ask(method, *params)))

    def block(self, tag: str) -> Flow[Mapping[str, Any]]:
        """Reads a block without its transactions."""
        found = yield from self.ask("eth_getBlockByNumber", tag, False)
        if not isinstance(found, dict):
            raise UnexpectedAnswer(f"the node has no block {tag!r}", 200)
        return found

    def broadcast(self, raw: str, hash_: str, tx_id: str) -> Flow[None]:
        """Sends signed bytes, which take effect once however often they are sent.

        Raises ``RpcError`` when the node refuses them and does not know them.
        """
        if self.url is None:
            yield from self.gateway.call(submit_transaction(tx_id, signed_payload=raw))
            return
        try:
            yield from self.ask("eth_sendRawTransaction", raw)
        except RpcError:
            # A first attempt whose answer was lost has sent them.
            if (yield from self.ask("eth_getTransactionByHash", hash_)) is None:
                raise


def quantity(value: Any) -> int:
    """Returns the integer of a JSON-RPC quantity. Raises ``UnexpectedAnswer``."""
    try:
        return int(value, 16)
    except (TypeError, ValueError):
        raise UnexpectedAnswer(
            f"a node answered {str(value)[:80]!r} where a quantity was expected", 200
        ) from None
