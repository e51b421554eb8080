"""``quoteway dev`` as a process: a file is served, saved, broken and repaired while the devnet goes on."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from quoteway.config.model import Config, PluginsConfig
from quoteway.errors import ConfigError
from quoteway.server.cli import main
from quoteway.server.dev_gateway import for_development, load_file, name_of

sys.path.insert(0, str(Path(__file__).parent / "core"))
from distributions import works
from processes import runs

WAIT_S = 120
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
ROUTES = """
    import time
    from aiohttp import web

    async def block(request):
        time.sleep(0.3)
        return web.json_response({})

    @hookimpl
    def quoteway_routes():
        return [web.get("/block", block)]
"""


class Developing:
    """A ``quoteway dev`` process over a file, and a client of what it serves."""

    def __init__(self, folder):
        pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")
        self.file, self.log = folder / "my_goods.py", folder / "log"
        self.save(works("first"))
        clean = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")}
        with self.log.open("wb") as sink:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "quoteway", "dev", "--plugin", self.file.name, "--port", "0"],
                cwd=folder,
                # Few plugins start soon; the list lacks the file's, which is loaded all the same.
                env={**clean, "QUOTEWAY_PLUGINS__LOAD": '["devnet", "rpc", "tokenlist", "uniswap"]'},
                stdout=sink,
                stderr=subprocess.STDOUT,
                # The tests may run where it is ignored, as in the background, and a child inherits that.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    def save(self, source):
        self.file.write_text(textwrap.dedent(source))

    def wait(self, condition, what):
        ends_at = time.monotonic() + WAIT_S
        while time.monotonic() < ends_at:
            assert self.process.poll() is None, self.log.read_text()
            found = condition()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"{what} did not come:\n{self.log.read_text()}")

    def said(self, pattern):
        return self.wait(lambda: re.findall(pattern, self.log.read_text()), pattern)

    def ask(self, path, body=None):
        url = self.said(r"listening on (http://\S+)")[0] + path
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)
        except OSError:  # the gateway that took the connection is being stopped
            return {}

    def states(self):
        """The providers of the file's plugin by id, with the reason where one is not enabled."""
        rows = self.ask("/v2/providers?limit=200").get("data", ())
        return {row["id"]: row["reason"] for row in rows if row["plugin"] == "my_goods"}

    def children(self):
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]


@pytest.fixture
def developing(tmp_path):
    developing = Developing(tmp_path)
    yield developing
    if developing.process.poll() is None:
        developing.process.terminate()
        developing.process.wait(WAIT_S)


def closes(port):
    import socket

    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(port))) != 0


