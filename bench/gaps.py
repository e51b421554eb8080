"""How near quotes on the devnet are to the bound that they state, over HTTP and without gas."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import aiohttp

from bench.report import Report, percentile
from bench.server import gateway
from bench.speed import WALLET

DOLLARS = tuple(10 ** (3 + step / 2) for step in range(9))
"""From $1,000 to $10,000,000."""
TOKENS = ("WETH", "USDC", "USDT", "DAI", "WBTC", "LINK", "UNI", "MKR", "wstETH")
LEAST_WORTH = 0.9
"""Trades that give less than this share of what they take drain the pools: they are counted apart."""
STARTED_S = 60.0
"""How long prices and the solver's process may take at the start."""


async def measure(report: Report, options: argparse.Namespace) -> None:
    async with gateway() as url, aiohttp.ClientSession() as session:
        tokens = await _when_it_solves(session, url)
        gaps, drained, missing, refused = list[float](), list[float](), 0, 0
        for sold, bought in itertools.permutations(sorted(tokens), 2):
            for dollars in DOLLARS:
                answer = await _quote(session, url, tokens[sold], tokens[bought], dollars)
                if answer is None:
                    refused += 1
                elif answer.get("optimality") is None:
                    missing += 1
                else:
                    got = Decimal(answer["toAmount"]) / 10 ** tokens[bought]["decimals"]
                    worth = float(got * Decimal(tokens[bought]["priceUsd"]))
                    fair = worth >= LEAST_WORTH * dollars
                    (gaps if fair else drained).append(answer["optimality"]["gapBps"])
    report.baseline("devnet: quotes with a bound", f"{len(gaps)}; without one {missing}, refused {refused}")
    if drained:
        text = f"{len(drained)}, gap p50 {statistics.median(drained):.1f} bps"
        report.baseline("devnet: trades that lose over 10 %", text)
    p50, p99 = statistics.median(gaps), percentile(gaps, 0.99)
    report.at_most("devnet: gap to the bound without gas, p50", p50, 0.1, "bps", digits=4)
    report.at_most("devnet: gap to the bound without gas, p99", p99, 1, "bps", digits=4)


async def _when_it_solves(session: aiohttp.ClientSession, url: str) -> dict[str, Mapping[str, Any]]:
    """Returns the tokens when all have prices and quotes have bounds. Raises TimeoutError."""
    async with asyncio.timeout(STARTED_S):
        while True:
            tokens = await _tokens(session, url)
            if len(tokens) == len(TOKENS):
                answer = await _quote(session, url, tokens["WETH"], tokens["USDC"], 1e5)
                if answer is not None and answer.get("optimality") is not None:
                    return tokens
            await asyncio.sleep(0.5)


async def _tokens(session: aiohttp.ClientSession, url: str) -> dict[str, Mapping[str, Any]]:
    """Returns address, decimals and price of the tokens by symbol."""
    async with session.get(f"{url}/v2/tokens?network=devnet&limit=200") as answer:
        listed = (await answer.json())["data"]
    found = {}
    for row in listed:
        contract = next((each for each in row["contracts"] if each["chainId"] == 31337), None)
        price = row.get("priceUsd") or (contract or {}).get("priceUsd")
        if contract is not None and row["symbol"] in TOKENS and price is not None:
            found[row["symbol"]] = {**contract, "priceUsd": price}
    return found


async def _quote(
    session: aiohttp.ClientSession,
    url: str,
    sold: Mapping[str, Any],
    bought: Mapping[str, Any],
    dollars: float,
) -> dict[str, Any] | None:
    amount = int(Decimal(dollars) / Decimal(sold["priceUsd"]) * 10 ** sold["decimals"])
    body = {
        "network": "devnet",
        "fromToken": sold["address"],
        "toToken": bought["address"],
        "amount": str(amount),
        "address": WALLET,
        "gasPriceWei": "0",
        "acknowledge": ["high_price_impact"],
    }
    async with session.post(f"{url}/v2/swaps/quote", json=body) as answer:
        return await answer.json() if answer.status == 200 else None
