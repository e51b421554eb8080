"""Runs an anvil process, which ends with ours in every case."""

import os
import random
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from quoteway_devnet.errors import DevnetError
from quoteway_devnet.rpc import Rpc

BASE_FEE_WEI = 1_000_000_000

STATES_KEPT = 128
"""Blocks whose state can be read. Each costs anvil some 0.6 MB of memory."""

# anvil runs below a shell whose standard input is a pipe from us. When we end, even by SIGKILL, the kernel
# closes the pipe, `read` returns, and the shell ends anvil. Linux's parent-death signal does not work here:
# it depends on the thread that forked, and servers start this in a worker thread.
_WATCHED = """
exec 3<&0 </dev/null
"$@" 3<&- & child=$!
(read -r _ <&3; kill "$child") 2>/dev/null & watcher=$!
exec 3<&-
wait "$child"; code=$?
kill "$watcher" 2>/dev/null
exit "$code"
"""


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that is free now.

    Ports chosen by the system (bind to port 0) come from the range of outgoing connections, and may be taken
    before anvil listens.
    """
    while True:
        port = random.randrange(20_000, 32_000)  # noqa: S311  no secret
        if _is_free(port):
            return port


class Anvil:
    """An anvil process. ``launch`` starts it, ``wait`` returns when it answers, ``stop`` ends it."""

    def __init__(self, process: subprocess.Popen[bytes], log: IO[bytes], chain_id: int, port: int) -> None:
        self._process = process
        self._log = log
        self.chain_id = chain_id
        self.port = port

    @classmethod
    def launch(
        cls,
        binary: Path,
        chain_id: int,
        port: int,
        state: Path | None = None,
        *,
        genesis_s: int | None = None,
        genesis_number: int | None = None,
    ) -> Self:
        """Start anvil on 127.0.0.1 with the chain of the dump ``state``, or an empty one.

        ``genesis_s`` is the time of its first block in Unix seconds, by default now; its clock continues
        from there. ``genesis_number`` is that block's number, by default 0. Raises DevnetError when the port
        is taken.
        """
        if not _is_free(port):
            raise DevnetError(_taken(port, chain_id))
        command = [
            str(binary),
            *("--host", "127.0.0.1", "--port", str(port), "--chain-id", str(chain_id)),
            # Pinned, so that every anvil release gives the same chain.
            *("--hardfork", "prague"),
            # Also the limit of one eth_call: lens calls over many pools use 100 M gas.
            *("--gas-limit", "1000000000", "--block-base-fee-per-gas", str(BASE_FEE_WEI)),
            # In order of arrival: the builder's transactions depend on each other.
            *("--order", "fifo"),
            # Otherwise anvil writes every block's state to disk, gigabytes in a long run, and does not
            # delete the files.
            *("--prune-history", str(STATES_KEPT)),
            # A dump is larger than the default limit of 2 MB.
            "--no-request-size-limit",
            "--quiet",
        ]
        if genesis_s is not None:
            command += ["--timestamp", str(genesis_s)]
        if genesis_number is not None:
            command += ["--number", str(genesis_number)]
        if state is not None:
            command += ["--load-state", str(state)]
        # A file without a name: it disappears with the processes.
        log = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop
        process = subprocess.Popen(  # noqa: S603  our own command line
            ["/bin/sh", "-c", _WATCHED, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Ctrl-C in a terminal must not reach anvil: we stop it after our own cleanup.
            start_new_session=True,
        )
        return cls(process, log, chain_id, port)

    @property
    def url(self) -> str:
        """The JSON-RPC endpoint."""
        return f"http://127.0.0.1:{self.port}"

    def rpc(self) -> Rpc:
        """A new client of this chain."""
        return Rpc(self.port)

    def wait(self, timeout_s: float = 120.0) -> None:
        """Return once the chain answers. Raises DevnetError when it ends or does not answer."""
        deadline = time.monotonic() + timeout_s
        while True:
            if self._process.poll() is not None:
                self._log.seek(0)
                said = " ".join(self._log.read().decode(errors="replace").split()[-40:])
                self.stop()
                raise DevnetError(
                    f"anvil for chain {self.chain_id} ended at once ({said or 'no message'}); "
                    "clear the cache with `quoteway devnet --rebuild` or try another port."
                )
            try:
                with Rpc(self.port, timeout_s=2.0) as rpc:
                    answer = int(rpc("eth_chainId"), 16)
            except OSError:
                if time.monotonic() > deadline:
                    self.stop()
                    raise DevnetError(
                        f"anvil for chain {self.chain_id} did not answer on port {self.port} within "
                        f"{timeout_s:.0f} s; free some memory or CPU and start again."
                    ) from None
                time.sleep(0.01)
                continue
            if answer != self.chain_id:
                self.stop()
                raise DevnetError(_taken(self.port, self.chain_id))
            return

    def stop(self) -> None:
        """End the process; may be called again."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            # The shell leads its own process group, so this also kills anvil.
            os.killpg(self._process.pid, 9)
            self._process.wait()
        self._log.close()

    def __enter__(self) -> Self:
        self.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # anvil sets this option too: a port in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _taken(port: int, chain_id: int) -> str:
    return (
        f"Port {port} of the devnet's chain {chain_id} is taken by another program; "
        "stop that program or choose another port."
    )
