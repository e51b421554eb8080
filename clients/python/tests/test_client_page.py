"""The programs of docs/how-to/use-from-python.md, run as a reader copies them."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "use-from-python.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


@pytest.mark.parametrize("number", [0, 2], ids=["first swap", "bot"])
def test_a_program_is_short(number):
    assert len([line for line in PROGRAMS[number].splitlines() if line]) < 25


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "said", "bought"),
    [
        (0, "against the quote: 0 bps", "USDC"),
        (1, "Swap exactly 1,000 USDC", "WETH"),
        (2, "sold 3 0x", "USDC"),
    ],
    ids=["first swap", "web3.py", "bot"],
)
async def test_a_program_swaps(chain, tmp_path, number, said, bought):
    file = tmp_path / "program.py"
    file.write_text(PROGRAMS[number])
    before = chain.balance(bought)
    key = "0x" + chain.account.key.hex().removeprefix("0x")
    command = [sys.executable, file, chain.url, chain.node_url, key]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert chain.balance(bought) > before
