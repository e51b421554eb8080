"""Attack: guessing a signing or API key that is short, a word, a run of characters or the one of an example.

The server does not start with such a key, says how to make one, and does not show it.
"""

import pytest
from click.testing import CliRunner
from quoteway.server import cli

STRONG = "4f1c9a07e2d85b36c0a7914ed3f8625b"
CONFIG = """
plugins.load = []
quotes.keys = [{id = "k1", secret = {env = "SIGNING"}}]
auth.keys = [{env = "API"}]
"""
WEAK = {
    "one character": "x",
    "short": STRONG[:15],
    "one character, long": "a" * 64,
    "two characters": "ab" * 32,
    "a word": "password" * 8,
    "counted": "0123456789abcdef" * 4,
    "the alphabet": "abcdefghijklmnopqrstuvwxyz012345",
    "nearly zero": "0" * 63 + "1",
    "a name": "quoteway" * 8,
}


@pytest.fixture
def serve(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("quoteway.server.serve.run", lambda *args, **more: pytest.fail("it serves"))
    (tmp_path / "quoteway.toml").write_text(CONFIG)

    def run(*command, signing=STRONG, api=STRONG):
        return CliRunner().invoke(cli.main, command, env={"SIGNING": signing, "API": api})

    return run


@pytest.mark.parametrize("member", ["signing", "api"])
@pytest.mark.parametrize("case", WEAK)
def test_the_server_does_not_start_with_a_weak_key(serve, case, member):
    key = WEAK[case]
    done = serve("serve", "--port", "0", **{member: key})
    assert done.exit_code == 2
    (line,) = done.stderr.strip().splitlines()
    assert ("quotes.keys.0.secret" if member == "signing" else "auth.keys.0") in line
    assert "openssl rand -hex 32" in line
    assert len(key) == 1 or key not in line


@pytest.mark.parametrize("missing", ["signing", "api"])
def test_an_empty_key_is_a_missing_one(serve, missing):
    done = serve("serve", "--port", "0", **{missing: ""})
    assert done.exit_code == 2
    assert f"environment variable {missing.upper()} is not set" in done.stderr


def test_a_strong_key_is_accepted_and_not_shown(serve):
    done = serve("config")
    assert done.exit_code == 0
    assert STRONG not in done.output
