"""``quoteway new``: names, refusals, and what the files of every kind are."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement
from quoteway.server.cli import main
from quoteway.server.new_plugin import KINDS, rendered

LONGEST = "a-name-of-forty-characters-that-is-legal"


def new(*words):
    return CliRunner().invoke(main, ["new", *map(str, words)])


@pytest.mark.parametrize(
    ("name", "plugin"), [("my-dex", "my-dex"), ("My.Dex_2", "my-dex-2"), ("class", "class"), ("x", "x")]
)
def test_a_name_is_written_as_packages_are_compared(tmp_path, name, plugin):
    done = new("swap", name, "--into", tmp_path / "plugins")
    assert done.exit_code == 0, done.output
    folder = tmp_path / "plugins" / f"quoteway-{plugin}"
    module = f"quoteway_{plugin.replace('-', '_')}"
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == folder.name
    assert project["entry-points"] == {"quoteway.v1": {plugin: module}}
    assert (folder / "src" / module / "py.typed").read_text() == ""
    assert f"cd {folder}" in done.output
    assert "python -m pip install -e '.[test]'" in done.output


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "such as my-dex"),
        ("../up", "such as my-dex"),
        ("two words", "such as my-dex"),
        ("1inch", "the first is a letter"),
        ("dex-", "the last a letter or digit"),
        ("dex\n", "such as my-dex"),
        ("dëx", "such as my-dex"),
        (f"{LONGEST}s", "at most 40"),
        ("Quoteway", "is the core's"),
        ("quoteway-dex", "leave 'quoteway-' out"),
        ("quoteway_dex", "leave 'quoteway-' out"),
    ],
)
def test_what_cannot_name_a_plugin_is_refused_and_nothing_is_written(tmp_path, name, says):
    done = new("swap", "--into", tmp_path / "plugins", "--", name)
    assert (done.exit_code, says in done.output) == (2, True), done.output
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_an_installed_plugin_is_refused(tmp_path, monkeypatch):
    installed = tmp_path / "site" / "somebody_elses-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody-elses\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[quoteway.v1]\ntheir-dex = somebody\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    done = new("swap", "Their_Dex", "--into", tmp_path)
    assert done.exit_code == 2
    assert "the installed plugin 'somebody-elses'" in done.output
    assert not (tmp_path / "quoteway-their-dex").exists()


def test_nothing_that_exists_is_touched(tmp_path):
    taken = tmp_path / "quoteway-dex"
    taken.mkdir()
    (taken / "README.md").write_text("mine")
    done = new("swap", "dex", "--into", tmp_path)
    assert done.exit_code == 2
    assert "exists" in done.output
    assert [file.name for file in taken.iterdir()] == ["README.md"]
    (tmp_path / "file").write_text("")
    done = new("swap", "dex", "--into", tmp_path / "file" / "below")
    assert done.exit_code == 2
    assert "cannot be written" in done.output


def test_an_unknown_kind_names_the_known_ones(tmp_path):
    done = new("exchange", "dex", "--into", tmp_path)
    assert done.exit_code == 2
    for kind in KINDS:
        assert kind in done.output


def test_every_kind_is_in_the_table_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "start-a-plugin.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == [*KINDS]


@pytest.fixture(scope="module", params=["dex", LONGEST])
def everything(request, tmp_path_factory):
    """The folder with a plugin of every kind, of a short name and of the longest."""
    folder = tmp_path_factory.mktemp("plugins")
    for kind in KINDS:
        for path, text in rendered(kind, f"{request.param[:-2]}-{kind[0]}"):
            file = folder / kind / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return folder


def test_every_file_is_valid(everything):
    yaml = pytest.importorskip("yaml")
    for file in everything.rglob("*.*"):
        if file.suffix == ".py":
            ast.parse(file.read_text())
        elif file.suffix == ".toml":
            tomllib.loads(file.read_text())
        elif file.suffix == ".yml":
            assert {"name", "jobs"} <= yaml.safe_load(file.read_text()).keys()
        elif file.suffix == ".json":
            json.loads(file.read_text())
        assert "$" not in file.name
        assert file.suffix != ".tmpl"


def test_every_kind_is_a_complete_distribution(everything):
    for kind in KINDS:
        folder = everything / kind
        configuration = tomllib.loads((folder / "pyproject.toml").read_text())
        project, (package,) = configuration["project"], (folder / "src").iterdir()
        assert configuration["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [
            f"src/{package.name}"
        ]
        needed = {each.name: each.specifier for each in map(Requirement, project["dependencies"])}
        for name in (each for each in needed if each.startswith("quoteway")):
            assert {spec.operator for spec in needed[name]} == {">=", "<"}, f"{kind}: {name}"
        imported = {module.split(".")[0] for module in modules_of(folder / "src")} - {package.name}
        assert imported - sys.stdlib_module_names <= {name.replace("-", "_") for name in needed}, kind
        for name in ("README.md", "quoteway.toml", ".gitignore", "tests/conftest.py"):
            assert (folder / name).is_file(), f"{kind}: {name}"
        publishing = (folder / ".github" / "workflows" / "publish.yml").read_text()
        assert "id-token: write" in publishing
        assert "password" not in publishing


def modules_of(folder):
    """Returns the modules that the Python files below a folder import."""
    nodes = [node for file in folder.rglob("*.py") for node in ast.walk(ast.parse(file.read_text()))]
    named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return named | {node.module for node in nodes if isinstance(node, ast.ImportFrom)}


def test_plugins_import_only_what_is_public(everything):
    """Of the framework: the package itself, and ``quoteway.evm``; tests also ``quoteway.testing``."""
    for file in everything.rglob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)]
        modules = {node.module for node in nodes if node.module.split(".")[0] == "quoteway"}
        allowed = ("quoteway.evm.", "quoteway.testing.") if "tests" in file.parts else ("quoteway.evm.",)
        for module in modules - {"quoteway"}:
            assert f"{module}.".startswith(allowed), f"{file} imports {module}"


def test_every_kind_is_formatted_and_passes_its_own_lint(everything):
    pytest.importorskip("ruff")
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", "--quiet", "."],
            cwd=everything,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout


def test_the_configured_contracts_are_those_of_the_devnet(everything):
    manifest = pytest.importorskip(
        "quoteway_devnet.manifest", reason="needs the quoteway-devnet distribution"
    )
    tables = manifest.chain_manifests()
    everywhere = {each for chain in tables.values() for each in addresses_of(chain)}
    for kind in KINDS:
        text = (everything / kind / "quoteway.toml").read_text()
        assert set(re.findall(r"0x[0-9a-fA-F]+", text)) <= everywhere, kind
        for section in tomllib.loads(text)["plugin"].values():
            for slug, addresses in section.get("contracts", {}).items():
                assert set(addresses) <= addresses_of(tables[slug]), f"{kind}: {slug}"


def addresses_of(chain):
    """Returns the addresses of a devnet chain's contracts, tokens, vaults and pools."""
    rows = (*chain.tokens, *chain.vaults)
    return {*chain.contracts.values(), *(row.address for row in rows), *(pool.id for pool in chain.pools)}
