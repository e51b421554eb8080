"""``quoteway serve`` as a process, with the real Uniswap plugin on the devnet and bad plugins beside it."""

import http.client
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

from quoteway.testing.bad_plugins.installing import install

PATIENCE_S = 300
SHUTDOWN_S = 1
MOST_STOP_S = 2 * SHUTDOWN_S + 4.0
"""How long a stop may take: requests and lifespans get the timeout each, and the process a grace."""
HONEST = ("devnet", "rpc", "uniswap", "tokenlist")
WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
LIMITS = itertools.cycle(range(150, 201))
CONFIG = """
[server]
port = 0
shutdown_timeout_s = {shutdown_s}
request_timeout_s = 120
[plugins]
load = {load}
isolate = {isolate}
isolated_memory_mb = 256
isolated_silence_s = {silence_s}
startup_timeout_s = {startup_s}
owners = {{uniswap = "quoteway-uniswap"}}
[quotes]
order = ["uniswap"]
competition_timeout_s = {competition_s}
keys = [{{id = "k", secret = {{env = "TEST_KEY"}}}}]
[limits]
quotes = "9999999/minute"
catalog = "9999999/minute"
rpc = "9999999/minute"
[plugin.devnet]
enabled = true
start = false
port = {port}
l2_port = {l2_port}
"""


@dataclass
class BadServer:
    """A running server. ``isolated``: those of ``bad`` that need it run in processes of their own."""

    devnet: object
    folder: object
    bad: tuple = ()
    isolated: bool = True
    startup_s: float = 60
    competition_s: float = 30
    silence_s: float = 10
    process: subprocess.Popen = field(init=False)
    connection: http.client.HTTPConnection = field(init=False)

    def __post_init__(self):
        self.folder.mkdir(exist_ok=True)
        install(self.folder, self.bad)
        names = [bad.name for bad in self.bad if not bad.entry_point and bad.group == "quoteway.v1"]
        isolate = [bad.name for bad in self.bad if self.isolated and bad.needs == "process"]
        chain = self.devnet.chains["devnet"]
        self.tokens = {symbol: chain.token(symbol).address for symbol in ("USDC", "WETH")}
        config = self.folder / "quoteway.toml"
        config.write_text(
            CONFIG.format(
                load=json.dumps([*HONEST, *names]),
                isolate=json.dumps(isolate),
                shutdown_s=SHUTDOWN_S,
                startup_s=self.startup_s,
                competition_s=self.competition_s,
                silence_s=self.silence_s,
                port=self.devnet.ports["devnet"],
                l2_port=self.devnet.ports["devnet-l2"],
            )
        )
        self.log_file = self.folder / "log"
        with self.log_file.open("wb") as sink:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "quoteway", "serve", "--config", str(config)],
                env={
                    **os.environ,
                    "PYTHONPATH": str(self.folder),
                    "TEST_KEY": "4f1c9a07e2d85b36c0a7914ed3f8625b",
                },
                stdout=subprocess.DEVNULL,
                stderr=sink,
            )

    def __enter__(self):
        try:
            self.until(lambda: re.search(r"ready: providers", self.log))
            port = re.search(r"listening on http://127\.0\.0\.1:([0-9]+)", self.log)[1]
            self.connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE_S)
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *error):
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()

    @property
    def log(self):
        return self.log_file.read_text(errors="replace")

    def until(self, condition):
        """Waits for a condition and returns it."""
        ends_at = time.monotonic() + PATIENCE_S
        while not (found := condition()):
            assert self.process.poll() is None, self.log[-4_000:]
            assert time.monotonic() < ends_at, self.log[-4_000:]
            time.sleep(0.05)
        return found

    def stop(self):
        """Sends SIGTERM; the exit status and the seconds until the end."""
        started_s = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S), time.monotonic() - started_s

    # --- requests -------------------------------------------------------------------------------------------

    def ask(self, method, path, body=None):
        self.connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        raw = answer.read()
        is_json = answer.getheader("Content-Type", "").startswith("application/json")
        return answer.status, json.loads(raw) if is_json else raw.decode()

    def quote_body(self):
        return json.dumps(
            {
                "network": "devnet",
                "fromToken": self.tokens["USDC"],
                "toToken": self.tokens["WETH"],
                "amount": str(10**9),
                "address": WALLET,
            }
        )

    def quote(self):
        status, quote = self.ask("POST", "/v2/swaps/quote", self.quote_body())
        assert status == 200, quote
        return quote

    def action(self, quote):
        status, action = self.ask("POST", f"/v2/swaps/{quote['quoteId']}/action")
        assert status == 201, action
        return action

    def rows(self, kind):
        """The rows of a list, by id, and who is missing in it. The page is made anew."""
        status, answer = self.ask("GET", f"/v2/{kind}?network=devnet&limit={next(LIMITS)}")
        assert status == 200, answer
        return {row["id"]: row for row in answer["data"]}, {each["provider"] for each in answer["partial"]}

    def rows_with(self, kind, ids, timeout_s=60):
        """The rows of a list by id, when it has some, and those of ``ids``: a background task reads lists."""
        ends = time.monotonic() + timeout_s
        while True:
            rows, _ = self.rows(kind)
            if rows and rows.keys() >= set(ids):
                return rows
            assert time.monotonic() < ends, f"{kind}: {sorted(set(ids) - rows.keys())[:3]} are missing"
            time.sleep(0.1)

    def healthy(self):
        assert self.ask("GET", "/healthz") == (200, {"status": "ok"})

    def providers(self):
        """What is said of each plugin that is not an honest one, by distribution."""
        status, answer = self.ask("GET", f"/v2/providers?limit={next(LIMITS)}")
        assert status == 200, answer
        return {row["package"]: row for row in answer["data"]}
