"""The ``[plugin.tokenlist]`` section, and the README's table of it."""

import re
from pathlib import Path

import pytest
import quoteway_tokenlist
from quoteway.config.model import Config
from quoteway_tokenlist.settings import TokenListSettings


@pytest.mark.parametrize(
    "section",
    [
        {"lists": ["ftp://example.org/list.json"]},
        {"lists": ["https://user:password@example.org/list.json"]},
        {"lists": ["https:///list.json"]},
        {"lists": [""]},
        {"lists": "list.json"},
        {"refresh_s": 0},
        {"refresh_s": "60"},
        {"max_bytes": 1},
        {"timeout_s": 0},
        {"allow_private": 1.5},
        {"list": []},
    ],
)
async def test_bad_settings_disable_the_plugin_and_name_the_key(make_gateway, section):
    config = Config(plugin_sections={"tokenlist": section})
    gateway = await make_gateway({"tokenlist": quoteway_tokenlist}, config=config)
    (entry,) = gateway.registry.plugins
    assert entry.reason == "config_invalid"
    assert next(iter(section)) in entry.detail


def test_the_readme_names_every_setting_with_its_default():
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| `?([^|`]+)`? \|", readme, re.MULTILINE))
    defaults = TokenListSettings().load({})
    shown = {key: {"[]": [], "false": False}.get(rows[key].strip(), rows[key].strip()) for key in defaults}
    assert {key: str(value) for key, value in shown.items()} == {k: str(v) for k, v in defaults.items()}
