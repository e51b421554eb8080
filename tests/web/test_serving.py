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
from quoteway_devnet.anvil import free_port

KEY = "4f1c9a07e2d85b36c0a7914ed3f8625b"
CONFIG = """
plugins.load = []
quotes.keys = [{id = "a", secret = {env = "KEY"}}]
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


def heed_signals():
    """The tests may run where SIGHUP and SIGINT are ignored, as under nohup, and a child inherits that."""
    for name in (signal.SIGHUP, signal.SIGINT):
        signal.signal(name, signal.SIG_DFL)


class Served:
    """A ``quoteway serve`` process whose log is read from a file."""

    def __init__(self, folder, *arguments, before=heed_signals, **more):
        self.log = Path(folder) / "serve.log"
        self.started = time.monotonic()
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "quoteway", "serve", "--port", "0", *arguments],
                cwd=folder,
                env=environment(**more),
                stderr=stream,
                preexec_fn=before,
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
    assert served.lines(r"Quoteway is serving on (\S+)") == [url]
    assert served.lines(rf"curl -s {url}/v2/providers")
    assert get(f"{url}/readyz")[0] == 200
    assert served.stop() == 0
    assert "stopping" in served.log.read_text()


@pytest.mark.slow
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


@pytest.mark.slow
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


def living(pids):
    """Those that still run; a zombie has ended."""
    found = []
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            found += [pid] if state != "Z" else []
    return found


def descendants(pid):
    children = worker_pids(pid)
    return [*children, *(grandchild for child in children for grandchild in descendants(child))]


def all_end(pids, seconds=30):
    deadline = time.monotonic() + seconds
    while living(pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    left = living(pids)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def test_sighup_stops_a_single_process_gracefully(serve):
    served = serve()
    served.url()
    served.lines("Quoteway is serving")
    started = descendants(served.process.pid)
    served.process.send_signal(signal.SIGHUP)
    try:
        assert served.process.wait(20) == 0
    finally:
        all_end(started)
    assert served.log.read_text().count("stopping: ") == 1


@pytest.mark.slow
def test_sighup_is_ignored_under_nohup(serve):
    served = serve(before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    url = served.url()
    served.lines("Quoteway is serving")
    served.process.send_signal(signal.SIGHUP)
    assert get(f"{url}/healthz")[0] == 200
    assert served.stop() == 0


@pytest.mark.slow
def test_workers_end_when_the_supervisor_is_killed(serve):
    served = serve("--workers", "2")
    url = served.url(workers=2)
    served.lines("Quoteway is serving")
    workers = worker_pids(served.process.pid)
    assert len(workers) == 2
    served.process.kill()
    all_end(workers)
    assert served.log.read_text().count("stopping: ") == 2, "requests under way are answered first"
    with pytest.raises(urllib.error.URLError):
        get(f"{url}/healthz")


@pytest.mark.parametrize("name", ["SIGKILL", "SIGHUP"])
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_chain_of_the_devnet_outlives_the_server(serve, tmp_path, workers, name):
    (tmp_path / "quoteway.toml").unlink()
    names = ("PORT", "L2_PORT", "RELAYER_PORT")
    ports = {f"QUOTEWAY_PLUGIN__DEVNET__{name}": str(free_port()) for name in names}
    served = serve("--workers", str(workers), QUOTEWAY_PLUGINS__LOAD="rpc,devnet", **ports)
    served.lines("Quoteway is serving")
    started = descendants(served.process.pid)
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in started]
    assert len([command for command in commands if b"anvil" in command.split(b"\0")[0]]) == 2
    served.process.send_signal(getattr(signal, name))
    all_end(started)


def worker_pids(parent):
    """The children of a process, whichever of its threads started them."""
    threads = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(pid) for children in threads for pid in children.read_text().split()]


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_taken_port_is_one_sentence(tmp_path, workers):
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = command("serve", "--port", port, "--workers", workers, cwd=tmp_path)
    assert done.returncode == 2
    assert f"quoteway: port {port} on 127.0.0.1 is taken: stop what listens there" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_store_without_its_client_is_one_sentence(tmp_path, workers):
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "valkey.py").write_text("raise ImportError('not installed')")
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    store = {"QUOTEWAY_LIMITS__STORE": "valkey://127.0.0.1:9", "PYTHONPATH": path}
    done = command("serve", "--port", "0", "--workers", workers, cwd=tmp_path, **store)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("quoteway: limits.store names a Valkey or Redis server, and its client is not")
    assert "pip install 'quoteway[valkey]'" in line
    done = command("doctor", cwd=tmp_path, **store)
    assert done.returncode == 2
    assert re.search(r"fail +limits.store: .*quoteway\[valkey\]", done.stdout)


@pytest.mark.slow
def test_a_configuration_that_no_worker_can_use_ends_them_all(tmp_path):
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    unknown = {"QUOTEWAY_NETWORKS__NOBODY__RPC": "http://127.0.0.1:9"}
    done = command("serve", "--port", "0", "--workers", "2", cwd=tmp_path, **unknown)
    assert done.returncode == 2
    assert "give its chain_id" in done.stderr
    assert "starting again" not in done.stderr


@pytest.mark.slow
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
    (tmp_path / "quoteway.toml").write_text(CONFIG.replace("plugins.load = []", ""))
    script = """
