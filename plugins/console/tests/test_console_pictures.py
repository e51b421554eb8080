"""The pictures of the documentation can be taken anew, as `make pictures` does."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

pytestmark = [pytest.mark.services, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "docs" / "how-to" / "pictures"


def size_of(picture):
    """Width and height of a PNG, in pixels."""
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", head[16:])


def test_the_pictures_are_taken_from_the_running_devnet(tmp_path):
    made = subprocess.run(
        [sys.executable, ROOT / "docs" / "pictures.py", tmp_path],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    taken = {each.name: each for each in tmp_path.glob("*.png")}
    assert set(taken) == {each.name for each in KEPT.glob("*.png")}
    for name, picture in taken.items():
        assert size_of(picture) == size_of(KEPT / name)
        # A page that shows nothing but its header takes a fourth of that.
        assert picture.stat().st_size > 40_000, name
