"""The snippets of ``docs/how-to/read-a-chain-with-your-client.md``, run as they are but for the port."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "read-a-chain-with-your-client.md"
SNIPPETS = re.findall(r"^## (.+?)\n\n```(js|python)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
COMMANDS = {"js": ["node", "--input-type=module"], "python": [sys.executable, "-"]}


def test_the_page_has_them():
    assert [title for title, _, _ in SNIPPETS] == ["ethers v6", "viem", "web3.py"]


@pytest.mark.slow
@pytest.mark.parametrize(("title", "language", "text"), SNIPPETS, ids=[title for title, _, _ in SNIPPETS])
def test_a_snippet(two_workers, title, language, text):
    done = subprocess.run(
        COMMANDS[language],
        input=text.replace("http://127.0.0.1:8080", two_workers),
        cwd=Path(__file__).parent / "clients",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.match(r"31337n? \d+n?", done.stdout), done.stdout
