"""What ``quoteway doctor`` measures of each RPC endpoint. Its URL and headers appear in no text."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import math
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from quoteway.errors import RpcError
from quoteway.networks import Endpoint, Network

_SAMPLES: Final = 5
_SPANS: Final = (10_000, 5_000, 2_000, 1_000, 500, 100, 10)
"""The ranges of blocks of which the widest accepted one is found."""
_MAX_LAG_S: Final = 30.0
_SILENT = "0x0000000000000000000000000000000000000001"  # a precompile: it has no logs
_UNUSABLE = (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError)
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 section 1.3


@dataclass(eq=False, slots=True)
class Node:
    """An endpoint that is asked for measurements, one request at a time."""

    session: aiohttp.ClientSession
    endpoint: Endpoint
    head: int | None = None
    latency_s: float | None = None

    async def ask(self, method: str, params: Sequence[Any] = (), timeout_s: float = 0) -> Any:
        """Returns a result. Raises ``RpcError`` for an error object, and others for what is no answer."""
        answer = await self._post({"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)})
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            raise RpcError(int(answer["error"]["code"]), str(answer["error"].get("message", "")))
        return answer["result"]

    async def measure_head(self) -> None:
        """Sets the newest block and the median latency; leaves them None when it does not answer."""
        took = []
        try:
            for _ in range(_SAMPLES):
                began = time.perf_counter()
                self.head = int(await self.ask("eth_blockNumber"), 16)
                took.append(time.perf_counter() - began)
        except (*_UNUSABLE, RpcError):
            self.head = None
            return
        self.latency_s = statistics.median(took)

    async def newest_block_s(self) -> int | None:
        """Returns the timestamp of the newest block, in seconds since 1970; None without an answer."""
        block = await self._or_none("eth_getBlockByNumber", "latest", False)
        try:
            return int(block["timestamp"], 16)
        except (TypeError, KeyError, ValueError):
            return None

    async def log_span(self) -> int | None:
        """Returns the widest range of blocks that ``eth_getLogs`` accepts; None when it accepts none."""
        head = self.head or 0
        for span in _SPANS:
            asked = {"fromBlock": hex(max(head - span + 1, 0)), "toBlock": hex(head), "address": _SILENT}
            if isinstance(await self._or_none("eth_getLogs", asked), list):
                return span
        return None

    async def abilities(self) -> dict[str, bool]:
        """Returns what it can do, by words for people."""
        return {
            "blockHash parameters": await self._takes_block_hash(),
            "eth_simulateV1": await self._simulates(),
            "batches": await self._takes_batches(),
            "WebSocket": await self._upgrades(),
        }

    async def _takes_block_hash(self) -> bool:
        block = await self._or_none("eth_getBlockByNumber", "latest", False)
        if not isinstance(block, dict):
            return False
        return isinstance(
            await self._or_none("eth_getBalance", _SILENT, {"blockHash": block.get("hash")}), str
        )

    async def _simulates(self) -> bool:
        order = {"blockStateCalls": [{"calls": [{"from": _SILENT, "to": _SILENT}]}]}
        return isinstance(await self._or_none("eth_simulateV1", order, "latest"), list)

    async def _takes_batches(self) -> bool:
        call: Mapping[str, Any] = {"jsonrpc": "2.0", "method": "eth_chainId", "params": []}
        try:
            answer = await self._post([{**call, "id": 1}, {**call, "id": 2}])
        except _UNUSABLE:
            return False
        if not isinstance(answer, list) or len(answer) != 2:
            return False
        return all(isinstance(each, dict) and "result" in each for each in answer)

    async def _upgrades(self) -> bool:
        """Whether it accepts a WebSocket handshake (RFC 6455 section 4) at its URL."""
        key = base64.b64encode(os.urandom(16))
        accept = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest()).decode()
        headers = {
            **self.endpoint.headers,
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key.decode(),
        }
        try:
            # Not ws_connect: it follows redirects, which would take the headers to another host.
            async with self.session.get(
                self.endpoint.url, headers=headers, allow_redirects=False
            ) as response:
                return response.status == 101 and response.headers.get("Sec-WebSocket-Accept") == accept
        except _UNUSABLE:
            return False

    async def _or_none(self, method: str, *params: Any) -> Any:
        try:
            return await self.ask(method, params)
        except (*_UNUSABLE, RpcError):
            return None

    async def _post(self, body: Any) -> Any:
        # A redirect would take the headers, which hold credentials, to another host.
        async with self.session.post(
            self.endpoint.url, json=body, headers=dict(self.endpoint.headers), allow_redirects=False
        ) as response:
            return await response.json(content_type=None)


async def measure_heads(nodes: Sequence[Node]) -> None:
    """Measures the heads of a network's endpoints at the same time, so that they can be compared."""
    await asyncio.gather(*(node.measure_head() for node in nodes))


async def described(node: Node) -> str:
    """Returns what was measured of an endpoint that answers, in one line."""
    span, abilities = await node.log_span(), await node.abilities()
    logs = "no eth_getLogs" if span is None else f"eth_getLogs over {span:,} blocks"
    told = [f"{'' if able else 'no '}{name}" for name, able in abilities.items()]
    latency = "no latency" if node.latency_s is None else f"{1_000 * node.latency_s:.0f} ms"
    tier = [f"tier {node.endpoint.tier}"] if node.endpoint.tier else []
    return ", ".join([f"{latency} (median of {_SAMPLES})", f"head {node.head}", logs, *told, *tier])


def behind(network: Network, node: Node, others: Sequence[Node]) -> int | None:
    """Returns how many blocks an endpoint is behind the newest of a network's, when that is too many."""
    heads = [other.head for other in others if other.head is not None]
    if node.head is None or not heads:
        return None
    lag = max(heads) - node.head
    return lag if lag > max(math.ceil(_MAX_LAG_S / network.block_time_s), 3) else None
