"""The tutorial "Write a provider", followed literally: from an empty folder, with wheels of this tree."""

import os
import subprocess
import sys
import sysconfig
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


@pytest.mark.slow
def test_a_reader_who_copies_the_page_has_a_provider_that_swaps(tmp_path):
    pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")
    wheels, packages, folder = (tmp_path / name for name in ("wheels", "packages", "empty"))
    projects = (ROOT, ROOT / "plugins" / "devnet", ROOT / "plugins" / "rpc")
    build = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    subprocess.run([*build, "--wheel-dir", wheels, *projects], check=True, timeout=200)
    # What the core needs is here already. The core itself comes from its wheel, as for a reader.
    packages.mkdir()
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if not each.name.startswith(("quoteway", "_quoteway", "__editable__")) and each.suffix != ".pth":
            (packages / each.name).symlink_to(each)
    folder.mkdir()
    environment = {
        **os.environ,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it as --no-build-isolation
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONPATH": str(packages),
    }
    printed = follow(PAGE, folder, environment)
    (row,) = (line.split() for line in printed.splitlines() if line.startswith("wrap "))
    assert row == ["wrap", "swap", "31337,31338", "wrap", "0.1.0", "configured", "-"]
    assert "1 passed" in printed
