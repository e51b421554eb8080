"""The table of the corpus of bad plugins: complete, and who blocks the loop is named by its function."""

import re
import sys
from pathlib import Path

from quoteway.testing.bad_plugins import BAD_PLUGINS

sys.path.insert(0, str(Path(__file__).parent.parent))
from bench.plugins import PAGE


def test_the_page_has_a_row_for_every_plugin():
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]+) \|", PAGE.read_text().partition("## Not isolated")[0], re.M)
    assert rows == [(bad.name, bad.fault) for bad in BAD_PLUGINS]


def test_the_page_names_the_function_of_every_plugin_that_blocks_the_loop():
    rows = re.findall(r"^\| `([\w-]+)` \| \d+ \| `([\w.<>]+)` \|$", PAGE.read_text(), re.M)
    assert [name for name, _ in rows] == [bad.name for bad in BAD_PLUGINS if bad.cost == "blocks the loop"]
    for name, function in rows:
        assert function.startswith(f"bad_{name.replace('-', '_')}"), name
