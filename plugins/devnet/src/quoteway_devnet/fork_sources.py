"""Compiles v2 forks for tests: SushiSwap's contracts, and the same with a fee of 0.25 %.

Their package ships source alone. The second set of contracts is a derivative of that source (GPL-3.0) in
which only the fee differs, as in PancakeSwap v2. It is for tests, and not what runs at anybody's addresses.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from quoteway.evm.address import keccak256

from quoteway_devnet import solidity
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
_SETTINGS = {"optimizer": {"enabled": True, "runs": 200}}
RECIPE = json.dumps([solidity.SCRIPT, _SETTINGS, _QUARTER_PERCENT])


def compiled(tarballs: Path) -> Mapping[str, str]:
    """Return the init codes by contract, from the packages in a folder. Takes some four seconds.

    Raises DevnetError when node or the compiler fails.
    """
    found = solidity.text_files(tarballs / _SOURCE, _FOLDER, ".sol")
    sources = {name.removeprefix(_FOLDER): text for name, text in found.items()}
    changed = dict(sources)
    for file, changes in _QUARTER_PERCENT.items():
        for text, replacement in changes:
            if text not in changed[file]:
                raise DevnetError(f"{_SOURCE}: {file} lacks {text!r}; report this as a bug.")
            changed[file] = changed[file].replace(text, replacement)
    compiler = tarballs / _COMPILER
    return {
        **_contracts("SushiSwap", compiler, sources),
        **_contracts("QuarterPercent", compiler, changed),
    }


def _contracts(name: str, compiler: Path, sources: Mapping[str, str]) -> dict[str, str]:
    parts = {"Factory": "UniswapV2Factory", "Router": "UniswapV2Router02", "Pair": "UniswapV2Pair"}
    files = {contract: f"{contract}.sol" for contract in parts.values()}
    codes = solidity.compiled(compiler, sources, _SETTINGS, files)
    pair_hash = keccak256(bytes.fromhex(codes["UniswapV2Pair"])).hex()
    codes["UniswapV2Router02"] = codes["UniswapV2Router02"].replace(_BUILT_IN_HASH, pair_hash)
    return {f"{name}{part}": f"0x{codes[contract]}" for part, contract in parts.items()}
