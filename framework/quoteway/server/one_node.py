"""A chain as one node answers it, for commands that run without the plugin of RPC upstreams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from quoteway.errors import ConfigError, Reason, RpcError, UpstreamError
from quoteway.evm.chain import RpcChain
from quoteway.networks import Endpoint, Network

ANSWER_S = 30.0


@asynccontextmanager
async def open_chain(network: Network, rpc_url: str | None) -> AsyncIterator[RpcChain]:
    """Opens the network at ``rpc_url``, or at its first configured endpoint.

    Raises ``ConfigError`` when there is none, and ``GatewayError`` when the node is unusable or one of
    another chain.
    """
    endpoints = network.endpoints if rpc_url is None else (Endpoint(rpc_url),)
    if not endpoints:
        raise ConfigError(f"{network.slug} has no RPC endpoint: give --rpc URL, an archive node of it")
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_S)) as session:
        chain = RpcChain(network, _Node(session, endpoints[0], network).ask, timeout_s=ANSWER_S)
        try:
            await chain.request("eth_chainId")
            yield chain
        finally:
            await chain.close()


@dataclass(frozen=True, slots=True)
class _Node:
    """The node that is asked. Its URL may hold a credential: no message has it."""

    session: aiohttp.ClientSession
    endpoint: Endpoint
    network: Network

    async def ask(self, method: str, params: Sequence[Any], timeout_s: float) -> Any:
        """Returns the result of a request. Raises ``UpstreamError`` and ``RpcError``."""
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        try:
            # A redirect would take the headers, which may hold credentials, to another host.
            async with self.session.post(
                self.endpoint.url, json=call, headers=dict(self.endpoint.headers), allow_redirects=False
            ) as response:
                answer = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            text = f"The node of {self.network.slug} gives no usable answer ({type(error).__name__})."
            raise UpstreamError(text, reason=Reason.RPC_ERROR) from None
        refusal = answer.get("error") if isinstance(answer, dict) else None
        if isinstance(refusal, dict) and type(refusal.get("code")) is int:
            raise RpcError(refusal["code"], str(refusal.get("message", "")), refusal.get("data"))
        if not isinstance(answer, dict) or "result" not in answer:
            text = f"The node of {self.network.slug} answers something that is no JSON-RPC."
            raise UpstreamError(text, reason=Reason.RPC_ERROR)
        return answer["result"]
