"""Writes the locks: exact versions, with hashes, of what the distributions here need of others.

``make lock`` runs it. It asks the package registry, and keeps what is locked unless ``--upgrade`` is given.
The locks hold for every platform and Python version of ``requires-python``. They name no registry: each
machine uses its own.
"""

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "locks"
PLUGINS = sorted(file.parent for file in (ROOT / "plugins").glob("*/pyproject.toml"))
# The client has commands of `quoteway`.
FOLDERS = [ROOT, *PLUGINS, ROOT / "clients/python"]
PROJECTS = {folder: tomllib.loads((folder / "pyproject.toml").read_text())["project"] for folder in FOLDERS}

# What builds the distributions, and what installs them in an image.
BUILD = ["editables", "hatchling", "uv"]
# Extras that a deployment may choose. The others are for plugin authors and for this repository's tests.
RUNTIME_EXTRAS = {"cli", "clickhouse", "otel", "postgres", "reload", "signing", "solver", "valkey"}
# Sets of tools that have a lock of their own, because few need them.
APART = ("release", "services")


def local(folder: Path, extras: set[str]) -> str:
    """A requirement of a distribution of this repository, with those extras that it has."""
    chosen = sorted(extras & PROJECTS[folder].get("optional-dependencies", {}).keys())
    return f"-e ./{folder.relative_to(ROOT)}" + (f"[{','.join(chosen)}]" if chosen else "")


def requirements() -> dict[str, list[str]]:
    """The requirements of each lock. A lock keeps to the versions of those before it."""
    extras = {extra for project in PROJECTS.values() for extra in project.get("optional-dependencies", {})}
    return {
        "dev": [*(local(folder, extras - set(APART)) for folder in FOLDERS), *BUILD],
        "runtime": [local(folder, RUNTIME_EXTRAS) for folder in FOLDERS],
        "build": BUILD,
        **{name: PROJECTS[ROOT]["optional-dependencies"][name] for name in APART},
    }


def write(name: str, lines: list[str], before: list[Path], *options: str) -> Path:
    lock = LOCKS / f"{name}.txt"
    command = [
        *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes"),
        *("--python-version", PROJECTS[ROOT]["requires-python"].removeprefix(">=")),
        *("--custom-compile-command", "make lock", "--no-annotate"),
        *(f"--no-emit-package={project['name']}" for project in PROJECTS.values()),
        *(f"--constraints={path}" for path in before),
        *(f"--output-file={lock}", *options, "-"),
    ]
    subprocess.run(command, cwd=ROOT, input="\n".join(lines), text=True, check=True)  # noqa: S603
    return lock


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the locks of the dependencies.")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that fit")
    options = ["--upgrade"] if parser.parse_args().upgrade else []
    written: list[Path] = []
    for name, lines in requirements().items():
        written.append(write(name, lines, written, *options))


if __name__ == "__main__":
    main()
