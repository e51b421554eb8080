"""The client of ``python -m bench soak``: a mixed load at a steady rate, and connections that are kept.

``python -m bench.soak_load URL OUTCOMES_FILE RATE SEED`` runs until it is ended, and writes a line of JSON
for each answer: kind, network, begin and length in seconds of the monotonic clock, status, code. The status
is 0 when the connection broke, and -1 when there was no answer in time.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import aiohttp

from bench.speed import WALLET

HUNG_S: Final = 75.0
"""More than ``[server] request_timeout_s``: an answer that takes longer never comes."""
SILENT_S: Final = 40.0
"""The longest that a kept stream may say nothing: heartbeats come each 15 s, WebSockets are pinged."""
STREAMS: Final = 16
SOCKETS: Final = 8
REOPEN_S: Final = 20.0
"""Each such time a stream and a WebSocket connection are opened and closed beside those that are kept."""
LEFT_S: Final = 0.05
"""When callers who go away do so."""
HISTORY: Final = frozenset(
    {"series", "vault series", "price history", "activity", "past value", "gains", "index status"}
)
"""The kinds of request that the index's database answers."""
LOOKED_AT: Final = 4
"""The pools of each network whose series are asked for: fewer than the gateway keeps in memory."""
_SERIES: Final = ("tvl", "volume", "fees", "apr")
_TRADED: Final = ("USDC", "DAI", "USDT", "WETH")
"""Tokens of both chains that the native coin is sold for."""


class Outcome(NamedTuple):
    """One answer. ``code`` is that of an error, with its reason; ``message`` says more of a failure."""

    kind: str
    network: str
    began: float
    took_s: float
    status: int
    code: str
    message: str = ""

    @property
    def ended(self) -> float:
        return self.began + self.took_s


def outcomes_in(path: Path) -> list[Outcome]:
    """Reads what a client wrote so far; its last line may be half written."""
    lines = path.read_text().splitlines(keepends=True)
    return [Outcome(*json.loads(line)) for line in lines if line.endswith("\n")]


@dataclass
class Known:
    """What a client knows of one network."""

    slug: str
    chain_id: int
    tokens: list[str]
    pools: list[str]
    vaults: list[str]


