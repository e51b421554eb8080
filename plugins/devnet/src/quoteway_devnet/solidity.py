"""Compiles Solidity sources with a compiler from an npm package, for contracts that no package ships."""

import json
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from quoteway_devnet.errors import DevnetError

_TIMEOUT_S = 300
SCRIPT = """
const compiler = require(process.argv[1]);
const compile = compiler.cwrap('solidity_compile', 'string', ['string', 'number', 'number']);
process.stdout.write(compile(require('fs').readFileSync(0, 'utf8'), 0, 0));
"""


def compiled(
    compiler: Path, sources: Mapping[str, str], settings: Mapping[str, object], contracts: Mapping[str, str]
) -> dict[str, str]:
    """Return the init codes of ``contracts`` (name -> file) by name, without 0x.

    ``compiler`` is the tarball of the npm package ``solc``; its release must take three arguments (0.6 or
    later). ``sources`` are the texts of all files by the names of their imports, and ``settings`` those of
    the compiler's standard JSON.

    Raises DevnetError when node or the compiler fails, or a contract is over the size limit of EIP-170.
    """
    node = shutil.which("node")
    if node is None:
        raise DevnetError("node is not on PATH; install Node.js 18 or later (https://nodejs.org).")
    output = {"*": {"*": ["evm.bytecode.object", "evm.deployedBytecode.object"]}}
    chosen = dict.fromkeys(contracts.values(), output["*"])
    asked = {
        "language": "Solidity",
        "sources": {file: {"content": text} for file, text in sources.items()},
        "settings": {**settings, "outputSelection": chosen},
    }
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "soljson.js"
        script.write_text(text_files(compiler, "package/soljson.js")["package/soljson.js"])
        try:
            done = subprocess.run(  # noqa: S603  node with a pinned compiler
                [node, "-e", SCRIPT, str(script)],
                input=json.dumps(asked),
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                check=True,
            )
            found = json.loads(done.stdout)["contracts"]
            evm = {name: found[file][name]["evm"] for name, file in contracts.items()}
        except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
            raise DevnetError(f"{', '.join(contracts)} could not be compiled: {error}") from error
    return {name: _init_code(name, each) for name, each in evm.items()}


_MOST_BYTES = 24_576
"""EIP-170. anvil accepts more where it is told to, and the devnet does not tell it."""


def _init_code(name: str, evm: Mapping[str, Mapping[str, str]]) -> str:
    size = len(evm["deployedBytecode"]["object"]) // 2
    if size > _MOST_BYTES:
        raise DevnetError(f"{name} has {size} bytes, more than EIP-170 allows; report this as a bug.")
    return evm["bytecode"]["object"]


def text_files(tarball: Path, start: str, end: str = "") -> dict[str, str]:
    """Return the files of an npm tarball whose names begin and end so, as text by their names."""
    with tarfile.open(tarball, "r:gz") as archive:
        found = {}
        for member in archive:
            if member.name.startswith(start) and member.name.endswith(end):
                handle = archive.extractfile(member)
                assert handle is not None
                found[member.name] = handle.read().decode()
        return found
