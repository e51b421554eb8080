"""The distributions of this repository, built so that two builds of one commit are equal byte for byte."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = [
    ROOT,
    *sorted(file.parent for file in (ROOT / "plugins").glob("*/pyproject.toml")),
    ROOT / "clients/python",
]


def version() -> str:
    """The version of the core, which names a release."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def commit_time() -> str:
    """The time of the present commit, in seconds since 1970: what the files in the archives are dated."""
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603


def build(target: Path, time: str) -> list[Path]:
    """A wheel and an archive of the sources of every distribution, in ``target``, without the network.

    ``time`` is the date of the files in them, in seconds since 1970.
    """
    target.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": time}
    for folder in FOLDERS:
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target)]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)  # noqa: S603
    return sorted(path for path in target.iterdir() if path.name.endswith((".whl", ".tar.gz")))
