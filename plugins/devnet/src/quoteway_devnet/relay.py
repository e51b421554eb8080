"""Broadcasts signed transactions to the nodes of the devnet, for wallets that reach the gateway alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from quoteway import Relay, UpstreamError

from quoteway_devnet.rpc import Rpc, RpcError


class DevnetRelay(Relay):
    """Sends a transaction to the node of its chain. ``ports`` has the port of each node by chain id."""

    id = "devnet-relay"
    title = "Nodes of the devnet"

    def __init__(self, ports: Mapping[int, int]) -> None:
        self._ports = ports
        self.networks = frozenset(ports)

    async def submit(self, chain_id: int, signed_payload: bytes) -> str:
        return await asyncio.to_thread(self._send, self._ports[chain_id], f"0x{signed_payload.hex()}")

    def _send(self, port: int, raw: str) -> str:
        try:
            with Rpc(port) as rpc:
                return str(rpc("eth_sendRawTransaction", raw))
        except RpcError as error:
            # Such as "nonce too low". The node is local and has nothing to hide.
            raise UpstreamError(f"The devnet refuses the transaction: {error}.", retryable=False) from None
        except OSError:
            raise UpstreamError("The node of the devnet does not answer.", retryable=False) from None
