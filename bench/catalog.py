"""A catalog of 100,000 tokens: how soon it is ready, its memory, and what people find in it, over HTTP.

Ten lists of 10,000 made-up tokens each. The first has the tokens that are looked for; the others have tokens
with other names, and spoofs, whose symbols are or look like a known one's. Queries are symbols, addresses,
names, beginnings of symbols, and symbols and names with one typing error. Which token is right is told by
comparing texts. Then a list is replaced while the queries go on. A server without the lists runs beside the
other one for comparison.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import itertools
import json
import os
import random
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
from quoteway.evm.address import checksum

from bench.report import Report, percentile
from bench.server import free_port, process
from bench.startup import resident_bytes

CHAINS = (1, 10, 56, 137, 8453, 42161)
SLUGS = ("ethereum", "optimism", "bnb", "polygon", "base", "arbitrum")
LISTS, TOKENS_OF_A_LIST = 10, 10_000
KNOWN = 2_000
"""Tokens that are looked for: the first of the first list."""
QUERIES = 4_000
RATE_PER_S = 1_000
CONNECTIONS = 64
RELOAD_RATE_PER_S = 200
REFRESH_S = 15
"""How often the server reads its lists: after the queries at the full rate have ended."""
LIMIT = 10
LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SYLLABLES = [a + b for a in "bcdfghjklmnprstvz" for b in "aeiou"]


@dataclass(frozen=True, slots=True)
class Listed:
    """A token of the lists."""

    chain_id: int
    address: str
    symbol: str
    name: str

    def row(self) -> dict[str, object]:
        logo = f"https://tokens.example.org/{self.chain_id}/{self.address}/logo.png"
        found = {"chainId": self.chain_id, "address": self.address, "symbol": self.symbol, "name": self.name}
        return {**found, "decimals": 18, "logoURI": logo}


@dataclass(frozen=True, slots=True)
class Query:
    kind: str
    text: str
    right: frozenset[str]
    """The addresses of which any may be first."""


def _word(rng: random.Random, least: int, most: int) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(rng.randint(least, most)))


def _token(rng: random.Random, symbol: str, name: str) -> Listed:
    address = checksum("0x" + rng.randbytes(20).hex())
    return Listed(rng.choice(CHAINS), address, symbol, name)


def made_up(rng: random.Random) -> list[list[Listed]]:
    """Returns the lists. The known tokens have symbols and names of their own."""
    known: dict[str, Listed] = {}
    while len(known) < KNOWN:
        words = [_word(rng, 2, 3).capitalize() for _ in range(rng.randint(1, 2))]
        symbol = (_word(rng, 2, 3) if rng.random() < 0.7 else "".join(words))[: rng.randint(4, 7)].upper()
        known.setdefault(symbol, _token(rng, symbol, " ".join(words)))
    first = list(known.values())
    lists = []
    for at in range(LISTS):
        tokens = list(first) if at == 0 else []
        while len(tokens) < TOKENS_OF_A_LIST:
            target = rng.choice(first)
            if at and rng.random() < 0.1:
                symbol = rng.choice(
                    (target.symbol, f"${target.symbol}", f"{target.symbol}.", target.symbol.lower())
                )
                tokens.append(_token(rng, symbol, target.name))
                continue
            words = [_word(rng, 2, 4).capitalize() for _ in range(rng.randint(2, 4))]
            symbol = "".join(word[: rng.randint(2, 4)] for word in words)[:10].upper()
            if symbol not in known:
                tokens.append(_token(rng, symbol, " ".join(words)))
        lists.append(tokens)
    return lists


def _with_error(rng: random.Random, text: str) -> str:
    """Returns a text with one letter wrong, missing or too many, or two exchanged."""
    at = rng.randrange(1, len(text) - 1)
    return rng.choice(
        (
            text[:at] + rng.choice(LETTERS) + text[at + 1 :],
            text[:at] + text[at + 1 :],
            text[:at] + rng.choice(LETTERS) + text[at:],
            text[:at] + text[at + 1] + text[at] + text[at + 2 :],
        )
    )


def one_error_apart(one: str, other: str) -> bool:
    """Whether a letter is wrong, missing or too many, or two are exchanged."""
    if len(one) > len(other):
        one, other = other, one
    if len(other) - len(one) > 1:
        return False
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    return one[at + 1 :] == other[at + 1 :] or (
        one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
    )


def queries(rng: random.Random, lists: Sequence[Sequence[Listed]]) -> Iterator[Query]:
    """Yields what is typed and the tokens that may be first."""
    everything = [token for tokens in lists for token in tokens]
    known = lists[0][:KNOWN]
    symbols = {token.symbol.lower(): token for token in reversed(everything)}
    begun = {text[:size] for text in symbols for size in range(1, len(text) + 1)}
    words = {word for token in everything for word in token.name.lower().split()}
    begun |= {word[:size] for word in words for size in range(1, len(word) + 1)}
    for _ in range(QUERIES):
        token = rng.choice(known)
        kind = rng.choice(("symbol", "address", "name", "beginning", "error in symbol", "error in name"))
        if kind == "symbol":
            yield Query(kind, rng.choice((token.symbol, token.symbol.lower())), frozenset({token.address}))
        elif kind == "address":
            yield Query(kind, rng.choice((token.address, token.address.lower())), frozenset({token.address}))
        elif kind == "name":
            called = symbols.get(token.name.lower()) or next(
                each for each in known if each.name == token.name
            )
            yield Query(kind, token.name, frozenset({called.address}))
        elif kind == "beginning":
            text = token.symbol[: rng.randint(2, 3)].lower()
            first = symbols.get(text) or next(
                each for each in everything if each.symbol.lower().startswith(text)
            )
            yield Query(kind, text, frozenset({first.address}))
        else:
            text = (token.symbol if kind == "error in symbol" else token.name).lower()
            wrong = _with_error(rng, text)
            while all(word in begun for word in wrong.split()):  # it is no error where something begins so
                wrong = _with_error(rng, text)
            near = (
                each.address
                for each in known
                if one_error_apart(wrong, each.symbol.lower()) or one_error_apart(wrong, each.name.lower())
            )
            yield Query(kind, wrong, frozenset(near))


async def measure(report: Report, options: argparse.Namespace) -> None:
    rng = random.Random(options.seed)  # noqa: S311 - made-up tokens
    lists = made_up(rng)
    asked = list(queries(rng, lists))
    gc.collect()
    gc.freeze()  # the lists are large: to walk them would count as the server's time
    with tempfile.TemporaryDirectory() as bare, tempfile.TemporaryDirectory() as folder:
        async with _server(_configured(Path(bare), [])) as (url, child):
            await _filled(url, [])
            without = resident_bytes(child.pid) / 1e6
        config = _configured(Path(folder), lists)
        report.say(f"catalog: a server with {LISTS * TOKENS_OF_A_LIST} listed tokens starts")
        began = time.perf_counter()
        async with _server(config) as (url, child):
            total = await _filled(url, lists)
            ready_s, worked_s = time.perf_counter() - began, _processor_s(child.pid)
            report.say(f"catalog: {len(asked)} queries at {RATE_PER_S}/s")
            taken, pages = await _asked(url, asked, RATE_PER_S)
            each_s = (_processor_s(child.pid) - worked_s) / len(asked)
            resident = resident_bytes(child.pid) / 1e6
            report.say(f"catalog: a list is replaced, with queries at {RELOAD_RATE_PER_S}/s")
            new = [_token(rng, "REPLACED", "Put in later"), *lists[-1][1:]]
            _write(Path(folder), LISTS - 1, new)
            meanwhile = await _until_found(url, new[0], asked)
            after = resident_bytes(child.pid) / 1e6
    report.at_most(f"catalog of {total} tokens: start to complete answers", ready_s, 5.0, "s")
    report.baseline("processor time of the server until then", f"{worked_s:.1f} s")
    report.at_most(f"catalog of {total} tokens: resident memory", resident, 200, "MB", digits=0)
    report.baseline("resident memory of a server without these lists", f"{without:.0f} MB")
    report.baseline(f"search at {RATE_PER_S}/s, median", f"{statistics.median(taken) * 1e3:.2f} ms")
    report.at_most(f"search at {RATE_PER_S}/s, p99", percentile(taken, 0.99) * 1e3, 5.0, "ms", digits=2)
    report.baseline("processor time of the server for each search", f"{each_s * 1e3:.2f} ms")
    _judge(report, asked, pages)
    what = f"search at {RELOAD_RATE_PER_S}/s while a list is replaced"
    report.baseline(f"{what}, median", f"{statistics.median(meanwhile) * 1e3:.2f} ms")
    report.baseline(f"{what}, p99", f"{percentile(meanwhile, 0.99) * 1e3:.2f} ms")
    report.baseline("resident memory after it", f"{after:.0f} MB")


def _judge(report: Report, asked: Sequence[Query], pages: Sequence[Sequence[dict[str, Any]]]) -> None:
    """Counts right answers by kind, and spoofs that are not marked or not below what they look like."""
    firsts = [rows[0]["contracts"][0]["address"] if rows else None for rows in pages]
    right = [first in query.right for query, first in zip(asked, firsts, strict=True)]
    for kind in dict.fromkeys(query.kind for query in asked):
        of_kind = [good for good, query in zip(right, asked, strict=True) if query.kind == kind]
        report.baseline(f"right answers first: {kind}", f"{sum(of_kind)} of {len(of_kind)}")
    report.at_least("right answers first", 100 * sum(right) / len(right), 99, "%", digits=2)
    wrong, spoofs = [], 0
    for query, rows in zip(asked, pages, strict=True):
        if query.kind != "symbol":
            continue
        looks = query.text.upper()
        alike = [row for row in rows if row["symbol"].strip("$.").upper() == looks]
        spoofs += len(alike) - 1
        if any(row.get("lookAlikeOf") is None for row in alike[1:]) or alike[0].get("lookAlikeOf"):
            wrong.append(query.text)
    report.none(f"symbols with a spoof above or not marked ({spoofs} spoofs shown)", wrong, "symbols")


def _processor_s(pid: int) -> float:
    """Returns the seconds that a process has computed: on a shared machine they vary less than the time."""
    members = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(members[11]) + int(members[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.asynccontextmanager
async def _server(config: Path) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """Runs a server with a configuration. Yields its URL and process."""
    command, port = str(Path(sys.executable).with_name("quoteway")), free_port()
    environ = {"QUOTEWAY_LIMITS__CATALOG": "9999999/minute", "BENCH_KEY": secrets.token_hex(32)}
    serve = (command, "serve", "--config", str(config), "--port", str(port))
    async with process(*serve, environ=environ) as child:
        yield f"http://127.0.0.1:{port}", child


async def _until_found(url: str, token: Listed, asked: Sequence[Query]) -> list[float]:
    """Sends queries until a token is found. Returns the seconds that each took."""
    taken: list[float] = []
    async with asyncio.timeout(120):
        for at in itertools.count():
            # No page is asked for twice: it would come from the cache.
            probe = Query("address", token.address + " " * at, frozenset())
            start = at * RELOAD_RATE_PER_S % (len(asked) - RELOAD_RATE_PER_S)
            batch = [*asked[start : start + RELOAD_RATE_PER_S - 1], probe]
            seconds, pages = await _asked(url, batch, RELOAD_RATE_PER_S)
            taken += seconds
            if pages[-1]:
                break
    return taken


def _configured(folder: Path, lists: Sequence[Sequence[Listed]]) -> Path:
    names = [_write(folder, at, tokens) for at, tokens in enumerate(lists)]
    nowhere = free_port()
    config = [
        *(f'[networks.{slug}]\nrpc = ["http://127.0.0.1:{nowhere}"]' for slug in SLUGS),
        "[plugin.devnet]\nenabled = false",
        f"[plugin.tokenlist]\nlists = {json.dumps(names)}\nrefresh_s = {REFRESH_S}",
        '[quotes]\nkeys = [{id = "bench", secret = {env = "BENCH_KEY"}}]',
    ]
    path = folder / "quoteway.toml"
    path.write_text("\n".join(config))
    return path


def _write(folder: Path, at: int, tokens: Sequence[Listed]) -> str:
    """Writes a list, at once for its readers. Returns the file's name."""
    document = {
        "name": f"List {at}",
        "timestamp": "2026-01-01T00:00:00Z",
        "version": {"major": 1, "minor": 0, "patch": 0},
        "tokens": [token.row() for token in tokens],
    }
    written = folder / f"list{at}.tmp"
    written.write_text(json.dumps(document))
    return written.rename(folder / f"list{at}.json").name


