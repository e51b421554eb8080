"""Write ``manifest.json`` and ``tokenlist.json``: ``python -m quoteway_devnet.generate``.

Run this after a change of ``tables.py`` or of the contracts that ``build.py`` deploys.
"""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quoteway_devnet.manifest import ChainManifest
from quoteway_devnet.packages import prepare
from quoteway_devnet.state import build_dumps

TOKEN_LIST_VERSION = {"major": 1, "minor": 0, "patch": 0}


def manifest_text(chains: Mapping[str, ChainManifest]) -> str:
    """Return the content of ``manifest.json``."""
    return json.dumps([asdict(chain) for chain in chains.values()], indent=1) + "\n"


def token_list_text(chains: Mapping[str, ChainManifest]) -> str:
    """Return the content of ``tokenlist.json``, by the schema of the Token Lists standard."""
    tokens: list[dict[str, Any]] = []
    for chain in chains.values():
        for token in chain.tokens:
            row: dict[str, Any] = {
                "chainId": chain.chain_id,
                "address": token.address,
                "name": token.name,
                "symbol": token.symbol,
                "decimals": token.decimals,
            }
            if token.behaviour == "fee_on_transfer":
                row["tags"] = ["feeOnTransfer"]
            tokens.append(row)
    document = {
        "name": "Quoteway devnet",
        "timestamp": "2026-01-01T00:00:00+00:00",
        "version": TOKEN_LIST_VERSION,
        "tags": {
            "feeOnTransfer": {"name": "Fee on transfer", "description": "Receivers get less than is sent"}
        },
        "tokens": tokens,
    }
    return json.dumps(document, indent=1) + "\n"


def main() -> None:
    """Build both chains and write the two files beside this module."""
    with tempfile.TemporaryDirectory() as scratch:
        chains = build_dumps(prepare(), Path(scratch))
    here = Path(__file__).parent
    (here / "manifest.json").write_text(manifest_text(chains))
    (here / "tokenlist.json").write_text(token_list_text(chains))


if __name__ == "__main__":
    main()
