"""Memory that the C library keeps goes back to the operating system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_HELD_BYTES = 64 << 20
_LEAVES_GAPS = f"""
import asyncio, resource
from pathlib import Path
from quoteway.host import memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

async def main():
    before = resident()
    blocks = [bytes(20_000) for _ in range({_HELD_BYTES} // 20_000)]
    last = blocks[-1]  # above all others: free memory below it stays with the C library
    del blocks
    kept = resident()
    memory.GIVE_BACK_EVERY_S = 0.01
    giving_back = asyncio.create_task(memory.keep_giving_back())
    async with asyncio.timeout(30):
        while resident() - before > {_HELD_BYTES} * 0.1:
            await asyncio.sleep(0.01)
    giving_back.cancel()
    print(kept - before)

asyncio.run(main())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep nothing")
def test_free_memory_is_given_back() -> None:
    ran = subprocess.run([sys.executable, "-c", _LEAVES_GAPS], check=True, capture_output=True, text=True)
    assert int(ran.stdout) > _HELD_BYTES * 0.9
