"""Compiles v2 forks for tests: SushiSwap's contracts, and the same with a fee of 0.25 %.

Their package ships source alone. The second set of contracts is a derivative of that source (GPL-3.0) in
which only the fee differs, as in PancakeSwap v2. It is for tests, and not what runs at anybody's addresses.
"""

import json
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from quoteway.evm.address import keccak256

from quoteway_devnet.errors import DevnetError

_COMPILER, _SOURCE = "solc-0.6.12.tgz", "sushiswap-core-1.4.2.tgz"
_FOLDER = "package/contracts/uniswapv2/"
_BUILT_IN_HASH = "e18a34eb0e04b04f7a0ac29a6e80748dca96319b42c54d679cb821dca90c6303"
"""The hash of the pair's init code in the router's source. Another build of the pair gives another one."""
_QUARTER_PERCENT = {
    "UniswapV2Pair.sol": (
        ("mul(1000).sub(amount0In.mul(3))", "mul(10000).sub(amount0In.mul(25))"),
        ("mul(1000).sub(amount1In.mul(3))", "mul(10000).sub(amount1In.mul(25))"),
        ("mul(1000**2)", "mul(10000**2)"),
    ),
    "libraries/UniswapV2Library.sol": (("mul(997)", "mul(9975)"), ("mul(1000)", "mul(10000)")),
}
"""The lines of the fee: file -> (text, replacement)."""
_SCRIPT = """
const compiler = require(process.argv[1]);
const compile = compiler.cwrap('solidity_compile', 'string', ['string', 'number', 'number']);
process.stdout.write(compile(require('fs').readFileSync(0, 'utf8'), 0, 0));
"""
RECIPE = json.dumps([_SCRIPT, _QUARTER_PERCENT])


def compiled(tarballs: Path) -> Mapping[str, str]:
    """Return the init codes by contract, from the packages in a folder. Takes some four seconds.

    Raises DevnetError when node or the compiler fails.
    """
    with tarfile.open(tarballs / _SOURCE, "r:gz") as archive:
        files = [each for each in archive if each.name.startswith(_FOLDER) and each.name.endswith(".sol")]
        sources = {each.name.removeprefix(_FOLDER): _text(archive, each) for each in files}
    changed = dict(sources)
    for file, changes in _QUARTER_PERCENT.items():
        for text, replacement in changes:
            if text not in changed[file]:
                raise DevnetError(f"{_SOURCE}: {file} lacks {text!r}; report this as a bug.")
            changed[file] = changed[file].replace(text, replacement)
    with tempfile.TemporaryDirectory() as scratch:
        compiler = Path(scratch) / "soljson.js"
        with tarfile.open(tarballs / _COMPILER, "r:gz") as archive:
            compiler.write_text(_text(archive, archive.getmember("package/soljson.js")))
        return {
            **_contracts("SushiSwap", compiler, sources),
            **_contracts("QuarterPercent", compiler, changed),
        }


def _contracts(name: str, compiler: Path, sources: Mapping[str, str]) -> dict[str, str]:
    settings = {
        "optimizer": {"enabled": True, "runs": 200},
        "outputSelection": {"*": {"*": ["evm.bytecode.object"]}},
    }
    asked = {
        "language": "Solidity",
        "sources": {file: {"content": text} for file, text in sources.items()},
        "settings": settings,
    }
    node = shutil.which("node")
    if node is None:
        raise DevnetError("node is not on PATH; install Node.js 18 or later (https://nodejs.org).")
    try:
        done = subprocess.run(  # noqa: S603  node with a pinned compiler
            [node, "-e", _SCRIPT, str(compiler)],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        found = json.loads(done.stdout)["contracts"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise DevnetError(f"{_SOURCE} could not be compiled: {error}") from error

    def init_code(contract: str) -> str:
        code: str = found[f"{contract}.sol"][contract]["evm"]["bytecode"]["object"]
        return code

    pair_hash = keccak256(bytes.fromhex(init_code("UniswapV2Pair"))).hex()
    router = init_code("UniswapV2Router02").replace(_BUILT_IN_HASH, pair_hash)
    codes = {"Factory": init_code("UniswapV2Factory"), "Router": router, "Pair": init_code("UniswapV2Pair")}
    return {f"{name}{part}": f"0x{code}" for part, code in codes.items()}


def _text(archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    handle = archive.extractfile(member)
    assert handle is not None
    return handle.read().decode()
