"""How much longer Ponder, run from npm, takes to index the same transfers from the same node.

Both store each transfer of a token in a database of files. What both have stored is compared with what the
node says. Ponder's time is that until it is ready, without the time until it is ready with nothing to index.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from bench.harness import harness
from bench.report import Report

GOAL = 20
RUNS = 3
BLOCKS = 2_000
IN_BLOCK = range(30, 71)
"""How many transfers a block has. A round number of logs in every answer would look like silent cuts."""
AFTER = 100
"""Blocks without transfers at the end, so that all transfers are final for both."""
_PROJECT = Path(__file__).with_name("ponder")
_START_S = 300.0
_TRANSFER = "Transfer(address indexed from, address indexed to, uint256 value)"

Row = tuple[int, int, str, str, int]
"""Block, log index, sender, recipient, amount."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token whose transfers are indexed. ``first_block`` is the first that may have one."""

    node: str
    address: str
    first_block: int
    head: int


async def measure(report: Report, options: argparse.Namespace) -> None:
    """Runs both in turns, and compares what they have stored."""
    from quoteway_devnet.chains import Devnet

    with tempfile.TemporaryDirectory(prefix="quoteway-bench-") as name:
        project = Path(name) / "ponder"
        report.say("fetching Ponder with npm")
        await _install(project)
        async with Devnet.start() as devnet:
            token = _with_transfers(devnet)
            expected = _rows_of_node(devnet, token)
            idle_s = await _ponder(project, Path(name) / "idle", token, token.head, [])
            ours, theirs = [], []
            for run in range(RUNS):
                ours.append(await _index(token, expected))
                theirs.append(
                    await _ponder(project, Path(name) / str(run), token, token.first_block, expected) - idle_s
                )
                report.say(f"run {run + 1}: index {ours[-1]:.2f} s, Ponder {theirs[-1]:.1f} s")
    report.baseline("transfers indexed by both, with equal results", str(len(expected)))
    for who, seconds in (("index", ours), ("Ponder", theirs)):
        report.baseline(f"{who}: transfers/s", f"{len(expected) / statistics.median(seconds):.0f} /s")
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    report.at_least("Ponder's time to that of the index", statistics.median(ratios), GOAL, "x", digits=1)


async def _install(project: Path) -> None:
    shutil.copytree(_PROJECT, project)
    words = (
        "npm",
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--legacy-peer-deps",
    )
    process = await asyncio.create_subprocess_exec(*words, cwd=project)
    if await process.wait():
        raise RuntimeError("Ponder could not be fetched: npm and its registry are needed")


def _with_transfers(devnet: Any) -> Token:
    """Makes a token and its transfers, many in a block by ``Multicall3.aggregate3``."""
    from eth_abi import encode
    from eth_utils import keccak
    from quoteway_devnet.build import MULTICALL3
    from quoteway_devnet.transactions import DEPLOYER, Transactions

    rpc = devnet.rpc("devnet")
    sending = Transactions(rpc)
    sending._nonce = int(rpc("eth_getTransactionCount", DEPLOYER, "latest"), 16)
    address = sending.deploy("MintableToken", "(string,string,uint8)", "Bench", "BENCH", 18)

    def call(signature: str, kinds: list[str], values: list[Any]) -> bytes:
        return bytes(keccak(text=signature)[:4]) + encode(kinds, values)

    words = ["address", "uint256"]
    sending.later("minting", address, call("mint(address,uint256)", words, [MULTICALL3, 1 << 200]))
    sending.flush()
    first_block = int(rpc("eth_blockNumber"), 16) + 1
    rpc("evm_setAutomine", True)
    for block in range(BLOCKS):
        calls = [
            (
                address,
                False,
                call("transfer(address,uint256)", words, [_recipient(block, at), block << 8 | at]),
            )
            for at in range(_count(block))
        ]
        data = call("aggregate3((address,bool,bytes)[])", ["(address,bool,bytes)[]"], [calls])
        sent = {"from": DEPLOYER, "to": MULTICALL3, "data": "0x" + data.hex(), "gas": hex(10_000_000)}
        rpc("eth_sendTransaction", sent)
    rpc("anvil_mine", hex(AFTER))
    head = int(rpc("eth_blockNumber"), 16)
    rpc.__exit__(None, None, None)
    return Token(devnet.urls["devnet"], address, first_block, head)


