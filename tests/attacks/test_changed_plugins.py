"""Attack: the files of an installed plugin are changed, or another package is installed, after its review.

With ``[plugins] lock`` no command imports it, and the file is named. ``quoteway plugins lock`` writes the
file without running any code of the plugins.
"""

import importlib.util
import json
import marshal
import struct
import sys
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner
from quoteway.config.loading import load_config
from quoteway.engine.gateway import Gateway
from quoteway.errors import ConfigError
from quoteway.host.states import NotEnabled
from quoteway.server.cli import main

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))
from distributions import install, works

CONFIG = """
[plugins]
load = {load}
lock = "plugins.lock"
[quotes]
keys = [{{id = "k", secret = {{env = "TEST_KEY"}}}}]
"""


class Deployment:
    """Installed plugins, a configuration that locks them, and the commands."""

    def __init__(self, folder, *plugins):
        self.site = folder / "site"
        self.site.mkdir()
        self.path = folder / "quoteway.toml"
        for plugin in plugins:
            self.install(plugin)
        self.select(*plugins)

    def select(self, *plugins):
        self.path.write_text(CONFIG.format(load=json.dumps(plugins)))

    def install(self, plugin, version="1.0"):
        """Installs a plugin as ``pip`` does: a RECORD lists its files, bytecode and the RECORD itself too."""
        module = install(self.site, plugin, works(plugin), version=version)
        info = f"fake_{plugin}-{version}.dist-info"
        names = [f"{module}.py", f"__pycache__/{module}.pyc"]
        names += [f"{info}/{name}" for name in ("METADATA", "entry_points.txt", "RECORD")]
        (self.site / info / "RECORD").write_text("".join(f"{name},,\n" for name in names))
        return self.site / f"{module}.py"

    def run(self, *arguments):
        return CliRunner().invoke(main, [*arguments, "--config", str(self.path)])

    def reasons(self):
        gateway = Gateway(load_config(self.path))
        gateway.load()
        entries = [entry for entry in gateway.registry.plugins if entry.reason != "not_selected"]
        return {entry.name: (entry.reason, entry.detail) for entry in entries}


@pytest.fixture
def deployed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr(sys, "pycache_prefix", None)  # which a lock changes
    monkeypatch.setenv("TEST_KEY", "4f1c9a07e2d85b36c0a7914ed3f8625b")
    deployment = Deployment(tmp_path, "exchange", "other")
    answer = deployment.run("plugins", "lock")
    assert answer.exit_code == 0, answer.output
    assert "exchange, other" in answer.output
    assert not [name for name in sys.modules if name.startswith("fake_fake_")], "no plugin was imported"
    yield deployment
    for module in [name for name in sys.modules if name.startswith("fake_")]:
        del sys.modules[module]


def test_what_is_as_it_was_locked_runs(deployed):
    assert deployed.reasons() == {"exchange": (None, None), "other": (None, None)}
    lock = json.loads((deployed.path.parent / "plugins.lock").read_text())
    row = lock["plugins"]["exchange"]
    assert (row["distribution"], row["version"], len(row["sha256"])) == ("fake-exchange", "1.0", 64)
    assert not [name for name in row["files"] if name.endswith((".pyc", "RECORD"))]


def test_the_same_files_from_elsewhere_are_as_they_were_locked(deployed):
    """pip and uv note beside a distribution where its wheel lay. Nothing reads that."""
    info = deployed.site / "fake_exchange-1.0.dist-info"
    notes = ("INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json")
    with (info / "RECORD").open("a") as record:
        record.writelines(f"{info.name}/{name},,\n" for name in notes)
    for where in ("/one/folder", "/another"):
        for name in notes:
            (info / name).write_text(json.dumps({"url": f"file://{where}/fake.whl"}))
        assert deployed.reasons()["exchange"] == (None, None)
    # A lock of before had them.
    path = deployed.path.parent / "plugins.lock"
    lock = json.loads(path.read_text())
    lock["plugins"]["exchange"]["files"][f"{info.name}/direct_url.json"] = "0" * 64
    path.write_text(json.dumps(lock))
    assert deployed.reasons()["exchange"] == (None, None)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-exchange\nVersion: 1.0\nA: b\n")
    assert deployed.reasons()["exchange"][0] is NotEnabled.LOCK_MISMATCH


