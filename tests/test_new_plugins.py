"""The plugins that ``quoteway new`` writes, as their authors use them: installed, type-checked and tested."""

import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
import venv

import pytest
from quoteway.server.new_plugin import KINDS, write_plugin

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")
DEVNET = "[plugin.devnet]\nenabled = true\n"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def plugins(tmp_path_factory):
    """A plugin of every kind, installed in an environment that sees the packages of this one."""
    folder = tmp_path_factory.mktemp("authors")
    written = {kind: write_plugin(kind, f"new-{kind}", folder) for kind in KINDS}
    environment = folder / "environment"
    venv.create(environment)
    python = environment / "bin" / "python"
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    here = sysconfig.get_path("purelib")
    with open(f"{purelib}/packages.pth", "w") as file:
        file.write(f"import site; site.addsitedir({here!r})\n")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", *written.values())
    return python, written


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_passes_its_own_tests(plugins, kind):
    python, written = plugins
    said = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=written[kind])
    assert " passed" in said
    assert "skipped" not in said


def test_new_plugins_pass_the_strict_type_check(plugins):
    python, written = plugins
    configuration = written["swap"] / "pyproject.toml"
    sources = [folder / "src" for folder in written.values()]
    run(python, "-m", "mypy", "--config-file", configuration, *sources, cwd=written["swap"])


def test_new_plugins_are_enabled_where_quoteway_serves_them(plugins, tmp_path):
    """One server with the sections of all: each file is that of the first kind, but for its own section."""
    python, written = plugins
    start, *_ = parts = [
        (folder / "quoteway.toml").read_text().partition(DEVNET) for folder in written.values()
    ]
    assert {before for before, _, _ in parts} == {start[0]}
    (tmp_path / "quoteway.toml").write_text("".join(start[:2]) + "".join(after for _, _, after in parts))
    for file in (file for folder in written.values() for file in folder.glob("*.json")):
        shutil.copy(file, tmp_path)
    key = {"QUOTEWAY_KEY": secrets.token_hex(32)}
    listed = run(python, "-m", "quoteway", "providers", cwd=tmp_path, env={**os.environ, **key})
    for kind in written:
        rows = [line.split() for line in listed.splitlines() if f" new-{kind} 0.1.0 " in line]
        assert rows, listed
        for row in rows:
            assert row[0].startswith(f"new-{kind}")
            assert row[-2:] == ["configured", "-"], listed


def run(*command, **options):
    """Returns what a command prints. Fails with its output when it fails."""
    done = subprocess.run(
        map(str, command), capture_output=True, text=True, timeout=300, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
