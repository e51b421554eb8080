"""Fetch anvil and the protocols' published bytecode from npm, pinned and integrity checked.

``packages.json`` pins every package by exact version and by the sha-512 of its tarball. ``npm pack`` delivers
tarballs through the registry, proxy and credentials that the machine is configured for; it resolves no
dependencies and runs no scripts. The needed parts (one binary, some twenty init codes) are extracted and
cached. (``npm ci`` would also install their 250 dependencies.)
"""

import base64
import fcntl
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from quoteway_devnet.contract_files import (
    BALANCER_FILES,
    CONTRACT_FILES,
    ENS_FILES,
    FORK_FILES,
    OPSTACK_FILES,
    PUBLIC_FILES,
)
from quoteway_devnet.errors import DevnetError
from quoteway_devnet.unpacking import extract_anvil, extract_bytecode, extract_group

MINIMUM_ANVIL = (1, 0)
"""Older releases on PATH are not used: they lack flags that ``anvil.py`` needs."""

_FETCH_TIMEOUT_S = 300
# npm's own retries take 70 s until it says that there is no network.
_NPM_OPTIONS = (
    *("--loglevel=error", "--ignore-scripts", "--prefer-offline"),
    *("--fetch-retries=3", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=4000"),
)


@dataclass(frozen=True, slots=True)
class Package:
    """One pinned npm package; ``integrity`` is the Subresource-Integrity form, ``sha512-<base64>``."""

    name: str
    version: str
    license: str
    integrity: str

    @property
    def tarball(self) -> str:
        """The file name of ``npm pack``."""
        return f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The external files that building a chain needs."""

    anvil: Path
    bytecode: Path
    """A JSON object: contract name -> init code, 0x-prefixed, library references unlinked."""


def cache_root() -> Path:
    """``$QUOTEWAY_CACHE_DIR/devnet``, else ``$XDG_CACHE_HOME/quoteway/devnet``, else below ``~/.cache``."""
    if own := os.environ.get("QUOTEWAY_CACHE_DIR"):
        return Path(own) / "devnet"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "quoteway" / "devnet"


def prepare(report: Callable[[str], None] | None = None) -> Toolchain:
    """Return the toolchain, fetching what the cache lacks.

    Raises DevnetError when npm is missing, the fetch fails or a tarball is not the pinned one.
    """
    pins = json.loads(_pins_text())
    contracts = [Package(**row) for row in pins["contracts"]]
    content = hashlib.sha256(json.dumps([pins["contracts"], CONTRACT_FILES]).encode()).hexdigest()[:16]
    bytecode = cache_root() / f"contracts-{content}"
    anvil = anvil_on_path()
    needed: list[tuple[Path, list[Package], Callable[[Path, Path], None]]] = []
    if not bytecode.is_dir():
        needed.append((bytecode, contracts, functools.partial(extract_bytecode, contracts)))
    if anvil is None:
        package = _anvil_package([Package(**row) for row in pins["anvil"]])
        folder = cache_root() / f"anvil-{package.version}"
        anvil = folder / "anvil"
        if not folder.is_dir():
            needed.append((folder, [package], extract_anvil))
    if needed:
        _fetch_all(needed, "54 MB", report)
    return Toolchain(anvil, bytecode / "bytecode.json")


def prepare_public(report: Callable[[str], None] | None = None) -> Path:
    """Return the file with the init codes of ``PUBLIC_FILES``, fetching it when the cache lacks it.

    Raises DevnetError as ``prepare`` does.
    """
    return _prepare_group("public", PUBLIC_FILES, "50 MB", report)


def prepare_balancer(report: Callable[[str], None] | None = None) -> Path:
    """Return the file with the init codes of ``BALANCER_FILES``, as ``prepare_public`` does."""
    return _prepare_group("balancer", BALANCER_FILES, "2 MB", report)


def prepare_opstack(report: Callable[[str], None] | None = None) -> Path:
    """Return the file with the init codes of ``OPSTACK_FILES``, as ``prepare_public`` does."""
    return _prepare_group("opstack", OPSTACK_FILES, "15 MB", report)


def prepare_ens(report: Callable[[str], None] | None = None) -> Path:
    """Return the file with the init codes of ``ENS_FILES``, as ``prepare_public`` does."""
    return _prepare_group("ens", ENS_FILES, "2 MB", report)


def prepare_forks(report: Callable[[str], None] | None = None) -> Path:
    """Return the file of ``FORK_FILES`` and ``fork_sources``, as ``prepare_public`` does."""
    from quoteway_devnet.fork_sources import RECIPE, compiled

    return _prepare_group("forks", FORK_FILES, "9 MB", report, compiled, RECIPE)


def prepare_balancer_v3(report: Callable[[str], None] | None = None) -> Path:
    """Return the file of ``balancer_v3_sources``, which take a minute to compile, once."""
    from quoteway_devnet.balancer_v3_sources import RECIPE, compiled

    return _prepare_group("balancer_v3", {}, "41 MB", report, compiled, RECIPE)


def _prepare_group(
    group: str,
    files: Mapping[str, tuple[str, str]],
    size: str,
    report: Callable[[str], None] | None,
    more: Callable[[Path], Mapping[str, str]] | None = None,
    recipe: str = "",
) -> Path:
    """``more`` makes further init codes of the tarballs' folder, by ``recipe``."""
    pins = [Package(**row) for row in json.loads(_pins_text())[group]]
    content = hashlib.sha256(json.dumps([*map(repr, pins), files, recipe]).encode()).hexdigest()[:16]
    bytecode = cache_root() / f"{group}-{content}"
    if not bytecode.is_dir():
        _fetch_all([(bytecode, pins, functools.partial(extract_group, pins, files, more))], size, report)
    return bytecode / "bytecode.json"


def anvil_on_path() -> Path | None:
    """Return the anvil on PATH if it is recent enough, else None."""
    found = shutil.which("anvil")
    if found is None:
        return None
    version = anvil_version(Path(found))
    match = re.search(r"(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) < MINIMUM_ANVIL:
        return None
    return Path(found)


@functools.cache
def anvil_version(anvil: Path) -> str:
    """Return the first line of ``anvil --version``. Raises DevnetError when the binary does not run here."""
    try:
        done = subprocess.run(  # noqa: S603  the anvil that we found or fetched
            [anvil, "--version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise DevnetError(
            f"{anvil} does not run on this machine ({error}); install Foundry (https://getfoundry.sh) "
            "so that a working `anvil` is on PATH."
        ) from error
    return done.stdout.splitlines()[0].strip()


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold an advisory lock on ``path``, so that two processes do not fill the same cache entry."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(path.name + ".lock"), "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """Yield a scratch folder that is renamed to ``folder``, or deleted when the block fails."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield scratch
        scratch.chmod(0o755)
        os.rename(scratch, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _pins_text() -> str:
    return (resources.files("quoteway_devnet") / "packages.json").read_text()


def _anvil_package(packages: Sequence[Package]) -> Package:
    machine = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(
        platform.machine().lower(), platform.machine()
    )
    name = f"@foundry-rs/anvil-{platform.system().lower()}-{machine}"
    for package in packages:
        if package.name == name:
            return package
    raise DevnetError(
        f"anvil is not on PATH and npm has no build of it for {platform.system()} {platform.machine()}; "
        "install Foundry (https://getfoundry.sh) so that `anvil` is on PATH."
    )


def _fetch_all(
    needed: Sequence[tuple[Path, list[Package], Callable[[Path, Path], None]]],
    size: str,
    report: Callable[[str], None] | None,
) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise DevnetError(
            "npm is not on PATH, and the devnet fetches its contracts and anvil with it; "
            "install Node.js 18 or later (https://nodejs.org) and start again."
        )
    with exclusive(cache_root() / "packages"):
        missing = [row for row in needed if not row[0].is_dir()]
        with tempfile.TemporaryDirectory(prefix=".npm-", dir=cache_root()) as scratch:
            npm_pack(npm, [package for row in missing for package in row[1]], Path(scratch), size, report)
            for folder, _, extract in missing:
                with appearing(folder) as target:
                    extract(Path(scratch), target)


def npm_pack(
    npm: str, packages: Sequence[Package], folder: Path, size: str, report: Callable[[str], None] | None
) -> None:
    """Puts the tarballs of packages into a folder, checked against their hashes. ``size`` is for people.

    Raises DevnetError when npm does not deliver them or one has another hash.
    """
    if not packages:
        return
    # Two packages are 97 % of the bytes: each has its own process, the small ones share one.
    large = [p for p in packages if p.name == "@uniswap/v4-periphery" or "anvil" in p.name]
    groups = [[p] for p in large] + [[p for p in packages if p not in large]]
    command = [npm, "pack", *_NPM_OPTIONS, "--pack-destination", str(folder)]
    running = [
        subprocess.Popen(  # noqa: S603  npm with pinned names
            [*command, *(f"{p.name}@{p.version}" for p in group)],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for group in groups
        if group
    ]
    deadline = time.monotonic() + _FETCH_TIMEOUT_S
    try:
        with _progress(len(packages), size, report) as advance:
            while any(process.poll() is None for process in running):
                if time.monotonic() > deadline:
                    raise DevnetError(
                        f"npm did not deliver within {_FETCH_TIMEOUT_S} s; check the network and start again."
                    )
                advance(sum((folder / p.tarball).exists() for p in packages))
                time.sleep(0.1)
            advance(sum((folder / p.tarball).exists() for p in packages))
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
    for process in running:
        _, stderr = process.communicate()
        if process.returncode:
            raise DevnetError(
                f"npm could not fetch the devnet's packages ({_said(stderr)}); "
                "check the network and the registry npm is set to, and start again. "
                "For a machine that is offline later, run `quoteway devnet fetch` while it is not."
            )
    for package in packages:
        _check_integrity(package, folder / package.tarball)


def _said(stderr: str) -> str:
    """Return what npm says of a failure, without the registry's URL, which may hold a credential."""
    code, reason = (re.search(pattern, stderr) for pattern in (r"npm error code (\S+)", r"reason: ([^\n]+)"))
    return ": ".join(found[1] for found in (code, reason) if found) or "no message"


def _check_integrity(package: Package, tarball: Path) -> None:
    digest = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    if f"sha512-{digest}" != package.integrity:
        raise DevnetError(
            f"{package.name}@{package.version} from your npm registry has sha512-{digest}, "
            f"expected {package.integrity}; use a registry that serves the published package."
        )


@contextmanager
def _progress(total: int, size: str, report: Callable[[str], None] | None) -> Iterator[Callable[[int], None]]:
    """Yield ``advance(done)``, which shows a bar on a terminal and lines elsewhere."""
    if report is None and sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(f"Fetching devnet packages ({size})", total=total)
            yield lambda done: bar.update(task, completed=done)
        return
    say = report or functools.partial(print, file=sys.stderr)
    say(f"Fetching {total} devnet packages with npm ({size}, once).")
    seen = 0

    def advance(done: int) -> None:
        nonlocal seen
        if done > seen:
            seen = done
            say(f"  {done} of {total} devnet packages fetched")

    yield advance


GROUPS: Mapping[str, Callable[[], Path]] = {
    "public": prepare_public,
    "balancer": prepare_balancer,
    "opstack": prepare_opstack,
    "ens": prepare_ens,
    "forks": prepare_forks,
    "balancer-v3": prepare_balancer_v3,
}
"""What tests need beside the chains, by the names that ``quoteway devnet fetch`` takes. The last is compiled
for a minute.
"""


if __name__ == "__main__":
    for group, prepare_files in GROUPS.items():
        if group != "balancer-v3" or sys.argv[1:] == ["--all"]:
            prepare_files()
