"""The plugins' own contracts: the source compiles to the committed artifacts, byte for byte."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[1] / "plugins"


@pytest.mark.parametrize("plugin", ["devnet", "managedvault", "uniswap"])
def test_the_source_compiles_to_what_is_committed(plugin, tmp_path):
    sources, output = tmp_path / "contracts", tmp_path / "artifacts"
    shutil.copytree(PLUGINS / plugin / "contracts", sources, ignore=shutil.ignore_patterns("node_modules"))
    output.mkdir()
    install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    subprocess.run(install, cwd=sources, check=True, capture_output=True, timeout=110)
    subprocess.run(["node", PLUGINS / "compile_contracts.js", output], cwd=sources, check=True, timeout=100)
    committed = PLUGINS / plugin / "src" / f"quoteway_{plugin}" / "artifacts"
    assert {file.name for file in output.iterdir()} == {file.name for file in committed.iterdir()}
    for file in output.iterdir():
        assert file.read_bytes() == (committed / file.name).read_bytes(), file.name


def test_the_uniswap_lens_fits_into_one_call():
    artifact = PLUGINS / "uniswap" / "src" / "quoteway_uniswap" / "artifacts" / "Lens.json"
    code = json.loads(artifact.read_text())["bytecode"]
    assert len(code) // 2 + 40 * 68 + 64 < 49_152  # EIP-3860
