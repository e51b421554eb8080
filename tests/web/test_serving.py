"""The command: serving, workers, signals, and one clear sentence for what is wrong."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

KEY = "k" * 40
CONFIG = """
[plugins]
load = []
[quotes]
keys = [{id = "a", secret = {env = "KEY"}}]
"""


def environment(**more):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")}
    return {**clean, "KEY": KEY, **more}


def command(*arguments, cwd, **more):
    return subprocess.run(
        [sys.executable, "-m", "quoteway", *arguments],
        cwd=cwd,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def get(url, **headers):
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Served:
    """A ``quoteway serve`` process whose log is read from a file."""

    def __init__(self, folder, *arguments, **more):
        self.log = Path(folder) / "serve.log"
        self.started = time.monotonic()
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "quoteway", "serve", "--port", "0", *arguments],
                cwd=folder,
                env=environment(**more),
                stderr=stream,
            )

    def lines(self, pattern, count=1, timeout=120):
        """Waits for ``count`` matches in the log and returns them."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            found = re.findall(pattern, self.log.read_text())
            if len(found) >= count:
                return found
            time.sleep(0.01)
        raise AssertionError(f"{pattern!r} is not {count} times in the log:\n{self.log.read_text()}")

    def url(self, workers=1):
        return self.lines(r"listening on (http://\S+?)\"", workers)[0]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


@pytest.fixture
def serve(tmp_path):
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    with contextlib.ExitStack() as stack:

        def start(*arguments, **more):
            served = Served(tmp_path, *arguments, **more)
            stack.callback(served.process.wait, 120)
            stack.callback(served.process.terminate)
            return served

        yield start


def test_it_listens_early_says_so_and_stops_when_told(serve):
    served = serve()
    url = served.url()
    assert get(f"{url}/healthz") == (200, '{"status":"ok"}')
    block = served.lines(r"Quoteway is serving on (\S+)")
    assert block == [url]
    assert served.lines(rf"curl -s {url}/v2/providers")
    assert get(f"{url}/readyz")[0] == 200
    assert served.stop() == 0
    assert "stopping" in served.log.read_text()


def test_a_request_under_way_is_answered_before_the_end(serve):
    served = serve()
    port = int(served.url().rpartition(":")[2])
    served.lines("Quoteway is serving")
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        head = b"POST /v2/swaps/quote HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert connection.recv(1_000).startswith(b"HTTP/1.1 100 "), "the server works on the request"
        connection.sendall(b"{")
        served.process.send_signal(signal.SIGTERM)
        served.lines("stopping")
        connection.sendall(b"}")
        assert connection.recv(1_000).startswith(b"HTTP/1.1 422 ")
    assert served.process.wait(120) == 0


def test_workers_share_the_port_and_the_key_and_come_back(serve, tmp_path):
    (tmp_path / "quoteway.toml").unlink()
    served = serve("--workers", "2", QUOTEWAY_PLUGINS__LOAD="[]", QUOTEWAY_SERVER__LOG_FORMAT="json")
    url = served.url(workers=2)
    served.lines("Quoteway is serving")
    for _ in range(40):
        assert get(f"{url}/v2/providers", Connection="close")[0] == 200
    pids = worker_pids(served.process.pid)
    assert len(pids) == 2
    assert "signing with a random key" not in served.log.read_text(), "both got the run's key"
    total = re.search(r'route="/v2/providers",status="200"\} (\d+)', get(f"{url}/metrics")[1])
    assert int(total[1]) == 40, "metrics of both workers are one"

    os.kill(min(pids), signal.SIGKILL)
    served.lines("worker . ended with status -9")
    served.lines(r"listening on", 3)
    assert get(f"{url}/healthz", Connection="close")[0] == 200
    assert served.stop() == 0
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def worker_pids(parent):
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in children]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_taken_port_is_one_sentence(tmp_path, workers):
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = command("serve", "--port", port, "--workers", workers, cwd=tmp_path)
    assert done.returncode == 2
    assert f"quoteway: port {port} on 127.0.0.1 is taken: stop what listens there" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_configuration_is_one_sentence(tmp_path):
    (tmp_path / "quoteway.toml").write_text("[server]\nprot = 1\n")
    for name in ("serve", "config", "providers"):
        done = command(name, cwd=tmp_path)
        assert done.returncode == 2
        assert (
            done.stderr.strip() == "quoteway: quoteway.toml: server.prot: unknown key. Did you mean 'port'?"
        )


def test_the_server_path_stays_light(tmp_path):
    """What serving imports: nothing that signs, nothing heavy."""
    (tmp_path / "quoteway.toml").write_text(CONFIG.replace("load = []", ""))
    script = """
import asyncio, sys
from quoteway.config_loading import load_config
from quoteway.gateway import Gateway
from quoteway.serve import make_runner
from quoteway.web.app import make_app
async def main():
    config = load_config()
    gateway = Gateway(config)
    runner = make_runner(make_app(gateway), config)
    await runner.setup()
    await gateway.started()
    heavy = {"web3", "eth_account", "rich", "structlog", "apispec", "numpy", "hypothesis", "redis", "valkey"}
    peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    print(sorted(heavy & set(sys.modules)), peak[0].split()[1])
    await runner.cleanup()
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    heavy, _, rss_kb = done.stdout.strip().rpartition(" ")
    assert heavy == "[]"
    assert int(rss_kb) < 90 * 1024


def test_config_hides_secrets(tmp_path):
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    done = command("config", cwd=tmp_path)
    assert done.returncode == 0
    assert KEY not in done.stdout
    assert '"secret": "***"' in done.stdout


def test_openapi_prints_the_document(tmp_path):
    done = command("openapi", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith('{\n  "')
    assert "/v2/swaps/quote" in done.stdout


def test_providers_and_doctor_work_offline(tmp_path):
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    done = command("providers", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].split() == [
        "PROVIDER",
        "CAPABILITY",
        "NETWORKS",
        "PLUGIN",
        "STATE",
        "REASON",
    ]
    done = command("doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"ok +config: quoteway.toml", done.stdout)
    (tmp_path / "quoteway.toml").write_text(
        CONFIG + '[networks.nowhere]\nchain_id = 5\nrpc = ["http://127.0.0.1:9/canary"]\n'
    )
    done = command("doctor", cwd=tmp_path, QUOTEWAY_PLUGINS__LOAD="rpc")
    assert done.returncode == 1
    assert re.search(r"fail +rpc nowhere #1: no usable answer \(ClientConnectorError\)", done.stdout)
    assert "canary" not in done.stdout + done.stderr


def test_a_broken_plugin_costs_its_own_commands(tmp_path):
    """An entry point that does not import is named, and every other command still runs."""
    info = tmp_path / "site" / "broken-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[quoteway.v1]\nbroken = no_such_module_anywhere\n")
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    done = command("--help", cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 0
    assert "serve" in done.stdout
    assert "commands of plugin 'broken' are missing" in done.stderr
    done = command("doctor", cwd=tmp_path, PYTHONPATH=path, QUOTEWAY_PLUGINS__LOAD="broken")
    assert done.returncode == 1
    assert re.search(r"fail +plugin broken 1: import_failed", done.stdout)
    assert "Traceback" in done.stdout
