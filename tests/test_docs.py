"""What the documentation tells a reader to run, run."""

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def running():
    """The URL of a ``quoteway serve`` on a free port, and its nodes' by slug."""
    server = pytest.importorskip(
        "quoteway_devnet.demo.server", reason="needs the quoteway-devnet distribution"
    )
    for plugin in ("quoteway_rpc", "quoteway_tokenlist", "quoteway_uniswap"):
        pytest.importorskip(plugin, reason="the tutorial swaps through Uniswap")
    with server.own_server() as (url, nodes):
        yield url, nodes


def test_the_first_swap_of_the_tutorial(running):
    url, nodes = running
    command = [sys.executable, str(DOCS / "tutorial" / "first_swap.py"), url, nodes["devnet"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    quoted, signing, received = done.stdout.splitlines()
    assert signing.startswith("signing  Swap exactly 1 ETH for at least ")
    amount = int(quoted.split()[1])
    assert amount > 0
    assert received == f"received {amount} difference 0"