class SoakClient:
    """One client. ``networks`` are filled before the load begins."""

    def __init__(self, url: str, output: IO[str], seed: int) -> None:
        self.url = url
        self._output = output
        self._chance = random.Random(seed)  # noqa: S311 - not for secrets
        self._number = itertools.count(1)
        self.networks: list[Known] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._kept: aiohttp.ClientSession
        self._fresh: aiohttp.ClientSession

    @contextlib.asynccontextmanager
    async def sessions(self) -> Any:
        timeout = aiohttp.ClientTimeout(total=HUNG_S)
        kept = aiohttp.TCPConnector(limit=0)
        fresh = aiohttp.TCPConnector(limit=0, force_close=True)
        async with (
            aiohttp.ClientSession(connector=kept, timeout=timeout) as self._kept,
            aiohttp.ClientSession(connector=fresh, timeout=timeout) as self._fresh,
        ):
            yield

    async def learn(self) -> None:
        """Reads the lists, once they are whole."""
        from quoteway_devnet.manifest import chain_manifests

        for slug, chain in chain_manifests().items():
            lists = []
            for name in ("pools", "vaults"):
                path = f"{self.url}/v2/{name}?network={slug}&limit=100"
                while True:
                    async with self._kept.get(path) as answer:
                        body = await answer.json()
                    if answer.status == 200 and not body["partial"] and body["data"]:
                        break
                    await asyncio.sleep(0.2)
                lists.append([row["id"] for row in body["data"]])
            tokens = [chain.token(symbol).address for symbol in _TRADED]
            self.networks.append(Known(slug, chain.chain_id, tokens, *lists))

    # --- requests ------------------------------------------------------------------------------------------

    def _write(
        self, kind: str, network: str, began: float, status: int, code: str = "", message: str = ""
    ) -> None:
        took_s = time.monotonic() - began
        self._output.write(json.dumps([kind, network, began, took_s, status, code, message]) + "\n")
        self._output.flush()

    async def _ask(
        self, kind: str, network: str, path: str, body: Any = None, *, method: str | None = None
    ) -> Any:
        """Asks and writes the outcome. Returns the body of a good answer, else None."""
        session = self._kept if self._chance.random() < 0.5 else self._fresh
        method = method or ("GET" if body is None else "POST")
        raw = isinstance(body, bytes)
        more = {"data": body, "headers": {"Content-Type": "application/json"}} if raw else {"json": body}
        began, found, message = time.monotonic(), None, ""
        try:
            async with session.request(method, self.url + path, **(more if body is not None else {})) as told:
                answer = await told.read()
                status, code = told.status, ""
                found = json.loads(answer) if told.content_type == "application/json" else answer
        except TimeoutError:
            status, code = -1, "no answer"
        except (aiohttp.ClientError, OSError) as error:
            status, code = 0, type(error).__name__
        if isinstance(found, dict) and "error" in found:
            error = found["error"]
            details = error.get("details") or error.get("data") or {}
            reason = details.get("reason", "") if isinstance(details, dict) else ""
            code, found = f"{error['code']} {reason}".strip(), None
            message = error["message"] if status >= 500 else ""
        self._write(kind, network, began, status, code, message)
        return found

    def _quote_request(self, known: Known) -> dict[str, Any]:
        return {
            "network": known.slug,
            "fromToken": "native",
            "toToken": self._token(known),
            "amount": self._wei(),
            "address": WALLET,
        }

    async def swap(self, known: Known) -> None:
        quote = await self._ask("quote", known.slug, "/v2/swaps/quote", self._quote_request(known))
        if quote is None:
            return
        path = f"/v2/swaps/{quote['quoteId']}/action"
        if self._chance.random() < 0.2:
            await self._ask("read quote", known.slug, f"/v2/swaps/quote/{quote['quoteId']}")
        await self._ask("action", known.slug, path, method="POST")

    def _wei(self) -> str:
        return str(10**16 + next(self._number))  # no two quotes are alike

    def _token(self, known: Known) -> str:
        return self._chance.choice(known.tokens[:3])

    async def indication(self, known: Known) -> None:
        what = self._chance.choice(("price", "depth"))
        query = f"network={known.slug}&fromToken=native&toToken={self._token(known)}"
        await self._ask(what, known.slug, f"/v2/swaps/{what}?{query}&amount={self._wei()}")

    async def lists(self, known: Known) -> None:
        name = self._chance.choice(("pools", "vaults", "tokens"))
        limit = self._chance.choice((10, 50, 200))
        await self._ask("list", known.slug, f"/v2/{name}?network={known.slug}&limit={limit}")

    async def one(self, known: Known) -> None:
        pool = self._chance.choice(known.pools)
        await self._ask("pool", known.slug, f"/v2/pools/{pool}")

    async def series(self, known: Known) -> None:
        interval, days = self._chance.choice((("1h", 2), ("1d", 7)))
        until = int(time.time()) // 3600 * 3600
        window = f"interval={interval}&from={until - days * 86_400}&to={until}"
        if known.vaults and self._chance.random() < 0.3:
            metric, vault = self._chance.choice(("tvl", "apy")), self._chance.choice(known.vaults)
            await self._ask("vault series", known.slug, f"/v2/vaults/{vault}/{metric}?{window}")
            return
        metric, pool = self._chance.choice(_SERIES), self._chance.choice(known.pools[:LOOKED_AT])
        await self._ask("series", known.slug, f"/v2/pools/{pool}/{metric}?{window}")

    async def price_history(self, known: Known) -> None:
        token = self._token(known)
        path = f"/v2/prices/history?network={known.slug}&token={token}&interval=1h"
        await self._ask("price history", known.slug, path)

    async def portfolio(self, known: Known) -> None:
        tokens = ",".join(known.tokens)
        ask, where = self._ask, f"wallet={WALLET}&network={known.slug}"
        what = self._chance.randrange(6)
        if what <= 1:
            await ask("balances", known.slug, f"/v2/portfolio/balances?{where}&tokens={tokens}")
        elif what == 2:
            await ask("positions", known.slug, f"/v2/portfolio/positions?{where}")
        elif what == 3:
            await ask("activity", known.slug, f"/v2/portfolio/activity?{where}")
        elif what == 4:
            await ask("past value", known.slug, f"/v2/portfolio/history?{where}&interval=1h")
        else:
            await ask("gains", known.slug, f"/v2/portfolio/pnl?{where}")

    async def status(self, known: Known) -> None:
        path = self._chance.choice(("/healthz", "/readyz", "/v2/providers", "/v2/networks", "/metrics", ""))
        if path:
            await self._ask(path, "", path)
        else:
            await self._ask("index status", known.slug, f"/v2/index/status?network={known.slug}")

    def _call(self, known: Known) -> dict[str, Any]:
        token = self._token(known)
        method, params = self._chance.choice(
            (
                ("eth_blockNumber", []),
                ("eth_gasPrice", []),
                ("eth_getBalance", [WALLET, "latest"]),
                ("eth_call", [{"to": token, "data": "0x18160ddd"}, "latest"]),
                ("eth_getBlockByNumber", ["latest", False]),
                ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x20", "address": token}]),
                ("eth_getTransactionCount", [WALLET, "latest"]),
            )
        )
        return {"jsonrpc": "2.0", "id": next(self._number), "method": method, "params": params}

    async def rpc(self, known: Known) -> None:
        path = f"/v2/rpc/{known.chain_id}"
        if self._chance.random() < 0.2:
            await self._ask("rpc batch", known.slug, path, [self._call(known) for _ in range(5)])
        else:
            await self._ask("rpc", known.slug, path, self._call(known))

    async def bad_input(self, known: Known) -> None:
        quote = self._quote_request(known)
        path, body = self._chance.choice(
            (
                ("/v2/swaps/quote", b'{"network": '),
                ("/v2/swaps/quote", b"[" * 5_000),
                ("/v2/swaps/quote", {**quote, "amount": "-1"}),
                ("/v2/swaps/quote", {**quote, "adress": WALLET}),
                ("/v2/swaps/quote", {**quote, "network": "nowhere"}),
                ("/v2/swaps/eyJhbGciOiJIUzI1NiJ9.e30.e30/action", {}),
                ("/v2/pools/31337:0x00/tvl", None),
                ("/v2/nothing", None),
                ("/v2/pools?limit=100000", None),
                ("/v2/rpc/31337", b"not json"),
            )
        )
        await self._ask("bad input", "", path, body)

    async def leave(self, known: Known) -> None:
        """Goes away before the answer is there."""
        with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError):
            async with asyncio.timeout(LEFT_S):
                body = self._quote_request(known)
                async with self._fresh.post(f"{self.url}/v2/swaps/quote", json=body) as answer:
                    await answer.read()

    # --- kept connections ----------------------------------------------------------------------------------

    async def stream(self, known: Known, topics: str, lasts_s: float | None) -> None:
        """Reads a stream until it has lasted so long, or for ever. It may neither end nor be silent."""
        until = None if lasts_s is None else time.monotonic() + lasts_s
        began, status, code = time.monotonic(), 200, ""
        url = f"{self.url}/v2/stream?{topics}={known.slug}"
        timeout = aiohttp.ClientTimeout(total=None, sock_read=SILENT_S)
        try:
            async with self._fresh.get(url, timeout=timeout) as answer:
                status = answer.status
                async for line in answer.content:
                    if line.startswith(b"event: lost"):
                        code = "lost"
                    if until is not None and time.monotonic() > until:
                        break
                else:
                    status, code = 0, "the stream ended"
        except TimeoutError:
            status, code = -1, "the stream was silent"
        except (aiohttp.ClientError, OSError) as error:
            status, code = 0, type(error).__name__
        self._write("stream", known.slug, began, status, code)

    async def socket(self, known: Known, lasts_s: float | None) -> None:
        """Follows heads and logs over a WebSocket connection; makes a call over it now and then."""
        until = None if lasts_s is None else time.monotonic() + lasts_s
        began, status, code = time.monotonic(), 200, ""
        url = f"{self.url}/v2/rpc/{known.chain_id}"
        try:
            async with self._fresh.ws_connect(url, receive_timeout=SILENT_S) as ws:
                for number, topic in enumerate((["newHeads"], ["logs", {"address": known.tokens[0]}])):
                    body = {"jsonrpc": "2.0", "id": number, "method": "eth_subscribe", "params": topic}
                    await ws.send_json(body)
                while until is None or time.monotonic() < until:
                    message = await ws.receive()
                    if message.type is not aiohttp.WSMsgType.TEXT:
                        status, code = 0, f"the connection ended: {ws.close_code}"
                        break
                    if "error" in json.loads(message.data):
                        code = "an error"
                    if self._chance.random() < 0.1:
                        await ws.send_json(self._call(known))
        except TimeoutError:
            status, code = -1, "the connection was silent"
        except (aiohttp.ClientError, OSError) as error:
            status, code = 0, type(error).__name__
        self._write("socket", known.slug, began, status, code)

    async def _keep(self, opened: Callable[[], Awaitable[None]]) -> None:
        while True:
            await opened()
            await asyncio.sleep(1.0)

    async def _reopen(self) -> None:
        while True:
            known = self._chance.choice(self.networks)
            await asyncio.gather(
                self.stream(known, "heads", self._chance.uniform(1, REOPEN_S)),
                self.socket(known, self._chance.uniform(1, REOPEN_S)),
            )
            await asyncio.sleep(1.0)

    # --- the load ------------------------------------------------------------------------------------------

    async def run(self, rate: float) -> None:
        """Makes ``rate`` flows a second, whether or not earlier ones have ended."""
        for number in range(STREAMS):
            known = self.networks[number % len(self.networks)]
            topics = ("heads", "heads", "index")[number % 3]
            self._start(self._keep(lambda known=known, topics=topics: self.stream(known, topics, None)))
        for number in range(SOCKETS):
            known = self.networks[number % len(self.networks)]
            self._start(self._keep(lambda known=known: self.socket(known, None)))
        self._start(self._reopen())
        flows = {
            self.swap: 20,
            self.indication: 6,
            self.lists: 10,
            self.one: 4,
            self.series: 14,
            self.price_history: 5,
            self.portfolio: 12,
            self.status: 6,
            self.rpc: 15,
            self.bad_input: 6,
            self.leave: 2,
        }
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number in itertools.count():
            await asyncio.sleep(max(began + number / rate - loop.time(), 0.0))
            (flow,) = self._chance.choices(list(flows), list(flows.values()))
            self._start(flow(self._chance.choice(self.networks)))

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def main(url: str, output: IO[str], rate: float, seed: int) -> None:
    client = SoakClient(url, output, seed)
    async with client.sessions():
        await client.learn()
        await client.run(rate)


if __name__ == "__main__":
    gateway_url, file, *numbers = sys.argv[1:]
    with Path(file).open("a") as opened:
        asyncio.run(main(gateway_url, opened, float(numbers[0]), int(numbers[1])))
