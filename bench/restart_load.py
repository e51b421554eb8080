"""The client of ``bench restarts``: requests at a fixed rate over kept connections, each answer checked.

``python -m bench.restart_load ORDERS`` with the members of ``Orders`` as JSON, until its standard input ends.
It writes a line of JSON for each request that was lost or wrong, with its time, and at the end what it
counted. No request is ever sent twice: what a real client would try again shows here as lost.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import uvloop

ANSWER_S: Final = 90.0
REFERENCE_S: Final = 120.0
DIRECT_PER_S: Final = 10
"""Requests a second of each direct client of a replica."""
SHARES: Final = {
    "health": 80,
    "rpc": 20,
    "networks": 48,
    "tokens": 20,
    "vaults": 20,
    "providers": 2,
    "portfolio": 2,
    "quote": 4,
    "action": 4,
}
"""Of 200 requests."""
YOUNG_S: Final = 60.0
"""A quote's action is asked for while it is younger."""
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CLOSES: Final = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Orders:
    """What to do. Ports are those of nginx and of the replicas, ``bodies`` quotes to ask for, ``rpc`` a call
    and its result that never changes."""

    port: int
    replicas: Sequence[int]
    rate: float
    chain: str
    chain_id: int
    wallet: str
    bodies: Sequence[Mapping[str, str]]
    rpc: Sequence[Any]