def test_a_changed_file_is_named_and_not_imported(deployed):
    module = deployed.site / "fake_fake_exchange_exchange.py"
    module.write_text("raise AssertionError('imported')")
    reasons = deployed.reasons()
    reason, detail = reasons["exchange"]
    assert reason is NotEnabled.LOCK_MISMATCH
    assert "file fake_fake_exchange_exchange.py differs" in detail
    assert reasons["other"] == (None, None)
    answer = deployed.run("doctor")
    assert "lock_mismatch: file fake_fake_exchange_exchange.py differs" in answer.output
    assert answer.exit_code == 2
    assert "fake_fake_exchange_exchange" not in sys.modules
    assert deployed.run("plugins", "lock").exit_code == 0
    module.write_text(works("exchange"))
    assert deployed.reasons()["exchange"][0] is NotEnabled.LOCK_MISMATCH, "locked is what was there then"


COMMANDS = [
    (("--help",), 0),
    (("no-such-command",), 2),
    (("providers",), 0),
    (("doctor",), 2),
    (("calls", "exchange"), 1),
    (("config",), 0),
    (("plugins", "lock", "--output", "again.lock"), 0),
]


@pytest.mark.parametrize(("arguments", "status"), COMMANDS, ids=[each[0][0] for each in COMMANDS])
@pytest.mark.parametrize("by", ["environment", "option"])
def test_no_command_imports_a_changed_plugin(deployed, monkeypatch, arguments, status, by):
    """The commands of plugins are looked for by importing them: not those that differ from the lock."""
    (deployed.site / "fake_fake_exchange_exchange.py").write_text("raise AssertionError('imported')")
    monkeypatch.chdir(deployed.path.parent / "site")
    options = ["--config", str(deployed.path)] if by == "option" and arguments != ("--help",) else []
    if not options:
        monkeypatch.setenv("QUOTEWAY_CONFIG", str(deployed.path))
    answer = CliRunner().invoke(main, [*arguments, *options])
    assert answer.exit_code == status, answer.output
    assert "AssertionError" not in answer.output
    assert "fake_fake_exchange_exchange" not in sys.modules


def test_commands_come_from_selected_plugins_as_they_were_locked(deployed, monkeypatch):
    monkeypatch.setenv("QUOTEWAY_CONFIG", str(deployed.path))
    with_command = (
        works("exchange")
        + """
    import click

    @hookimpl
    def quoteway_commands():
        return [click.Command("trade", callback=lambda: click.echo("traded"))]
"""
    )
    (deployed.site / "fake_fake_exchange_exchange.py").write_text(textwrap.dedent(with_command))
    refused = CliRunner().invoke(main, ["trade"])
    assert refused.exit_code == 2
    assert "file fake_fake_exchange_exchange.py differs" in refused.output
    assert deployed.run("plugins", "lock").exit_code == 0
    assert CliRunner().invoke(main, ["trade"]).output == "traded\n"
    for module in [name for name in sys.modules if name.startswith("fake_fake_")]:
        del sys.modules[module]
    for section in ('load = ["other"]', 'load = ["exchange"]\nisolate = ["exchange"]'):
        text = deployed.path.read_text()
        deployed.path.write_text(text.replace('load = ["exchange", "other"]', section))
        assert CliRunner().invoke(main, ["trade"]).exit_code == 2
        assert "fake_fake_exchange_exchange" not in sys.modules
        deployed.path.write_text(text)


