"""Start-up time and memory of ``quoteway serve`` without the devnet, with all plugins loaded."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from pathlib import Path

from bench.report import Report
from bench.server import free_port, process, wait_for

REPEATS = 7
PAGE_BYTES = 4096


async def measure(report: Report, options: argparse.Namespace) -> None:
    command = str(Path(sys.executable).with_name("quoteway"))
    listening, resident = [], []
    for index in range(REPEATS):
        report.say(f"start-up {index + 1} of {REPEATS}")
        port = free_port()
        started = time.perf_counter()
        async with process(command, "serve", "--no-devnet", "--port", str(port)) as child:
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    break
                except OSError:
                    if child.returncode is not None:
                        raise RuntimeError(f"quoteway serve ended with code {child.returncode}") from None
                    await asyncio.sleep(0.005)
            listening.append(time.perf_counter() - started)
            writer.close()
            await wait_for(f"http://127.0.0.1:{port}/readyz", child)
            resident.append(resident_bytes(child.pid) / 1e6)
    report.at_most(
        "serve --no-devnet: start to listening (median)", statistics.median(listening), 1.0, "s", digits=2
    )
    report.at_most("serve --no-devnet: resident memory when ready", statistics.median(resident), 90, "MB")


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
