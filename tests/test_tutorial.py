"""The tutorial "Write a provider", followed literally: from an empty folder, with wheels of this tree."""

import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
from tutorial_steps import follow, steps_of

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorial" / "write-a-provider.md"


def test_the_page_has_every_file_and_command():
    steps = steps_of(PAGE)
    files = [step.file for step in steps if step.file]
    assert files == ["wrap_provider.py", "pyproject.toml", "test_wrap_provider.py"]
    commands = "".join(step.text for step in steps if step.file is None)
    for command in ("pip install quoteway ", "pip install .", "quoteway providers", "python -m pytest"):
        assert command in commands


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """The environment of a reader whose pip finds wheels of this tree, and what they need."""
    pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")
    folder = tmp_path_factory.mktemp("reader")
    wheels, packages = folder / "wheels", folder / "packages"
    projects = (ROOT, ROOT / "plugins" / "devnet", ROOT / "plugins" / "rpc")
    build = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    subprocess.run([*build, "--wheel-dir", wheels, *projects], check=True, timeout=200)
    # What the core needs is here already. The core itself comes from its wheel, as for a reader.
    packages.mkdir()
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if not each.name.startswith(("quoteway", "_quoteway", "__editable__")) and each.suffix != ".pth":
            (packages / each.name).symlink_to(each)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")},
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it as --no-build-isolation
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONPATH": str(packages),
    }


@pytest.mark.slow
def test_a_reader_who_copies_the_page_has_a_provider_that_swaps(reader, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    printed = follow(PAGE, folder, reader)
    (row,) = (line.split() for line in printed.splitlines() if line.startswith("wrap "))
    assert row == ["wrap", "swap", "31337,31338", "wrap", "0.1.0", "configured", "-"]
    assert "1 passed" in printed


@pytest.mark.slow
def test_a_reader_who_starts_from_a_template_reaches_level_2_in_a_quarter_of_an_hour(reader, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    began = time.monotonic()
    printed = follow(ROOT / "docs" / "how-to" / "start-a-plugin.md", folder, reader)
    assert time.monotonic() - began < 15 * 60
    assert "my-dex 0.1.0: level 2, written to quoteway.levels" in printed
    assert " passed" in printed
    assert " skipped" not in printed
