"""What the distributions declare of each other."""

import pathlib
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = pathlib.Path(__file__).parents[1]
PROJECTS = {
    folder.name: tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    for folder in (ROOT, *sorted((ROOT / "plugins").iterdir()))
    if (folder / "pyproject.toml").is_file()
}
VERSIONS = {project["name"]: Version(project["version"]) for project in PROJECTS.values()}


@pytest.mark.parametrize("folder", PROJECTS)
def test_every_requirement_of_a_quoteway_distribution_names_the_next_breaking_version(folder):
    """Below 1.0 a minor release may change Python interfaces: an older plugin does not install beside it."""
    project = PROJECTS[folder]
    extras = project.get("optional-dependencies", {}).values()
    declared = [*project.get("dependencies", ()), *(text for extra in extras for text in extra)]
    for requirement in map(Requirement, declared):
        version = VERSIONS.get(requirement.name)
        if version is None or requirement.name == project["name"]:  # an extra that contains another
            continue
        after = f"{version.major}.{version.minor + 1}" if version.major == 0 else str(version.major + 1)
        assert version in requirement.specifier, f"{requirement} excludes the {version} of this repository"
        assert Version(after) not in requirement.specifier, f"{requirement} allows {after}"
        assert Version("0") not in requirement.specifier, f"{requirement} has no lower bound"


TRIED = [
    row.split("|")[1].split()[-1]
    for row in (ROOT / "docs/reference/python-versions.md").read_text().splitlines()
    if row.startswith("| CPython")
]
CLIENT = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("folder", [*PROJECTS, "client"])
def test_a_distribution_names_the_versions_of_python_that_were_tried(folder):
    """Those of docs/reference/python-versions.md, the oldest of which is the least that is needed."""
    project = CLIENT if folder == "client" else PROJECTS[folder]
    before = "Programming Language :: Python :: "
    named = [each.removeprefix(before) for each in project["classifiers"] if each.startswith(before)]
    assert named == ["3 :: Only", *TRIED]
    assert project["requires-python"] == f">={TRIED[0]}"


def test_every_plugin_needs_the_core():
    # The pool mathematics stand alone.
    for folder in (folder for folder in PROJECTS if folder not in (ROOT.name, "amm")):
        names = {Requirement(text).name for text in PROJECTS[folder]["dependencies"]}
        assert "quoteway" in names, folder


@pytest.mark.slow
def test_no_plugin_of_this_repository_brings_signing_code_into_the_server():
    """Every installed plugin is loaded and asked for its providers; nothing is started."""
    program = (
        "import sys\n"
        "from quoteway.config.model import Config\n"
        "from quoteway.engine.gateway import Gateway\n"
        "import quoteway.web.app\n"
        "gateway = Gateway(Config())\n"
        "gateway.load()\n"
        "bad = {'eth_account', 'eth_keys', 'eth_keyfile', 'web3'} & set(sys.modules)\n"
        "print(sorted(e.name for e in gateway.registry.plugins if e.reason is None), sorted(bad))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("[]"), done.stdout
    assert "'devnet'" in done.stdout
