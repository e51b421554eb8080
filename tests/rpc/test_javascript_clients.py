"""ethers, viem and MetaMask's provider with their defaults, as Node programs, through two workers.

Each program runs its ordinary flows (``clients/*.mjs``) and reports on every one.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest
from quoteway_devnet.accounts import ACCOUNTS

FOLDER = Path(__file__).parent / "clients"
# Of accounts that nothing else in the tests sends from: programs run one after the other, each with its own.
KEYS = {"ethers": ACCOUNTS[5], "viem": ACCOUNTS[6], "metamask": ACCOUNTS[7]}
_FLOW = re.compile(r'^ +(?:"([^"]+)"|\[`(\$\{name\}: [^`]+)`\]): async', re.MULTILINE)


def flows(program):
    """The names of a program's flows, read from its text."""
    found = []
    for plain, template in _FLOW.findall((FOLDER / f"{program}.mjs").read_text()):
        names = [plain] if plain else [template.replace("${name}", kind) for kind in ("defaults", "batches")]
        found += names
    return [*found, "nothing unhandled"]


FLOWS = [(program, flow) for program in KEYS for flow in flows(program)]


@pytest.fixture(scope="module")
def outcomes(two_workers, devnet):
    """Of each flow of each program. A program that a client's error ended has none."""
    weth = devnet.chains["devnet"].contracts["WETH9"]
    found = {}
    for program, account in KEYS.items():
        arguments = [f"{two_workers}/v2/rpc/31337", devnet.urls["devnet"], weth, account.private_key]
        done = subprocess.run(
            ["node", f"{program}.mjs", *arguments],
            cwd=FOLDER,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found[program] = json.loads(done.stdout.splitlines()[-1]) | {"log": done.stdout + done.stderr}
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("program", "flow"), FLOWS)
def test_an_ordinary_flow(outcomes, program, flow):
    assert outcomes[program][flow] == "passed", outcomes[program]["log"]
