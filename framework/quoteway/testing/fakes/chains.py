"""RPC upstreams: an in-memory chain, and the configured endpoints of networks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import orjson

from quoteway import Context, Network, RpcError, RpcUpstream, Token, UpstreamError
from quoteway.evm.batch import program
from quoteway.evm.erc20 import metadata_reads
from quoteway.evm.opcodes import push_address


class MemoryRpc(RpcUpstream):
    """A chain without contracts: it answers head and chain id, and the metadata of ``tokens``.

    ``number`` is that of its newest block. ``answers`` adds results, or functions of the parameters, by
    method. ``calls`` lists the calls.
    """

    title = "A chain in memory"

    def __init__(
        self,
        networks: Collection[int],
        answers: Mapping[str, Any] | None = None,
        *,
        tokens: Iterable[Token] = (),
        provider_id: str = "memory-rpc",
    ) -> None:
        self.id = provider_id
        self.networks = frozenset(networks)
        self.number = 1
        self.answers = dict(answers or {})
        self._tokens = {(token.chain_id, token.address): token for token in tokens}
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
                "number": hex(self.number),
                "hash": f"0x{0x11 * self.number:02x}" + "11" * 31,
                "timestamp": hex(0x65000000 + 12 * (self.number - 1)),
                "baseFeePerGas": "0x1",
            }
        if method == "eth_call" and (answer := self._metadata(network, params[0].get("data", "0x"))):
            return answer
        raise RpcError(-32601, "the method does not exist")

    def _metadata(self, network: Network, data: str) -> str | None:
        """Returns the answer to a batch that reads the metadata of tokens; None for another call."""
        code = bytes.fromhex(data[2:])
        places = {
            address: code.find(push_address(address))
            for chain_id, address in self._tokens
            if chain_id == network.chain_id
        }
        asked = sorted((address for address in places if places[address] >= 0), key=places.__getitem__)
        if not asked or code != program([read for each in asked for read in metadata_reads(each)]):
            return None
        answer = b""
        for address in asked:
            token = self._tokens[network.chain_id, address]
            texts = (_abi_string(token.symbol or ""), _abi_string(token.name or ""))
            for output in (token.decimals.to_bytes(32), (10**30).to_bytes(32), *texts):
                answer += (1 << 255 | len(output)).to_bytes(32) + output
        return "0x" + answer.hex()


def _abi_string(text: str) -> bytes:
    raw = text.encode()
    return (32).to_bytes(32) + len(raw).to_bytes(32) + raw.ljust(-(-len(raw) // 32) * 32, b"\0")


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
                answer = await response.json(loads=orjson.loads)  # limits the depth
        except (aiohttp.ClientError, TimeoutError, ValueError):
            raise UpstreamError(f"No node of {network.name} answers.", retryable=True) from None
        if "error" in answer:
            error = answer["error"]
            raise RpcError(error.get("code", 0), error.get("message", ""), error.get("data"))
        return answer["result"]
