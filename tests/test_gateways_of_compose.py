"""What deploy/compose.yaml runs, without Docker: two gateways and an index with the shipped configuration,
Debian's Redis, PostgreSQL and nginx with the shipped nginx.conf, over a look-alike of Ethereum.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import shipped_nginx
from compose_file import DEPLOY, GATEWAYS, SERVICES, configured
from quoteway_devnet.anvil import free_port
from quoteway_devnet.public_chains import public_chain
from quoteway_uniswap.public_networks import ROWS

pytestmark = [pytest.mark.services, pytest.mark.slow]

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
SWAP = {
    "network": "ethereum",
    "fromToken": "native",
    "toToken": USDC,
    "amount": str(10**18),
    "address": WALLET,
}
WAIT_S = 300


def until(condition, *logs):
    ends_at = time.monotonic() + WAIT_S
    while not (found := condition()):
        assert time.monotonic() < ends_at, "\n".join(log.read_text() for log in logs)
        time.sleep(0.1)
    return found


def ask(url, body=None, **headers):
    """The status, headers and parsed body of an answer; None while nobody answers."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return answer.status, answer.headers, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()
    except OSError:
        return None


def program(name):
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    assert found is not None, f"install {name}"
    return found


@contextlib.contextmanager
def running(command, log, **options):
    with log.open("ab") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=sink, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(WAIT_S)
        finally:
            process.kill()


@contextlib.contextmanager
def valkey(folder):
    """The store of the limits, with the options that compose gives it. Its port."""
    port = free_port()
    server = shutil.which("valkey-server") or program("redis-server")
    _, *options = SERVICES["valkey"]["command"]
    # They are `--name value` pairs, as compose passes them.
    command = [server, *options, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder]
    with running(command, folder / "valkey.log"):
        log = folder / "valkey.log"
        until(lambda: "eady to accept connections" in log.read_text(), log)
        yield port


@contextlib.contextmanager
def postgres(password):
    """The database of the history with the user, the password and the database of compose. Its URL."""
    (initdb, *_) = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True) or [None]
    assert initdb is not None, "install postgresql (Debian)"
    folder, port = Path(tempfile.mkdtemp(prefix="compose-postgres-")), free_port()
    # PostgreSQL refuses to run as root.
    user = {"user": "postgres"} if os.getuid() == 0 else {}
    try:
        (folder / "password").write_text(password)
        folder.chmod(0o755)
        if user:
            shutil.chown(folder, "postgres")
        made = ["--auth=scram-sha-256", "--username=quoteway", f"--pwfile={folder / 'password'}", "--no-sync"]
        subprocess.run(
            [initdb, *made, f"--pgdata={folder / 'data'}"],
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            **user,
        )
        options = ["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", "-k", folder, "-p", str(port)]
        command = [initdb.with_name("postgres"), "-D", folder / "data", *options]
        log = folder / "log"
        with running(command, log, cwd=folder, **user):
            until(lambda: "ready to accept connections" in log.read_text(), log)
            server = f"postgresql://quoteway:{password}@127.0.0.1:{port}"
            asked = [initdb.with_name("psql"), f"{server}/postgres", "-qc", "CREATE DATABASE quoteway"]
            subprocess.run(asked, check=True)
            yield f"{server}/quoteway"
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def nginx(folder, ports):
    """nginx with the shipped file, in front of gateways at these ports. Its URL."""
    port = free_port()
    with running(shipped_nginx.command(folder, port, *ports), folder / "nginx.log"):
        yield f"http://127.0.0.1:{port}"


