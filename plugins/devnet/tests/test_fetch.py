"""``quoteway devnet fetch`` gets all that a start needs. Without it, a start offline says what to do."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner
from quoteway_devnet import packages
from quoteway_devnet.anvil import free_port
from quoteway_devnet.command import devnet as devnet_command
from quoteway_devnet.errors import DevnetError
from quoteway_devnet.packages import GROUPS, Package, cache_root, prepare

PLATFORMS = [
    *(("Linux", "x86_64", "linux-amd64"), ("Linux", "aarch64", "linux-arm64")),
    *(("Darwin", "arm64", "darwin-arm64"), ("Darwin", "x86_64", "darwin-amd64")),
]
CODE = "from quoteway_devnet.command import devnet; devnet()"


def command(folder, *arguments):
    """Runs the command with its cache below ``folder``, where npm reaches no registry and keeps nothing."""
    environment = {
        **os.environ,
        "QUOTEWAY_CACHE_DIR": str(folder),
        "npm_config_registry": f"http://registry-user:aTokenOfTheRegistry@127.0.0.1:{free_port()}/",
        "npm_config_cache": str(folder / "npm"),
    }
    return subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def fetched(tmp_path):
    """A cache with the packages of the chains, and with no built chain."""
    kept = [prepare().bytecode.parent, *cache_root().glob("anvil-*")]
    (tmp_path / "devnet").mkdir()
    for each in kept:
        if each.is_dir():
            (tmp_path / "devnet" / each.name).symlink_to(each)
    return tmp_path


@pytest.mark.slow
def test_after_a_fetch_nothing_needs_a_network(fetched):
    done = command(fetched, "fetch")
    assert done.returncode == 0, done.stderr
    assert str(fetched / "devnet") in done.stdout
    assert any((fetched / "devnet").glob("chains-*/devnet.json")), "the chains are built too"
    assert command(fetched, "--prepare").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["fetch"], ["--prepare"]])
def test_without_a_network_one_sentence_says_what_to_do(tmp_path, arguments):
    done = command(tmp_path, *arguments)
    assert done.returncode == 1
    *_, last = done.stderr.strip().splitlines()
    assert last.startswith("Error: npm could not fetch the devnet's packages (ECONNREFUSED: connect "), last
    assert "run `quoteway devnet fetch` while it is not" in last
    assert "Traceback" not in done.stderr
    assert "aTokenOfTheRegistry" not in done.stderr + done.stdout


@pytest.mark.parametrize(("system", "machine", "name"), PLATFORMS)
def test_anvil_is_pinned_for_every_platform(monkeypatch, system, machine, name):
    pinned = [Package(**row) for row in json.loads(packages._pins_text())["anvil"]]
    monkeypatch.setattr(packages.platform, "system", lambda: system)
    monkeypatch.setattr(packages.platform, "machine", lambda: machine)
    chosen = packages._anvil_package(pinned)
    assert chosen.name == f"@foundry-rs/anvil-{name}"
    assert len({each.version for each in pinned}) == 1, "one release everywhere"
    assert len({each.integrity for each in pinned}) == len(PLATFORMS)


def test_only_the_groups_that_are_named_are_fetched(monkeypatch):
    asked = []
    monkeypatch.setattr("quoteway_devnet.state.ready_state", lambda: asked.append("chains"))
    for name in GROUPS:
        monkeypatch.setitem(GROUPS, name, lambda name=name: asked.append(name))
    for arguments, expected in (
        ([], ["chains"]),
        (["ens", "ens", "public"], ["chains", "ens", "public"]),
        (["--all"], ["chains", *GROUPS]),
    ):
        asked.clear()
        result = CliRunner().invoke(devnet_command, ["fetch", *arguments])
        assert (result.exit_code, asked) == (0, expected), result.output


def test_a_wrong_word_is_refused_before_anything_is_fetched(monkeypatch):
    def never():
        raise DevnetError("fetched")

    monkeypatch.setattr("quoteway_devnet.state.ready_state", never)
    result = CliRunner().invoke(devnet_command, ["fetch", "nothing"])
    assert (result.exit_code, "choose of public, balancer" in result.output) == (2, True)
    result = CliRunner().invoke(devnet_command, ["--l2-port", "1", "fetch"])
    assert (result.exit_code, "--l2-port is for `quoteway devnet` alone" in result.output) == (2, True)
    result = CliRunner().invoke(devnet_command, ["fech"])
    assert (result.exit_code, "No such command" in result.output) == (2, True)
