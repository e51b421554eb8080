"""1,000 balances of a wallet: JSON-RPC requests and time, over real token contracts on the devnet.

The tokens are first requested in parts, so that only reading balances is measured: the first search for the
price of a token takes far longer and is a row of its own. Then 1,000 unlisted tokens that only an index knows
of, with the store of the index in the same process: its reads are a part of the time.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

from bench.harness import harness
from bench.report import Report, milliseconds
from bench.rounds import SlowNode, gateway_over
from bench.speed import WALLET

if TYPE_CHECKING:
    from quoteway_devnet.chains import Devnet

TOKENS = 1_000
WARM_UP = 5
PART = 50
REPEATS = 60
COUNTED = 10
UNLISTED_MS = 300
LONG_LINES = 65_536
"""The request line of 1,000 addresses; the default of ``server.max_line_bytes`` is 8,190."""


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway.config.model import ServerConfig
    from quoteway_devnet.chains import Devnet

    server = ServerConfig(max_line_bytes=LONG_LINES)
    async with Devnet.start() as devnet:
        report.say(f"minting {TOKENS} tokens")
        expected = await asyncio.to_thread(_mint, devnet)
        url = devnet.urls["devnet"]
        async with gateway_over(devnet.ports, url, server) as base, aiohttp.ClientSession() as session:
            new = await _ask_atomic_batch(session, base, expected)
            report.say(f"timing {REPEATS} answers")
            took = [await _ask(session, base, expected) for _ in range(WARM_UP + REPEATS)]
        node = SlowNode(url, delay_s=0)
        asked = []
        async with (
            node.running() as proxied,
            gateway_over(devnet.ports, proxied, server) as base,
            aiohttp.ClientSession() as session,
        ):
            await _ask_atomic_batch(session, base, expected)
            for _ in range(WARM_UP + COUNTED):
                before = node.requests - node.polls
                await _ask(session, base, expected)
                asked.append(node.requests - node.polls - before)
    p50, p99 = milliseconds(took[WARM_UP:])
    report.at_most(f"RPC requests of {TOKENS} balances (most)", max(asked[WARM_UP:]), 2, "requests", digits=0)
    report.at_most(f"{TOKENS} balances: p50", p50, 60, "ms")
    report.baseline(f"{TOKENS} balances: p99", f"{p99:.1f} ms")
    report.baseline(f"{PART} balances of tokens never seen before: p50", f"{milliseconds(new)[0]:.0f} ms")
    report.say(f"timing {COUNTED} answers of {TOKENS} tokens of an index")
    async with Devnet.start() as devnet:
        unlisted = await _unlisted(devnet)
    report.at_most(
        f"{TOKENS} unlisted tokens of an index, warm: p50",
        statistics.median(unlisted) * 1000,
        UNLISTED_MS,
        "ms",
    )


async def _unlisted(devnet: Devnet) -> list[float]:
    """Returns the seconds of each answer with all tokens. Raises ``RuntimeError`` when one is wrong."""
    from quoteway_indexer.stores.duckdb import DuckDBStore

    wallets = harness("wallet_service", "indexer")
    names = wallets.stubs(TOKENS)
    took = []
    with tempfile.TemporaryDirectory() as folder:
        store = DuckDBStore(Path(folder) / "index.duckdb", memory_mb=256)
        store.migrate()
        service = wallets.WalletService(devnet, store)
        service.put(wallets.STUB, *names)
        service.say_received(names)
        path = f"/v2/portfolio/balances?wallet={wallets.WALLET}&network=devnet&includeNative=false"
        async with service.serving(listed=()):
            for _ in range(WARM_UP + COUNTED):
                started = time.perf_counter()
                answer = await service.api.get(path)
                took.append(time.perf_counter() - started)
                if len(answer.body["data"]) != TOKENS or answer.body["partial"]:
                    raise RuntimeError(f"{TOKENS} unlisted tokens expected: {answer.body['partial']}")
        store.close()
    return took[WARM_UP:]


def _mint(devnet: Devnet) -> dict[str, int]:
    """Creates tokens with different balances of the wallet; returns address -> base units."""
    from quoteway.evm.abi import encode_call
    from quoteway.evm.address import checksum
    from quoteway_devnet.accounts import ACCOUNTS

    model = devnet.deploy("MintableToken", "(string,string,uint8)", "Bench", "BENCH", 6)
    amounts = {checksum(f"0x{(0xBE << 152) + number:040x}"): 10**6 + number for number in range(TOKENS)}
    with devnet.rpc() as rpc:
        code = rpc("eth_getCode", model, "latest")
        for token, amount in amounts.items():
            rpc("anvil_setCode", token, code)
            data = "0x" + encode_call("mint(address,uint256)", [WALLET, amount]).hex()
            rpc(
                "eth_sendTransaction",
                {"from": ACCOUNTS[-1].address, "to": token, "data": data, "gas": hex(200_000)},
            )
        rpc("evm_mine")
    return amounts


async def _ask_atomic_batch(
    session: aiohttp.ClientSession, base: str, expected: dict[str, int]
) -> list[float]:
    """Returns the seconds of each answer; the prices of one part are known before the next request."""
    took, rows = [], list(expected.items())
    for start in range(0, len(rows), PART):
        part = dict(rows[start : start + PART])
        took.append(await _ask(session, base, part))
        await asyncio.sleep(took[-1])
        await _ask(session, base, part)
    return took


async def _ask(session: aiohttp.ClientSession, base: str, expected: dict[str, int]) -> float:
    """Returns the seconds of one answer. Raises ``RuntimeError`` when it is wrong."""
    url = f"{base}/v2/portfolio/balances?wallet={WALLET}&network=devnet&tokens={','.join(expected)}"
    started = time.perf_counter()
    async with session.get(url) as answer:
        body = await answer.json()
        took = time.perf_counter() - started
    if answer.status != 200:
        raise RuntimeError(f"balances answered {answer.status}: {body}")
    got = {
        row["token"]["address"]: int(row["amount"]) for row in body["data"] if not row["token"]["isNative"]
    }
    if got != expected:
        raise RuntimeError(
            f"{len(expected)} balances expected, {len(got)} came or are wrong: {body['partial']}"
        )
    return took
