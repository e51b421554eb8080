"""Removes each check of the guard and of the readers of calldata in turn: some test must fail.

Writes ``docs/reference/guard-checks.md``, a row a check with the test that fails without it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.progress import Progress

from bench.mutant import VARIABLE, Check, checks_of
from bench.report import Report

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "guard-checks.md"
FOLDERS = ("guard", "evm/calls")
"""Whose checks are removed."""

STAGES: Sequence[Sequence[str]] = (
    (
        "tests/core/test_guarded_quotes.py",
        "tests/core/test_calldata.py",
        "tests/core/test_cross_chain.py",
        "tests/core/test_outcome.py",
        "tests/core/test_vault_outcome.py",
        "tests/core/test_opaque.py",
        "tests/core/test_routing_limits.py",
        "tests/core/test_model_types.py",
        "tests/core/test_call_registry.py",
        "tests/core/test_uniswap_calls.py",
        "tests/core/test_flow_calls.py",
        "tests/core/test_balancer_calls.py",
        "tests/core/test_swap_router_calls.py",
        "tests/core/test_integrator_fees.py",
        "tests/core/test_exact_output_checks.py",
        "tests/core/test_exact_output_fees.py",
        "tests/core/test_descriptors.py",
        "tests/test_policy_commands.py",
    ),
    (
        "tests/core/test_permits.py",
        "tests/test_custody_policy.py",
        "tests/test_custody_kinds.py",
        "tests/test_screening.py",
        "tests/attacks",
        "tests/test_conformance.py",
        "tests/test_swap_then_bridge_attacks.py",
        "plugins/across/tests/test_across_conformance.py",
        "plugins/lifi/tests/test_lifi_devnet.py",
        "plugins/lifi/tests/test_lifi_conformance.py",
        "plugins/uniswap/tests",
    ),
)
"""The tests to run. The later ones start nodes: they run where the earlier ones have noticed nothing."""

WORKERS = 2
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[.*)?(?: - .*)?$", re.M)
_HEAD = """# Checks of the guard

Each row is a check in `framework/quoteway/guard/` or `framework/quoteway/evm/calls/`, and a test that fails
when that check alone is removed. `python -m bench checks` removes them one by one and writes this page.

| module | check | test that fails without it |
| --- | --- | --- |
"""


def modules() -> list[tuple[str, Path]]:
    """Returns the modules whose checks are removed, by name."""
    core = ROOT / "framework" / "quoteway"
    paths = [path for folder in FOLDERS for path in sorted((core / folder).glob("*.py"))]
    return [(".".join(path.relative_to(core.parent).with_suffix("").parts), path) for path in paths]


def all_checks() -> list[tuple[str, Check]]:
    """Returns every check with the name of its module."""
    return [(name, check) for name, path in modules() for check in checks_of(path.read_text())]


def cells_of(module: str, check: Check) -> tuple[str, str]:
    """Returns what the page says of a check, without its test."""
    condition = check.condition.replace("|", "\\|")
    return f"`{module.removeprefix('quoteway.')}`", f"`{condition}`"


async def measure(report: Report, options: argparse.Namespace) -> None:
    checks, stopped = all_checks(), dict[int, str]()
    waiting, free = list(enumerate(checks)), asyncio.Semaphore(WORKERS)
    with Progress(console=report.console) as progress:
        task = progress.add_task(f"removing {len(checks)} checks", total=len(checks))

        async def remove(place: int, module: str, check: Check) -> None:
            async with free:
                for stage in STAGES:
                    failed = await first_failure(module, check, stage)
                    if failed is not None:
                        stopped[place] = failed
                        break
                else:
                    progress.console.print(f"no test fails without {module}:{check.line} {check.condition}")
                progress.advance(task)

        await asyncio.gather(*(remove(place, *each) for place, each in waiting))
    PAGE.write_text(page((*cells_of(*each), stopped.get(place, "")) for place, each in waiting))
    report.baseline("checks of the guard and of the readers of calldata", str(len(checks)))
    survived = [each for place, each in waiting if place not in stopped]
    report.none("checks without which every test passes", survived, "checks")


async def first_failure(module: str, check: Check, tests: Sequence[str]) -> str | None:
    """Returns the test that fails first without a check, and again alone; None when all pass."""
    while True:
        found = await failure(module, check, tests)
        if found is None or await failure(module, check, [found]) is not None:
            return found


async def failure(module: str, check: Check, tests: Sequence[str]) -> str | None:
    """Returns the test that fails first without a check in one run; None when all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "bench.mutant"]
    child = await asyncio.create_subprocess_exec(
        *command,
        *("-p", "no:cacheprovider", "-m", "not slow and not services", *tests),
        cwd=ROOT,
        env={**os.environ, VARIABLE: f"{module}:{check.index}"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await child.communicate()
    if child.returncode == 0:
        return None
    found = _FAILED.search(output.decode())
    if found is None:
        raise RuntimeError(f"pytest ended with {child.returncode}: {output.decode()[-2000:]}")
    return found[1]


def page(rows: Iterable[tuple[str, str, str]]) -> str:
    """Returns the page: a row a check."""
    shown = (f"| {module} | {check} | {f'`{test}`' if test else ''} |\n" for module, check, test in rows)
    return _HEAD + "".join(shown)
