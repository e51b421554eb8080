"""Clients of the gateway, for terms and calldata, and of a node, for signed transactions."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

from quoteway_devnet.demo.errors import DemoError, RefusedError

_TIMEOUT_S = 30.0
_LIMITED_S = 120
"""How long one request waits in all for a rate limit to end."""
# A proxy from the environment cannot reach this machine's own ports.
_NO_PROXY = urllib.request.ProxyHandler({})


def _send(url: str, body: object | None, method: str) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers in lower case, and body. Raises OSError when nothing answers, ValueError on a
    bad URL."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310  the URL is the user's own option
        url, data, {"Content-Type": "application/json"}, method=method
    )
    try:
        answer = urllib.request.build_opener(_NO_PROXY).open(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()


class Gateway:
    """The HTTP API at ``url``. ``waiting`` is called with the seconds of a rate limit."""

    def __init__(self, url: str, waiting: Callable[[int], None]) -> None:
        self.url = url.rstrip("/")
        self._waiting = waiting

    def get(self, path: str) -> dict[str, Any]:
        """Return the answer. Raises DemoError."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: object | None = None) -> dict[str, Any]:
        """Return the answer. Raises DemoError."""
        return self._ask("POST", path, body)

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield every row of a catalog. ``path`` has a query. Raises DemoError."""
        cursor = ""
        while True:
            page = self.get(path + cursor)
            yield from page["data"]
            if page["nextCursor"] is None:
                return
            cursor = f"&cursor={page['nextCursor']}"

    def _ask(self, method: str, path: str, body: object | None) -> dict[str, Any]:
        waited_s = 0
        while True:
            try:
                status, headers, text = _send(self.url + path, body, method)
            except (OSError, ValueError) as error:
                raise DemoError(
                    f"No gateway answers at {self.url} ({_reason(error)}); start one with `quoteway serve`, "
                    "or leave out --url and the demo starts its own."
                ) from None
            if status == 429:
                stated = headers.get("retry-after", "")
                seconds = max(1, int(stated)) if stated.isdecimal() else 1
                waited_s += seconds
                if waited_s > _LIMITED_S:
                    raise DemoError(
                        f"The gateway at {self.url} limits requests for more than {_LIMITED_S} s; "
                        "raise `limits.quotes` and `limits.catalog` in its configuration, or try again later."
                    )
                self._waiting(seconds)
                time.sleep(seconds)
                continue
            return self._opened(status, text, f"{method} {path.split('?')[0][:60]}")

    def _opened(self, status: int, text: bytes, what: str) -> dict[str, Any]:
        try:
            answer = json.loads(text)
            if status < 400:
                return dict(answer)
            error = answer["error"]
            code, message, request_id = error["code"], error["message"], error["requestId"]
            reason = error.get("details", {}).get("reason")
        except (ValueError, KeyError, TypeError):
            raise DemoError(
                f"The server at {self.url} is no Quoteway gateway (status {status} to {what}); "
                "give the gateway's address with --url."
            ) from None
        raise RefusedError(
            f"The gateway refused {what} with {code}: {message.rstrip('.')}; look for request "
            f"{request_id} in its log.",
            reason,
        )


class Node:
    """JSON-RPC of one chain at ``url``, which also receives the transactions."""

    def __init__(self, url: str, slug: str, chain_id: int, option: str) -> None:
        self.url = url
        self.slug = slug
        self.chain_id = chain_id
        self._option = option

    def check(self) -> None:
        """Raise DemoError unless this is the devnet's chain: devnet keys must not sign for another."""
        found = int(self.call("eth_chainId"), 16)
        if found != self.chain_id:
            raise DemoError(
                f"The node at {self.url} serves chain {found}, {self.slug} is chain {self.chain_id}; "
                f"give {self.slug}'s node with {self._option}."
            )

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of one request. Raises DemoError."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            _, _, text = _send(self.url, body, "POST")
            answer = json.loads(text)
            if "result" in answer:
                return answer["result"]
            said = answer["error"]["message"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DemoError(
                f"No node of {self.slug} answers at {self.url} ({_reason(error)}); start it with "
                f"`quoteway devnet` or give its address with {self._option}."
            ) from None
        raise DemoError(
            f"The node of {self.slug} refused {method}: {said}; restart the devnet and try again."
        )

    def block_number(self) -> int:
        """Return the newest block's number. Raises DemoError."""
        return int(self.call("eth_blockNumber"), 16)

    def receipt(self, transaction: str, timeout_s: float = 20.0) -> dict[str, Any]:
        """Wait for the receipt. Raises DemoError when it does not come."""
        deadline = time.monotonic() + timeout_s
        while (receipt := self.call("eth_getTransactionReceipt", transaction)) is None:
            if time.monotonic() > deadline:
                raise DemoError(
                    f"{self.slug} did not mine {transaction} within {timeout_s:.0f} s; restart the devnet."
                )
            time.sleep(0.005)
        return dict(receipt)


def _reason(error: Exception) -> str:
    inner = getattr(error, "reason", error)
    return str(getattr(inner, "strerror", None) or inner)
