"""The table of the guard's checks: complete, and each names a test that exists."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from bench.checks import PAGE, all_checks, cells_of, first_failure  # noqa: E402

ROW = re.compile(r"^\| (`[\w.]+`) \| (`.*`) \| `([\w./]+\.py)::([\w:]+)` \|$", re.M)
ROWS = ROW.findall(PAGE.read_text())


def test_every_check_has_a_row():
    assert [row[:2] for row in ROWS] == [cells_of(*each) for each in all_checks()]


@pytest.mark.parametrize("path", sorted({row[2] for row in ROWS}))
def test_the_tests_that_the_table_names_exist(path):
    source = (ROOT / path).read_text()
    for test in {row[3] for row in ROWS if row[2] == path}:
        assert re.search(rf"def {test.rpartition(':')[2]}\(", source), test


@pytest.mark.slow
async def test_a_row_is_what_happens():
    """A check is removed, and the test of its row fails."""
    place = next(place for place, row in enumerate(ROWS) if row[2] == "tests/core/test_calldata.py")
    module, check = all_checks()[place]
    _, _, path, test = ROWS[place]
    assert await first_failure(module, check, [f"{path}::{test}"]) == f"{path}::{test}"
