"""``make release``: builds that can be repeated, what is in them, the changelog, the bill of materials."""

import datetime
import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from release import __main__ as command
from release import distributions
from release.changelog import cut

ROOT = Path(__file__).parents[1]
DAY = datetime.date(2026, 12, 1)
CHANGELOG = "# Changelog\n\nNews.\n\n## Unreleased\n\n- One.\n- Two.\n\n## 0.1.0 (2026-01-02)\n\n- First.\n"
TIME = "1700000000"


def test_the_changes_become_those_of_the_version():
    assert cut(CHANGELOG, "0.2.0", DAY) == CHANGELOG.replace(
        "## Unreleased\n", "## Unreleased\n\n## 0.2.0 (2026-12-01)\n"
    )


def test_a_changelog_that_was_cut_stays():
    once = cut(CHANGELOG, "0.2.0", DAY)
    assert cut(once, "0.2.0", datetime.date(2027, 1, 1)) == once


def test_the_first_release_has_no_older_section():
    assert cut("# Changelog\n\n## Unreleased\n\n- One.\n", "0.1.0", DAY) == (
        "# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-12-01)\n\n- One.\n"
    )


@pytest.mark.parametrize(
    ("text", "version", "told"),
    [
        (CHANGELOG, "0.1.0", "raise `version`"),
        (cut(CHANGELOG, "0.2.0", DAY), "0.3.0", "nothing to release"),
        ("# Changelog\n", "0.1.0", "no section"),
    ],
)
def test_what_cannot_be_cut_is_refused_with_the_remedy(text, version, told):
    with pytest.raises(ValueError, match=told):
        cut(text, version, DAY)


def test_this_changelog_can_be_cut():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert cut(text, distributions.version(), DAY) != text


def test_changes_that_are_not_committed_end_a_release(tmp_path, monkeypatch, capsys):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "new").write_text("")
    monkeypatch.setattr(command, "ROOT", tmp_path)
    assert command.main() == 1
    assert "not committed" in capsys.readouterr().out


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """The files of some distributions, twice, at other places and times, without git."""
    made = []
    for name in ("one", "another"):
        folder = tmp_path_factory.mktemp(name) / name
        for part in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore", "framework"):
            source = ROOT / part
            copy = shutil.copytree if source.is_dir() else shutil.copyfile
            folder.mkdir(exist_ok=True)
            copy(source, folder / part)
        for plugin in ("devnet", "rpc"):
            shutil.copytree(
                ROOT / "plugins" / plugin,
                folder / "plugins" / plugin,
                ignore=shutil.ignore_patterns("node_modules", "tests"),
            )
        made.append(folder)
    for path in made[1].rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return made


@pytest.fixture(scope="module")
def built(copies, tmp_path_factory):
    """The files that each copy builds, by name."""
    found = []
    for copy in copies:
        target = tmp_path_factory.mktemp("dist")
        folders = [copy, *sorted(file.parent for file in copy.glob("plugins/*/pyproject.toml"))]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(distributions, "FOLDERS", folders)
            found.append({path.name: path.read_bytes() for path in distributions.build(target, TIME)})
    return found


@pytest.mark.slow
def test_two_builds_are_equal_byte_for_byte(built):
    one, another = built
    assert len(one) == 6
    assert {name: hashlib.sha256(content).hexdigest() for name, content in one.items()} == {
        name: hashlib.sha256(content).hexdigest() for name, content in another.items()
    }


@pytest.mark.slow
def test_a_wheel_has_the_licence_the_types_and_nothing_else_than_its_package(built):
    for name, content in built[0].items():
        if not name.endswith(".whl"):
            continue
        with zipfile.ZipFile(io.BytesIO(content)) as wheel:
            names = wheel.namelist()
            (metadata,) = (each for each in names if each.endswith("/METADATA"))
            (licence,) = (each for each in names if each.endswith("/licenses/LICENSE"))
            fields = Parser().parsestr(wheel.read(metadata).decode())
            assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()
        assert any(each.endswith("/py.typed") for each in names), name
        package = name.split("-")[0]
        assert {each.split("/")[0] for each in names} == {package, metadata.split("/")[0]}
        assert fields["License-Expression"] == "MIT"
        assert fields["Requires-Python"] == ">=3.11"
        assert "Typing :: Typed" in fields.get_all("Classifier")


@pytest.mark.slow
def test_the_sources_of_the_core_are_the_core_alone(built):
    (content,) = (content for name, content in built[0].items() if name == "quoteway-0.1.0.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        parts = {each.name.split("/")[1] for each in archive}
    assert parts == {
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "framework",
        "pyproject.toml",
    }


@pytest.mark.services
def test_the_bill_of_materials_has_every_locked_version(tmp_path):
    target = tmp_path / "quoteway.cdx.json"
    command.bill_of_materials(target)
    document = json.loads(target.read_text())
    assert document["bomFormat"] == "CycloneDX"
    assert document["metadata"]["component"]["name"] == "quoteway"
    locked = re.findall(r"^([\w.-]+==[^ ]+)", (ROOT / "locks/runtime.txt").read_text(), re.M)
    assert sorted(f"{each['name']}=={each['version']}" for each in document["components"]) == sorted(locked)
    assert all(each["externalReferences"][0]["hashes"] for each in document["components"])
