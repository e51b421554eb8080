"""Attack: a package that claims the name of a plugin, or the id of a provider, that another package has.

Whose it is says the configuration: ``[plugins] owners`` names the distribution, else the first plugin in
``plugins.load`` has the id. The squatter is refused and named, and costs the owner nothing. Where the
configuration says nothing, both are refused: which one is found first must not decide whose code gets the
requests. The name of the core cannot be taken.
"""

import sys
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from quoteway.config.model import Config, PluginsConfig
from quoteway.engine.gateway import Gateway
from quoteway.errors import ConfigError
from quoteway.server.doctor import examine
from quoteway.server.serve import make_runner
from quoteway.testing.fakes import FakePlugin, ListedTokens
from quoteway.web.app import make_app

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))
from distributions import install, works


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """``installed(plugin, source, **options)`` installs a distribution; its module is forgotten after."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield lambda plugin, source, **options: install(tmp_path, plugin, source, **options)
    for module in [name for name in sys.modules if name.startswith("fake_")]:
        del sys.modules[module]


@pytest.fixture
async def listed():
    """``await listed(plugins)``: what a server with these plugins tells of its providers, by plugin."""
    runners = []

    async def serve(*load, owners=(), plugins=None):
        config = Config(plugins=PluginsConfig(load=load or "all", owners=dict(owners)))
        gateway = Gateway(config, plugins=plugins, discover=bool(load))
        runner = make_runner(make_app(gateway), config)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        await gateway.started()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/v2/providers"
        async with aiohttp.request("GET", url) as answer:
            rows = (await answer.json())["data"]
        found = {}
        for row in (row for row in rows if row["reason"] != "not_selected"):
            key = row["plugin"], row["id"]
            found[(*key, row["package"]) if key in found else key] = row["enabled"], row["reason"]
        return found

    yield serve
    for runner in runners:
        await runner.cleanup()


async def test_two_packages_claim_one_plugin_name(installed, listed, caplog):
    first = installed("exchange", "raise AssertionError('imported')", distribution="honest")
    second = installed("exchange", "raise AssertionError('imported')", distribution="squatter")
    installed("other", works("other"))
    rows = await listed("exchange", "other")
    assert rows["other", "other"] == (True, None)
    assert not {first, second} & set(sys.modules), "neither is imported"
    told = "squatter and honest both claim plugin name 'exchange': say whose it is in [plugins] owners"
    assert told.replace("squatter and honest", "honest and squatter") in caplog.text or told in caplog.text
    assert {reason for (plugin, *_), (_, reason) in rows.items() if plugin == "exchange"} == {"duplicate_id"}


@pytest.mark.parametrize("names", [("honest", "squatter"), ("squatter", "honest")])
async def test_the_pinned_package_has_the_plugin_name(installed, listed, caplog, names):
    for name in names:
        source = works("exchange") if name == "honest" else "raise AssertionError('imported')"
        installed("exchange", source, distribution=name)
    rows = await listed("exchange", owners={"exchange": "Honest"})
    assert rows == {
        ("exchange", "exchange"): (True, None),
        ("exchange", "exchange", "squatter"): (False, "squatter"),
    }
    assert "fake_squatter_exchange" not in sys.modules
    assert "squatter claims plugin name 'exchange', which belongs to Honest" in caplog.text


async def test_a_pinned_name_is_nobody_elses_while_its_owner_is_not_installed(installed, caplog):
    module = installed("exchange", "raise AssertionError('imported')", distribution="squatter")
    config = Config(plugins=PluginsConfig(load=("exchange",), owners={"exchange": "honest"}))
    with pytest.raises(ConfigError, match="'exchange', which is not installed"):
        Gateway(config).load()
    assert module not in sys.modules


@pytest.mark.parametrize("order", [("a-owner", "squatter"), ("owner", "a-squatter")])
async def test_the_first_plugin_of_the_load_list_has_the_provider_id(installed, listed, caplog, order):
    for name in order:
        installed(name, works("exchange"))
    installed("other", works("other"))
    owner, squatter = order
    rows = await listed("other", owner, squatter)
    assert rows[owner, "exchange"] == (True, None)
    assert rows[squatter, "exchange"] == (False, "squatter")
    assert rows["other", "other"] == (True, None)
    text = f"of fake-{squatter} claims provider id 'exchange', which belongs to plugin {owner!r}"
    assert text in caplog.text


@pytest.mark.parametrize("squatters", [(), ("third",)])
async def test_the_pinned_package_has_the_provider_id(installed, listed, squatters):
    for name in ("squatter", "owner", *squatters):
        installed(name, works("exchange"))
    rows = await listed("squatter", *squatters, "owner", owners={"exchange": "fake_owner"})
    assert rows.pop(("owner", "exchange")) == (True, None)
    assert set(rows.values()) == {(False, "squatter")}


async def test_a_squatter_alone_does_not_get_a_pinned_id(installed, listed):
    installed("squatter", works("exchange"))
    rows = await listed("squatter", owners={"exchange": "fake-owner"})
    assert rows == {("squatter", "exchange"): (False, "squatter")}


async def test_without_a_word_of_the_operator_both_are_refused(listed, caplog):
    ids = {"one": "exchange", "two": "exchange", "other": "other"}
    plugins = {name: FakePlugin([ListedTokens([], provider_id=each)]) for name, each in ids.items()}
    rows = await listed(plugins=plugins)
    assert {rows[name, "exchange"] for name in ("one", "two")} == {(False, "duplicate_id")}
    assert rows["other", "other"] == (True, None)
    assert "both claim provider id 'exchange'" in caplog.text


async def test_the_doctor_names_a_squatter(installed, tmp_path, monkeypatch, caplog):
    caplog.set_level("CRITICAL", "quoteway")  # as the doctor does, and set back afterwards
    monkeypatch.setenv("QUOTEWAY_QUOTES__KEYS", '[{id = "k", secret = {env = "TEST_KEY"}}]')
    monkeypatch.setenv("TEST_KEY", "4f1c9a07e2d85b36c0a7914ed3f8625b")
    for name in ("owner", "squatter"):
        installed(name, works("exchange"))
        installed("shared", works("shared"), distribution=name)
    path = tmp_path / "quoteway.toml"
    path.write_text('[plugins]\nload = ["owner", "squatter", "shared"]\nowners = {shared = "owner"}\n')
    found = {(finding.mark, finding.text.partition(":")[0], finding.text) for finding in await examine(path)}
    told = [text for mark, reason, text in found if (mark, reason) == ("warn", "squatter")]
    assert len(told) == 2
    assert any("squatter claims plugin name 'shared', which belongs to owner" in text for text in told)
    assert any("claims provider id 'exchange', which belongs to plugin 'owner'" in text for text in told)


async def test_the_name_of_the_core_cannot_be_taken(installed, listed, caplog):
    module = installed("quoteway", "raise AssertionError('imported')")
    await listed("quoteway")
    assert module not in sys.modules
    assert "the name 'quoteway' is reserved for the core" in caplog.text


async def test_what_is_not_selected_is_not_imported(installed, listed):
    module = installed("unwanted", "raise AssertionError('imported')")
    installed("wanted", works("wanted"))
    assert (await listed("wanted"))["wanted", "wanted"] == (True, None)
    assert module not in sys.modules
