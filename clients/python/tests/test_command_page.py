"""The examples of docs/how-to/use-the-command-line.md, run as a reader copies them."""

import re
import shlex
from pathlib import Path

import pytest
from command_room import told

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "use-the-command-line.md"
EXAMPLES = re.findall(r"^```console\n\$ quoteway (.*?)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


def undated(text):
    """The text without what differs in each run: ages, times, the price of gas, and the spaces of columns."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "(time)", text)
    text = re.sub(r"units, about [\d.]+ USD", "units, about (cost) USD", text)
    return re.sub(r" +", " ", re.sub(r"\b\d+ (s|min|h|d)\b", "(span)", text))


@pytest.mark.parametrize(("words", "printed"), EXAMPLES, ids=[words for words, _ in EXAMPLES])
def test_a_command_prints_what_the_page_shows(chain, tmp_path, monkeypatch, words, printed):
    monkeypatch.chdir(tmp_path)
    done = told(*shlex.split(words), QUOTEWAY_URL=chain.url)
    assert done.exit_code == 0, done.stderr
    assert undated(done.stdout) == undated(printed)
