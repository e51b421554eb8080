"""The example of a contract that a plugin brings: it is deployed on the devnet, by tests and by hand."""

import os
import re
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from quoteway.evm.calls.registry import digest_of

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"
ARTIFACT = ROOT / "plugins" / "devnet" / "src" / "quoteway_devnet" / "artifacts" / "YearnLikeVault.json"
PAGE = (ROOT / "docs" / "how-to" / "deploy-your-contracts-on-the-devnet.md").read_text()


@pytest.fixture
def folder(tmp_path):
    """A plugin's tests, as somebody who follows the page has them."""
    for file in ("yearn_vaults.py", "own_contract/test_yearn_vaults.py", "own_contract/deploy.py"):
        shutil.copy(EXAMPLES / file, tmp_path)
    (tmp_path / "contracts").mkdir()
    shutil.copy(ARTIFACT, tmp_path / "contracts")
    options = 'asyncio_mode = "auto"\nasyncio_default_fixture_loop_scope = "function"\n'
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{options}")
    return tmp_path


def run(folder, *arguments, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_test_of_the_page_passes_on_a_contract_of_its_own(folder):
    # The whole suite runs on this vault in test_example_vaults.py.
    printed = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "pay_what_their_quotes_say")
    assert " passed" in printed
    assert " skipped" not in printed


@pytest.mark.slow
def test_the_address_of_the_page_is_what_the_script_prints(folder, fresh_devnet):
    ports = (str(fresh_devnet.ports[slug]) for slug in ("devnet", "devnet-l2"))
    address = run(folder, "deploy.py", *ports).strip()
    with fresh_devnet.rpc("devnet") as rpc:
        assert rpc("eth_getCode", address, "latest") != "0x"
        if rpc("eth_getTransactionCount", rpc("eth_accounts")[-1], "latest") == "0x1":
            assert address in PAGE


@pytest.mark.slow
def test_a_plugin_with_a_contract_of_its_own_reaches_level_1(folder):
    """It is installed, its descriptions are pinned, and its contract is deployed before the levels run."""
    package = folder / "yearn-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: yearn\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[quoteway.v1]\nyearn-vaults = yearn_vaults\n")
    (address,) = set(re.findall(r"0x[0-9a-fA-F]{40}", PAGE))
    digest = digest_of([yearn_vaults_of(folder)(None, {31337: [address]}).describe()])
    (folder / "quoteway.toml").write_text(
        '[quotes]\nkeys = [{id = "k1", secret = {env = "QUOTEWAY_KEY"}}]\n'
        f'[plugin.yearn-vaults]\nvaults = {{devnet = ["{address}"]}}\n'
        f'[calls]\npinned = ["{digest}"]\n'
    )
    command = ("-m", "quoteway", "check", "yearn-vaults", "--level", "1", "--setup", "deploy.py")
    printed = run(folder, *command, PYTHONPATH=str(folder), QUOTEWAY_KEY=secrets.token_hex(32))
    assert printed.startswith(f"{address}\n")
    assert "yearn-vaults 1.0: level 1, written to quoteway.levels" in printed


def yearn_vaults_of(folder):
    """The provider of the example."""
    scope = {"__name__": "yearn_vaults"}
    exec((folder / "yearn_vaults.py").read_text(), scope)
    return scope["YearnVaults"]


def test_a_setup_that_fails_is_named(tmp_path):
    from quoteway import ConfigError
    from quoteway_devnet.check_command import set_up

    program = tmp_path / "deploy.py"
    program.write_text("import sys; sys.exit(3 if sys.argv[1:] == ['7', '8'] else 0)")
    set_up(program, {"devnet": 8, "devnet-l2": 7})
    with pytest.raises(ConfigError, match=r"deploy\.py ended with status 3"):
        set_up(program, {"devnet-l2": 8, "devnet": 7})


def test_what_is_no_init_code_is_refused_with_the_remedy(fresh_devnet):
    from quoteway_devnet.errors import DevnetError

    with pytest.raises(DevnetError, match="not `deployedBytecode`"):
        fresh_devnet.deploy(b"")
    with pytest.raises(DevnetError, match="check the constructor's arguments"):
        fresh_devnet.deploy(bytes.fromhex("5f5ffd"))  # PUSH0 PUSH0 REVERT
