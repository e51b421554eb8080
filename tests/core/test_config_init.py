"""``quoteway config init`` writes a deployment that starts once its endpoints are given."""

import stat

import pytest
from click.testing import CliRunner
from quoteway.config.loading import load_config
from quoteway.errors import ConfigError
from quoteway.server.cli import main

SOURCE = """
from quoteway import Network, hookimpl

@hookimpl
def quoteway_networks():
    return [Network("here", 4242, "Here"), Network("over-there", 4243, "Over there")]
"""


@pytest.fixture
def run(installed, tmp_path, monkeypatch):
    installed("places", SOURCE)
    monkeypatch.chdir(tmp_path)
    # What else is installed describes networks of its own.
    monkeypatch.setenv("QUOTEWAY_PLUGINS__LOAD", '["places"]')
    return lambda *arguments: CliRunner().invoke(main, ["config", *arguments])


def test_what_it_writes_is_read_once_the_endpoints_are_given(run, tmp_path):
    done = run("init", "--networks", "here, over-there,here")
    assert done.exit_code == 0, done.output
    assert "export HERE_RPC_URL=https://..." in done.output
    assert "export OVER_THERE_RPC_URL=https://..." in done.output
    path, key = tmp_path / "quoteway.toml", tmp_path / "quoteway.key"
    with pytest.raises(ConfigError, match="HERE_RPC_URL is not set"):
        load_config(path, {})
    environ = {"HERE_RPC_URL": "http://127.0.0.1:9/a", "OVER_THERE_RPC_URL": "http://127.0.0.1:9/b"}
    config = load_config(path, environ)
    assert not config.embedded
    assert {slug: network.rpc[0].url for slug, network in config.networks.items()} == {
        "here": "http://127.0.0.1:9/a",
        "over-there": "http://127.0.0.1:9/b",
    }
    (signing,) = config.quotes.keys
    assert signing.secret.reveal() == key.read_text().strip()
    assert len(bytes.fromhex(signing.secret.reveal())) == 32
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert signing.secret.reveal() not in path.read_text() + done.output


def test_the_commented_lines_are_right_too(run, tmp_path):
    run("init", "--networks", "here")
    path = tmp_path / "quoteway.toml"
    text = path.read_text().replace('rpc = [{ env = "HERE_RPC_URL" }]\n', "", 1)
    path.write_text(text.replace("# rpc =", "rpc =").replace("# quorum", "quorum"))
    environ = {f"HERE_RPC_URL{end}": "http://127.0.0.1:9" for end in ("", "_2", "_3")}
    network = load_config(path, environ).networks["here"]
    assert (len(network.rpc), network.quorum) == (3, 2)


def test_nothing_is_overwritten_and_no_unknown_network_is_written(run, tmp_path):
    done = run("init", "--networks", "hear")
    assert (done.exit_code, list(tmp_path.glob("quoteway.*"))) == (2, [])
    assert "no plugin describes a network 'hear'. Known: here, over-there." in done.output
    (tmp_path / "quoteway.key").write_text("precious")
    done = run("init", "--networks", "here")
    assert done.exit_code == 2
    assert "quoteway.key exists: choose another file with --output, or remove it" in done.output
    assert (tmp_path / "quoteway.key").read_text() == "precious"
    assert run("init", "--networks", "here", "--output", "other.toml").exit_code == 0
    assert "other.toml exists" in run("init", "--networks", "here", "--output", "other.toml").output
    done = run("init", "--networks", "here", "--output", "no/folder.toml")
    assert done.exit_code == 2
    assert "cannot be written (No such file or directory)" in done.output


def test_networks_must_be_named(run):
    assert run("init", "--networks", " , ").exit_code == 2
    assert run("init").exit_code == 2


def test_the_configuration_in_force_is_still_shown(run):
    done = run()
    assert done.exit_code == 0
    assert '"embedded": true' in done.output