async def _filled(url: str, lists: Sequence[Sequence[Listed]]) -> int:
    """Waits until the last token of each list is found, and returns how many rows there are."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(120):

        async def page(query: str) -> dict[str, Any]:
            with contextlib.suppress(aiohttp.ClientError):
                # No page is asked for twice: it would come from the cache.
                async with session.get(f"{url}/v2/tokens?{query}&limit={next(limits)}") as answer:
                    return dict(await answer.json()) if answer.status == 200 else {}
            await asyncio.sleep(0.02)
            return {}

        limits = itertools.cycle(range(1, 201))
        for tokens in lists:
            while not (await page(f"query={tokens[-1].address}")).get("total"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        while not (found := await page("query=")).get("total"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return int(found["total"])


async def _asked(
    url: str, asked: Sequence[Query], rate_per_s: int
) -> tuple[list[float], list[list[dict[str, Any]]]]:
    """Sends the queries at a rate whether answers come or not.

    Returns the seconds from when each was due to its answer, and the rows of each answer.
    """
    host, _, port = url.removeprefix("http://").partition(":")
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await asyncio.open_connection(host, int(port), limit=1 << 20))
    taken, bodies = [0.0] * len(asked), [b""] * len(asked)

    async def ask(at: int, text: str, due: float) -> None:
        reader, writer = await free.get()
        path = f"/v2/tokens?limit={LIMIT}&query={quote(text)}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        bodies[at] = await reader.readexactly(int(length))
        taken[at] = time.perf_counter() - due
        free.put_nowait((reader, writer))

    began = time.perf_counter() + 0.05
    async with asyncio.TaskGroup() as group:
        for at, query in enumerate(asked):
            due = began + at / rate_per_s
            if due > time.perf_counter():
                await asyncio.sleep(due - time.perf_counter())
            group.create_task(ask(at, query.text, due))
    while not free.empty():
        free.get_nowait()[1].close()
    return taken, [json.loads(body)["data"] for body in bodies]
