"""Compiles Balancer v3's contracts for tests: its packages ship source alone.

With one run of the optimiser and without metadata the Vault fits the size limit of EIP-170: so this is not
the code of public networks, though of the same source. It is compiled once, and cached.
"""

import json
import posixpath
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from quoteway_devnet import solidity

_COMPILER = "solc-0.8.27.tgz"
_PACKAGES = {
    "@balancer-labs/v3-interfaces/": ("balancer-labs-v3-interfaces-1.0.0.tgz", "package/"),
    "@balancer-labs/v3-pool-utils/": ("balancer-labs-v3-pool-utils-1.0.0.tgz", "package/"),
    "@balancer-labs/v3-pool-weighted/": ("balancer-labs-v3-pool-weighted-1.0.0.tgz", "package/"),
    "@balancer-labs/v3-solidity-utils/": ("balancer-labs-v3-solidity-utils-1.0.0.tgz", "package/"),
    "@balancer-labs/v3-vault/": ("balancer-labs-v3-vault-1.0.0.tgz", "package/"),
    "@openzeppelin/contracts/": ("openzeppelin-contracts-5.7.0.tgz", "package/"),
    "permit2/": ("uniswap-v4-periphery-1.0.3.tgz", "package/lib/permit2/"),
}
"""Beginning of an import -> the tarball of its package and the folder in it."""
_SETTINGS = {
    "optimizer": {"enabled": True, "runs": 1},
    "viaIR": True,
    "evmVersion": "cancun",
    "metadata": {"appendCBOR": False, "bytecodeHash": "none"},
}
_OWN = {
    "Authorizer.sol": (
        "pragma solidity ^0.8.24; contract Authorizer {"
        " function canPerform(bytes32, address, address) external pure returns (bool) { return true; } }"
    ),
}
"""Lets everybody do what the Vault asks it about: the makers' is in no package."""
_VAULT, _POOL = "@balancer-labs/v3-vault/contracts/", "@balancer-labs/v3-pool-weighted/contracts/"
_CONTRACTS = (
    {
        "Vault": _VAULT + "Vault.sol",
        "ProtocolFeeController": _VAULT + "ProtocolFeeController.sol",
        "WeightedPoolFactory": _POOL + "WeightedPoolFactory.sol",
    },
    {
        "VaultAdmin": _VAULT + "VaultAdmin.sol",
        "VaultExtension": _VAULT + "VaultExtension.sol",
        "BatchRouter": _VAULT + "BatchRouter.sol",
        "Router": _VAULT + "Router.sol",
        "Authorizer": "Authorizer.sol",
    },
)
"""Name -> file, of each of two compilations."""
_IMPORT = re.compile(r"""\bimport\s+(?:[^;"']*?\bfrom\s+)?["']([^"']+)["']\s*;""")
RECIPE = json.dumps([solidity.SCRIPT, _PACKAGES, _SETTINGS, _OWN, _CONTRACTS])


def compiled(tarballs: Path) -> Mapping[str, str]:
    """Return the init codes by contract, from the packages in a folder. Takes a minute on one core.

    Raises DevnetError when node or the compiler fails.
    """
    texts = dict(_OWN)
    for start, (tarball, folder) in _PACKAGES.items():
        for name, text in solidity.text_files(tarballs / tarball, folder, ".sol").items():
            texts[start + name.removeprefix(folder)] = text

    def codes(contracts: Mapping[str, str]) -> dict[str, str]:
        needed = _imported(texts, contracts)
        return solidity.compiled(tarballs / _COMPILER, needed, _SETTINGS, contracts)

    with ThreadPoolExecutor(len(_CONTRACTS)) as pool:
        found = [*pool.map(codes, _CONTRACTS)]
    return {f"BalancerV3{name}": f"0x{code}" for part in found for name, code in part.items()}


def _imported(texts: Mapping[str, str], contracts: Mapping[str, str]) -> dict[str, str]:
    """Return the files of contracts and all that these import, by their names."""
    found: dict[str, str] = {}
    waiting = [*contracts.values()]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found[file] = texts[file]
            near = posixpath.dirname(file)
            waiting += (
                posixpath.normpath(posixpath.join(near, name)) if name.startswith(".") else name
                for name in _IMPORT.findall(texts[file])
            )
    return found
