"""The demo's own gateway: ``quoteway serve`` and devnet chains on free ports."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quoteway_devnet.chains import Devnet
from quoteway_devnet.demo.errors import DemoError
from quoteway_devnet.relayer import Relayer
from quoteway_devnet.tables import DEVNET, DEVNET_L2

_READY_TIMEOUT_S = 60.0
_RELAYER_PORT = "QUOTEWAY_PLUGIN__DEVNET__RELAYER_PORT"


@contextmanager
def own_server() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the gateway's URL, and the nodes' URLs by slug. Raises DemoError and DevnetError."""
    with Devnet.running() as devnet, Relayer.running(devnet) as relayer:
        settings = {
            "QUOTEWAY_LIMITS__ENABLED": "false",
            # The demo compares amounts, also on a busy machine.
            "QUOTEWAY_QUOTES__COMPETITION_TIMEOUT_S": "20",
            _RELAYER_PORT: str(relayer.port),
        }
        with gateway_over(devnet, **settings) as url:
            yield url, devnet.urls


@contextmanager
def gateway_over(devnet: Devnet, **settings: str) -> Iterator[str]:
    """Run a gateway over running chains during the block and yield its URL. Raises DemoError.

    ``settings`` are further environment variables.
    """
    with tempfile.TemporaryDirectory(prefix="quoteway-demo-") as folder:
        log = Path(folder) / "gateway.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "quoteway", "serve"],
                # An empty folder without the user's settings: the embedded default.
                cwd=folder,
                env=_environment(devnet) | settings,
                # The gateway stops when this pipe closes, which the kernel does however the demo ends.
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield _url(process, log)
        finally:
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _environment(devnet: Devnet) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")}
    return inherited | {
        "QUOTEWAY_SERVER__PORT": "0",
        "QUOTEWAY_STOP_AT_EOF": "1",
        # The chains run already.
        "QUOTEWAY_PLUGIN__DEVNET__START": "false",
        "QUOTEWAY_PLUGIN__DEVNET__PORT": str(devnet.ports[DEVNET.slug]),
        "QUOTEWAY_PLUGIN__DEVNET__L2_PORT": str(devnet.ports[DEVNET_L2.slug]),
    }


def _url(process: subprocess.Popen[bytes], log: Path) -> str:
    """Return its URL, which it logs when its providers have started. Raises DemoError."""
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while time.monotonic() < deadline:
        said = log.read_text(errors="replace")
        if found := re.search(r"is serving on (http://\S+)", said):
            return found[1]
        if process.poll() is not None:
            last = (said.strip().splitlines() or ["no message"])[-1][:300]
            raise DemoError(f"The gateway did not start ({last}); run `quoteway serve` to see all it says.")
        time.sleep(0.02)
    raise DemoError(
        f"The gateway was not ready within {_READY_TIMEOUT_S:.0f} s; run `quoteway serve` to see why."
    )
