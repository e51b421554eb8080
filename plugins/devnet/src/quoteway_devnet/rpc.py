"""JSON-RPC to a local anvil over one kept-alive connection, blocking, with batches.

The builder sends hundreds of requests to a process on the same machine and needs neither the core's
asynchronous client nor its failover.
"""

import http.client
import json
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

Call = tuple[str, list[Any]]
"""Method and parameters."""

_MINED_S = 10.0
"""After so long without a receipt a block is asked for."""


class RpcError(RuntimeError):
    """The node answered a request with a JSON-RPC error object."""

    def __init__(self, method: str, error: dict[str, Any]) -> None:
        super().__init__(f"{method}: {error.get('message')} (code {error.get('code')})")
        self.data = error.get("data")
        """Revert data as 0x hex when the error is a reverted call."""


class Rpc:
    """A client of one endpoint; not to be shared between threads."""

    def __init__(self, port: int, timeout_s: float = 60.0) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __call__(self, method: str, *params: Any) -> Any:
        """Return the result of one request. Raises RpcError, and OSError when nothing answers."""
        return self.batch([(method, list(params))])[0]

    def send(self, transaction: Mapping[str, Any]) -> dict[str, Any]:
        """Send from an unlocked account and return the receipt, whatever its status."""
        identity = self("eth_sendTransaction", transaction)
        mine_at = time.monotonic() + _MINED_S
        # anvil answers before it has mined.
        while (receipt := self("eth_getTransactionReceipt", identity)) is None:
            time.sleep(0.001)
            if time.monotonic() > mine_at:
                # On a busy machine it has been seen to leave a transaction in its pool.
                self("evm_mine")
                mine_at = time.monotonic() + _MINED_S
        return dict(receipt)

    def batch(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of many requests in their order. Raises RpcError for the first that failed."""
        if not calls:
            return []
        body = [
            {"jsonrpc": "2.0", "id": index, "method": method, "params": params}
            for index, (method, params) in enumerate(calls)
        ]
        answers = {answer["id"]: answer for answer in self._post(body)}
        results = []
        for index, (method, _) in enumerate(calls):
            answer = answers[index]
            if "error" in answer:
                raise RpcError(method, answer["error"])
            results.append(answer["result"])
        return results

    def _post(self, body: object) -> list[dict[str, Any]]:
        try:
            self._connection.request("POST", "/", json.dumps(body), {"Content-Type": "application/json"})
            text = self._connection.getresponse().read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise ConnectionError(f"no answer from 127.0.0.1:{self._connection.port}: {error}") from error
        answers: list[dict[str, Any]] = json.loads(text)
        return answers
