"""The levels file: a level counts for the files that were checked, and the operator may require one."""

import json
from dataclasses import replace

import pytest
from distributions import install, works
from quoteway.config.model import Config, PluginsConfig
from quoteway.engine.gateway import Gateway
from quoteway.errors import ConfigError
from quoteway.host.plugin_levels import PluginLevels
from quoteway.host.states import NotEnabled

HEAD = '{"format": 1, "plugins": {"exchange": {"distribution": "", "version": "", "sha256": "",'


@pytest.fixture
def deployed(tmp_path, monkeypatch):
    """``deployed(least_level=2)`` loads the installed plugin and returns its entry."""
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path, "exchange", works("exchange"))

    def load(**settings):
        plugins = PluginsConfig(load=("exchange",), **settings)
        gateway = Gateway(Config(path=tmp_path / "quoteway.toml", plugins=plugins))
        gateway.load()
        return next(entry for entry in gateway.registry.plugins if entry.name == "exchange")

    return load


def write(folder, entry, level):
    path = folder / "quoteway.levels"
    path.write_text(PluginLevels.read(path).text_with(entry, level))
    return path


def test_a_checked_plugin_has_its_level_until_a_file_changes(deployed, tmp_path):
    entry = deployed()
    assert (entry.level, entry.reason) == (None, None)
    write(tmp_path, entry, 2)
    assert deployed(least_level=2).level == 2
    module = next(tmp_path.glob("fake_fake_exchange*.py"))
    module.write_text(module.read_text() + "\n# one more line\n")
    changed = deployed(least_level=2)
    assert (changed.level, changed.reason) == (None, NotEnabled.LEVEL_TOO_LOW)
    assert "other files than those that were checked" in changed.detail
    assert deployed(least_level=0).reason is None


def test_a_plugin_below_the_least_level_is_not_enabled_and_the_remedy_is_named(deployed, tmp_path):
    entry = deployed()
    without = deployed(least_level=1)
    assert without.reason is NotEnabled.LEVEL_TOO_LOW
    assert without.plugin is None, "it was not imported"
    assert "has no level" in without.detail
    assert "`quoteway check exchange --level 1`" in without.detail
    write(tmp_path, entry, 1)
    assert deployed(least_level=1).reason is None
    below = deployed(least_level=3)
    assert (below.level, below.reason) == (1, NotEnabled.LEVEL_TOO_LOW)
    assert "has level 1, and level 3 is required" in below.detail


def test_a_plugin_may_have_a_least_level_of_its_own(deployed, tmp_path):
    assert deployed(least_level=3, least_levels={"exchange": 0}).reason is None
    assert deployed(least_levels={"exchange": 1}).reason is NotEnabled.LEVEL_TOO_LOW


def test_a_level_of_another_distribution_of_that_name_does_not_count(deployed, tmp_path):
    path = write(tmp_path, deployed(), 3)
    content = json.loads(path.read_text())
    content["plugins"]["exchange"]["distribution"] = "another"
    path.write_text(json.dumps(content))
    assert deployed().level is None


def test_a_plugin_that_reaches_no_level_loses_its_row(deployed, tmp_path):
    entry = deployed()
    write(tmp_path, entry, 3)
    other = replace(entry, name="other")
    path = write(tmp_path, other, 1)
    write(tmp_path, entry, None)
    assert list(json.loads(path.read_text())["plugins"]) == ["other"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"format": 1}',
        '{"format": 2, "plugins": {}}',
        '{"format": 1, "plugins": {"exchange": 3}}',
        HEAD + ' "level": 4}}}',
        HEAD + ' "level": true}}}',
    ],
)
def test_a_file_that_is_no_levels_file_is_refused(deployed, tmp_path, content):
    (tmp_path / "quoteway.levels").write_text(content)
    with pytest.raises(ConfigError, match=r"plugins\.levels: .*quoteway\.levels"):
        deployed()
