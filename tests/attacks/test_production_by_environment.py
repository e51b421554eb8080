"""Attack: using a production server that nobody wrote a file for, so that it signs with a random key.

Whatever makes a server public or real makes it a deployment, by environment too. It does not start without a
signing key of its own, and runs no devnet beside real networks.
"""

import pytest
from click.testing import CliRunner
from quoteway.config.loading import load_config
from quoteway.server import cli
from quoteway.testing.serving import served

quoteway_devnet = pytest.importorskip("quoteway_devnet", reason="this is about these plugins together")
quoteway_rpc = pytest.importorskip("quoteway_rpc", reason="this is about these plugins together")

KEY = "4f1c9a07e2d85b36c0a7914ed3f8625b"
KEYS = {"QUOTEWAY_QUOTES__KEYS": '[{id = "a", secret = {env = "KEY"}}]', "KEY": KEY}
SIGNS = {
    "network": {"QUOTEWAY_NETWORKS__ETHEREUM__RPC": "http://127.0.0.1:9"},
    "all interfaces": {"QUOTEWAY_SERVER__HOST": "0.0.0.0"},
    "all interfaces, IPv6": {"QUOTEWAY_SERVER__HOST": "::"},
    "metrics on all interfaces": {"QUOTEWAY_SERVER__METRICS_HOST": "0.0.0.0"},
    "a name": {"QUOTEWAY_SERVER__HOST": "api.example.org"},
    "API keys": {"QUOTEWAY_AUTH__KEYS": '[{env = "KEY"}]', "KEY": KEY},
}


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs the command line in an empty folder with this environment alone."""
    monkeypatch.chdir(tmp_path)
    for serving in ("serve.run", "supervisor.Supervisor.run"):
        monkeypatch.setattr(f"quoteway.server.{serving}", lambda *args, **more: pytest.fail("it serves"))

    def run(*arguments, **environ):
        return CliRunner().invoke(cli.main, arguments, env=environ)

    return run


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("sign", SIGNS)
def test_it_does_not_start_without_a_signing_key(command, sign, workers):
    done = command("serve", "--port", "0", "--workers", workers, **SIGNS[sign])
    assert done.exit_code == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("quoteway: environment: quotes.keys is missing")
    assert "openssl rand -hex 32" in line
    assert KEY not in done.output
    done = command("doctor", **SIGNS[sign])
    assert done.exit_code == 2
    assert "environment: quotes.keys is missing" in done.stdout


@pytest.mark.parametrize("sign", SIGNS)
async def test_it_runs_no_devnet_beside_real_networks(tmp_path, monkeypatch, caplog, sign):
    monkeypatch.chdir(tmp_path)
    config = load_config(environ=SIGNS["network"] | SIGNS[sign] | KEYS)
    assert config.embedded is False
    async with (
        served({"rpc": quoteway_rpc, "devnet": quoteway_devnet}, config) as api,
        api.session.get(f"{api.url}/v2/networks", headers={"Authorization": f"Bearer {KEY}"}) as answer,
    ):
        networks = (await answer.json())["data"]
    assert [network["id"] for network in networks] == ["ethereum"]
    assert "random key" not in caplog.text
