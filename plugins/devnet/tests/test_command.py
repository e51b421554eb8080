import os
import signal
import socket
import subprocess
import sys

import pytest
from click.testing import CliRunner
from ports import answers, closes
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_devnet.anvil import free_port
from quoteway_devnet.command import devnet as devnet_command
from quoteway_devnet.packages import cache_root, prepare


@pytest.mark.slow
def test_the_command_says_what_runs_and_stops_on_ctrl_c():
    port, l2_port = free_port(), free_port()
    code = "from quoteway_devnet.command import devnet; devnet()"
    command = [sys.executable, "-uc", code, "--port", str(port), "--l2-port", str(l2_port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said = ""
        while "Ready" not in said:
            line = process.stdout.readline()
            assert line, f"it ended after: {said}"
            said += line
        assert answers(port)
        assert answers(l2_port)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert rest.endswith("Stopped.\n")
    assert f"http://127.0.0.1:{port} (chain id 31337)" in said
    assert ACCOUNTS[9].private_key in said
    assert closes(port)


def test_the_command_reports_a_taken_port_in_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = CliRunner().invoke(devnet_command, ["--port", str(port), "--l2-port", "0"])
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: Port {port}")
    assert len(result.output.splitlines()) == 1


@pytest.mark.slow
def test_preparing_and_rebuilding(monkeypatch, tmp_path):
    packages = [prepare().bytecode.parent, *cache_root().glob("anvil-*")]
    monkeypatch.setenv("QUOTEWAY_CACHE_DIR", str(tmp_path))
    cache_root().mkdir(parents=True)
    for package in packages:
        if package.is_dir():
            (cache_root() / package.name).symlink_to(package)
    assert CliRunner().invoke(devnet_command, ["--prepare"]).exit_code == 0
    (built,) = (folder for folder in cache_root().glob("chains-*") if folder.is_dir())
    first = (built / "devnet.json").stat().st_mtime_ns
    assert CliRunner().invoke(devnet_command, ["--prepare"]).exit_code == 0
    assert (built / "devnet.json").stat().st_mtime_ns == first
    assert CliRunner().invoke(devnet_command, ["--prepare", "--rebuild"]).exit_code == 0
    assert (built / "devnet.json").stat().st_mtime_ns > first


@pytest.mark.slow
def test_two_processes_on_an_empty_cache_build_once(tmp_path):
    shared = cache_root()
    cache = tmp_path / "devnet"
    cache.mkdir()
    for package in [prepare().bytecode.parent, *shared.glob("anvil-*")]:
        if package.is_dir():
            (cache / package.name).symlink_to(package)
    command = [sys.executable, "-c", "from quoteway_devnet.command import devnet; devnet()", "--prepare"]
    environment = os.environ | {"QUOTEWAY_CACHE_DIR": str(tmp_path)}
    both = [subprocess.Popen(command, env=environment) for _ in range(2)]
    assert [process.wait(timeout=300) for process in both] == [0, 0]
    assert len([folder for folder in cache.glob("chains-*") if folder.is_dir()]) == 1
    assert not list(cache.glob(".*")), "no scratch folder is left"
