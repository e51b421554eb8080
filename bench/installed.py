"""Seconds to serving of what operators install: the wheels alone, the steps of the image, the systemd unit.

Each is a deployment of one network, and started again and again in turns beside a bare aiohttp handler, from
the start of the process until ``/readyz`` is 200. Needs the package registry, as ``make test-wheels`` does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shlex
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.harness import harness
from bench.report import Report
from bench.server import BARE, free_port, wait_for

REPEATS: Final = 5
UNIT: Final = Path(__file__).parent.parent / "deploy" / "quoteway.service"


@dataclass(frozen=True, slots=True)
class Start:
    """Commands that run one after another, the last of which serves, and the path that answers 200 then."""

    commands: Sequence[Sequence[str]]
    folder: Path
    environ: Mapping[str, str]
    ready: str = "/readyz"


async def measure(report: Report, options: argparse.Namespace) -> None:
    from quoteway_devnet.chains import Devnet

    wheels, images = harness("wheels"), harness("image")
    with tempfile.TemporaryDirectory(prefix="quoteway-installed-") as scratch, ExitStack() as stack:
        folder = Path(scratch)
        report.say("building the wheels and the image")
        commands = wheels.install(folder / "environment", wheels.build(folder / "wheels"))
        image = images.Image(folder / "image")
        for steps in images.stages(images.FILE.read_text()):
            image.build(steps)
        url = stack.enter_context(Devnet.running()).urls["devnet"]
        settings = folder / "settings"
        settings.mkdir()
        for each in (settings, image.path(".")):
            images.configure(each, url)
        stack.enter_context(images.read_only(image))
        served = [str(commands / "quoteway"), "serve"]
        starts = {
            "a bare aiohttp handler": Start([[sys.executable, "-c", BARE]], folder, os.environ, "/"),
            "from wheels alone": Start([served], settings, _clean(os.environ)),
            "from the steps of the image": Start(
                [image.as_its_user(image.command)], image.path("."), image.environment
            ),
            "by the commands of the unit": _unit(commands, settings),
        }
        took = defaultdict(list)
        for turn in range(REPEATS):
            report.say(f"turn {turn + 1} of {REPEATS}")
            for name, start in starts.items():
                took[name].append(await _seconds(start))
    for name, seconds in took.items():
        text = f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"
        report.baseline(f"{name}: start to serving, median", text)


def _clean(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment without what points into this source tree."""
    return {name: value for name, value in environ.items() if not name.startswith(("QUOTEWAY_", "PYTHON"))}


def _unit(commands: Path, settings: Path) -> Start:
    """Returns what the unit runs, with its environment, its check of the configuration first."""
    text = UNIT.read_text()
    state = settings / "state"
    for shipped, here in (
        ("/opt/quoteway/bin", commands),
        ("/etc/quoteway", settings),
        ("/var/lib/quoteway", state),
        ("/var/cache/quoteway", state),
    ):
        assert shipped in text, shipped
        text = text.replace(shipped, str(here))
    state.mkdir()
    lines = re.findall(r"^(ExecStartPre|ExecStart|Environment)=(.+)$", text, re.MULTILINE)
    ordered = [
        shlex.split(value) for kind in ("ExecStartPre", "ExecStart") for key, value in lines if key == kind
    ]
    own = (word.split("=", 1) for key, value in lines if key == "Environment" for word in shlex.split(value))
    return Start(ordered, state, {**_clean(os.environ), **dict(own)})


async def _seconds(start: Start) -> float:
    """Starts and ends it, and returns the seconds until it serves."""
    port = free_port()
    *before, served = start.commands
    if start.ready == "/":
        served = [*served, str(port)]
    environ = {**start.environ, "QUOTEWAY_SERVER__PORT": str(port)}
    began = time.perf_counter()
    for command in before:
        child = await _run(command, start.folder, environ)
        if await child.wait():
            raise RuntimeError(f"{' '.join(command)} ended with code {child.returncode}")
    child = await _run(served, start.folder, environ)
    try:
        await wait_for(f"http://127.0.0.1:{port}{start.ready}", child)
        return time.perf_counter() - began
    finally:
        child.terminate()
        await child.wait()


async def _run(
    command: Sequence[str], folder: Path, environ: Mapping[str, str]
) -> asyncio.subprocess.Process:
    quiet = asyncio.subprocess.DEVNULL
    return await asyncio.create_subprocess_exec(*command, cwd=folder, env=environ, stdout=quiet, stderr=quiet)
