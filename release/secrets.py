"""Looks for credentials in every version of every file that the history of this repository has.

``make secrets`` runs it. What was committed once is published for ever, also when a later commit removes it:
the remedy is to revoke the credential. It knows credentials by the forms of their makers (detect-secrets);
of users and passwords in URLs, what is easy to guess is taken for made up.
"""

import argparse
import base64
import binascii
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from quoteway.secrets import measured_bits

from release.distributions import ROOT

# They take every hash, every word like "password" and every address for a credential.
VAGUE = {"Base64HighEntropyString", "HexHighEntropyString", "KeywordDetector", "IPPublicDetector"}
LEAST_BITS = 128
"""A password that compresses to fewer bits is a word, such as ``hunter2``."""
MADE_UP = {
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.": "tests/web/test_middleware.py sends it; 1234567890",
    "eyJhbGciOiJIUzI1NiJ9.e30.": "bench/soak_load.py sends it as the id of a quote; it claims nothing",
    "BEGIN PRIVATE KEY": "tests/core/test_action_signatures.py has a key whose content is no key",
    "aTokenOfTheRegistry": "plugins/devnet/tests/test_fetch.py looks for it in what a command says",
}
"""What looks like a credential, and why it is none."""
MADE_UP_KEYS = {
    "ephemeral": "a run signs recorded examples with a random key of its own",
    "recorded": "tests/core/recorded_tokens.json has such tokens, beside the made-up key that signed them",
    "k1": "the gateway of the recorded examples of webhooks has a key that is written in the tests",
}
"""The ``kid`` of tokens that no deployment signed."""


@dataclass(frozen=True, slots=True)
class Found:
    """A credential, with the commit that first has it."""

    kind: str
    secret: str
    commit: str
    path: str


def added_lines(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yields every line that a commit adds, once: commit, path and text. Merges are read too."""
    shown = ("-p", "-m", "-U0", "--no-color", "--no-renames", "--text", "--format=commit %H")
    command = ["git", "log", "--reverse", *shown]
    seen: set[str] = set()
    commit = path = ""
    with subprocess.Popen(  # noqa: S603  git, which every development machine has
        command, cwd=folder, stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
    ) as log:
        assert log.stdout is not None
        for line in log.stdout:
            if line.startswith("commit "):
                commit = line.split()[1]
            elif line.startswith("+++ "):
                path = line[4:].strip().removeprefix("b/")
            elif line.startswith("+") and line not in seen:
                seen.add(line)
                yield commit, path, line[1:].rstrip("\n")
    if log.returncode:
        raise SystemExit("git could not read the history: run this in a clone of the repository")


def scan(folder: Path) -> list[Found]:
    """Returns the credentials in the history of a repository, oldest first."""
    kinds = get_mapping_from_secret_type_to_class().values()
    detectors = [kind() for kind in kinds if kind.__name__ not in VAGUE]
    found: dict[tuple[str, str], Found] = {}
    for commit, path, text in added_lines(folder):
        for detector in detectors:
            for secret in detector.analyze_string(text):
                key = detector.secret_type, secret
                if key not in found and not is_made_up(*key):
                    found[key] = Found(*key, commit, path)
    return list(found.values())


def is_made_up(kind: str, secret: str) -> bool:
    """Returns whether it is no credential."""
    if secret in MADE_UP:
        return True
    if kind == "JSON Web Token":
        head = secret.partition(".")[0]
        try:
            named = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))).get("kid")
        except (ValueError, binascii.Error, AttributeError):
            return False
        return named in MADE_UP_KEYS
    return kind == "Basic Auth Credentials" and measured_bits(secret.encode()) < LEAST_BITS


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    found = scan(ROOT)
    for each in found:
        # Not the secret itself: this output is kept too.
        print(f"{each.kind} in {each.path}, commit {each.commit[:12]}: {each.secret[:4]}...")
    if found:
        sys.exit(f"{len(found)} credentials: revoke them. Name what is made up in release/secrets.py.")
    print("No credential in the history.")


if __name__ == "__main__":
    main()
