"""Answers JSON-RPC calls of clients: one, or a batch in its order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import orjson
from aiohttp import web

from quoteway.caching import compact
from quoteway.engine.gateway import Gateway
from quoteway.errors import GatewayError, InvalidRequest, RateLimited, Reason, RpcError, disabled
from quoteway.evm.chain import RpcChain
from quoteway.evm.methods import FILTER_METHODS, answered_locally, check
from quoteway.models import Capability, RawJson
from quoteway.telemetry.logs import Redactor
from quoteway.web.rpc.answers import (
    INTERNAL,
    INVALID_REQUEST,
    TOO_LARGE,
    RpcResponse,
    client_version,
    error_of,
    node_error_of,
    refusal_of,
    result_of,
)
from quoteway.web.rpc.cursors import open_cursors
from quoteway.web.rpc.filter_ids import FilterIds
from quoteway.web.rpc.filters import Filters
from quoteway.web.rpc.parsing import NoCall, RpcCall

CONCURRENT: Final = 16
"""Calls of one batch that are answered at once."""
MAX_BATCH_BYTES: Final = 25 << 20
"""Of all answers of one batch, as in geth."""
MAX_CHECKED: Final = 1_024
MAX_CHECKED_BYTES: Final = 2_048
"""The calls that are remembered as checked, and the longest parameters of them."""
SHARE_OF_TIMEOUT: Final = 0.9
"""The deadline of a batch, as a share of ``[server] request_timeout_s``."""


class RpcCalls:
    """Answers the calls of clients on every chain."""

    def __init__(self, gateway: Gateway) -> None:
        config = gateway.config
        self._gateway = gateway
        self._redact = Redactor(config)
        self._filters = Filters(
            FilterIds(gateway.keys, config.quotes.issuer, gateway.runtime.clock),
            open_cursors(config),
            gateway.runtime.clock,
        )
        self._checked: dict[tuple[str, bytes], bytes] = {}
        """The parameters to forward of calls that were kept, by method and parameters: a check takes longer
        than the rest of such a call, and its result never changes.
        """
        self._batch_timeout_s = config.server.request_timeout_s * SHARE_OF_TIMEOUT

    async def close(self) -> None:
        await self._filters.close()

    def chain(self, chain_id: int) -> RpcChain:
        """The chain to ask. Raises ``ProviderUnavailable`` when no upstream serves it."""
        chain = self._gateway.runtime.chains.get(chain_id)
        if chain is None or not self._gateway.registry.enabled(Capability.RPC, chain_id):
            raise disabled(f"No RPC upstream is enabled for chain {chain_id}.")
        return chain

    async def answer(
        self, chain: RpcChain, call: RpcCall, request_id: str, *, raw: bool = False
    ) -> RpcResponse:
        """The response object of a call. With ``raw`` its result may be a ``RawJson``.

        A method or parameters that are refused, and a node's own error, are responses. Raises the other
        ``GatewayError``: no node answered.
        """
        found = self.answer_here(chain, call, request_id)
        return found if isinstance(found, dict) else await self.ask(chain, call, found, request_id, raw=raw)

    def answer_here(self, chain: RpcChain, call: RpcCall, request_id: str) -> RpcResponse | list[Any]:
        """The response object of a call that is refused or answered without a node. Of all others the
        parameters to forward.
        """
        network, method = chain.network, call.method
        is_filter = method in FILTER_METHODS
        try:
            checked = check(network, method, call.params, FILTER_METHODS if is_filter else None)
        except InvalidRequest as error:
            return refusal_of(call.id, method, error, request_id)
        local = None if is_filter else answered_locally(network, method, checked)
        return checked if local is None else result_of(call.id, local)

    def kept_again(self, chain: RpcChain, call: RpcCall) -> RawJson | None:
        """The result of ``kept`` for a call that was checked before, with the same parameters."""
        checked = self._checked.get((call.method, orjson.dumps(call.params))) if self._checked else None
        return None if checked is None else self._kept(chain, call.method, checked)

    def kept(self, chain: RpcChain, call: RpcCall, checked: Sequence[Any]) -> RawJson | None:
        """The result of a checked call that an upstream holds and may give now; None otherwise."""
        if call.method in FILTER_METHODS or call.method == "web3_clientVersion":
            return None
        text = orjson.dumps(checked)
        found = self._kept(chain, call.method, text)
        if found is not None and len(text) <= MAX_CHECKED_BYTES:
            if len(self._checked) >= MAX_CHECKED:
                self._checked.clear()
            self._checked[call.method, compact(orjson.dumps(call.params))] = compact(text)
        return found

    def _kept(self, chain: RpcChain, method: str, checked: bytes) -> RawJson | None:
        text = self._gateway.forwarding.kept(chain.network, method, checked) if chain.verified else None
        return None if text is None else RawJson(text)

    async def ask(
        self, chain: RpcChain, call: RpcCall, checked: Sequence[Any], request_id: str, *, raw: bool = False
    ) -> RpcResponse:
        """The response object of a call that ``answer_here`` leaves to the nodes; as ``answer``."""
        try:
            return result_of(call.id, await self._result(chain, call.method, checked, raw))
        except InvalidRequest as error:
            return refusal_of(call.id, call.method, error, request_id)
        except RpcError as error:
            return node_error_of(call.id, error, self._redact)

    async def _result(self, chain: RpcChain, method: str, checked: Sequence[Any], raw: bool) -> Any:
        if method in FILTER_METHODS:
            ask = partial(chain.request, public=True)
            return await self._filters.answer(ask, chain.network.chain_id, method, checked)
        if method == "web3_clientVersion":
            return client_version(await chain.request(method, checked, public=True), self._redact)
        return await chain.request(method, checked, public=True, raw=raw)

    async def answer_batch(
        self,
        chain: RpcChain,
        calls: Sequence[RpcCall | NoCall],
        request_id: str,
        granted: int,
        over: RateLimited | None,
    ) -> bytes:
        """The JSON array of the responses in the order of the calls; empty when all are notifications.

        Only the first ``granted`` calls are within the caller's rate limit, ``over`` is the error of the
        others. A call that fails has an error
        object of its own: the others are answered. Notifications are neither asked nor answered, since
        reading has no effect.
        """
        refuse = partial(error_of, request_id=request_id)
        written: list[bytes | None] = [None] * len(calls)
        waiting: list[tuple[int, RpcCall]] = []
        for index, call in enumerate(calls):
            if isinstance(call, NoCall):
                reason = Reason.INVALID_FORMAT.value
                written[index] = orjson.dumps(refuse(None, INVALID_REQUEST, call.message, reason))
            elif call.is_notification:
                written[index] = b""
            elif over is not None and index >= granted:
                written[index] = orjson.dumps(refusal_of(call.id, call.method, over, request_id))
            else:
                waiting.append((index, call))
        queue, size = iter(waiting), 0

        async def work() -> None:
            nonlocal size
            for index, call in queue:
                if size <= MAX_BATCH_BYTES:
                    answer = orjson.dumps(await self._answer_of_batch(chain, call, request_id))
                    size += len(answer)
                if size > MAX_BATCH_BYTES:
                    reason = Reason.OUT_OF_RANGE.value
                    answer = orjson.dumps(refuse(call.id, TOO_LARGE, "response too large", reason))
                written[index] = answer

        try:
            async with asyncio.timeout(self._batch_timeout_s), asyncio.TaskGroup() as group:
                for _ in range(min(CONCURRENT, len(waiting))):
                    group.create_task(work())
        except TimeoutError:
            for index, call in waiting:
                if written[index] is None:
                    reason = Reason.PROVIDER_TIMEOUT.value
                    written[index] = orjson.dumps(
                        refuse(call.id, INTERNAL, "The batch took too long: send fewer calls.", reason)
                    )
        return b"[" + b",".join(each for each in written if each) + b"]" if any(written) else b""

    async def _answer_of_batch(self, chain: RpcChain, call: RpcCall, request_id: str) -> RpcResponse:
        try:
            return await self.answer(chain, call, request_id)
        except GatewayError as error:
            return refusal_of(call.id, call.method, error, request_id)


RPC: web.AppKey[RpcCalls] = web.AppKey("rpc", RpcCalls)
