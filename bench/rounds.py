"""JSON-RPC requests that a quote costs: none warm, at most three rounds one after the other cold."""

from __future__ import annotations

import argparse

from bench.report import Report
from quoteway_uniswap.testing import quote_costs


async def measure(report: Report, options: argparse.Namespace) -> None:
    costs = await quote_costs()
    report.at_most("RPC requests of a warm quote", costs.warm_requests, 0, "requests", digits=0)
    report.at_most("sequential RPC rounds of a cold quote", costs.cold_rounds, 3, "rounds", digits=0)
    report.baseline("RPC requests of a cold quote", f"{costs.cold_requests} requests")
