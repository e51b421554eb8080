"""RPC upstreams: an in-memory chain, and the configured endpoints of networks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from quoteway import Context, Network, RpcError, RpcUpstream, UpstreamError


class MemoryRpc(RpcUpstream):
    """A chain of one block without contracts: it answers head and chain id only.

    ``answers`` adds results, or functions of the parameters, by method. ``calls`` lists the calls.
    """

    title = "A chain in memory"

    def __init__(
        self,
        networks: Collection[int],
        answers: Mapping[str, Any] | None = None,
        *,
        provider_id: str = "memory-rpc",
    ) -> None:
        self.id = provider_id
        self.networks = frozenset(networks)
        self.answers = dict(answers or {})
        self.calls: list[tuple[str, Sequence[Any]]] = []

    async def forward(self, network: Network, method: str, params: Sequence[Any], *, timeout_s: float) -> Any:
        self.calls.append((method, params))
        if method in self.answers:
            answer = self.answers[method]
            return answer(params) if callable(answer) else answer
        if method == "eth_chainId":
            return hex(network.chain_id)
        if method == "eth_getBlockByNumber":
            return {
                "number": "0x1",
                "hash": "0x" + "11" * 32,
                "timestamp": "0x65000000",
                "baseFeePerGas": "0x1",
            }
        raise RpcError(-32601, "the method does not exist")


class HttpRpc(RpcUpstream):
    """Forwards to the first endpoint of each network."""

    title = "The network's endpoints"

    def __init__(self, context: Context, *, provider_id: str = "http-rpc") -> None:
        self.id = provider_id
        self.networks = frozenset(network.chain_id for network in context.networks if network.endpoints)
        self._context = context

    async def forward(self, network: Network, method: str, params: Sequence[Any], *, timeout_s: float) -> Any:
        import aiohttp

        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        endpoint = network.endpoints[0]
        limit = aiohttp.ClientTimeout(total=timeout_s)
        try:
            async with self._context.http.post(
                endpoint.url, json=body, headers=endpoint.headers, timeout=limit
            ) as response:
                answer = await response.json()
        except (aiohttp.ClientError, TimeoutError, ValueError):
            raise UpstreamError(f"No node of {network.name} answers.", retryable=True) from None
        if "error" in answer:
            error = answer["error"]
            raise RpcError(error.get("code", 0), error.get("message", ""), error.get("data"))
        return answer["result"]
