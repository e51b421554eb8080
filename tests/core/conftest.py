import gc
import sys

import pytest
from distributions import install
from quoteway.config.model import Config, PluginsConfig
from quoteway.engine.gateway import Gateway


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """``installed(plugin, source, **options)`` installs one; its module is forgotten after."""
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = []

    def add(plugin, source, **options):
        modules.append(install(tmp_path, plugin, source, **options))
        return modules[-1]

    add.folder = tmp_path
    yield add
    for module in [m for m in sys.modules if m.startswith("fake_")]:
        del sys.modules[module]


@pytest.fixture
def load(installed):
    """Loads a gateway with the named plugins selected and nothing started; the plugins by name."""

    def run(*selected, **sections):
        gateway = Gateway(Config(plugins=PluginsConfig(load=selected), **sections))
        gateway.load()
        return {entry.name: entry for entry in gateway.registry.plugins}, gateway

    return run


@pytest.fixture
def no_unretrieved(caplog):
    """Fails the test when asyncio complains of a task or an exception that nobody looked at."""
    yield
    gc.collect()
    complaints = [r.getMessage() for r in caplog.get_records("call") if r.name == "asyncio"]
    assert not [text for text in complaints if "never retrieved" in text or "destroyed" in text]
