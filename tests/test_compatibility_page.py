"""The page about the compatibility of plugins: its code, its range and the states that it names."""

import re
import tomllib
import types
from pathlib import Path

import pytest
from quoteway.config.model import Config
from quoteway.engine.gateway import Gateway
from quoteway.errors import Reason
from quoteway.hookspecs import ENTRY_POINT_GROUP
from quoteway.host.states import NotEnabled
from quoteway.server.new_plugin import rendered

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "reference" / "compatibility-of-plugins.md").read_text()


def test_the_range_is_what_quoteway_new_writes():
    project = tomllib.loads(dict(rendered("swap", "my-dex"))["pyproject.toml"])["project"]
    (core,) = (each for each in project["dependencies"] if each.startswith("quoteway"))
    assert f"`{core}`" in PAGE
    assert f"`{ENTRY_POINT_GROUP}`" in PAGE


def test_every_reason_is_one_that_there_is():
    found = set(re.findall(r"`([a-z]+_[a-z_]+)`", PAGE))
    assert {"import_failed", "config_invalid", "quote_expired"} <= found
    assert found - {*NotEnabled, *Reason} == {"make_gateway", "plan_version"}


@pytest.mark.parametrize(
    ("old", "new", "reason"), [("", "", None), ("optionalhook=True", "", "incompatible")]
)
def test_a_hook_of_a_newer_core_is_skipped_where_the_plugin_says_so(old, new, reason):
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    plugin = types.ModuleType("newer")
    known = "@quoteway.hookimpl\ndef quoteway_commands():\n    return []\n"
    exec(f"import quoteway\n{known}{code.replace(old, new)}", vars(plugin))
    gateway = Gateway(Config(), plugins={"newer": plugin})
    gateway.load()
    (entry,) = (each for each in gateway.registry.plugins if each.name == "newer")
    assert entry.reason == reason
    if reason is None:
        assert "quoteway_commands" in gateway.registry.plugins.hooks_of(entry)