class Connection:
    """One HTTP/1.1 connection, one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.kept = True

    @classmethod
    async def open(cls, port: int) -> Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 20))

    @property
    def usable(self) -> bool:
        """Whether nothing says yet that the server has closed it."""
        return self.kept and not self._reader.at_eof() and not self._writer.is_closing()

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Returns status and body. Raises ``OSError`` or ``EOFError`` when the connection breaks."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        body = await self._reader.readexactly(int(length[1])) if length else b""
        self.kept = _CLOSES.search(head) is None
        return int(head[9:12]), body

    def close(self) -> None:
        self._writer.transport.abort()


def request(method: str, path: str, body: Any = None) -> bytes:
    """Returns the bytes of a request."""
    data = b"" if body is None else orjson.dumps(body)
    head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\n"
    if method == "POST":
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
    return head.encode() + b"\r\n" + data


def how(error: BaseException) -> str:
    """Returns how a request was lost."""
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return "cut"


def listed(body: bytes) -> list[Any]:
    """Returns what must not change of a list: which rows it has, and of providers those that have loaded."""
    rows = orjson.loads(body)["data"]
    rows = [row for row in rows if row.get("capabilities") != []]
    return sorted([str(row["id"]), row.get("enabled"), row.get("contracts")] for row in rows)


def held(body: bytes) -> list[Any]:
    """Returns what must not change of a wallet that does nothing: its balances."""
    rows = orjson.loads(body)["data"]
    return sorted([row["token"]["address"], row["amount"]] for row in rows)


def differs(body: bytes) -> str:
    """Returns what an answer with other rows says of itself."""
    told = orjson.loads(body)
    rows = [row.get("id") or row.get("token", {}).get("symbol") for row in told.pop("data")]
    return f"other rows: {rows} {told}"


@dataclass(slots=True)
class Load:
    """The requests through nginx, and the same lists asked directly of each replica."""

    orders: Orders
    sent: Counter[str] = field(default_factory=Counter)
    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    direct: Counter[str] = field(default_factory=Counter)
    _idle: list[Connection] = field(default_factory=list)
    _lists: dict[str, tuple[bytes, Callable[[bytes], Any], Any]] = field(default_factory=dict)
    _quotes: deque[tuple[float, str, int]] = field(default_factory=lambda: deque(maxlen=50))
    _amounts: dict[tuple[int, str], tuple[str, str]] = field(default_factory=dict)
    _actions: dict[tuple[str, str], Any] = field(default_factory=dict)
    _newest: int = 0
    _number: itertools.count[int] = field(default_factory=itertools.count)

    async def prepare(self) -> None:
        """Learns the lists, which both replicas must give alike. Raises ``RuntimeError`` when they do not."""
        chain, wallet = self.orders.chain, self.orders.wallet
        found = {
            "networks": ("/v2/networks", listed),
            "tokens": (f"/v2/tokens?network={chain}", listed),
            "vaults": (f"/v2/vaults?network={chain}", listed),
            "providers": ("/v2/providers", listed),
            "portfolio": (f"/v2/portfolio/balances?network={chain}&wallet={wallet}", held),
        }
        ends_at = time.monotonic() + REFERENCE_S
        for name, (path, read) in found.items():
            while True:
                answers = [await self._alone(port, request("GET", path)) for port in self.orders.replicas]
                rows = [read(body) if status == 200 else body.decode() for status, body in answers]
                if rows[0] == rows[1] and rows[0] and not isinstance(rows[0], str):
                    break
                if time.monotonic() > ends_at:
                    raise RuntimeError(f"{path}: the replicas answer {rows[0]} and {rows[1]}")
                await asyncio.sleep(0.2)
            self._lists[name] = request("GET", path), read, rows[0]

    async def _alone(self, port: int, asked: bytes) -> tuple[int, bytes]:
        connection = await Connection.open(port)
        try:
            return await connection.ask(asked)
        finally:
            connection.close()

    async def run(self, over: asyncio.Event) -> None:
        """Sends at the fixed rate until ``over``, however long answers take."""
        names = [name for name, share in SHARES.items() for _ in range(share)]
        order = [
            names[index * 77 % len(names)] for index in range(len(names))
        ]  # 77 and 200: no common factor
        loop = asyncio.get_running_loop()
        began, tasks = loop.time(), set[asyncio.Task[None]]()
        for number, name in enumerate(itertools.cycle(order)):
            await asyncio.sleep(began + number / self.orders.rate - loop.time())
            if over.is_set():
                break
            task = asyncio.create_task(self._one(name))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    async def _one(self, name: str) -> None:
        asked, check = self._made(name)
        self.sent[name] += 1
        began = time.monotonic()
        connection = None
        try:
            async with asyncio.timeout(ANSWER_S):
                connection = self._from_pool() or await Connection.open(self.orders.port)
                status, body = await connection.ask(asked)
        except (OSError, EOFError, TimeoutError) as error:
            if connection is not None:
                connection.close()
            say(lost=name, how=how(error), at=began)
            return
        self.took[name].append(time.monotonic() - began)
        if connection.usable:
            self._idle.append(connection)
        else:
            connection.close()
        if status >= 500:
            say(lost=name, how=f"status {status}", at=began, text=body[:900].decode(errors="replace"))
            return
        try:
            right = status in (200, 201)
            wrong = check(body) if right else f"status {status}: {body[:300].decode()}"
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong is not None:
            say(wrong=name, how=wrong, at=began)

    def _from_pool(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
            connection.close()
        return None

    def _made(self, name: str) -> tuple[bytes, Callable[[bytes], str | None]]:
        """Returns a request and what says why its answer is wrong."""
        if name == "quote":
            return self._quote(next(self._number) % len(self.orders.bodies))
        if name == "action":
            # Each quote is taken twice, so that most often both replicas build from it.
            now = time.monotonic()
            young = [each for each in self._quotes if now - each[0] < YOUNG_S]
            if young:
                return self._action(*young[-1 - next(self._number) % min(2, len(young))][1:])
        if name == "rpc":
            return self._call(next(self._number))
        if name in self._lists:
            asked, read, rows = self._lists[name]
            return asked, lambda body: None if read(body) == rows else differs(body)
        ok = b'{"status":"ok"}'
        return request("GET", "/healthz"), lambda body: None if body == ok else f"{body!r}"

    def _call(self, number: int) -> tuple[bytes, Callable[[bytes], str | None]]:
        method, params, result = self.orders.rpc
        call = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        right = {"jsonrpc": "2.0", "id": number, "result": result}
        return (
            request("POST", f"/v2/rpc/{self.orders.chain_id}", call),
            lambda body: None if orjson.loads(body) == right else f"{body!r}",
        )

    def _quote(self, index: int) -> tuple[bytes, Callable[[bytes], str | None]]:
        body, seen = self.orders.bodies[index], self._newest

        def check(answer: bytes) -> str | None:
            quote = orjson.loads(answer)
            (sold,), (bought,) = quote["inputs"], quote["outputs"]
            block, amounts = quote["block"], (bought["amount"], bought["amountMin"])
            self._newest = max(self._newest, block["number"])
            self._quotes.append((time.monotonic(), quote["quoteId"], index))
            if sold["amount"] != body["amount"] or not 0 < int(amounts[1]) <= int(amounts[0]):
                return f"{sold['amount']} sold for {amounts}"
            if block["number"] < seen:
                return f"block {block['number']}, and {seen} was seen before"
            first = self._amounts.setdefault((index, block["hash"]), amounts)
            return None if first == amounts else f"{first} and {amounts} at one block"

        return request("POST", "/v2/swaps/quote", body), check

    def _action(self, quote_id: str, index: int) -> tuple[bytes, Callable[[bytes], str | None]]:
        def check(answer: bytes) -> str | None:
            action = orjson.loads(answer)
            transactions = action["transactions"]
            if action["quoteId"] != quote_id or not transactions:
                return f"transactions {transactions} of {action['quoteId']}"
            if any(each["chainId"] != self.orders.chain_id for each in transactions):
                return f"transactions of other chains: {transactions}"
            if action["simulation"]["status"] != "success":
                return f"simulation: {action['simulation']}"
            key = quote_id, action["simulation"]["block"]["hash"]
            first = self._actions.setdefault(key, transactions)
            return None if first == transactions else f"{first} and {transactions} of one quote"

        return request("POST", f"/v2/swaps/{quote_id}/action", {}), check

    async def ask_directly(self, port: int, *, keeps: bool, over: asyncio.Event) -> None:
        """Asks a replica at its own port, over one kept connection or a new one each time."""
        asked, read, rows = self._lists["networks"]
        name = "kept connection" if keeps else "new connection"
        connection: Connection | None = None
        while not over.is_set():
            at, outcome = time.monotonic(), "answered"
            try:
                async with asyncio.timeout(ANSWER_S):
                    if connection is None or not connection.usable:
                        connection = await Connection.open(port)
                    status, body = await connection.ask(asked)
                if status != 200 or read(body) != rows:
                    outcome = f"status {status}" if status != 200 else "other rows"
            except (OSError, EOFError, TimeoutError) as error:
                outcome = how(error)
            if outcome == "answered":
                self.direct[name] += 1
            else:
                say(direct=name, how=outcome, at=at)
            if connection is not None and (not keeps or outcome != "answered"):
                connection.close()
                connection = None
            await asyncio.sleep(1 / DIRECT_PER_S)


def say(**members: Any) -> None:
    """Writes a line for the process that started this one."""
    sys.stdout.buffer.write(orjson.dumps(members) + b"\n")
    sys.stdout.buffer.flush()


async def main() -> None:
    load = Load(Orders(**orjson.loads(sys.argv[1])))
    await load.prepare()
    over, loop = asyncio.Event(), asyncio.get_running_loop()
    ended = loop.run_in_executor(None, sys.stdin.buffer.read)
    ended.add_done_callback(lambda _: over.set())
    say(ready=True)
    began = time.monotonic()
    await asyncio.gather(
        load.run(over),
        *(
            load.ask_directly(port, keeps=keeps, over=over)
            for port in load.orders.replicas
            for keeps in (True, False)
        ),
    )
    say(sent=load.sent, took=load.took, direct=load.direct, seconds=time.monotonic() - began)


if __name__ == "__main__":
    uvloop.run(main())
