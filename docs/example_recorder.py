"""Asks operations of a gateway, and keeps what was sent and answered as examples of the OpenAPI document."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from quoteway_devnet.demo.clients import Node

MOST_ITEMS: Final = 3
WAIT_S: Final = 240.0
CHAINS: Final = {"devnet": 31337, "devnet-l2": 31338}

Json = Any


class Recorder:
    """Asks a gateway, and keeps what was sent and answered, by operation."""

    def __init__(self, url: str, nodes: Mapping[str, str], key: str | None = None) -> None:
        self.kept: dict[str, dict[str, Json]] = {}
        self._url = url
        self.headers = {"Content-Type": "application/json"}
        if key is not None:
            self.headers["Authorization"] = f"Bearer {key}"
        self._nodes = {CHAINS[slug]: Node(nodes[slug], slug, CHAINS[slug], "") for slug in CHAINS}
        document = urllib.request.Request(f"{url}/v2/openapi.json", headers=self.headers)  # noqa: S310
        with urllib.request.urlopen(document) as answer:  # noqa: S310 - of its own gateway
            paths = json.load(answer)["paths"]
        self.operations: dict[str, tuple[str, str]] = {
            operation["operationId"]: (method.upper(), path)
            for path, methods in paths.items()
            for method, operation in methods.items()
        }

    def ask(self, operation: str, **request: Json) -> Json:
        """Returns an answer, which is not kept. Raises ``RuntimeError`` for an error."""
        status, answer = self._send(operation, request)
        if status >= 400:
            raise RuntimeError(f"{operation}: {status} {json.dumps(answer)[:600]}")
        return answer

    def keep(self, operation: str, **request: Json) -> Json:
        """Returns an answer, and keeps it with its request. Raises as ``ask``."""
        status, answer = self._send(operation, request)
        if status >= 400:
            raise RuntimeError(f"{operation}: {status} {json.dumps(answer)[:600]}")
        self._of(operation).update(request=request, status=str(status), answer=cut(answer))
        return answer

    def refuse(self, operation: str, expected: int, **request: Json) -> None:
        """Keeps the error that a wrong request is answered with. Raises ``RuntimeError`` for another."""
        status, answer = self._send(operation, request)
        if status != expected:
            raise RuntimeError(f"{operation}: {status}, not {expected}: {json.dumps(answer)[:600]}")
        self._of(operation)["errors"][str(status)] = cut(answer)

    def until(self, done: Callable[[Json], Any], operation: str, **request: Json) -> Json:
        """Returns an answer that is as wanted: lists, series and prices are read in the background."""
        ends_at = time.monotonic() + WAIT_S
        while True:
            status, answer = self._send(operation, request)
            if status < 400 and done(answer):
                return answer
            if time.monotonic() > ends_at:
                raise RuntimeError(f"{operation} {request} in {WAIT_S:.0f} s: {json.dumps(answer)[:600]}")
            time.sleep(0.5)

    def execute(self, action: Json) -> list[str]:
        """Sends the transactions of an action in their order, and returns their hashes once all are mined."""
        node = self._nodes[action["chainId"]]
        hashes = []
        for step, transaction in zip(action["steps"], action["transactions"], strict=True):
            sent = self._unsigned(action["from"], transaction, step["gasLimit"])
            hashes.append(node.call("eth_sendTransaction", sent))
            if node.receipt(hashes[-1])["status"] != "0x1":
                raise RuntimeError(f"{step['description']}: the transaction reverted")
        return hashes

    def sign(self, action: Json) -> str:
        """Returns the first transaction of an action, signed by the local chain."""
        unsigned = self._unsigned(action["from"], action["transactions"][0], action["steps"][0]["gasLimit"])
        signed = self._nodes[action["chainId"]].call("eth_signTransaction", unsigned)
        return str(signed["raw"] if isinstance(signed, dict) else signed)

    def _unsigned(self, sender: str, transaction: Json, gas: str) -> dict[str, str]:
        node = self._nodes[transaction["chainId"]]
        nonce = node.call("eth_getTransactionCount", sender, "pending")
        sent = {name: transaction[name] for name in ("to", "data", "value")}
        price = node.call("eth_gasPrice")
        return {**sent, "from": sender, "gas": gas, "nonce": nonce, "gasPrice": price}

    def _of(self, operation: str) -> dict[str, Json]:
        return self.kept.setdefault(operation, {"errors": {}})

    def _send(self, operation: str, request: Mapping[str, Json]) -> tuple[int, Json]:
        method, path = self.operations[operation]
        for name, value in request.get("path", {}).items():
            path = path.replace(f"{{{name}}}", urllib.parse.quote(str(value), safe=":"))
        if query := request.get("query"):
            plain = {name: str(value).lower() if value is True else value for name, value in query.items()}
            path += "?" + urllib.parse.urlencode(plain)
        body = json.dumps(request["body"]).encode() if "body" in request else None
        asked = urllib.request.Request(  # noqa: S310 - as above
            self._url + path, body, self.headers, method=method
        )
        try:
            with urllib.request.urlopen(asked) as answer:  # noqa: S310 - as above
                if answer.headers.get_content_type() == "text/event-stream":
                    return answer.status, first_event(answer)
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


def cut(answer: Json) -> Json:
    """Returns an answer with the first items of its long lists. Data to sign stays whole: without one member
    its signature is for something else."""
    if isinstance(answer, list):
        return [cut(each) for each in answer[:MOST_ITEMS]]
    if not isinstance(answer, dict):
        return answer
    return {name: each if name == "typedData" else cut(each) for name, each in answer.items()}


def first_event(answer: Iterable[bytes]) -> Json:
    """Returns the data of the first event of a stream."""
    return next(json.loads(line.removeprefix(b"data: ")) for line in answer if line.startswith(b"data: "))
