"""Processes of the command ``quoteway`` over a devnet that runs already."""

import contextlib
import os
import random
import subprocess
import sys
import time

KEY = "31f0c1d5a7e94b2c8d6f7a1b3c5e9d0f2a4b6c8e0d1f3a5b7c9e2d4f6a8b0c1d"


def configure(folder, devnet, store='path = "index.duckdb"'):
    """Writes the configuration of a deployment that indexes the first chain of the devnet."""
    (folder / "quoteway.toml").write_text(
        f"""
        [quotes]
        keys = [{{id = "k1", secret = {{env = "INDEX_TEST_KEY"}}}}]
        [plugin.devnet]
        enabled = true
        start = false
        port = {devnet.ports["devnet"]}
        l2_port = {devnet.ports["devnet-l2"]}
        [plugin.indexer]
        enabled = true
        {store}
        networks = ["devnet"]
        """
    )


def environment(**more):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")}
    return {**inherited, "INDEX_TEST_KEY": KEY, **more}


def command(*words):
    return [sys.executable, "-m", "quoteway", *words]


@contextlib.contextmanager
def running(folder, *words, **more):
    """A process, and the file that it writes to. It is killed when it does not end."""
    log = folder / f"log-{random.randbytes(4).hex()}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command(*words), cwd=folder, env=environment(**more), stdout=output, stderr=output
        )
    try:
        yield process, log
    finally:
        process.terminate()
        try:
            process.wait(20)
        finally:
            process.kill()


def until(condition, seconds=120, step_s=0.05):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(step_s)
    return found
