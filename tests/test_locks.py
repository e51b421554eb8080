"""The locks in ``locks/`` fit the distributions that they are for, and this environment has what they say."""

import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "locks"
NAMES = ("build", "dev", "release", "runtime", "services")
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = {
    "Linux x86_64": {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"},
    "Linux arm64": {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "aarch64"},
    "macOS": {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"},
}
PIN = re.compile(r"^(?P<requirement>[^#\s].*?) \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", re.M)


class Pin(NamedTuple):
    version: Version
    marker: Marker | None


def pins(name: str) -> dict[str, list[Pin]]:
    """The pins of a lock, by the name of the distribution; one may differ by its marker."""
    found: dict[str, list[Pin]] = {}
    for each in PIN.finditer((LOCKS / f"{name}.txt").read_text()):
        requirement = Requirement(each["requirement"])
        (exact,) = requirement.specifier
        assert exact.operator == "=="
        found.setdefault(canonicalize_name(requirement.name), []).append(
            Pin(Version(exact.version), requirement.marker)
        )
    return found


def writer():
    spec = importlib.util.spec_from_file_location("write", LOCKS / "write.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WRITER = writer()
OURS = {canonicalize_name(project["name"]): project for project in WRITER.PROJECTS.values()}


def environment(python: str, platform: str) -> dict[str, str]:
    return {
        **default_environment(),
        **PLATFORMS[platform],
        "python_version": python,
        "python_full_version": f"{python}.9",
    }


def declared(lines: list[str]) -> Iterator[Requirement]:
    """What the input of a lock needs of others, by itself and through our distributions."""
    waiting = [Requirement(_named(line)) if line.startswith("-e ") else Requirement(line) for line in lines]
    seen = set()
    while waiting:
        requirement = waiting.pop()
        project = OURS.get(canonicalize_name(requirement.name))
        if project is None:
            yield requirement
            continue
        for extra in (None, *requirement.extras):
            if (project["name"], extra) not in seen:
                seen.add((project["name"], extra))
                texts = project["optional-dependencies"][extra] if extra else project["dependencies"]
                waiting += map(Requirement, texts)


def _named(line: str) -> str:
    folder, bracket, extras = line.removeprefix("-e ").partition("[")
    return WRITER.PROJECTS[(ROOT / folder).resolve()]["name"] + bracket + extras


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_a_lock_has_one_fitting_version_of_all_that_its_distributions_declare(name, platform, python):
    locked, here = pins(name), environment(python, platform)
    for requirement in declared(WRITER.requirements()[name]):
        if requirement.marker is not None and not requirement.marker.evaluate(here):
            continue
        chosen = [
            pin.version
            for pin in locked.get(canonicalize_name(requirement.name), ())
            if pin.marker is None or pin.marker.evaluate(here)
        ]
        assert len(chosen) == 1, f"locks/{name}.txt has {chosen} for {requirement}: run `make lock`"
        assert requirement.specifier.contains(chosen[0]), (
            f"locks/{name}.txt has {chosen[0]} for {requirement}: run `make lock`"
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_is_pins_with_hashes_alone_and_names_no_registry(name):
    text = (LOCKS / f"{name}.txt").read_text()
    rest = PIN.sub("", text)
    assert all(line.startswith("#") for line in rest.splitlines()), rest
    assert "make lock" in rest
    assert "://" not in text


def test_the_locks_are_the_ones_that_are_written():
    assert set(NAMES) == set(WRITER.requirements()) == {file.stem for file in LOCKS.glob("*.txt")}


def test_the_locks_agree():
    every = pins("dev")
    for name in set(NAMES) - {"dev"}:
        for distribution, chosen in pins(name).items():
            versions = {pin.version for pin in chosen}
            assert versions <= {pin.version for pin in every.get(distribution, chosen)}, distribution


def test_this_environment_has_the_locked_versions():
    locked = {**pins("services"), **pins("release"), **pins("dev")}
    installed = {
        canonicalize_name(each.metadata["Name"]): Version(each.version)
        for each in importlib.metadata.distributions()
    }
    differing = {
        name: str(version)
        for name, version in installed.items()
        if name in locked and name != "pip" and version not in {pin.version for pin in locked[name]}
    }
    assert not differing, f"other versions than the lock's: {differing}; run `make prepare`"
