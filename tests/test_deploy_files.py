"""The files of deploy/ beside nginx.conf, which ``tests/web/test_replicas_behind_nginx.py`` runs.

``tests/image.py`` carries out the steps of the Dockerfile.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.services

DOCKERFILE = Path(__file__).parents[1] / "deploy" / "Dockerfile"
UNIT = Path(__file__).parents[1] / "deploy" / "quoteway.service"


@pytest.fixture
def unit(tmp_path):
    """The unit, with the programs of this environment."""
    assert shutil.which("systemd-analyze"), "install systemd"
    shipped = "/opt/quoteway/bin/quoteway"
    text = UNIT.read_text()
    assert text.count(shipped) == 2
    path = tmp_path / "quoteway.service"
    path.write_text(text.replace(shipped, str(Path(sys.executable).with_name("quoteway"))))
    return path


def test_systemd_takes_the_unit_without_a_warning(unit):
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_is_hardened(unit):
    """systemd rates a unit without any protection 9.6, and one below 2 as OK."""
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", unit],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = re.search(r"Overall exposure level for quoteway.service: ([0-9.]+)", done.stdout)
    assert found is not None, done.stdout
    assert float(found[1]) < 2


def test_the_linter_finds_nothing_in_the_dockerfile():
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([linter, DOCKERFILE], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
