"""``quoteway plugins list``, ``info`` and ``why``: what an operator is told of installed plugins."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from distributions import install, works
from quoteway.host.explanations import EXPLANATIONS
from quoteway.host.states import NotEnabled
from quoteway.server.cli import main

DOCS = Path(__file__).parents[2] / "docs"
SECRET = "hunter2-hunter2-hunter2"
WITH_SETTINGS = (
    works("careful")
    + """
    from marshmallow import Schema, fields
    from quoteway import SecretField

    class Settings(Schema):
        api_key = SecretField(required=True)
        url = fields.String(load_default="https://api.example.org")
        hops = fields.List(fields.Integer(), load_default=list)

    @hookimpl
    def quoteway_settings():
        return Settings
"""
)


class Installed:
    """A folder of installed plugins, a configuration that selects some of them, and the commands."""

    def __init__(self, folder):
        self.site = folder / "site"
        self.site.mkdir()
        self.path = folder / "quoteway.toml"
        self.configure()

    def configure(self, load=(), more=""):
        keys = 'keys = [{id = "k", secret = {env = "TEST_KEY"}}]'
        self.path.write_text(f"[plugins]\nload = {json.dumps(load)}\n[quotes]\n{keys}\n{more}")

    def run(self, *arguments, status=0):
        answer = CliRunner().invoke(main, ["plugins", *arguments, "--config", str(self.path)])
        assert answer.exit_code == status, answer.output
        assert SECRET not in answer.output
        return answer.output


@pytest.fixture
def installed(tmp_path, monkeypatch):
    installed = Installed(tmp_path)
    monkeypatch.syspath_prepend(str(installed.site))
    monkeypatch.setattr(sys, "pycache_prefix", None)  # which a lock changes
    monkeypatch.setenv("TEST_KEY", "4f1c9a07e2d85b36c0a7914ed3f8625b")
    monkeypatch.setenv("CAREFUL_KEY", SECRET)
    yield installed
    for module in [name for name in sys.modules if name.startswith("fake_")]:
        del sys.modules[module]


def test_every_reason_has_its_meaning_and_remedy():
    assert list(EXPLANATIONS) == list(NotEnabled)
    for reason, told in EXPLANATIONS.items():
        for text in (told.meaning, told.remedy):
            assert text.endswith("."), reason
            assert "](" not in text, f"{reason}: a terminal shows no links"
        assert not told.page or (DOCS / told.page).is_file(), reason


def test_the_list_has_every_installed_plugin_with_its_state_and_providers(installed):
    install(installed.site, "works", works("fine"), version="2.1")
    install(installed.site, "broken", "import a_module_that_nobody_has")
    install(installed.site, "other", works("other"))
    installed.configure(["works", "broken"])
    rows = {row["name"]: row for row in json.loads(installed.run("list", "--json"))}
    assert rows["works"] == {
        "name": "works",
        "version": "2.1",
        "distribution": "fake-works",
        "state": "configured",
        "reason": None,
        "capabilities": ["tokens"],
        "providers": [{"id": "fine", "capability": "tokens", "networks": [], "reason": None}],
    }
    assert (rows["broken"]["state"], rows["broken"]["reason"]) == ("installed", "import_failed")
    assert (rows["other"]["reason"], rows["other"]["providers"]) == ("not_selected", [])
    head, *lines = installed.run("list").splitlines()
    assert head.split()[:4] == ["PLUGIN", "VERSION", "DISTRIBUTION", "STATE"]
    (line,) = (line for line in lines if line.startswith("works "))
    assert line.split() == ["works", "2.1", "fake-works", "configured", "tokens", "fine", "-"]


def test_settings_are_shown_with_the_values_in_force_and_no_secret(installed):
    install(installed.site, "careful", WITH_SETTINGS)
    section = '[plugin.careful]\napi_key = {env = "CAREFUL_KEY"}\nurl = "https://eu.example.org/v1"\n'
    installed.configure(["careful"], section)
    told = installed.run("info", "careful")
    assert 'api_key: secret, {env = "NAME"} or {file = "path"}, required, now "***"' in told
    assert 'url: string, default "https://api.example.org", now "https://eu.example.org/***"' in told
    assert "hops: list of integer, default []" in told
    assert "quoteway_settings, quoteway_token_catalogs" in told
    assert "careful (tokens) on no network yet" in told
    assert "not locked" in told
    assert installed.run("info", "fake_careful") == told, "the name of its distribution is enough"


def test_a_plugin_that_was_not_imported_shows_its_metadata_alone(installed):
    module = install(installed.site, "unread", "raise AssertionError('imported')")
    info = installed.site / "fake_unread-1.0.dist-info" / "METADATA"
    info.write_text(
        info.read_text() + "Summary: \x1b[31mred\x1b[0m\u202e text\nProject-URL: Docs, https://example.org\n"
    )
    told = installed.run("info", "unread")
    assert "not enabled: not_selected" in told
    assert "It was not imported" in told
    assert r"\x1b[31mred\x1b[0m\u202e text" in told, "control characters of a package are not sent raw"
    assert "Docs, https://example.org" in told
    assert module not in sys.modules


@pytest.mark.parametrize(
    ("source", "reason", "remedy"),
    [
        ("import a_module_that_nobody_has", "import_failed", "Reinstall the plugin's distribution"),
        ("VALUE = 1", "incomplete", "correct the member, or tell its author"),
        (WITH_SETTINGS, "credential_missing", "add the reference that the message names"),
    ],
    ids=["import_failed", "incomplete", "credential_missing"],
)
def test_why_says_the_reason_what_it_means_and_what_to_do(installed, source, reason, remedy):
    install(installed.site, "careful", source)
    installed.configure(["careful"])
    told = installed.run("why", "careful")
    assert told.startswith(f"plugin careful 1.0 (fake-careful) is not enabled: {reason}\n  ")
    assert "\n  Meaning: " in told
    assert remedy in told


def test_why_names_the_key_and_the_command_for_a_wrong_section(installed):
    install(installed.site, "careful", WITH_SETTINGS)
    installed.configure(["careful"], '[plugin.careful]\napi_key = {env = "CAREFUL_KEY"}\nulr = "x"\n')
    told = installed.run("why", "careful")
    assert "config_invalid" in told
    assert "ulr" in told
    assert "`quoteway plugins info careful` lists the settings" in told


def test_why_answers_for_a_provider_by_its_id(installed):
    install(installed.site, "shop", works("goods"))
    installed.configure(["shop"])
    told = installed.run("why", "goods")
    assert "plugin shop 1.0 (fake-shop) is configured" in told
    assert "provider goods (tokens) is enabled with its plugin" in told
    installed.configure(["shop"], "[providers.goods]\nenabled = false\n")
    told = installed.run("why", "goods")
    assert "provider goods (tokens) is not enabled: disabled" in told
    assert "`[providers.goods] enabled = false`" in told


def test_why_names_both_that_claim_one_name(installed):
    for distribution in ("fake-one", "fake-two"):
        install(installed.site, "twin", works("twin"), distribution=distribution)
    told = installed.run("why", "twin")
    assert told.count("is not enabled: duplicate_id") == 2
    assert "(fake-one)" in told
    assert "(fake-two)" in told


def test_why_a_plugin_differs_from_its_lock(installed):
    module = install(installed.site, "shop", works("goods"))
    (installed.site / "fake_shop-1.0.dist-info" / "RECORD").write_text(f"{module}.py,,\n")
    installed.configure(["shop"])
    installed.path.write_text(installed.path.read_text().replace("[quotes]", 'lock = "l.lock"\n[quotes]'))
    installed.run("lock")
    assert "as locked in" in installed.run("info", "shop")
    for name in [name for name in sys.modules if name.startswith("fake_")]:
        del sys.modules[name]
    (installed.site / f"{module}.py").write_text("raise AssertionError('imported')")
    assert "differs" in installed.run("why", "shop")
    assert f"file {module}.py differs" in installed.run("info", "shop")


def test_an_unknown_name_is_an_error_that_names_the_near_one(installed):
    install(installed.site, "exchange", works("exchange"))
    for command in ("why", "info"):
        assert "Did you mean 'exchange'?" in installed.run(command, "exhcange", status=2)
    told = installed.run("why", "\x1b[2J", status=2)
    assert r"no plugin or provider is named '\x1b[2J'" in told