class Deployed:
    """All of it: ``url`` is that of nginx, ``metrics`` are those of the gateways."""

    def __init__(self, folder, stack):
        enter = stack.enter_context
        chain = enter(public_chain("ethereum", 1, ROWS[1][0]))
        self.database = enter(postgres("c0b1a7d29e"))
        config = configured(folder, ethereum_rpc_url=chain.urls["ethereum"], index_url=self.database)
        text = config.read_text()
        for shipped, here in (
            ("valkey:6379", f"127.0.0.1:{enter(valkey(folder))}"),
            ("172.30.42.10/32", "127.0.0.1/32"),
        ):
            assert text.count(shipped) == 1, shipped
            text = text.replace(shipped, here)
        config.write_text(text)
        # A busy machine is slow to quote.
        own = {"QUOTEWAY_QUOTES__COMPETITION_TIMEOUT_S": "30", "QUOTEWAY_PLUGINS__LOAD": self.plugins()}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")}
        start = [sys.executable, "-m", "quoteway"]
        ports, self.metrics, logs = [], [], []
        for name in GATEWAYS:
            ports.append(free_port())
            metrics_port = free_port()
            ready = f"http://127.0.0.1:{ports[-1]}/readyz"
            self.metrics.append(f"http://127.0.0.1:{metrics_port}/metrics")
            mine = {"QUOTEWAY_SERVER__METRICS_PORT": str(metrics_port)}
            command = [*start, "serve", "--config", config, "--port", str(ports[-1])]
            logs.append(folder / f"{name}.log")
            enter(running(command, logs[-1], env={**environment, **own, **mine}))
            until(lambda ready=ready: (found := ask(ready)) and found[0] == 200, logs[-1])
        enter(
            running([*start, "index", "--config", config], folder / "index.log", env={**environment, **own})
        )
        self.url = enter(nginx(folder, ports))
        self.logs = [*logs, folder / "index.log"]
        until(lambda: ask(f"{self.url}/healthz"), folder / "nginx.log")

    @staticmethod
    def plugins():
        """The plugins of the image, but those that ask services of others for quotes."""
        text = (DEPLOY / "Dockerfile").read_text()
        listed = re.search(r'DISTRIBUTIONS="([^"]+)"', text)[1]
        names = set(re.findall(r"quoteway-(\w+)", listed)) - {"across"}
        assert {"indexer", "rpc", "uniswap"} <= names
        return json.dumps(sorted(names | {"router"}))

    @staticmethod
    def count(url, route):
        """How many requests of a route a gateway has answered."""
        with urllib.request.urlopen(url, timeout=WAIT_S) as answer:
            text = answer.read().decode()
        pattern = rf'^quoteway_http_requests_total{{.*route="{re.escape(route)}".*}} (\S+)$'
        return sum(map(float, re.findall(pattern, text, re.MULTILINE)))


@pytest.fixture(scope="module")
def deployed(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        yield Deployed(tmp_path_factory.mktemp("compose"), stack)


def test_a_swap_is_quoted_by_one_gateway_and_built_by_any(deployed):
    status, _, quote = until(
        lambda: (found := ask(f"{deployed.url}/v2/swaps/quote", SWAP)) and found[0] == 200 and found,
        *deployed.logs,
    )
    assert status == 200
    assert int(quote["toAmount"]) > 10**9
    # nginx asks the gateways in turn, so each builds from the same quote.
    for _ in range(4):
        status, _, action = ask(f"{deployed.url}/v2/swaps/{quote['quoteId']}/action", {})
        assert status == 201, action
        assert action["transactions"]
    asked = [deployed.count(url, "/v2/swaps/{quoteId}/action") for url in deployed.metrics]
    assert sum(asked) == 4
    assert min(asked) > 0, "one of them did not get any"


def test_both_gateways_take_from_one_limit_of_the_caller(deployed):
    def left(caller):
        _, headers, _ = ask(f"{deployed.url}/v2/networks", **{"X-Forwarded-For": caller})
        return int(re.search(r"r=(\d+)", headers["RateLimit"])[1])

    # Buckets fill while requests are under way: by five a second.
    began = time.monotonic()
    first = left("192.0.2.1")
    last = [left("192.0.2.1") for _ in range(20)][-1]
    filled = 5 * (time.monotonic() - began) + 1
    assert last <= first - 20 + filled
    # Each by itself would have counted ten.
    assert last < first - 10 or filled > 10
    assert left("192.0.2.2") >= first, "another caller has a limit of its own"


def test_the_index_fills_the_database_that_the_gateways_read(deployed):
    def status():
        found = ask(f"{deployed.url}/v2/index/status")
        return found and found[0] == 200 and found[2]

    found = until(status, *deployed.logs)
    assert [each["network"] for each in found["data"]] == ["ethereum"], found
    psql = sorted(Path("/usr/lib/postgresql").glob("*/bin/psql"))[-1]
    query = "SELECT count(*) FROM pg_stat_user_tables"
    tables = subprocess.run(
        [psql, deployed.database, "-Atc", query], check=True, capture_output=True, text=True
    )
    assert int(tables.stdout) > 5


def test_callers_get_no_metrics(deployed):
    assert ask(f"{deployed.url}/metrics")[0] == 404
    for url in deployed.metrics:
        assert deployed.count(url, "/readyz") > 0