def test_a_file_that_is_added_to_a_package_counts(deployed):
    """An extension module beside a module of the same name is imported in its place."""
    package = deployed.site / "fake_packed"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "plugin.py").write_text("from quoteway import hookimpl\n")
    install(deployed.site, "packed", "", target="fake_packed.plugin")
    info = deployed.site / "fake_packed-1.0.dist-info"
    names = ["fake_packed/__init__.py", "fake_packed/plugin.py", f"{info.name}/METADATA"]
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in names))
    deployed.select("packed")
    assert deployed.run("plugins", "lock").exit_code == 0
    (package / "plugin.cpython-311-x86_64-linux-gnu.so").write_bytes(b"x")
    reason, detail = deployed.reasons()["packed"]
    assert reason is NotEnabled.LOCK_MISMATCH
    assert "file fake_packed/plugin.cpython-311-x86_64-linux-gnu.so is not in the lock file" in detail


def test_bytecode_does_not_count_and_a_missing_file_does(deployed):
    (deployed.site / "__pycache__").mkdir(exist_ok=True)
    (deployed.site / "__pycache__" / "fake_fake_exchange_exchange.pyc").write_bytes(b"x")
    assert deployed.reasons()["exchange"] == (None, None)
    lock = deployed.path.parent / "plugins.lock"
    content = json.loads(lock.read_text())
    content["plugins"]["exchange"]["files"]["more.py"] = "0" * 64
    lock.write_text(json.dumps(content))
    assert "file more.py is missing" in deployed.reasons()["exchange"][1]


def test_bytecode_of_other_code_is_not_run(deployed):
    """A cached file with the time and size of the source is taken for it: its code may be any other."""
    source = next(deployed.site.glob("fake_fake_exchange_*.py"))
    honest = source.read_text()
    cached = Path(importlib.util.cache_from_source(str(source)))
    evil = f"import sys\nsys.modules['fake_evil'] = sys\n{honest}"
    stat = source.stat()
    header = importlib.util.MAGIC_NUMBER + struct.pack("<LLL", 0, int(stat.st_mtime), stat.st_size)
    cached.parent.mkdir(exist_ok=True)
    cached.write_bytes(header + marshal.dumps(compile(evil, str(source), "exec")))
    assert deployed.reasons()["exchange"] == (None, None)
    assert "fake_evil" not in sys.modules


def test_a_plugin_that_is_not_in_the_lock_file_does_not_run(deployed):
    deployed.install("late")
    deployed.select("exchange", "other", "late")
    reason, detail = deployed.reasons()["late"]
    assert (reason, detail.partition(":")[0]) == (NotEnabled.LOCK_MISMATCH, "it is not in the lock file")
    assert "fake_fake_late_late" not in sys.modules


@pytest.mark.parametrize("text", [None, "{", "[]", '{"format": 1}', '{"format": 2, "plugins": {}}'])
def test_a_lock_file_that_cannot_be_used_stops_the_start(deployed, text):
    lock = deployed.path.parent / "plugins.lock"
    lock.unlink() if text is None else lock.write_text(text)
    with pytest.raises(ConfigError, match="quoteway plugins lock"):
        deployed.reasons()


def test_the_code_of_an_editable_installation_is_locked(deployed, monkeypatch):
    """Its RECORD lists no code: the files of the package folder count."""
    code = deployed.path.parent / "code"
    (code / "fake_edited").mkdir(parents=True)
    (code / "fake_edited" / "__init__.py").write_text("")
    (code / "fake_edited" / "plugin.py").write_text("from quoteway import hookimpl\n")
    monkeypatch.syspath_prepend(str(code))
    install(deployed.site, "edited", "", target="fake_edited.plugin")
    (deployed.site / "fake_edited-1.0.dist-info" / "RECORD").write_text(
        "fake_edited-1.0.dist-info/METADATA,,\n"
    )
    deployed.select("edited")
    assert deployed.run("plugins", "lock").exit_code == 0
    (code / "fake_edited" / "plugin.py").write_text("raise AssertionError('imported')")
    reason, detail = deployed.reasons()["edited"]
    assert reason is NotEnabled.LOCK_MISMATCH
    assert "file fake_edited/plugin.py differs" in detail


def test_the_doctor_names_the_plugins_that_nothing_locks(deployed):
    deployed.path.write_text(deployed.path.read_text().replace('lock = "plugins.lock"', ""))
    assert "plugins.lock: not locked: exchange, other" in deployed.run("doctor").output