import asyncio, sys
from quoteway.config.loading import load_config
from quoteway.engine.gateway import Gateway
from quoteway.server.serve import make_runner
from quoteway.web.app import make_app
async def main():
    config = load_config()
    gateway = Gateway(config)
    runner = make_runner(make_app(gateway), config)
    await runner.setup()
    await gateway.started()
    heavy = {"web3", "eth_account", "rich", "structlog", "apispec", "numpy", "hypothesis", "redis", "valkey"}
    heavy |= {"opentelemetry", "requests", "google.protobuf"}
    # How much of its files is resident depends on the kernel.
    own = [line for line in open("/proc/self/status") if line.startswith("RssAnon")]
    print(sorted(heavy & set(sys.modules)), own[0].split()[1])
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
    assert int(rss_kb) < 90 * 1024  # 75 MB; a heavy library takes tens more


def test_config_hides_secrets(tmp_path):
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    done = command("config", cwd=tmp_path)
    assert done.returncode == 0
    assert KEY not in done.stdout
    assert '"secret": "***"' in done.stdout


@pytest.mark.slow
def test_openapi_prints_the_document(tmp_path):
    done = command("openapi", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith('{\n  "')
    assert "/v2/swaps/quote" in done.stdout


@pytest.mark.slow
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
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"warn +plugins.lock: not locked", done.stdout)
    assert re.search(r"ok +config: quoteway.toml", done.stdout)
    (tmp_path / "quoteway.toml").write_text(
        CONFIG + '[networks.nowhere]\nchain_id = 5\nrpc = ["http://127.0.0.1:9/canary"]\n'
    )
    done = command("doctor", cwd=tmp_path, QUOTEWAY_PLUGINS__LOAD="rpc")
    assert done.returncode == 2
    assert re.search(r"fail +rpc nowhere #1: no usable answer \(ClientConnectorError\)", done.stdout)
    assert re.search(r"warn +rpc nowhere: one endpoint: nobody answers when it fails", done.stdout)
    assert "canary" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_broken_plugin_costs_its_own_commands(tmp_path):
    """An entry point that does not import is named, and every other command still runs."""
    info = tmp_path / "site" / "broken-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[quoteway.v1]\nbroken = no_such_module_anywhere\n")
    (tmp_path / "quoteway.toml").write_text(CONFIG)
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    done = command("--help", cwd=tmp_path, PYTHONPATH=path)
    assert (done.returncode, done.stderr) == (0, ""), "a plugin that is not selected is not imported"
    done = command("--help", cwd=tmp_path, PYTHONPATH=path, QUOTEWAY_PLUGINS__LOAD="broken")
    assert done.returncode == 0
    assert "serve" in done.stdout
    assert "commands of plugin 'broken' are missing" in done.stderr
    done = command("doctor", cwd=tmp_path, PYTHONPATH=path, QUOTEWAY_PLUGINS__LOAD="broken")
    assert done.returncode == 2
    assert re.search(r"fail +plugin broken 1: import_failed", done.stdout)
    assert "Traceback" in done.stdout
