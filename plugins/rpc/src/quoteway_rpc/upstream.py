"""One JSON-RPC endpoint: builds the request, checks every member of the answer."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeAlias

import orjson
from quoteway import ConfigError, Endpoint, RpcError

from quoteway_rpc.answers import result_of
from quoteway_rpc.connection import HttpError
from quoteway_rpc.connections import Connections
from quoteway_rpc.endpoint_parts import request_parts, websocket_parts
from quoteway_rpc.error_rows import Outcome
from quoteway_rpc.log_refusals import size_refusal
from quoteway_rpc.outcomes import Unusable as Unusable
from quoteway_rpc.receiving import Budget
from quoteway_rpc.shared_chain_ids import OWN_S, SharedChainIds

VERIFIED_S = 30.0
"""How long an upstream is believed to be of its network before its chain id is asked again."""
_RECONNECTED_S = 1.0
"""The least time between two comparisons of the chain id that new connections cause."""
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,16}", re.ASCII)

Inspect: TypeAlias = Callable[["Upstream", str, Sequence[Any], Any], Awaitable[None]]
"""Looks at a result before it is returned; raises ``Unusable`` when the call has to go on elsewhere."""


class Upstream:
    """An endpoint of one network. Its URLs and headers are secrets: no text made here contains them.

    ``ws`` has its WebSocket URL and headers, None when it has none. ``identity`` is that of equal endpoints.
    ``shared`` has the comparisons of its chain id by other replicas.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        chain_id: int,
        index: int,
        max_response_bytes: int,
        budget: Budget | None = None,
        trace: Callable[[], str | None] = lambda: None,
        shared: SharedChainIds | None = None,
    ) -> None:
        self.label = endpoint.name or f"upstream {index + 1}"
        self.tier = endpoint.tier
        self.cordoned = endpoint.cordoned
        self._chain_id = chain_id
        told = orjson.dumps([chain_id, endpoint.url, sorted(endpoint.headers.items())])
        self.identity = hashlib.blake2b(told, digest_size=16).digest()
        self._connections = _connections(endpoint, max_response_bytes, budget)
        self.ws = websocket_parts(endpoint)
        self.inspect: Inspect | None = None
        self._trace = trace
        self._ids: Iterator[int] = itertools.count(1)
        self._shared = shared
        self._verified_at: float | None = None
        self._compared_at = -math.inf
        self._verifying = asyncio.Lock()  # of the first requests one asks for the chain id, the others wait

    def __repr__(self) -> str:
        return f"<Upstream {self.label!r} of chain {self._chain_id}>"

    def doubt(self) -> None:
        """Has the chain id checked again before its next answer is used."""
        self._verified_at = None

    async def probe(self, *, timeout_s: float) -> int:
        """Returns the number of its newest block, after its chain id was checked.

        Raises as ``ask`` does, and ``Unusable`` when the answer is no block number.
        """
        self.doubt()
        answer = await self.ask("eth_blockNumber", [], timeout_s=timeout_s, compares=True)
        if not isinstance(answer, str) or _QUANTITY.fullmatch(answer) is None:
            raise Unusable("not_a_block")
        return int(answer, 16)

    def close(self) -> None:
        """Closes the connections that are not in use."""
        self._connections.close()

    async def ask(
        self,
        method: str,
        params: Sequence[Any],
        *,
        timeout_s: float,
        raw: bool = False,
        compares: bool = False,
    ) -> Any:
        """Returns the result. Raises ``RpcError`` for the node's own error, ``Unusable`` for any other
        failure.

        With ``raw`` a long result is a ``RawJson``. With ``compares`` the chain id is compared in any case,
        and another comparison, which may hang, is not waited for.
        """
        try:
            async with asyncio.timeout(timeout_s):
                now = asyncio.get_running_loop().time()
                if compares:
                    await self._verify()
                elif self._verified_at is None:
                    async with self._verifying:
                        if self._verified_at is None:
                            await self._verify()
                elif now - self._verified_at >= VERIFIED_S:
                    self._verified_at = now  # of the requests at this time, one asks
                    await self._verify_again(now)
                result = await self._exchange(method, params, raw)
                if self.inspect is not None:
                    await self.inspect(self, method, params, result)
                return result
        except TimeoutError:
            raise Unusable("timeout") from None
        except Unusable as failure:
            raise _with_size_refusal(failure, method) from None
        except HttpError as fault:
            too_large = fault.kind == "too_large" and method != "eth_getLogs"
            found = Unusable(fault.kind, outcome=Outcome.NODE_FAULT if too_large else None)
            raise _with_size_refusal(found, method) from None
        except (OSError, ValueError) as error:
            # The exception's text may hold the address: only its type is kept.
            raise Unusable(type(error).__name__) from None

    def is_chain_id(self, answered: object) -> bool:
        """Returns whether an answer to ``eth_chainId`` is that of the network."""
        return isinstance(answered, str) and answered.lower() == hex(self._chain_id)

    def reconnected(self) -> None:
        """Has the chain id compared before the next answer: another node may be behind the address now."""
        now = asyncio.get_running_loop().time()
        if self._verified_at is not None and now - self._verified_at >= _RECONNECTED_S:
            self._verified_at = None

    async def read(self, method: str, params: Sequence[Any]) -> Any:
        """Returns the result of a read that a check of this upstream's own answer needs."""
        return await self._exchange(method, params)

    async def _verify_again(self, now: float) -> None:
        """Compares the chain id, or takes the word of another replica that has compared it meanwhile."""
        shared = self._shared
        if shared is None or now - self._compared_at >= OWN_S:
            await self._verify()
            return
        age_s = await shared.age_s(self.identity, VERIFIED_S)
        if age_s is None:
            await self._verify()
        elif self._verified_at is not None:  # no failure came meanwhile
            self._verified_at = asyncio.get_running_loop().time() - age_s

    async def _verify(self) -> None:
        """Compares the chain id: a node of another chain would answer everything wrongly."""
        asked_at_ms = 0 if self._shared is None else self._shared.now_ms
        is_right = False
        try:
            answered = await self._exchange("eth_chainId", [])
            is_right = self.is_chain_id(answered)
        except RpcError as error:
            raise Unusable("no_chain_id", error) from None
        finally:
            if self._shared is not None:
                if is_right:
                    self._shared.put(self.identity, asked_at_ms, VERIFIED_S)
                else:
                    self._shared.release(self.identity)
        if not is_right:
            raise Unusable("wrong_chain_id")
        self._verified_at = self._compared_at = asyncio.get_running_loop().time()

    async def _exchange(self, method: str, params: Sequence[Any], raw: bool = False) -> Any:
        request_id = next(self._ids)
        body = _dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        answer = await self._connections.post(body, self._trace())
        return await result_of(answer, request_id, method, raw=raw)


def _with_size_refusal(failure: Unusable, method: str) -> Unusable:
    """Returns the failure as what it says of a range of logs that is too large: ``log_ranges`` splits it."""
    error = size_refusal(method, failure.kind, failure.error)
    return failure if error is None else Unusable("too_large", error, outcome=Outcome.TOO_LARGE)


def _connections(endpoint: Endpoint, max_bytes: int, budget: Budget | None) -> Connections:
    url, headers = request_parts(endpoint)
    try:
        return Connections(url, headers, max_bytes=max_bytes, budget=budget)
    except ValueError as error:
        raise ConfigError(
            f"endpoint {endpoint.name or '(unnamed)'!r}: {error}: correct its headers"
        ) from None


def _dumps(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError as error:  # an integer beyond 64 bits, which no parameter is
        raise ValueError("the parameters cannot be written as JSON") from error