@pytest.mark.slow
def test_a_file_is_served_reloaded_broken_and_repaired_over_one_devnet(developing):
    developing.wait(lambda: developing.states() == {"first": None}, "the first version")
    (ports,) = developing.said(r"the devnet runs: http://127.0.0.1:(\d+), http://127.0.0.1:(\d+)")
    transfer = {"from": USER, "to": USER, "value": "0x1"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction", "params": [transfer]}
    request = urllib.request.Request(
        f"http://127.0.0.1:{ports[0]}", json.dumps(call).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
        sent = json.load(answer)["result"]

    developing.save("def quoteway_broken(:\n    pass\n")
    developing.said(r"SyntaxError: ")
    developing.said(r'my_goods\.py", line 1')
    developing.wait(lambda: developing.ask("/v2/networks").get("data"), "the core without the plugin")
    assert "first" not in developing.states()

    developing.save("import os\nos._exit(7)\n")
    developing.said(r"ended with status 7: serving without my_goods\.py until it is saved again")
    developing.wait(lambda: developing.ask("/v2/networks").get("data"), "the core without the plugin")

    developing.save(works("second") + ROUTES)
    developing.wait(lambda: developing.states() == {"second": None}, "the second version")
    # Its row is there before the gateway is ready.
    developing.wait(lambda: developing.ask("/readyz").get("status") == "ready", "the ready gateway")
    lookup = {"jsonrpc": "2.0", "id": 1, "method": "eth_getTransactionReceipt", "params": [sent]}
    assert developing.ask("/v2/rpc/31337", lookup)["result"]["status"] == "0x1", "the chain kept its state"

    body = {"network": "devnet", "fromToken": "native", "amount": str(10**18), "address": USER}
    rows = developing.ask("/v2/tokens?network=devnet&limit=100")["data"]
    usdc = next(row for row in rows if row["symbol"] == "USDC")
    (bought,) = (each["address"] for each in usdc["contracts"] if each["chainId"] == 31337)
    assert developing.ask("/v2/swaps/quote", {**body, "toToken": bought})["provider"] == "uniswap"
    developing.said(
        r"request route=/v2/swaps/quote method=POST status=200 duration_ms=[\d.]+ .*provider=uniswap"
    )
    assert bought not in developing.log.read_text(), "no body is logged"

    developing.ask("/x/my_goods/block")
    developing.said(r"plugin 'my_goods' blocked the event loop for \d+ ms, longest in \S+\.block")

    children = developing.children()
    assert len(children) == 2, "the devnet and the gateway"
    developing.process.send_signal(signal.SIGINT)
    assert developing.process.wait(WAIT_S) == 0
    assert not [pid for pid in children if runs(pid)]
    assert all(closes(port) for port in ports), "no anvil is left"


@pytest.mark.slow
def test_a_killed_command_leaves_nothing_behind(developing):
    (ports,) = developing.said(r"the devnet runs: http://127.0.0.1:(\d+), http://127.0.0.1:(\d+)")
    children = developing.wait(lambda: len(found := developing.children()) == 2 and found, "both children")
    developing.process.kill()
    developing.process.wait(WAIT_S)
    ends_at = time.monotonic() + WAIT_S
    while [pid for pid in children if runs(pid)] or not all(closes(port) for port in ports):
        assert time.monotonic() < ends_at, developing.log.read_text()
        time.sleep(0.05)


def run(tmp_path, name, source=""):
    file = tmp_path / name
    file.write_text(source)
    return CliRunner().invoke(main, ["dev", "--plugin", str(file), "--port", "0"])


@pytest.mark.parametrize("name", ["my-swaps.py", "1st.py", "swaps.txt", "a b.py"])
def test_a_file_is_named_like_a_module(tmp_path, name):
    answer = run(tmp_path, name)
    assert answer.exit_code == 2
    assert "named like a Python module" in answer.output


def test_the_name_of_an_installed_plugin_is_refused(tmp_path):
    pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")
    answer = run(tmp_path, "devnet.py")
    assert answer.exit_code == 2
    assert "quoteway-devnet has a plugin of this name already: rename the file" in answer.output


def test_without_watchfiles_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    answer = run(tmp_path, "mine.py")
    assert answer.exit_code == 2
    assert "pip install 'quoteway[reload]'" in answer.output


def test_a_list_of_plugins_to_load_gets_the_file_too(tmp_path):
    config = for_development(Config(plugins=PluginsConfig(load=("rpc",))), tmp_path / "mine.py")
    assert config.plugins.load == ("rpc", "mine")
    assert config.server.access_log == "all"


def test_a_file_is_imported_anew_each_time_and_its_dataclasses_work(tmp_path):
    file = tmp_path / "mine.py"
    lines = ["from __future__ import annotations", "from dataclasses import dataclass", "@dataclass"]
    file.write_text("\n".join([*lines, "class Row:", "    value: int = 1"]))
    assert load_file(file).Row().value == 1
    file.unlink()
    with pytest.raises(FileNotFoundError):
        load_file(file)
    with pytest.raises(ConfigError, match="named like a Python module"):
        name_of(tmp_path / "no plugin.py")
    sys.modules.pop("quoteway_dev_mine")
