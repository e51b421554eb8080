"""The plugins' own contracts: the source compiles to the committed artifacts, byte for byte."""

import json
import subprocess
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[1] / "plugins"


@pytest.mark.slow
@pytest.mark.parametrize("plugin", ["devnet", "managedvault", "uniswap"])
def test_the_source_compiles_to_what_is_committed(plugin, tmp_path):
    sources, output = PLUGINS / plugin / "contracts", tmp_path / "artifacts"
    assert (sources / "node_modules").is_dir(), f"run `make prepare`, or `npm ci` in {sources}"
    output.mkdir()
    subprocess.run(["node", PLUGINS / "compile_contracts.js", output], cwd=sources, check=True)
    committed = PLUGINS / plugin / "src" / f"quoteway_{plugin}" / "artifacts"
    assert {file.name for file in output.iterdir()} == {file.name for file in committed.iterdir()}
    for file in output.iterdir():
        assert file.read_bytes() == (committed / file.name).read_bytes(), file.name


def test_the_uniswap_lens_fits_into_one_call():
    artifact = PLUGINS / "uniswap" / "src" / "quoteway_uniswap" / "artifacts" / "Lens.json"
    code = json.loads(artifact.read_text())["bytecode"]
    assert len(code) // 2 + 40 * 68 + 64 < 49_152  # EIP-3860