def _count(block: int) -> int:
    return IN_BLOCK[block * 7 % len(IN_BLOCK)]


def _recipient(block: int, at: int) -> str:
    return f"0x{0xBE << 152 | (block * 7 + at) % 97:040x}"


def _rows_of_node(devnet: Any, token: Token) -> list[Row]:
    """Returns what the node says, read without the index."""
    rpc = devnet.rpc("devnet")
    rows: list[Row] = []
    for first in range(token.first_block, token.head + 1, 200):
        last = min(first + 199, token.head)
        for log in rpc(
            "eth_getLogs", {"address": token.address, "fromBlock": hex(first), "toBlock": hex(last)}
        ):
            sender, recipient = ("0x" + topic[-40:] for topic in log["topics"][1:])
            at, index = int(log["blockNumber"], 16), int(log["logIndex"], 16)
            rows.append((at, index, sender, recipient, int(log["data"], 16)))
    rpc.__exit__(None, None, None)
    sent = sum(map(_count, range(BLOCKS)))
    if len(rows) != sent:
        raise RuntimeError(f"the chain has {len(rows)} transfers, {sent} were sent")
    return rows


# --- the two indexes ---------------------------------------------------------------------------------------


async def _index(token: Token, expected: list[Row]) -> float:
    """Returns the seconds that the index takes. Raises RuntimeError when it has other rows."""
    from quoteway import EventRule, EventSource

    chain_tests, limited = harness("index_chain", "indexer"), harness("limited_index", "indexer")
    fields = {"token": "@", "sender": "from", "recipient": "to", "amount": "value"}
    source = EventSource(
        "transfers",
        chain_tests.CHAIN_ID,
        1,
        (EventRule(_TRANSFER, "transfer", fields),),
        addresses=(token.address,),
        first_block=token.first_block,
    )
    with tempfile.TemporaryDirectory() as folder:
        async with chain_tests.chain_at(token.node) as chain:
            index = chain_tests.Index(chain, (source,), Path(folder) / "index.duckdb")
            try:
                began = time.perf_counter()
                await index.once()
                took_s = time.perf_counter() - began
                found = [
                    (block, at, "0x" + sender.hex(), "0x" + recipient.hex(), amount)
                    for block, at, _, sender, recipient, amount in limited.transfers_of(index)
                ]
            finally:
                await index.close()
    _same("the index", found, expected)
    return took_s


async def _ponder(project: Path, folder: Path, token: Token, first_block: int, expected: list[Row]) -> float:
    """Returns the seconds that Ponder takes until it is ready. Raises RuntimeError when it has other rows."""
    environment = {
        "BENCH_FOLDER": str(folder),
        "BENCH_NODE": token.node,
        "BENCH_TOKEN": token.address,
        "BENCH_FIRST_BLOCK": str(first_block),
        "PONDER_TELEMETRY_DISABLED": "true",
    }
    began = time.perf_counter()
    async with _running(project, environment) as url, aiohttp.ClientSession() as session:
        while not await _is_ready(session, url):
            if time.perf_counter() - began > _START_S:
                raise RuntimeError(f"Ponder was not ready within {_START_S:.0f} s")
            await asyncio.sleep(0.05)
        took_s = time.perf_counter() - began
        async with session.get(f"{url}/rows") as answer:
            found = [(*row[:4], int(row[4])) for row in await answer.json()]
    _same("Ponder", found, expected)
    return took_s


@asynccontextmanager
async def _running(project: Path, environment: Mapping[str, str]) -> AsyncIterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = (
        *("node", str(project / "node_modules/ponder/dist/esm/bin/ponder.js"), "start", "--schema", "bench"),
        *("--hostname", "127.0.0.1", "--port", str(port), "--log-level", "error"),
    )
    process = await asyncio.create_subprocess_exec(
        *words, cwd=project, env={**os.environ, **environment}, stdout=asyncio.subprocess.DEVNULL
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _is_ready(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(f"{url}/ready") as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False


def _same(who: str, found: list[Any], expected: list[Row]) -> None:
    if found != expected:
        raise RuntimeError(f"{who} has {len(found)} rows that are not the {len(expected)} of the node")
