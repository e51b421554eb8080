"""Memory that the C library keeps goes back to the operating system after collections."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

_HELD_BYTES = 64 << 20
_LEAVES_GAPS = f"""
import gc, resource
from pathlib import Path
from quoteway.host.memory import give_back_after_collections

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

give_back_after_collections()
give_back_after_collections()
before = resident()
blocks = [bytes(20_000) for _ in range({_HELD_BYTES} // 20_000)]
last = blocks[-1]  # above all others: free memory below it stays with the C library
del blocks
kept = resident()
gc.collect(1)
young = resident()
gc.collect()
print(kept - before, young - before, resident() - before, len(gc.callbacks))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep nothing")
def test_a_collection_of_all_garbage_gives_memory_back() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _LEAVES_GAPS], check=True, capture_output=True, text=True, env=dict(os.environ)
    )
    kept, young, given_back, callbacks = map(int, ran.stdout.split())
    assert kept > _HELD_BYTES * 0.9
    assert young > _HELD_BYTES * 0.9, "a collection of young objects alone gives nothing back"
    assert given_back < _HELD_BYTES * 0.1
    assert callbacks == 1
