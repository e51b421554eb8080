"""Runs commands of ``quoteway`` as a person does, and a hostile gateway before them."""

import os
import pty
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner
from quoteway.server.cli import main

EXECUTABLE = Path(sys.executable).with_name("quoteway")


def told(*words, **environment):
    """The result of a command: ``exit_code``, ``stdout``, ``stderr``."""
    return CliRunner(env=environment).invoke(main, list(map(str, words)))


def on_a_terminal(*words, columns=80):
    """What a command prints on a terminal, as text."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": str(columns), "LINES": "24"}
    with subprocess.Popen(
        [EXECUTABLE, *map(str, words)], stdout=theirs, stderr=theirs, env=environment
    ) as done:
        os.close(theirs)
        printed = b""
        while True:
            try:
                chunk = os.read(ours, 65_536)
            except OSError:  # Linux says so when the last writer is gone
                break
            if not chunk:
                break
            printed += chunk
    os.close(ours)
    assert done.returncode == 0, printed
    return printed.decode()
