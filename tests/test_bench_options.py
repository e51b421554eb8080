"""The command line of the measurements."""

import subprocess
import sys
from pathlib import Path

from bench.__main__ import ON_REQUEST, OPTIONS, PARTS


def test_help_names_each_part_and_option():
    root = Path(__file__).parents[1]
    told = subprocess.run(
        [sys.executable, "-m", "bench", "--help"], capture_output=True, text=True, cwd=root, check=False
    )
    assert told.returncode == 0, told.stderr
    words = {word.strip("[]():,") for word in told.stdout.split()}
    assert words >= PARTS.keys() | ON_REQUEST.keys()
    assert words >= {f"--{name}" for name, _, _ in OPTIONS}
