"""Takes the needed files out of npm tarballs: anvil's binary, and the init code of published contracts."""

import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quoteway_devnet.contract_files import CONTRACT_FILES, PERMIT2_RUNTIME
from quoteway_devnet.errors import DevnetError

if TYPE_CHECKING:
    from quoteway_devnet.packages import Package


def extract_anvil(tarballs: Path, target: Path) -> None:
    (tarball,) = tarballs.glob("foundry-rs-anvil-*.tgz")
    binary = target / "anvil"
    binary.write_bytes(members(tarball, {"bin/anvil"})["bin/anvil"])
    binary.chmod(0o755)


def extract_bytecode(pins: Sequence["Package"], tarballs: Path, target: Path) -> None:
    from quoteway_devnet.permit2 import init_code

    wanted: dict[str, set[str]] = {}
    for package, file in [*CONTRACT_FILES.values(), PERMIT2_RUNTIME]:
        wanted.setdefault(package, set()).add(file)
    found = {p.name: members(tarballs / p.tarball, wanted[p.name]) for p in pins}
    bytecode = {
        name: _init_code(json.loads(found[package][file])["bytecode"])
        for name, (package, file) in CONTRACT_FILES.items()
    }
    package, file = PERMIT2_RUNTIME
    bytecode["Permit2"] = "0x" + init_code(found[package][file].decode()).hex()
    (target / "bytecode.json").write_text(json.dumps(bytecode, indent=0))


def extract_group(
    pins: Sequence["Package"],
    files: Mapping[str, tuple[str, str]],
    more: Callable[[Path], Mapping[str, str]] | None,
    tarballs: Path,
    target: Path,
) -> None:
    bytecode: dict[str, str] = {} if more is None else {**more(tarballs)}
    for package in pins:
        wanted = {name: file for name, (owner, file) in files.items() if owner == package.name}
        if not wanted:
            continue
        found = members(tarballs / package.tarball, set(wanted.values()))
        bytecode |= {
            name: _init_code(_creation_code(json.loads(found[file]))) for name, file in wanted.items()
        }
    (target / "bytecode.json").write_text(json.dumps(bytecode, indent=0))


def _creation_code(artifact: dict[str, str | dict[str, str]]) -> str | dict[str, str]:
    """Return the member with the init code: the oldest artifacts of Balancer name it otherwise."""
    return artifact["bytecode"] if "bytecode" in artifact else artifact["creationCode"]


def _init_code(member: str | dict[str, str]) -> str:
    """Return the init code of an artifact: Truffle, hardhat and foundry write it in different forms."""
    text = member if isinstance(member, str) else member["object"]
    return "0x" + text.removeprefix("0x")


def members(tarball: Path, names: set[str]) -> dict[str, bytes]:
    """Read the named files of an npm tarball (their root folder is ``package/``) into memory."""
    found: dict[str, bytes] = {}
    with tarfile.open(tarball, "r|gz") as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            if name in names and (handle := archive.extractfile(member)) is not None:
                found[name] = handle.read()
                if len(found) == len(names):
                    break
    if lacking := names - found.keys():
        raise DevnetError(f"{tarball.name} lacks {', '.join(sorted(lacking))}; report this as a bug.")
    return found
