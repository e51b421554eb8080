"""Reads a tutorial page as files and commands, and follows it.

Blocks of ``sh`` are commands. Every other block is a file, which the sentence before it names at its end:
"the file `pyproject.toml`:".
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?:`(?P<file>[\w.]+)`:\s+(?:<!-- include: \S+ -->\s+)?)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.M | re.S,
)


@dataclass(frozen=True)
class Step:
    """A file to write, or commands to run where ``file`` is None."""

    file: str | None
    text: str


def steps_of(page):
    """Returns the steps of a page in their order. Fails for a block that is neither a file nor commands."""
    found = []
    for block in _BLOCK.finditer(Path(page).read_text()):
        assert (block["kind"] == "sh") == (block["file"] is None), f"which file is this?\n{block['text']}"
        found.append(Step(block["file"], block["text"]))
    return found


def follow(page, folder, environment):
    """Writes and runs the steps in one shell, from an empty folder. Returns what the commands print."""
    script = ["set -eu"]
    for number, step in enumerate(steps_of(page)):
        if step.file is None:
            script.append(step.text)
        else:
            source = folder.parent / f"step-{number}"
            source.write_text(step.text)
            script.append(f"cp {source} {step.file}")
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
