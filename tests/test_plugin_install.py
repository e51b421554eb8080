"""``quoteway plugins install`` and ``uninstall``, offline, in a virtual environment of the test's own."""

import os
import subprocess
import sys
import textwrap
import venv
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from quoteway.errors import ConfigError
from quoteway.host.installed_plugins import core_version
from quoteway.server.cli import main
from quoteway.server.plugin_install import wanted

sys.path.insert(0, str(Path(__file__).parent / "core"))
from distributions import install, works

HERE = Path(sys.prefix)
BACKEND = """
import pathlib, shutil

def build_wheel(folder, config_settings=None, metadata_directory=None):
    wheel = next(pathlib.Path(__file__).parent.glob("*.whl"))
    shutil.copy(wheel, folder)
    return wheel.name
"""


def wheel(folder, distribution, version="1.0", *, plugin="shop", requires=(), module=None):
    """Writes a wheel with one module; ``plugin`` None: without an entry point."""
    stem = distribution.replace("-", "_")
    info = f"{stem}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {each}\n" for each in requires)
    files = {
        f"{stem}.py": textwrap.dedent(works("goods")) if module is None else module,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if plugin is not None:
        files[f"{info}/entry_points.txt"] = f"[quoteway.v1]\n{plugin} = {stem}\n"
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    path = folder / f"{stem}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


class Environment:
    """A virtual environment that sees the packages of this one, pip too, and installs to its own folder."""

    def __init__(self, folder):
        venv.create(folder / "venv")
        self.python = folder / "venv" / "bin" / "python"
        (site,) = (folder / "venv").glob("lib/python*/site-packages")
        (ours,) = HERE.glob("lib/python*/site-packages")
        (site / "ours.pth").write_text(f"import site; site.addsitedir({str(ours)!r})\n")
        self.tools = folder / "tools"
        self.tools.mkdir()
        (self.tools / "uv").symlink_to(HERE / "bin" / "uv")
        self.folder = folder

    def run(self, *arguments, status=0, cwd=None, uv=True, **more):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")}
        offline = {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "UV_NO_INDEX": "1"}
        path = f"{self.tools}:/usr/bin:/bin" if uv else "/usr/bin:/bin"
        answer = subprocess.run(
            [self.python, "-m", "quoteway", "plugins", *map(str, arguments)],
            cwd=cwd or self.folder,
            env={**clean, **offline, "PATH": path, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert answer.returncode == status, answer.stdout
        return answer.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("an environment"))


ONLY_SHOP = {"QUOTEWAY_PLUGINS__LOAD": '["shop"]'}


@pytest.mark.slow
@pytest.mark.parametrize("uv", [True, False], ids=["uv", "pip"])
def test_a_wheel_is_installed_loaded_and_removed_again(environment, tmp_path, uv):
    (tmp_path / "a [b];c").mkdir()
    built = wheel(tmp_path / "a [b];c", "fake-shop")
    (tmp_path / "pip.py").write_text("raise SystemExit('a module of the working folder ran')")
    told = environment.run("install", built, cwd=tmp_path, uv=uv, **ONLY_SHOP)
    assert "shop 1.0\n  distribution  fake-shop" in told
    assert "state         configured" in told
    assert "provider      goods (tokens)" in told
    assert "start the server again" in told
    assert "removed fake-shop 1.0 (plugin shop)" in environment.run("uninstall", "shop", uv=uv)
    assert "no plugin is named 'shop'" in environment.run("uninstall", "shop", status=2)


@pytest.mark.slow
def test_what_the_configuration_needs_and_keeps_is_told(environment, tmp_path):
    config = tmp_path / "quoteway.toml"
    config.write_text(
        '[plugins]\nload = ["shop"]\nlock = "l.lock"\n[plugin.shop]\nx = 1\n'
        '[quotes]\nkeys = [{id = "k", secret = {env = "TEST_KEY"}}]\n'
    )
    options = {"cwd": tmp_path, "TEST_KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b"}
    (tmp_path / "l.lock").write_text('{"format": 1, "plugins": {}}')
    told = environment.run("install", wheel(tmp_path, "fake-shop"), **options)
    assert "not enabled: lock_mismatch" in told
    assert "run `quoteway plugins lock`: l.lock does not have it" in told
    environment.run("lock", **options)
    told = environment.run("uninstall", "fake_shop", **options)
    assert "removed fake-shop 1.0 (plugin shop)" in told
    assert "the section [plugin.shop]: remove it, the server does not start with it" in told
    assert "'shop' in `load` of [plugins]" in told
    assert "its entry in l.lock: run `quoteway plugins lock`" in told


@pytest.mark.slow
def test_a_folder_is_built_and_what_is_no_plugin_is_told(environment, tmp_path):
    wheel(tmp_path, "fake-plain", plugin=None)
    (tmp_path / "backend.py").write_text(BACKEND)
    project = '[project]\nname = "fake-plain"\nversion = "1.0"\n'
    build = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    (tmp_path / "pyproject.toml").write_text(project + build)
    told = environment.run("install", "./", status=1, cwd=tmp_path)
    assert "fake-plain is installed and is no plugin" in told
    assert "no plugin is named 'fake-plain'" in environment.run("uninstall", "fake-plain", status=2)


@pytest.mark.slow
def test_the_core_keeps_its_version_and_a_failure_is_told(environment, tmp_path):
    built = wheel(tmp_path, "fake-old", plugin="old", requires=["quoteway<0.0.1"])
    told = environment.run("install", built, status=2)
    assert "uv install ended with status 1: its messages are above" in told
    assert "no plugin is named 'old'" in environment.run("uninstall", "old", status=2)


def test_without_uv_and_pip_the_error_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pip", None)  # as if it were not installed
    answer = CliRunner().invoke(main, ["plugins", "install", "shop"])
    assert answer.exit_code == 2
    assert "neither uv is on PATH nor pip in" in answer.output
    assert "install uv, or run `python -m ensurepip` there" in answer.output


@pytest.mark.parametrize(
    "spec",
    [
        "-e",
        "--index-url=http://example.org",
        "-r/etc/hostname",
        "shop --index-url=x",
        "shop @ https://example.org/shop.whl",
        "https://user:hunter2@example.org/shop-1.0-py3-none-any.whl",
        "git+https://example.org/shop",
        "shop; os_name == 'posix'",
        "shop\n--pre",
        "shop\n",
        "",
        "./missing",
        "missing-1.0-py3-none-any.whl",
    ],
)
def test_options_urls_and_missing_files_are_refused(spec):
    answer = CliRunner().invoke(main, ["plugins", "install", "--", spec])
    assert answer.exit_code == 2
    assert "name of a distribution" in answer.output
    assert "hunter2" not in answer.output


@pytest.mark.parametrize("spec", ["shop", "shop==1.0", "Shop_x[a, b]>=1,<2", "shop ~= 1.0"])
def test_names_with_extras_and_versions_are_taken(spec):
    assert wanted(spec).argument == spec


@pytest.mark.parametrize("spec", ["quoteway", "QuoteWay==9", "quoteway[testing]"])
def test_the_core_is_neither_installed_nor_removed(spec):
    for command, name in (("install", spec), ("uninstall", "quoteway")):
        answer = CliRunner().invoke(main, ["plugins", command, name])
        assert answer.exit_code == 2
        assert "core" in answer.output


def test_a_wheel_or_folder_of_the_core_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="is the core"):
        wanted(str(wheel(tmp_path, "quoteway", core_version())))
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "quoteway"\n')
    with pytest.raises(ConfigError, match="is the core"):
        wanted(f"{tmp_path}/")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no readable pyproject.toml"),
        ("[project]\nversion = '1'\n", "no `name` in"),
        ("[project", "no `name` in"),
        ('[project]\nname = "--pre"\n', "is no name of a distribution"),
        ("[project]\nname = 3\n", "is no name of a distribution"),
    ],
)
def test_a_folder_needs_the_name_of_its_distribution(tmp_path, text, message):
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        wanted(f"{tmp_path}/")


def test_packages_that_are_no_plugins_and_odd_names_are_not_removed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path, "odd", works("odd"), distribution="--yes")
    install(tmp_path, "fake-core", works("fake-core"), distribution="Quoteway", version="9")
    for distribution in ("fake-one", "fake-two"):
        install(tmp_path, "twin", works("twin"), distribution=distribution)
    for name, message in (
        ("aiohttp", "no plugin is named 'aiohttp'"),
        ("odd", "is no name of a distribution"),
        ("fake-core", "the core is not removed"),
        ("twin", "several distributions claim 'twin': name one of fake-one, fake-two"),
    ):
        answer = CliRunner().invoke(main, ["plugins", "uninstall", name])
        assert answer.exit_code == 2, name
        assert message in answer.output
