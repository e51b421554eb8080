"""Installs and removes the distributions of plugins, with uv or pip, in the environment that runs this."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from quoteway.config.loading import source_of
from quoteway.config.model import Config
from quoteway.errors import ConfigError
from quoteway.host.installed_plugins import core_version
from quoteway.host.plugin_lock import PluginLock
from quoteway.host.plugins import Plugins
from quoteway.host.runtime import Runtime
from quoteway.host.states import CORE, PluginEntry, normalized
from quoteway.near_names import suggestion

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"(?:===|==|~=|!=|>=|<=|>|<) ?[A-Za-z0-9.*+!_-]+"
_REQUIREMENT = re.compile(rf"({_NAME})(?:\[{_NAME}(?:, ?{_NAME})*\])? ?(?:{_VERSION}(?:, ?{_VERSION})*)?")
_FORMS = (
    "give the name of a distribution (quoteway-lifi, quoteway-lifi==0.1.0), a wheel file, or a folder with a "
    "pyproject.toml"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to install: the ``name`` of its distribution, and the ``argument`` of the installer."""

    name: str
    argument: str


def wanted(spec: str) -> Wanted:
    """Returns what a specification names: a distribution, a wheel file or a folder.

    Raises ``ConfigError`` for anything else, such as options and URLs, and for the core.
    """
    if "://" in spec:
        raise ConfigError(f"URLs are not installed: download the wheel, check it, and {_FORMS}")
    if spec.endswith(".whl") or "/" in spec or "\\" in spec or spec.startswith("."):
        found = _at_path(Path(spec))
    else:
        match = _REQUIREMENT.fullmatch(spec)
        if match is None:
            raise ConfigError(f"{spec!r} cannot be installed: {_FORMS}")
        found = Wanted(match[1], spec)
    if normalized(found.name) == CORE:
        raise ConfigError(f"{spec!r} is the core: upgrade it with pip or uv, then its plugins")
    return found


def _at_path(path: Path) -> Wanted:
    if path.suffix == ".whl" and path.is_file():
        # A URI: an installer reads brackets and semicolons of a plain path as extras and markers.
        return Wanted(path.name.partition("-")[0], path.resolve().as_uri())
    if not path.is_dir():
        raise ConfigError(f"{path}: no such wheel file or folder: {_FORMS}")
    try:
        name = tomllib.loads((path / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
    except OSError:
        raise ConfigError(f"{path} has no readable pyproject.toml: {_FORMS}") from None
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"{path / 'pyproject.toml'}: no `name` in [project]: add it") from None
    if not isinstance(name, str) or not re.fullmatch(_NAME, name):
        raise ConfigError(f"{path / 'pyproject.toml'}: `name` of [project] is no name of a distribution")
    return Wanted(name, path.resolve().as_uri())


def install(what: Wanted, *, upgrade: bool) -> None:
    """Installs a distribution. The core keeps its version. Raises ``ConfigError`` when that fails."""
    with tempfile.TemporaryDirectory(prefix="quoteway-install-") as folder:
        constraints = Path(folder) / "constraints.txt"
        constraints.write_text(f"{CORE}=={core_version()}\n", encoding="utf-8")
        options = ["--constraint", str(constraints), *(["--upgrade"] if upgrade else [])]
        _run("install", [*options, "--", what.argument])
    importlib.invalidate_caches()


def uninstall(distribution: str) -> None:
    """Removes a distribution. Raises ``ConfigError`` when that fails."""
    _run("uninstall", ["--", distribution])
    importlib.invalidate_caches()


def _run(verb: str, arguments: Sequence[str]) -> None:
    uv = shutil.which("uv")
    if uv is not None:
        command = [uv, "pip", verb, "--python", sys.executable]
    elif importlib.util.find_spec("pip") is not None:
        # -P: a module pip in the working folder is not run.
        command = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", verb]
        command += ["--yes"] if verb == "uninstall" else []
    else:
        raise ConfigError(
            f"neither uv is on PATH nor pip in {sys.prefix}: install uv, or run `python -m ensurepip` there"
        )
    status = subprocess.run([*command, *arguments], check=False).returncode  # noqa: S603 - no shell, checked
    if status != 0:
        tool = "uv" if uv is not None else "pip"
        raise ConfigError(f"{tool} {verb} ended with status {status}: its messages are above")


def installed_plugins() -> list[PluginEntry]:
    """Returns the plugins that are installed now. Imports none of them."""
    found = Plugins(Runtime(Config()))
    found.discover()
    return list(found)


def plugins_of(distribution: str) -> list[str]:
    """Returns the names of the plugins of an installed distribution, sorted."""
    found = installed_plugins()
    return sorted({each.name for each in found if normalized(each.distribution) == normalized(distribution)})


def removable(name: str) -> PluginEntry:
    """Returns the plugin of a name, or of a distribution's name, that may be removed.

    Raises ``ConfigError`` for the core, an unknown name and one that several distributions claim.
    """
    found = installed_plugins()
    of_name = [each for each in found if each.name == name] or [
        each for each in found if normalized(each.distribution) == normalized(name)
    ]
    distributions = {normalized(each.distribution): each for each in of_name}
    if normalized(name) == CORE or CORE in distributions:
        raise ConfigError("the core is not removed by this command: use pip or uv")
    if not distributions:
        known = sorted({each.name for each in found})
        raise ConfigError(f"no plugin is named {name!r}.{suggestion(name, known, 'Installed')}")
    if len(distributions) > 1:
        raise ConfigError(
            f"several distributions claim {name!r}: name one of {', '.join(sorted(distributions))}"
        )
    (plugin,) = distributions.values()
    if not re.fullmatch(_NAME, plugin.distribution):
        raise ConfigError(f"{plugin.distribution!r} is no name of a distribution: remove its files by hand")
    return plugin


def to_configure(config: Config, name: str) -> Iterator[str]:
    """Yields what the configuration needs before the server loads a newly installed plugin."""
    if config.plugins.load != "all" and name not in config.plugins.load:
        yield f'add "{name}" to `load` in [plugins] of {source_of(config)}: only named plugins are loaded'
    if config.plugin_lock is not None:
        yield f"review it and run `quoteway plugins lock`: {config.plugin_lock} does not have it as it is now"
    yield "start the server again: a running one does not load it"


def remains(config: Config, name: str) -> Iterator[str]:
    """Yields what the configuration still says of a plugin that was removed."""
    if name in config.plugin_sections:
        yield f"the section [plugin.{name}]: remove it, the server does not start with it"
    if config.plugins.load != "all" and name in config.plugins.load:
        yield f"{name!r} in `load` of [plugins]: remove it, the server does not start with it"
    if name in config.plugins.isolate:
        yield f"{name!r} in `isolate` of [plugins]: remove it, the server does not start with it"
    if name in config.plugins.owners:
        yield f"{name!r} in `owners` of [plugins]: keep it to keep others from taking the name"
    lock = config.plugin_lock
    if lock is not None and lock.is_file() and name in PluginLock.read(lock).plugins:
        yield f"its entry in {lock}: run `quoteway plugins lock`"
