"""Builds the wheels of core, plugins and client, installs them in a new environment, and uses them there.

``make test-wheels`` runs it. It needs the package registry: pip resolves the dependencies as for a user.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLUGINS = sorted(file.parent for file in (ROOT / "plugins").glob("*/pyproject.toml"))
PROJECTS = [ROOT, *PLUGINS, ROOT / "clients/python"]
SENDER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
WAIT_S = 300


def run(*command, **options):
    print("+", *map(str, command), flush=True)
    return subprocess.run(command, check=True, text=True, **options)


def build(folder):
    """The wheels, each from its sources."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, *PROJECTS)
    wheels = sorted(folder.glob("*.whl"))
    assert len(wheels) == len(PROJECTS), wheels
    return wheels


def install(folder, wheels):
    """A new environment with the wheels alone; the folder of its commands."""
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wheels)
    return folder / "bin"


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
        return json.load(answer)


def swap(commands, folder):
    """``quoteway serve`` without a configuration: the devnet, a quote and its transactions."""
    log = folder / "serve.log"
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("QUOTEWAY_PLUGIN", "PYTHON"))
        },
        "QUOTEWAY_SERVER__PORT": "0",
        "QUOTEWAY_PLUGIN__DEVNET__PORT": "0",
        "QUOTEWAY_PLUGIN__DEVNET__L2_PORT": "0",
    }
    with log.open("wb") as sink:
        server = subprocess.Popen([commands / "quoteway", "serve"], cwd=folder, env=environment, stderr=sink)
    try:
        ends_at = time.monotonic() + WAIT_S
        while not (found := re.search(r"Quoteway is serving on (\S+)", log.read_text())):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < ends_at, log.read_text()
            time.sleep(0.1)
        url = found[1]
        page = urllib.request.Request(url, headers={"Accept": "text/html"})
        with urllib.request.urlopen(page, timeout=WAIT_S) as answer:
            assert b"/site/assets/app-" in answer.read(), "the wheel of the console has no page"
        usdc = next(row for row in ask(f"{url}/v2/tokens?network=devnet")["data"] if row["symbol"] == "USDC")
        (bought,) = (each["address"] for each in usdc["contracts"] if each["chainId"] == 31337)
        body = {"network": "devnet", "fromToken": "native", "toToken": bought, "amount": str(10**18)}
        quote = ask(f"{url}/v2/swaps/quote", {**body, "address": SENDER})
        action = ask(f"{url}/v2/swaps/{quote['quoteId']}/action", {})
        assert action["transactions"], action
        run(commands / "quoteway", "price", "ETH", "--network", "devnet", "--url", url, cwd=folder)
        print(f"1 ETH -> {int(quote['toAmount']) / 10**6} USDC by {quote['provider']}")
    finally:
        server.terminate()
        assert server.wait(WAIT_S) == 0, log.read_text()


def main():
    with tempfile.TemporaryDirectory(prefix="quoteway-wheels-") as scratch:
        folder = Path(scratch)
        commands = install(folder / "environment", build(folder / "wheels"))
        # Run outside the source tree: what is imported is what was installed.
        work = folder / "work"
        work.mkdir()
        run(commands / "quoteway", "--version", cwd=work)
        listed = run(commands / "quoteway", "providers", cwd=work, stdout=subprocess.PIPE).stdout
        print(listed)
        for provider in ("uniswap", "across", "erc4626", "managedvault", "tokenlist", "rpc"):
            assert provider in listed, provider
        swap(commands, work)


if __name__ == "__main__":
    main()
