"""The two clients: they carry out the same flows, one blocking, one for asyncio. Both need httpx alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx

from quoteway_client.exchange import Failure, Flow, Gateway, Pause, Reply, Request, Retrying
from quoteway_client.following import following
from quoteway_client.operations.bridges import AsyncBridgesOperations, BridgesOperations
from quoteway_client.operations.deployment import AsyncDeploymentOperations, DeploymentOperations
from quoteway_client.operations.pools import AsyncPoolsOperations, PoolsOperations
from quoteway_client.operations.portfolio import AsyncPortfolioOperations, PortfolioOperations
from quoteway_client.operations.prices import AsyncPricesOperations, PricesOperations
from quoteway_client.operations.swaps import AsyncSwapsOperations, SwapsOperations
from quoteway_client.operations.tokens import AsyncTokensOperations, TokensOperations
from quoteway_client.operations.transactions import AsyncTransactionsOperations, TransactionsOperations
from quoteway_client.operations.vaults import AsyncVaultsOperations, VaultsOperations
from quoteway_client.operations.webhooks import AsyncWebhooksOperations, WebhooksOperations
from quoteway_client.sending import Sending, Sent, compared_with, sending
from quoteway_client.streaming import Item, StreamEvent, Streaming, Topics
from quoteway_client.verifying import KEYS_PATH

if TYPE_CHECKING:
    from quoteway_client.acting import AnyAction, AnyQuote
    from quoteway_client.models.portfolio import RevokeBody
    from quoteway_client.models.transactions import Tracked
    from quoteway_client.signing import Signer

T = TypeVar("T")
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_REFUSAL_BYTES = 1024 * 1024


class Quoteway:
    """A blocking client of one gateway. Close it, or use it as a context manager. It may be shared by
    threads.

    ``base_url`` is the gateway's address, ``api_key`` the caller's key where the gateway requires one,
    ``retrying`` says how long requests are tried, and ``http`` is an ``httpx.Client`` with settings of the
    caller's own, such as a proxy or certificates.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        retrying: Retrying | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        self.gateway = Gateway.at(base_url, api_key, retrying or Retrying())
        self._http = http or httpx.Client()
        self.deployment = DeploymentOperations(self)
        self.tokens = TokensOperations(self)
        self.prices = PricesOperations(self)
        self.swaps = SwapsOperations(self)
        self.bridges = BridgesOperations(self)
        self.pools = PoolsOperations(self)
        self.vaults = VaultsOperations(self)
        self.transactions = TransactionsOperations(self)
        self.portfolio = PortfolioOperations(self)
        self.webhooks = WebhooksOperations(self)

    def rpc(self, chain_id: int, method: str, *params: Any) -> Any:
        """Returns the result of a JSON-RPC method that reads a chain. Raises ``RpcError`` for the node's
        error.
        """
        return self.run(self.gateway.rpc(chain_id, method, params))

    def keys(self) -> Any:
        """Returns the gateway's JWK Set for ``verify_action``. Raises ``NotFound`` where it has none."""
        return self.run(self.gateway.json(KEYS_PATH))

    def send(
        self,
        action: AnyAction,
        account: Signer,
        *,
        quote: AnyQuote | None = None,
        revoking: RevokeBody | None = None,
        rpc_url: str | None = None,
        max_fee_per_gas: int | None = None,
        receipt_timeout_s: float = 180.0,
    ) -> Sent:
        """Compares an action with its quote, signs its transactions and sends them, each after the receipt of
        the one before. ``revoking`` takes the place of the quote for an action of ``portfolio.revoke``: the
        body of that request.

        Needs ``quoteway-client[sign]``. ``rpc_url`` is the caller's node; without it the gateway reads the
        chain, and broadcasts where it has a relay. ``max_fee_per_gas`` limits the price of gas, in wei.

        Raises ``ActionMismatch`` before anything is signed, ``NotExecutable`` when it cannot succeed or is
        too late, ``TransactionFailed`` when one reverts, and ``NotConfirmed`` when it is not known whether
        one was mined; ``TypeError`` unless one of ``quote`` and ``revoking`` is given.
        """
        options = Sending(
            rpc_url=rpc_url, max_fee_per_gas=max_fee_per_gas, receipt_timeout_s=receipt_timeout_s
        )
        return self.run(sending(self.gateway, action, account, compared_with(quote, revoking), options))

    def follow(self, transfer: Sent, *, timeout_s: float = 3600.0, poll_s: float = 5.0) -> Tracked:
        """Waits until a transfer to another network is ``filled``, ``refunded`` or needs somebody to act.

        Raises ``NotExecutable`` when ``timeout_s`` is over before.
        """
        return self.run(following(self.gateway, transfer, timeout_s, poll_s))

    def stream(
        self,
        *,
        heads: Iterable[str] = (),
        quotes: Iterable[str] = (),
        transactions: Iterable[Item] = (),
        transfers: Iterable[Item] = (),
        index: Iterable[str] = (),
        last_id: str | None = None,
    ) -> Iterator[StreamEvent]:
        """Yields live answers: new blocks, followed quotes, transactions and transfers, and indexes.

        Topics are those of ``GET /v2/stream``; a transaction or transfer is what ``send`` returned, or
        ``<txId>:<hash>``. It connects again where it ended, and ends after the last event of the last topic;
        ``last_id`` goes on after an earlier event. It blocks between events; close it to end it before.

        Raises ``ValueError`` without a topic, the error of the gateway where it refuses, and
        ``ConnectionFailed`` when nothing came for ``deadline_s`` of ``retrying``.
        """
        topics = Topics(
            heads=heads, quotes=quotes, transactions=transactions, transfers=transfers, index=index
        )
        return self._stream(Streaming(self.gateway, topics, last_id))

    def _stream(self, streaming: Streaming) -> Iterator[StreamEvent]:
        while True:
            try:
                with self._http.stream(**_arguments(streaming.request())) as response:
                    if _is_stream(response):
                        for chunk in response.iter_raw():
                            yield from streaming.feed(chunk)
                    else:
                        content = bytearray()
                        for chunk in response.iter_bytes():
                            content += chunk[: MAX_REFUSAL_BYTES - len(content)]
                        streaming.answered(Reply(response.status_code, _headers(response), bytes(content)))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                streaming.failed(type(error).__name__)
            if streaming.is_over:
                return
            time.sleep(streaming.pause_s())

    def run(self, flow: Flow[T]) -> T:
        """Carries out a flow."""
        answer: Reply | Failure | None = None
        while True:
            try:
                effect = flow.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(effect, Pause):
                time.sleep(effect.seconds)
                answer = None
            else:
                answer = self._answer(effect)

    def _answer(self, request: Request) -> Reply | Failure:
        ends_at = time.monotonic() + request.timeout_s
        content = bytearray()
        try:
            with self._http.stream(**_arguments(request)) as response:
                for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > MAX_ANSWER_BYTES or time.monotonic() > ends_at:
                        return _too_much(content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Failure(type(error).__name__)
        return Reply(response.status_code, _headers(response), bytes(content))

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Quoteway({self.gateway.base_url!r})"


class AsyncQuoteway:
    """A client of one gateway for asyncio. Close it, or use it as an asynchronous context manager.

    ``base_url`` is the gateway's address, ``api_key`` the caller's key where the gateway requires one,
    ``retrying`` says how long requests are tried, and ``http`` is an ``httpx.AsyncClient`` with settings of
    the caller's own, such as a proxy or certificates.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        retrying: Retrying | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self.gateway = Gateway.at(base_url, api_key, retrying or Retrying())
        self._http = http or httpx.AsyncClient()
        self.deployment = AsyncDeploymentOperations(self)
        self.tokens = AsyncTokensOperations(self)
        self.prices = AsyncPricesOperations(self)
        self.swaps = AsyncSwapsOperations(self)
        self.bridges = AsyncBridgesOperations(self)
        self.pools = AsyncPoolsOperations(self)
        self.vaults = AsyncVaultsOperations(self)
        self.transactions = AsyncTransactionsOperations(self)
        self.portfolio = AsyncPortfolioOperations(self)
        self.webhooks = AsyncWebhooksOperations(self)

    async def rpc(self, chain_id: int, method: str, *params: Any) -> Any:
        """Returns the result of a JSON-RPC method that reads a chain. Raises ``RpcError`` for the node's
        error.
        """
        return await self.run(self.gateway.rpc(chain_id, method, params))

    async def keys(self) -> Any:
        """Returns the gateway's JWK Set for ``verify_action``. Raises ``NotFound`` where it has none."""
        return await self.run(self.gateway.json(KEYS_PATH))

    async def send(
        self,
        action: AnyAction,
        account: Signer,
        *,
        quote: AnyQuote | None = None,
        revoking: RevokeBody | None = None,
        rpc_url: str | None = None,
        max_fee_per_gas: int | None = None,
        receipt_timeout_s: float = 180.0,
    ) -> Sent:
        """Does what ``Quoteway.send`` does."""
        options = Sending(
            rpc_url=rpc_url, max_fee_per_gas=max_fee_per_gas, receipt_timeout_s=receipt_timeout_s
        )
        return await self.run(sending(self.gateway, action, account, compared_with(quote, revoking), options))

    async def follow(self, transfer: Sent, *, timeout_s: float = 3600.0, poll_s: float = 5.0) -> Tracked:
        """Does what ``Quoteway.follow`` does."""
        return await self.run(following(self.gateway, transfer, timeout_s, poll_s))

    def stream(
        self,
        *,
        heads: Iterable[str] = (),
        quotes: Iterable[str] = (),
        transactions: Iterable[Item] = (),
        transfers: Iterable[Item] = (),
        index: Iterable[str] = (),
        last_id: str | None = None,
    ) -> AsyncIterator[StreamEvent]:
        """Does what ``Quoteway.stream`` does, with ``async for``."""
        topics = Topics(
            heads=heads, quotes=quotes, transactions=transactions, transfers=transfers, index=index
        )
        return self._stream(Streaming(self.gateway, topics, last_id))

    async def _stream(self, streaming: Streaming) -> AsyncIterator[StreamEvent]:
        while True:
            try:
                async with self._http.stream(**_arguments(streaming.request())) as response:
                    if _is_stream(response):
                        async for chunk in response.aiter_raw():
                            for event in streaming.feed(chunk):
                                yield event
                    else:
                        content = bytearray()
                        async for chunk in response.aiter_bytes():
                            content += chunk[: MAX_REFUSAL_BYTES - len(content)]
                        streaming.answered(Reply(response.status_code, _headers(response), bytes(content)))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                streaming.failed(type(error).__name__)
            if streaming.is_over:
                return
            await asyncio.sleep(streaming.pause_s())

    async def run(self, flow: Flow[T]) -> T:
        """Carries out a flow."""
        answer: Reply | Failure | None = None
        while True:
            try:
                effect = flow.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(effect, Pause):
                await asyncio.sleep(effect.seconds)
                answer = None
            else:
                answer = await self._answer(effect)

    async def _answer(self, request: Request) -> Reply | Failure:
        ends_at = time.monotonic() + request.timeout_s
        content = bytearray()
        try:
            async with self._http.stream(**_arguments(request)) as response:
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > MAX_ANSWER_BYTES or time.monotonic() > ends_at:
                        return _too_much(content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Failure(type(error).__name__)
        return Reply(response.status_code, _headers(response), bytes(content))

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncQuoteway({self.gateway.base_url!r})"


def _arguments(request: Request) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": request.url,
        "headers": request.headers,
        "content": request.content,
        "timeout": request.timeout_s,
        "follow_redirects": False,
    }


def _is_stream(response: httpx.Response) -> bool:
    kind = response.headers.get("content-type", "")
    return response.status_code == 200 and bool(kind.startswith("text/event-stream"))


def _headers(response: httpx.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _too_much(content: bytearray) -> Failure:
    if len(content) > MAX_ANSWER_BYTES:
        return Failure(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
    return Failure("the answer was too slow")
