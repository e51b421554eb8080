"""``make secrets`` finds credentials in the history, also those that a later commit took out."""

import base64
import json
import random
import string
import subprocess

import pytest

pytestmark = pytest.mark.services  # its library is a tool of releases

DRAWN = random.Random(7)


def drawn(count, letters=string.ascii_letters + string.digits):
    return "".join(DRAWN.choices(letters, k=count))


def token(**head):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'HS256', **head})}.{part({'sub': 'someone'})}.{drawn(43)}"


# Made here, so that no file of this repository has one.
SECRETS = {
    "AWS Access Key": "AKIA" + drawn(16, string.ascii_uppercase + string.digits),
    "GitHub Token": "ghp_" + drawn(36),
    "Private Key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "JSON Web Token": token(kid="2026-11"),
    "Basic Auth Credentials": f"https://user:{drawn(32)}@node.example/",
    "Slack Token": "xoxb-" + drawn(12, string.digits) + "-" + drawn(24),
}
NONE = (
    "https://user:hunter2@node.example/",
    token(kid="ephemeral"),
    token(kid="k1"),
    "0x" + "ab" * 32,
    "password = x",
)


@pytest.fixture
def repository(tmp_path):
    def git(*arguments):
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")

    def commit(text):
        (tmp_path / "file.txt").write_text(text + "\n")
        git("add", "file.txt")
        git("commit", "-qm", "a change")

    commit("begin")
    return tmp_path, commit


def test_a_credential_that_was_taken_out_again_is_found(repository):
    from release.secrets import scan

    folder, commit = repository
    for secret in SECRETS.values():
        commit(f"value = {secret}")
        commit("nothing")
    found = scan(folder)
    assert [each.kind for each in found] == [*SECRETS]
    assert {each.path for each in found} == {"file.txt"}
    assert len({each.commit for each in found}) == len(SECRETS)


def test_what_is_made_up_is_not(repository):
    from release.secrets import scan

    folder, commit = repository
    for text in NONE:
        commit(f"value = {text}")
    assert scan(folder) == []


def test_a_secret_in_a_file_of_bytes_is_found(repository):
    from release.secrets import scan

    folder, commit = repository
    commit("\x00\x01\n" + SECRETS["GitHub Token"])
    assert [each.kind for each in scan(folder)] == ["GitHub Token"]


@pytest.mark.slow
def test_the_history_of_this_repository_has_none():
    """Name what is made up in ``release/secrets.py``; revoke what is not."""
    from release.secrets import ROOT, scan

    assert [(each.kind, each.path, each.commit[:12]) for each in scan(ROOT)] == []
